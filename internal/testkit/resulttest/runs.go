package resulttest

import (
	"math"
	"slices"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/model"
	"assay/internal/testkit/recordtest"
)

func PhaseNamedIn(run *record.Run, name string) *experiment.Phase {
	for i := range run.Experiment.Phases {
		if run.Experiment.Phases[i].Name == name {
			return &run.Experiment.Phases[i]
		}
	}
	panic("no phase " + name)
}

// Runs that never ran, and what may be planted in them.

// RaceOf makes a run of so many blocks with arms of these rates; the first is the baseline.
func RaceOf(blocks int, arms ...recordtest.Arm) *record.Run {
	s := Clean()
	s.Blocks, s.Arms = blocks, nil
	for _, a := range arms {
		a.GetRate, a.Noise, a.DiskFactor, a.RSSBytes = a.PutRate, 0.03, 1, 90e6
		if a.BlockNoise == 0 {
			a.BlockNoise = 0.005
		}
		s.Arms = append(s.Arms, a)
	}
	return Built(s)
}

func Runner(name string, rate float64) recordtest.Arm {
	return recordtest.Arm{Name: name, PutRate: rate}
}

func TableOf(t *testing.T, run *record.Run, phase string) *model.Table {
	t.Helper()
	r := ResultOf(t, run)
	at := slices.IndexFunc(r.Tables, func(t model.Table) bool { return t.Phase == phase })
	if at < 0 {
		t.Fatalf("no table %s", phase)
	}
	return &r.Tables[at]
}

// rowOf returns the row of an arm; nil: it has none.
func RowIn(t *model.Table, arm string) *model.Row {
	at := slices.IndexFunc(t.Rows, func(r model.Row) bool { return r.Arm == arm })
	if at < 0 {
		return nil
	}
	return &t.Rows[at]
}

func MessageCodes(messages []finding.Message) (codes []finding.Code) {
	for _, m := range messages {
		codes = append(codes, m.Code)
	}
	return codes
}

// Pace multiplies the rate of each second of a trial's phase.
func Pace(run *record.Run, t *record.Trial, phase string, factor func(second int) float64) {
	var total uint64
	for i := range run.InMemory[t.Plan.ID] {
		if s := &run.InMemory[t.Plan.ID][i]; s.Phase == phase {
			s.Operations = uint64(float64(s.Operations) * factor(int(math.Round(s.At))-1))
			total += s.Operations
		}
	}
	p := PhaseOf(t, phase)
	p.Operations[0].OK, p.Attempted = total, total
}

func PaceAll(run *record.Run, arm, phase string, factor func(second int) float64) {
	for _, t := range Trials(run, arm) {
		Pace(run, t, phase, factor)
	}
}

func From(second int, left float64) func(int) float64 {
	return func(s int) float64 {
		if s >= second {
			return left
		}
		return 1
	}
}

func Times(factor float64) func(int) float64 { return func(int) float64 { return factor } }

// MarkedBy marks a trial in phase put: by the machine, or by the store.
func MarkedBy(t *record.Trial, m finding.Message) {
	t.State, t.Marks = record.Marked, append(t.Marks, finding.Mark{Message: m, Phase: "put"})
}

func OthersBusy() finding.Message {
	return finding.New(finding.MarkForeignParams{Least: 0.4, Most: 0.4})
}

func LostRecords() finding.Message {
	return finding.New(finding.CountParams{Code: finding.MarkLost, Count: 3, Of: 100})
}

// FixedWork makes put a number of operations, and asks ended how each trial of it ended.
func FixedWork(run *record.Run, ended func(p plan.Trial) record.Ending) {
	PhaseNamedIn(run, "put").Operations = 6_000_000
	for _, p := range run.Plan {
		PhaseOf(run.Trials[p.ID], "put").EndedBy = ended(p)
	}
}

// Growing makes put inserts under a memory limit, with the records that are stored, and the only
// measured phase.
func Growing(run *record.Run) *record.Run {
	run.Experiment.Phases = run.Experiment.Phases[:2]
	PhaseNamedIn(run, "put").Mix = map[string]float64{"insert": 1}
	for _, t := range run.Trials {
		if t.State == record.Refused {
			continue
		}
		t.Phases = t.Phases[:2]
		stored := uint64(0)
		var kept []record.Sample
		for _, s := range run.InMemory[t.Plan.ID] {
			if s.Phase == "put" {
				stored += s.Operations
				at := stored
				s.Records = &at
				kept = append(kept, s)
			}
		}
		run.InMemory[t.Plan.ID] = kept
	}
	return run
}
