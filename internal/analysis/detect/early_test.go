package detect_test

import (
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/resulttest"
)

func TestWorkedBefore(t *testing.T) {
	// before lets each arm use so many seconds of CPU time between prepare and run; during is the phase's.
	before := func(during float64, by map[string]float64) func(run *record.Run) {
		return func(run *record.Run) {
			for _, planned := range run.Plan {
				for i := range run.Trials[planned.ID].Phases {
					p := &run.Trials[planned.ID].Phases[i].Process
					seconds, whole := by[planned.Arm], during
					p.CPUSecondsBefore, p.CPUSeconds = &seconds, &whole
				}
			}
		}
	}
	found := []finding.Code{finding.WorkedBefore}
	expect(t, resulttest.CleanRun, []planted{
		{"a third of the work", before(3, map[string]float64{"elm": 1.5}), found, finding.Params{"arm": "elm", "before_s": 1.5, "during_s": 3.0}},
		{"as all do", before(3, map[string]float64{"elm": 1.5, "oak": 1.4, "oak (A/A)": 1.4, "fir": 1.6, "null": 1.5}), nil, nil},
		{"a compaction meanwhile", before(3, map[string]float64{"elm": 0.15}), nil, nil},
		{"little beside a long phase", before(30, map[string]float64{"elm": 1.5}), nil, nil},
		{"a short phase, whose preparing takes as long", before(0.05, map[string]float64{"elm": 0.1}), nil, nil},
	})
}
