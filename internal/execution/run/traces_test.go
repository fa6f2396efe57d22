package run

import (
	"errors"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/store"
)

func tracesOf(records uint64, phases ...experiment.Phase) *traces {
	e := &experiment.Experiment{Phases: phases, Verify: true}
	cell := experiment.Cell{Records: records, Threads: 2}
	return &traces{content: &content{experiment: e, cell: cell}, past: new(past), seed: 1, entries: 64, stopped: func() error { return nil }}
}

// A load goes in batches where the store has them, and in no larger ones than it takes.
func TestALoadGoesInTheBatchesThatTheStoreHas(t *testing.T) {
	t.Parallel()
	load := experiment.Phase{Name: "load", Load: true, Threads: 2, Batch: 100}
	for _, c := range []struct {
		batches    bool
		most, want int
	}{{false, 0, 0}, {true, 0, 100}, {true, 30, 30}} {
		one := tracesOf(10, load)
		one.batches, one.store.Description = c.batches, store.Description{BatchMax: c.most}
		s, err := one.spec(&load, false)
		if err != nil || s.Batch != c.want || !s.Load {
			t.Errorf("batches %v, at most %d: %d, %v", c.batches, c.most, s.Batch, err)
		}
	}
}

// Arms of a cell have the same seed and do the same; another phase of the trial does something else.
func TestTheSameSeedMakesTheSameTrace(t *testing.T) {
	t.Parallel()
	p := experiment.Phase{Name: "mixed", Mix: map[string]float64{"read": 1, "update": 1}, Operations: 64, Order: experiment.Order{Distribution: "uniform"}}
	digest := func(position int) string {
		file, _, err := tracesOf(1000, p, p).make(&p, position)
		if err != nil {
			t.Fatal(err)
		}
		return file.Digest(0, len(file.Threads))
	}
	if first := digest(0); first != digest(0) || first == digest(1) {
		t.Error("traces differ where they must not, or do not where they must")
	}
}

func TestTracesEndWithTheUser(t *testing.T) {
	t.Parallel()
	p := experiment.Phase{Name: "mixed", Mix: map[string]float64{"read": 1}, Order: experiment.Order{Distribution: "uniform"}}
	stopped := errors.New("stopped")
	one := tracesOf(1000, p)
	one.entries = 1 << 18
	one.stopped = func() error { return stopped }
	if _, _, err := one.make(&p, 0); !errors.Is(err, stopped) {
		t.Errorf("%v", err)
	}
}

// Records that a phase, or another group of it, may have deleted are not owed to a later phase.
func TestWhatWasDeletedBeforeIsKnown(t *testing.T) {
	t.Parallel()
	deleting := experiment.Phase{Name: "delete", Mix: map[string]float64{"delete": 1}}
	one := tracesOf(10, experiment.Phase{Name: "load", Load: true}, deleting, experiment.Phase{Name: "after"})
	for position, want := range []bool{false, false, true} {
		if got := one.deletedBefore(position); got != want {
			t.Errorf("phase %d: %v", position, got)
		}
	}
	if keys := one.recordKeys(&deleting, &trace.File{Operations: []trace.Operation{trace.DeleteQuery}}, 1); keys != nil {
		t.Errorf("keys %v have a history, of which nobody knows what a query deleted", keys)
	}
}
