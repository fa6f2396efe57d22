package detect_test

import (
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// The clean run has values of 1,000 bytes, of which the better compressor leaves 0.49.
func TestWritesFarBelowTheValuesAreAFinding(t *testing.T) {
	// shares of the values; the latter two are a tenth and a third of what is left of them
	const nothing, tenth, third = 0.0, 0.05, 0.17
	for _, c := range []struct {
		name          string
		disk, written float64 // shares of the values; written below 0: not measured
		alter         func(run *record.Run, trial *record.Trial)
		found         bool
	}{
		{"nothing", nothing, nothing, nil, true},
		{"almost nothing", tenth, tenth, nil, true},
		{"better compressed than by what measured it", third, third, nil, false},
		{"written and not seen", nothing, 1, nil, false},
		{"seen and not written", 1, nothing, nil, false},
		{"writes not measured", nothing, -1, nil, true},
		{"writes not measured, blocks not at once", nothing, -1, func(run *record.Run, _ *record.Trial) { run.Environment.Filesystem = "zfs" }, false},
		{"writes not measured, a mount of its own", nothing, -1, func(run *record.Run, trial *record.Trial) {
			run.Environment.Filesystem, trial.QuotaMount = "zfs", &record.QuotaMount{FileSystem: "ext4"}
		}, true},
		{"class that may lose it", nothing, nothing, func(run *record.Run, _ *record.Trial) { run.Experiment.Cells[0].Durability = store.D0 }, false},
		{"in memory", nothing, nothing, func(run *record.Run, _ *record.Trial) { run.Experiment.Stores[0].Description.Kind = store.Memory }, false},
		{"server", nothing, nothing, func(run *record.Run, _ *record.Trial) { run.Experiment.Stores[0].Description.Kind = store.Server }, false},
		{"within the loss window", nothing, nothing, func(run *record.Run, _ *record.Trial) {
			run.Experiment.Cells[0].Durability, run.Experiment.Cells[0].LossWindow = store.D2, time.Hour
		}, false},
		{"after the loss window", nothing, nothing, func(run *record.Run, _ *record.Trial) {
			run.Experiment.Cells[0].Durability, run.Experiment.Cells[0].LossWindow = store.D2, time.Second
		}, true},
		{"few records", nothing, nothing, func(_ *record.Run, trial *record.Trial) {
			for i := range trial.Phases {
				trial.Phases[i].Sizes.Records, trial.Phases[i].Sizes.LogicalBytes = resulttest.Pointer(uint64(10)),
					resulttest.Pointer(uint64(10*1016))
			}
		}, false},
		{"values of which nothing is left", nothing, nothing, func(run *record.Run, _ *record.Trial) { run.Environment.ValueRatio["zstd"] = 0.0001 }, false},
		{"keys alone", nothing, nothing, func(_ *record.Run, trial *record.Trial) {
			for i := range trial.Phases {
				trial.Phases[i].Sizes.LogicalBytes = resulttest.Pointer(16 * *trial.Phases[i].Sizes.Records)
			}
		}, false},
		{"compressors not tried", nothing, nothing, func(run *record.Run, _ *record.Trial) { run.Environment.ValueRatio = nil }, false},
		{"logical size not known", nothing, nothing, func(_ *record.Run, trial *record.Trial) {
			for i := range trial.Phases {
				trial.Phases[i].Sizes.LogicalBytes = nil
			}
		}, false},
		{"only while loading", nothing, nothing, func(_ *record.Run, trial *record.Trial) {
			for i := range trial.Phases {
				if !trial.Phases[i].Load {
					*trial.Phases[i].Sizes.DiskBytes = 1 << 40
				}
			}
		}, false},
	} {
		run := resulttest.CleanRun()
		for _, trial := range resulttest.Trials(run, "oak") {
			trial.Phases[0].Load = true
			for i := range trial.Phases {
				p := &trial.Phases[i]
				values := float64(*p.Sizes.Records) * 1000
				p.Sizes.DiskBytes, p.Process.HostWriteBytes =
					resulttest.Pointer(uint64(c.disk*values)),
					resulttest.Pointer(uint64(c.written*values)/uint64(len(trial.Phases)))
				if c.written < 0 {
					p.Process.HostWriteBytes = nil
				}
			}
			if c.alter != nil {
				c.alter(run, trial)
			}
		}
		f := resulttest.Find(resulttest.ResultOf(t, run), finding.NotOnDisk)
		if (f != nil) != c.found {
			t.Errorf("%s: %+v, want it found: %v", c.name, f, c.found)
		}
		if f != nil && (f.Severity != finding.Grave || f.Where.Arm != "oak" || len(f.Evidence) == 0) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
