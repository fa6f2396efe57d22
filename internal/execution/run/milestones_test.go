package run

import (
	"math"
	"testing"
)

// A thread that slows down: its milestones lie where its count says, also several between two looks,
// and the last look may come late.
func TestMilestones(t *testing.T) {
	m := newMilestones(10, 2, 0)
	m.look([]uint64{0, 0}, 0)
	m.look([]uint64{25, 9}, 1)
	m.look([]uint64{25, 9}, 1) // the same moment again: the counters are read once more at the end
	m.look([]uint64{30, 10}, 2)
	m.look([]uint64{30, 19}, 4)
	m.look([]uint64{40, 20}, 5)
	want := [][]float64{{0.4, 0.8, 2, 5}, {2, 5}}
	got := m.result()
	if got.Every != 10 {
		t.Errorf("every is %d", got.Every)
	}
	for i := range want {
		if len(got.Seconds[i]) != len(want[i]) {
			t.Fatalf("thread %d: %v, expected %v", i, got.Seconds[i], want[i])
		}
		for k := range want[i] {
			if math.Abs(got.Seconds[i][k]-want[i][k]) > 1e-9 {
				t.Errorf("thread %d: %v, expected %v", i, got.Seconds[i], want[i])
			}
		}
	}
	var none *milestones
	none.look([]uint64{100}, 1)
	if none.result() != nil || newMilestones(0, 1, 0) != nil {
		t.Error("a phase without milestones has some")
	}
}
