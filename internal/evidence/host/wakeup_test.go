package host

import "testing"

func TestMeasureWakeUp(t *testing.T) {
	w, err := MeasureWakeUp()
	if err != nil {
		t.Fatal(err)
	}
	if w.SameCPU <= 0 {
		t.Errorf("a wake-up on one CPU takes %g ns", w.SameCPU)
	}
}

func TestWakeUpShare(t *testing.T) {
	for _, c := range []struct {
		name  string
		w     *WakeUp
		ns    float64
		share float64
	}{
		{"not measured", nil, 1000, 0},
		{"no latency", &WakeUp{SameCPU: 100}, 0, 0},
		{"one CPU", &WakeUp{SameCPU: 100}, 1000, 0.2},
		{"the cheaper one counts", &WakeUp{SameCPU: 400, OtherCPU: 100}, 1000, 0.2},
		{"no more than all of it", &WakeUp{SameCPU: 900, OtherCPU: 900}, 1000, 1},
	} {
		if got := c.w.ShareOf(c.ns); got != c.share {
			t.Errorf("%s: %g, want %g", c.name, got, c.share)
		}
	}
}
