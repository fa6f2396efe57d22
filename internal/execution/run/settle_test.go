package run

import (
	"context"
	"slices"
	"testing"
	"time"

	"assay/internal/evidence/host"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// A trial waits until what the one before it left is gone, and no longer than it may.
//
// Fault (stops): a trial leaves dirty pages, requests at the disk or programs to the one after it
// Assay: each trial waits for the machine, a tenth of its phases' time and 10 s at most; then
// `machine-disturbed` (`not-settled`)
// With: detect.TestDetectNotSettled
func TestTrialWaitsForWhatIsLeft(t *testing.T) {
	var dirty []float64 // what each look reads
	slept := 0
	s := &settler{
		look: func() host.Left {
			now := dirty[0]
			dirty = dirty[min(1, len(dirty)-1):]
			return host.Left{DirtyBytes: &now}
		},
		pause: func(context.Context, time.Duration) { slept++ },
	}
	const much, little = 1 << 30, 1 << 20
	dirty = []float64{little}
	if first := s.wait(t.Context(), time.Second); first.Seconds != 0 || len(first.NotBack) > 0 {
		t.Errorf("the first trial: %+v", first)
	}
	dirty, slept = []float64{much, much, much, little}, 0
	if gone := s.wait(t.Context(), time.Second); gone.Seconds != 0.3 || len(gone.NotBack) > 0 || slept != 3 {
		t.Errorf("after three looks it is gone: %+v, %d looks", gone, slept)
	}
	dirty, slept = []float64{much}, 0
	if stays := s.wait(t.Context(), time.Second); stays.Seconds != 1 || !slices.Equal(stays.NotBack,
		[]string{host.LeftDirty}) || slept != 10 {
		t.Errorf("it stays: %+v, %d looks", stays, slept)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if s.wait(stopped, time.Second); slept != 11 {
		t.Errorf("%d looks after Ctrl-C", slept-10)
	}
}

func TestTrialWaitsLongerForLongerPhases(t *testing.T) {
	for phase, want := range map[time.Duration]time.Duration{
		200 * time.Millisecond: 0, 5 * time.Second: time.Second, time.Hour: settleMost,
	} {
		r := &running{experiment: &experiment.Experiment{Phases: []experiment.Phase{
			{Name: "load", Load: true}, {Name: "put", Duration: phase}, {Name: "get", Duration: phase}}}}
		if got := r.settleLimit(plan.Trial{}); got != want {
			t.Errorf("two phases of %v: %v, not %v", phase, got, want)
		}
		if got := r.settleLimit(plan.Trial{Refuse: "no D3"}); got != 0 {
			t.Errorf("a trial that is refused: %v", got)
		}
	}
}
