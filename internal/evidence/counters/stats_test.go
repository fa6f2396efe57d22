package counters

import (
	"math"
	"path/filepath"
	"testing"

	"assay/internal/experiment/trace"
)

// The store's own counters stand in the header: they change neither the file's size nor what a
// worker that knows nothing of them sees.
func TestStatsAreInTheHeader(t *testing.T) {
	operations := &trace.File{Operations: []trace.Operation{trace.Read},
		Threads: []trace.Thread{{Entries: []trace.Entry{trace.MakeEntry(trace.Read, 0, 0, false)}}}}
	name := filepath.Join(t.TempDir(), "counters")
	conductor, err := Create(name, operations)
	if err != nil {
		t.Fatal(err)
	}
	defer conductor.Unmap()
	worker, err := Open(name, operations)
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Unmap()
	if rounds, values := conductor.Stats(2); rounds != 0 || len(values) != 2 || values[0] != 0 {
		t.Errorf("before: %d, %v", rounds, values)
	}
	tooMany := make([]float64, StatsMax+50)
	for i := range tooMany {
		tooMany[i] = float64(i) + 0.5
	}
	tooMany[1] = math.NaN()
	worker.Thread(0).Attempted = 7
	worker.SetStats(tooMany)
	rounds, values := conductor.Stats(len(tooMany))
	if rounds != 1 || len(values) != StatsMax || values[0] != 0.5 || !math.IsNaN(values[1]) ||
		values[StatsMax-1] != StatsMax-0.5 {
		t.Errorf("after: %d, %v", rounds, values)
	}
	if conductor.Thread(0).Attempted != 7 || conductor.State() != NotBegun {
		t.Error("other words were written over")
	}
	// docs/worker-contract.md, section 3.1.
	if wordRounds*8 != 3064 || wordStats*8 != 3072 || StatsMax != 128 {
		t.Error("the places are not those of the contract")
	}
}
