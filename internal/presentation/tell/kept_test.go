package tell

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
	"assay/internal/testkit/recordtest"
	"assay/store"
)

// A report of a thousand trials must fit into a small machine. What is kept of a trial does not grow
// with the figures of its samples: those are read where they are needed, and released.
func TestKeptTrialDoesNotGrowWithItsFigures(t *testing.T) {
	made := recordtest.Run(recordtest.Shape{Name: "kept", Classes: []store.Durability{store.D1}, Blocks: 20, Seconds: 30, Seed: 1, AA: true,
		Arms: []recordtest.Arm{{Name: "a", PutRate: 1e5, GetRate: 2e5, Noise: 0.05}, {Name: "b", PutRate: 2e5, GetRate: 1e5, Noise: 0.05}}})
	figures := map[string]float64{}
	for i := range 40 {
		figures[fmt.Sprintf("machine.figure_%d", i)] = 1.5 * float64(i)
	}
	directory := filepath.Join(t.TempDir(), "run")
	w, err := record.Create(directory, made.Source, &made.Experiment, made.Plan, made.Environment)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range made.Plan {
		trial, err := w.TrialStarted(p.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range made.InMemory[p.ID] {
			s.Resources, s.ByName = record.ValuesOf(figures), map[string]uint64{"read": s.Operations / 2, "update": s.Operations / 2}
			if err := trial.Sample(s); err != nil {
				t.Fatal(err)
			}
		}
		result := made.Trials[p.ID]
		for i := range result.Phases {
			for k := range result.Phases[i].Operations {
				result.Phases[i].Operations[k].Service = latencies()
			}
		}
		if err := trial.End(result); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	before := heap()
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Result(run)
	if err != nil {
		t.Fatal(err)
	}
	each := (heap() - before) / uint64(len(run.Plan))
	t.Logf("a trial keeps %d bytes", each)
	if most := uint64(30 << 10); each > most { // with its samples it kept 110 kB
		t.Errorf("a trial keeps %d bytes, more than %d", each, most)
	}
	if len(r.Tables) == 0 || len(run.Samples(run.Plan[0].ID, "put")) == 0 {
		t.Error("no table, or no sample was read again")
	}
	runtime.KeepAlive(run)
	runtime.KeepAlive(made)
}

// latencies fall into 300 buckets.
func latencies() *histogram.Histogram {
	h := histogram.New()
	for i := range 300 {
		h.Record(uint64(1000 * (i + 1)))
	}
	return h
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
