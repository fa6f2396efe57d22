package run

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/store"
)

func tracesOf(records uint64, phases ...experiment.Phase) *traces {
	e := &experiment.Experiment{Phases: phases, Verify: true}
	cell := experiment.Cell{Records: records, Threads: 2}
	return &traces{content: &content{experiment: e, cell: cell}, past: new(past), seed: 1, entries: 64,
		stopped: func() error { return nil }}
}

// A load goes in batches where the store has them, and in no larger ones than it takes.
func TestLoadGoesInTheBatchesThatTheStoreHas(t *testing.T) {
	t.Parallel()
	load := experiment.Phase{Name: "load", Load: true, Threads: 2, Batch: 100}
	for _, c := range []struct {
		batches    bool
		most, want int
	}{{false, 0, 0}, {true, 0, 100}, {true, 30, 30}} {
		one := tracesOf(10, load)
		one.batches, one.store.Description = c.batches, store.Description{BatchMax: c.most,
			Abilities: store.Abilities{Batch: c.batches}}
		s, err := one.spec(&load, false)
		if err != nil || s.Batch != c.want || !s.Load {
			t.Errorf("batches %v, at most %d: %d, %v", c.batches, c.most, s.Batch, err)
		}
	}
}

// Arms of a cell have the same seed and do the same; another phase of the trial does something else.
func TestSameSeedMakesTheSameTrace(t *testing.T) {
	t.Parallel()
	p := experiment.Phase{Name: "mixed", Mix: map[string]float64{"read": 1, "update": 1}, Operations: 64, Order: experiment.Order{Distribution: "uniform"}}
	digest := func(position int) string {
		made, err := tracesOf(1000, p, p).make(&p, place{position: position, number: position + 1})
		if err != nil {
			t.Fatal(err)
		}
		return made.file.Digest(0, len(made.file.Threads))
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
	if _, err := one.make(&p, place{number: 1}); !errors.Is(err, stopped) {
		t.Errorf("%v", err)
	}
}

// Records that a phase, or another group of it, may have deleted are not owed to a later phase.
func TestTraceKnowsEarlierDeletes(t *testing.T) {
	t.Parallel()
	deleting := experiment.Phase{Name: "delete", Mix: map[string]float64{"delete": 1}}
	one := tracesOf(10, experiment.Phase{Name: "load", Load: true}, deleting, experiment.Phase{Name: "after"})
	for position, want := range []bool{false, false, true} {
		if got := one.deletedBefore(position); got != want {
			t.Errorf("phase %d: %v", position, got)
		}
	}
	if keys := one.recordKeys(&deleting, &trace.File{Operations: []trace.Operation{trace.DeleteQuery}},
		1); keys != nil {
		t.Errorf("keys %v have a history, though a query may have deleted them", keys)
	}
}

// Arms that do the same have one trace, whose file stays when a phase has closed its own, and which no
// worker can change. Another block has others.
func TestArmsOfABlockShareTheirTraces(t *testing.T) {
	t.Parallel()
	phaseOf := func(operation string, operations uint64) experiment.Phase {
		return experiment.Phase{Name: "x", Mix: map[string]float64{operation: 1}, Operations: operations,
			Order: experiment.Order{Distribution: "uniform"}}
	}
	reads, inserts := phaseOf("read", 64), phaseOf("insert", 64)
	kept := &keptTraces{}
	t.Cleanup(kept.forget)
	arm := func(block int, p experiment.Phase, seed, fresh uint64) phaseTrace {
		t.Helper()
		one := tracesOf(1000, p)
		one.cell.ValueBytes, one.seed, one.past.fresh, one.kept = 100, seed, fresh, kept.of(block)
		made, err := one.make(&p, place{number: 1})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	first := arm(1, reads, 1, 0)
	for name, c := range map[string]struct {
		of     phaseTrace
		shares bool
	}{
		"another arm":                        {arm(1, reads, 1, 0), true},
		"an arm that inserted more before":   {arm(1, reads, 1, 5000), true},
		"another cell":                       {arm(1, reads, 2, 0), false},
		"inserts":                            {arm(1, inserts, 1, 0), false},
		"inserts that begin somewhere else":  {arm(1, inserts, 1, 5000), false},
		"a phase of the same seed and order": {arm(1, phaseOf("read", 65), 1, 0), false},
	} {
		if got := c.of.file == first.file; got != c.shares {
			t.Errorf("%s: it shares the trace: %v", name, got)
		}
	}
	if a, b := arm(1, inserts, 1, 5000), arm(1, inserts, 1, 6000); a.file == b.file {
		t.Error("inserts that begin at different indexes have one trace")
	}
	files, err := mapFiles(first, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Unmap() })
	worker, err := os.OpenFile(files.Trace.Name(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	if _, err := worker.WriteAt([]byte{1}, 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("a worker wrote into the trace: %v", err)
	}
	files.Forget()
	again, err := mapFiles(arm(1, reads, 1, 0), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Forget()
	t.Cleanup(func() { _ = again.Unmap() })
	read, unmap, err := trace.Map(again.Trace.Name())
	if err != nil {
		t.Fatal(err)
	}
	if read.Digest(0, len(read.Threads)) != first.file.Digest(0, len(first.file.Threads)) {
		t.Error("the file of the second arm is another")
	}
	if err := unmap(); err != nil {
		t.Fatal(err)
	}
	if arm(2, reads, 1, 0).file == first.file {
		t.Error("another block has the trace of the first")
	}
	kept.most = kept.bytes
	if made := arm(2, reads, 3, 0); made.written != nil || arm(2, reads, 3, 0).file == made.file {
		t.Error("a trace is kept for which there is no room")
	}
}
