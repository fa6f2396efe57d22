package run

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"assay/internal/live"
	"assay/internal/spec"
	"assay/store"
)

// ticks notes what the live line was told of one arm.
type ticks struct {
	live.View
	arm        string
	its        bool          // trial that is under way
	rates, bad atomic.Uint64 // ticks with a rate, and with operations that were bad
}

func (v *ticks) TrialStarted(t live.Trial) { v.its = t.Arm == v.arm }

func (v *ticks) Tick(t live.Tick) {
	if v.its && t.Rate > 0 {
		v.rates.Add(1)
	}
	if v.its && t.Bad > 0 {
		v.bad.Add(1)
	}
}

// A store that fails every operation does no work, however fast.
func TestTheLiveRateLeavesOutWhatFailed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver string
		works  bool
	}{{"failing", false}, {"memory", true}} {
		text := strings.ReplaceAll(inserts(c.driver, "D0", ""), "30s, operations: 60000", "200ms")
		e, err := spec.Load([]byte(text), "test.yaml", nil, spec.Drivers{Describe: func(s spec.Store) (store.Description, error) { return describe(s.Driver) }})
		if err != nil {
			t.Fatal(err)
		}
		o := options(filepath.Join(t.TempDir(), "run"))
		seen := &ticks{View: live.NewPlain(discard{}), arm: c.driver}
		o.View = seen
		if _, err := New(context.Background(), e, []byte(text), o); err != nil {
			t.Fatal(err)
		}
		if seen.rates.Load() > 0 != c.works || seen.bad.Load() > 0 == c.works {
			t.Errorf("%s: %d ticks have a rate, and %d operations that were bad", c.driver, seen.rates.Load(), seen.bad.Load())
		}
	}
}
