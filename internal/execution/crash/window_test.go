package crash

import (
	"testing"
	"time"
)

// The ranks are those of the usual tables: of 20 the 6th and the 15th, of 50 the 18th and the 33rd,
// of 100 the 40th and the 61st.
func TestMedianRanks(t *testing.T) {
	for n, want := range map[int][2]int{1: {0, 0}, 5: {0, 4}, 6: {0, 5}, 20: {5, 14}, 50: {17, 32}, 100: {39, 60}} {
		if low, high := medianRanks(n); [2]int{low, high} != want {
			t.Errorf("of %d: %d and %d, expected %v", n, low, high, want)
		}
	}
}

func TestWindow(t *testing.T) {
	r := Result{}
	if r.Window() != nil {
		t.Error("no cuts have a window")
	}
	for i := range 20 {
		r.Cuts = append(r.Cuts, Cut{Check: Check{Lost: uint64(i), LossNS: int64(i) * int64(time.Second),
			LostAll: i == 3}})
	}
	r.Cuts = append(r.Cuts, Cut{Check: Check{Refused: "does not open"}})
	w := r.Window()
	if w.Cuts != 20 || w.Median != 10*time.Second || w.Low != 5*time.Second || w.High != 14*time.Second ||
		w.Worst != 19*time.Second ||
		w.Records != 10 || w.RecordsMax != 19 || w.LostAll != 1 {
		t.Errorf("it is %+v", *w)
	}
}
