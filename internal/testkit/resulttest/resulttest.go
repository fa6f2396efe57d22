package resulttest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/model"
	"assay/internal/presentation/tell"
	"assay/internal/presentation/text"
	"assay/internal/testkit/recordtest"
	"assay/store"
)

func ScreenOf(t *testing.T, r *model.Result) string {
	t.Helper()
	var out bytes.Buffer
	if err := text.Screen(&out, r, text.Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines > text.LinesMax {
		t.Errorf("%d lines", lines)
	}
	return out.String()
}

// Clean is a run without anything to find: one class, quiet arms that lie far apart, data that
// outgrows its memory limit.
func Clean() recordtest.Shape {
	return recordtest.Shape{
		Name: "clean", Classes: []store.Durability{store.D1}, Blocks: 5, Seconds: 60, Seed: 7, AA: true, Ceiling: true,
		Arms: []recordtest.Arm{
			{Name: "oak", PutRate: 200e3, GetRate: 300e3, Noise: 0.03, BlockNoise: 0.005, WarmupSeconds: 5, DiskFactor: 1, RSSBytes: 90e6, AllocBytes: 48, Allocs: 1},
			{Name: "elm", PutRate: 100e3, GetRate: 150e3, Noise: 0.03, BlockNoise: 0.005, DiskFactor: 2, RSSBytes: 90e6},
			{Name: "ash", PutRate: 100.5e3, GetRate: 50e3, Noise: 0.03, BlockNoise: 0.005, DiskFactor: 1, RSSBytes: 90e6},
		},
	}
}

func CleanRun() *record.Run { return Built(Clean()) }

// Built makes a run whose data outgrows the memory limit, so that reads are not all of memory.
func Built(s recordtest.Shape) *record.Run {
	run := recordtest.Run(s)
	for i := range run.Experiment.Cells {
		run.Experiment.Cells[i].MemoryLimit = 200e6
	}
	return run
}

// ResultOf reports a run. Its JSON must be writable: it has no NaN and no infinity.
func ResultOf(t *testing.T, runs ...*record.Run) *model.Result {
	t.Helper()
	r, err := tell.Result(runs...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	return r
}

// CodesOf returns the codes of findings, sorted, each once.
func CodesOf(r *model.Result) (codes []finding.Code) {
	for _, f := range r.Findings {
		codes = append(codes, f.Code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// Find returns the first finding of a code.
func Find(r *model.Result, code finding.Code) *finding.Finding {
	for i := range r.Findings {
		if r.Findings[i].Code == code {
			return &r.Findings[i]
		}
	}
	return nil
}

// RowOf returns an arm's row in the first table of a phase. Nil: it has no figures there.
func RowOf(t *testing.T, r *model.Result, phase, arm string) *model.Row {
	t.Helper()
	found := false
	for i := range r.Tables {
		if r.Tables[i].Phase != phase {
			continue
		}
		found = true
		for j := range r.Tables[i].Rows {
			if r.Tables[i].Rows[j].Arm == arm {
				return &r.Tables[i].Rows[j]
			}
		}
	}
	if !found {
		t.Fatalf("no table of %s", phase)
	}
	return nil
}

func Pointer[T any](v T) *T { return &v }

// Trials returns the trials of an arm, in the order of the plan.
func Trials(run *record.Run, arm string) (all []*record.Trial) {
	for _, p := range run.Plan {
		if p.Arm == arm {
			all = append(all, run.Trials[p.ID])
		}
	}
	return all
}

func PhaseOf(t *record.Trial, name string) *record.Phase {
	for i := range t.Phases {
		if t.Phases[i].Name == name {
			return &t.Phases[i]
		}
	}
	panic("no phase " + name)
}

// Scale multiplies the rate of the samples of a trial's phase from second `from` to `to`, and its
// totals in proportion.
func Scale(run *record.Run, t *record.Trial, phase string, from, to int, factor float64) {
	samples := run.InMemory[t.Plan.ID]
	var after uint64
	second := 0
	for i := range samples {
		if samples[i].Phase != phase {
			continue
		}
		if second >= from && second < to {
			samples[i].Operations = uint64(float64(samples[i].Operations) * factor)
		}
		after += samples[i].Operations
		second++
	}
	p := PhaseOf(t, phase)
	p.Operations[0].OK = after
	p.Attempted = after
}

// Slow multiplies all rates of an arm.
func Slow(run *record.Run, arm string, factor float64) {
	for _, e := range Trials(run, arm) {
		for _, phase := range []string{"put", "get"} {
			Scale(run, e, phase, 0, 60, factor)
		}
	}
}

func Drop(run *record.Run, arm string) {
	run.Plan = slices.DeleteFunc(run.Plan, func(p plan.Trial) bool { return p.Arm == arm })
}

// Shorten leaves the last so many seconds of the measured phases: the warm-up goes.
func Shorten(run *record.Run, t *record.Trial, seconds int) {
	var kept []record.Sample
	for _, s := range run.InMemory[t.Plan.ID] {
		if s.At > float64(60-seconds) {
			s.At -= float64(60 - seconds)
			kept = append(kept, s)
		}
	}
	run.InMemory[t.Plan.ID] = kept
	for i := range t.Phases {
		t.Phases[i].ElapsedNS = int64(seconds) * 1e9
	}
}
