package verdict

import (
	"strings"
	"testing"

	"assay/internal/record"
	"assay/internal/record/recordtest"
)

// growing is a run of inserts under a memory limit, of which each trial's peak and hits are set.
func growing(peak func(arm string) (bytes, hits uint64)) *record.Run {
	run := putRun(recordtest.Arm{Name: "a", PutRate: 1e5}, recordtest.Arm{Name: "b", PutRate: 9e4})
	run.Experiment.Phases[1].Mix = map[string]float64{"insert": 1}
	run.Experiment.Cells[0].MemoryLimit = 100e6
	for _, tr := range run.Trials {
		bytes, hits := peak(tr.Plan.Arm)
		tr.Memory = &record.Memory{PeakBytes: &bytes, LimitHits: &hits}
	}
	return run
}

func TestALimitThatWasNeverMetIsNamed(t *testing.T) {
	found := func(bytes, hits uint64) *Finding {
		return find(summarise(t, growing(func(arm string) (uint64, uint64) {
			if arm == "a" {
				return bytes, hits
			}
			return 100e6, 7
		})), FindLimitNotMet)
	}
	if f := found(60e6, 0); f == nil || !strings.HasPrefix(f.Sentence, "1 of 2 stores never came near their memory limit in put at D1") || !strings.Contains(f.Evidence[0], "a: at most 60.0 MB of 100 MB") {
		t.Errorf("%+v", f)
	}
	for _, met := range [][2]uint64{{60e6, 1}, {99e6, 0}} {
		if f := found(met[0], met[1]); f != nil {
			t.Errorf("with a peak of %d and %d hits: %+v", met[0], met[1], f)
		}
	}
	run := growing(func(string) (uint64, uint64) { return 60e6, 0 })
	for _, tr := range run.Trials {
		tr.Memory.LimitHits = nil
	}
	if f := find(summarise(t, run), FindLimitNotMet); f != nil {
		t.Errorf("what was not measured is taken for nothing: %+v", f)
	}
}

// Files that the store compressed fit the memory, though the data would not.
func TestFilesAreHeldToTheMemoryAsTheyAre(t *testing.T) {
	run := growing(func(string) (uint64, uint64) { return 100e6, 7 })
	for _, tr := range run.Trials {
		toMemory, logical, disk := 1.5, uint64(150), uint64(60)
		sizes := &phaseOf(tr, "put").Sizes
		sizes.DataToMemory, sizes.LogicalBytes, sizes.DiskBytes = &toMemory, &logical, &disk
	}
	f := find(summarise(t, run), FindNotOutgrown)
	if f == nil || !strings.Contains(strings.Join(f.Evidence, "\n"), "a: 60 % of the memory") {
		t.Errorf("%+v", f)
	}
}
