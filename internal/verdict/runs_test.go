package verdict_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"assay/internal/finding"
	"assay/internal/model"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/record/recordtest"
	"assay/internal/spec"
	"assay/internal/verdict"
	"assay/store"
)

// Runs that never ran, and what may be planted in them.

// clean is a run without anything to find: one class, quiet arms that lie far apart.
func clean() recordtest.Shape {
	return recordtest.Shape{
		Name: "clean", Classes: []store.Durability{store.D1}, Blocks: 5, Seconds: 60, Seed: 7, AA: true, Ceiling: true,
		Arms: []recordtest.Arm{
			{Name: "oak", PutRate: 200e3, GetRate: 300e3, Noise: 0.03, BlockNoise: 0.005, WarmupSeconds: 5, DiskFactor: 1, RSSBytes: 90e6, AllocBytes: 48, Allocs: 1},
			{Name: "elm", PutRate: 100e3, GetRate: 150e3, Noise: 0.03, BlockNoise: 0.005, DiskFactor: 2, RSSBytes: 90e6},
			{Name: "ash", PutRate: 100.5e3, GetRate: 50e3, Noise: 0.03, BlockNoise: 0.005, DiskFactor: 1, RSSBytes: 90e6},
		},
	}
}

// built makes a run whose data outgrows the memory limit, so that reads are not all of memory.
func built(s recordtest.Shape) *record.Run {
	run := recordtest.Run(s)
	for i := range run.Experiment.Cells {
		run.Experiment.Cells[i].MemoryLimit = 200e6
	}
	return run
}

func cleanRun() *record.Run { return built(clean()) }

// raceOf makes a run of so many blocks with arms of these rates; the first is the baseline.
func raceOf(blocks int, arms ...recordtest.Arm) *record.Run {
	s := clean()
	s.Blocks, s.Arms = blocks, nil
	for _, a := range arms {
		a.GetRate, a.Noise, a.DiskFactor, a.RSSBytes = a.PutRate, 0.03, 1, 90e6
		if a.BlockNoise == 0 {
			a.BlockNoise = 0.005
		}
		s.Arms = append(s.Arms, a)
	}
	return built(s)
}

func runner(name string, rate float64) recordtest.Arm {
	return recordtest.Arm{Name: name, PutRate: rate}
}

// resultOf makes the result, which must be JSON: without NaN and infinity.
func resultOf(t *testing.T, runs ...*record.Run) *model.Result {
	t.Helper()
	r, err := verdict.Result(runs...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	return r
}

func tableOf(t *testing.T, run *record.Run, phase string) *model.Table {
	t.Helper()
	r := resultOf(t, run)
	at := slices.IndexFunc(r.Tables, func(t model.Table) bool { return t.Phase == phase })
	if at < 0 {
		t.Fatalf("no table %s", phase)
	}
	return &r.Tables[at]
}

// rowOf returns the row of an arm; nil: it has none.
func rowOf(t *model.Table, arm string) *model.Row {
	at := slices.IndexFunc(t.Rows, func(r model.Row) bool { return r.Arm == arm })
	if at < 0 {
		return nil
	}
	return &t.Rows[at]
}

func codesOf(messages []finding.Message) (codes []finding.Code) {
	for _, m := range messages {
		codes = append(codes, m.Code)
	}
	return codes
}

func trialsOf(run *record.Run, arm string) (all []*record.Trial) {
	for _, p := range run.Plan {
		if t := run.Trials[p.ID]; t != nil && p.Arm == arm {
			all = append(all, t)
		}
	}
	return all
}

func phaseOf(t *record.Trial, name string) *record.Phase {
	at := slices.IndexFunc(t.Phases, func(p record.Phase) bool { return p.Name == name })
	return &t.Phases[at]
}

func specOf(run *record.Run, name string) *spec.Phase {
	at := slices.IndexFunc(run.Experiment.Phases, func(p spec.Phase) bool { return p.Name == name })
	return &run.Experiment.Phases[at]
}

// pace multiplies the rate of each second of a trial's phase.
func pace(run *record.Run, t *record.Trial, phase string, factor func(second int) float64) {
	var total uint64
	for i := range run.Series[t.Plan.ID] {
		if s := &run.Series[t.Plan.ID][i]; s.Phase == phase {
			s.Operations = uint64(float64(s.Operations) * factor(int(math.Round(s.At))-1))
			total += s.Operations
		}
	}
	p := phaseOf(t, phase)
	p.Operations[0].OK, p.Attempted = total, total
}

func paceAll(run *record.Run, arm, phase string, factor func(second int) float64) {
	for _, t := range trialsOf(run, arm) {
		pace(run, t, phase, factor)
	}
}

func from(second int, left float64) func(int) float64 {
	return func(s int) float64 {
		if s >= second {
			return left
		}
		return 1
	}
}

func times(factor float64) func(int) float64 { return func(int) float64 { return factor } }

// markedBy marks a trial in phase put: by the machine, or by the store.
func markedBy(t *record.Trial, m finding.Message) {
	t.State, t.Marks = record.Marked, append(t.Marks, finding.Mark{Message: m, Phase: "put"})
}

func othersBusy() finding.Message {
	return finding.New(finding.MarkForeign, "least", 0.4, "most", 0.4)
}
func lostRecords() finding.Message { return finding.New(finding.MarkLost, "count", 3, "of", 100) }

// fixedWork makes put a number of operations, which trials end as is told.
func fixedWork(run *record.Run, ended func(p plan.Trial) record.Ending) {
	specOf(run, "put").Operations = 6_000_000
	for _, p := range run.Plan {
		phaseOf(run.Trials[p.ID], "put").EndedBy = ended(p)
	}
}

// growing makes put inserts under a memory limit, with the records that are stored, and the only
// measured phase.
func growing(run *record.Run) *record.Run {
	run.Experiment.Phases = run.Experiment.Phases[:2]
	specOf(run, "put").Mix = map[string]float64{"insert": 1}
	for _, t := range run.Trials {
		if t.State == record.Refused {
			continue
		}
		t.Phases = t.Phases[:2]
		stored := uint64(0)
		var kept []record.Sample
		for _, s := range run.Series[t.Plan.ID] {
			if s.Phase == "put" {
				stored += s.Operations
				at := stored
				s.Records = &at
				kept = append(kept, s)
			}
		}
		run.Series[t.Plan.ID] = kept
	}
	return run
}
