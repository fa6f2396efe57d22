package detect_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/presentation/model"
	"assay/internal/testkit/resulttest"
)

// withGroups makes groups of the phase put: insert does all that put did, and count runs beside it
// for some seconds.
func withGroups(run *record.Run, fromS, toS float64) *record.Run {
	at := slices.IndexFunc(run.Experiment.Phases, func(p experiment.Phase) bool { return p.Name == "put" })
	put := &run.Experiment.Phases[at]
	insert := *put
	insert.Name, insert.Optional = "insert", false
	count := experiment.Phase{Name: "count", Mix: map[string]float64{"read": 1}, Threads: 1, Operations: 6, From: time.Duration(fromS * 1e9)}
	put.Groups, put.Mix = []experiment.Phase{insert, count}, nil
	for _, t := range run.Trials {
		p := resulttest.PhaseOf(t, "put")
		alone, beside := *p, record.Phase{Name: "put · count", Threads: 1, Attempted: 6, EndedBy: record.EndedOperations,
			BeganNS: int64(fromS * 1e9), ElapsedNS: int64((toS - fromS) * 1e9), Operations: []record.Operation{{Name: "read", OK: 6}}}
		alone.Name = "put · insert"
		p.Groups = []record.Phase{alone, beside}
		p.Attempted += 6
		p.Operations = append(slices.Clone(p.Operations), beside.Operations...)
		samples := run.InMemory[t.Plan.ID]
		for i := range samples {
			if s := &samples[i]; s.Phase == "put" {
				counted := record.GroupSample{}
				if s.At > fromS && s.At <= toS {
					counted.Operations = 1
				}
				s.Groups = []record.GroupSample{{Operations: s.Operations, Bad: s.Bad}, counted}
				s.Operations += counted.Operations
			}
		}
	}
	return run
}

func TestInterferenceOfGroups(t *testing.T) {
	slow := func(run *record.Run, from, to int, factor float64) {
		for _, trial := range resulttest.Trials(run, "elm") {
			resulttest.Scale(run, trial, "put", from, to, factor)
		}
	}
	for _, c := range []struct {
		name     string
		change   func(run *record.Run)
		from, to float64
		code     finding.Code // "": nothing is found of elm
		params   finding.Params
	}{
		{"nothing", func(*record.Run) {}, 20, 26, "", nil},
		{"a count that locks", func(run *record.Run) { slow(run, 20, 26, 0.07) }, 20, 26, finding.GroupEffect,
			finding.Params{"arm": "elm", "group": "insert", "other": "count", "fell": true, "change": 0.93, "seconds": 6, "place": "put (D1)"}},
		{"a standstill", func(run *record.Run) { slow(run, 20, 26, 0) }, 20, 26, finding.GroupEffect, finding.Params{"change": 1}},
		{"twice as fast", func(run *record.Run) { slow(run, 20, 26, 2) }, 20, 26, finding.GroupEffect, finding.Params{"fell": false, "change": 1}},
		{"a cliff when it begins", func(run *record.Run) { slow(run, 20, 60, 0.3) }, 20, 26, "", nil},
		{"a decline that goes on", func(run *record.Run) {
			for s := range 60 {
				slow(run, s, s+1, math.Exp(-0.03*float64(s)))
			}
		}, 20, 26, "", nil},
		{"a dip at another time", func(run *record.Run) { slow(run, 40, 46, 0.07) }, 20, 26, "", nil},
		{"in one block of five", func(run *record.Run) { resulttest.Scale(run, resulttest.Trials(run, "elm")[0], "put", 20, 26, 0.5) }, 20, 26, "", nil},
		{"it ran for two samples", func(run *record.Run) { slow(run, 20, 22, 0.07) }, 20, 22, finding.NoEffect, finding.Params{"seconds": 2, "sample_s": 1}},
		{"it ran to the end", func(run *record.Run) { slow(run, 20, 60, 0.07) }, 20, 60, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := resulttest.CleanRun()
			c.change(run)
			r := resulttest.ResultOf(t, withGroups(run, c.from, c.to))
			var got *finding.Finding
			for i, f := range r.Findings {
				if f.Where.Arm == "elm" && (f.Code == finding.GroupEffect || f.Code == finding.NoEffect) {
					got = &r.Findings[i]
				}
				if f.Code == finding.GroupEffect && f.Where.Arm != "elm" {
					t.Errorf("told of %s: %v", f.Where.Arm, f.Params)
				}
			}
			if (got == nil) != (c.code == "") || got != nil && got.Code != c.code {
				t.Fatalf("%+v, want %q", got, c.code)
			}
			for name, want := range c.params {
				if number, is := want.(float64); is || name == "change" {
					if !is {
						number = float64(want.(int))
					}
					if math.Abs(got.Number(name)-number) > 0.03 {
						t.Errorf("%s is %v, want %v", name, got.Params[name], want)
					}
				} else if whole, is := want.(int); is {
					if math.Abs(got.Number(name)-float64(whole)) > 0.01 {
						t.Errorf("%s is %v, want %v", name, got.Params[name], want)
					}
				} else if got.Params[name] != want {
					t.Errorf("%s is %v, want %v", name, got.Params[name], want)
				}
			}
			for _, f := range r.Findings {
				of := f.Code == finding.RateDrops || f.Code == finding.RateStep || f.Code == finding.RateOscillates
				if f.Where.Arm == "elm" && of && (f.Cause == finding.GroupEffect) != (c.code == finding.GroupEffect) {
					t.Errorf("%s: cause %q: %s", f.Code, f.Cause, finding.Text(f.Message))
				}
			}
			if c.code == finding.GroupEffect && !slices.ContainsFunc(r.Summary.Answer,
				func(m finding.Message) bool { return m.Code == c.code }) {
				t.Error("the one screen does not tell of it")
			}
		})
	}
}

// A third group that comes and goes is no effect of the second.
func TestThirdGroupIsNotBlamedOnAnother(t *testing.T) {
	run := resulttest.CleanRun()
	for _, trial := range resulttest.Trials(run, "elm") {
		resulttest.Scale(run, trial, "put", 30, 36, 0.1)
	}
	withGroups(run, 20, 26)
	at := slices.IndexFunc(run.Experiment.Phases, func(p experiment.Phase) bool { return p.Name == "put" })
	third := run.Experiment.Phases[at].Groups[1]
	third.Name = "scan"
	run.Experiment.Phases[at].Groups = append(run.Experiment.Phases[at].Groups, third)
	for _, trial := range run.Trials {
		p := resulttest.PhaseOf(trial, "put")
		scan := p.Groups[1]
		scan.Name, scan.BeganNS = "put · scan", 30e9
		p.Groups = append(p.Groups, scan)
		for i := range run.InMemory[trial.Plan.ID] {
			if s := &run.InMemory[trial.Plan.ID][i]; s.Phase == "put" {
				s.Groups = append(s.Groups, record.GroupSample{})
			}
		}
	}
	var others []any
	for _, f := range resulttest.ResultOf(t, run).Findings {
		if f.Code == finding.GroupEffect {
			others = append(others, f.Params["other"])
		}
	}
	if !slices.Equal(others, []any{"scan"}) {
		t.Errorf("blamed: %v, want scan alone", others)
	}
}

func TestEachGroupHasATable(t *testing.T) {
	run := withGroups(resulttest.CleanRun(), 20, 26)
	r := resulttest.ResultOf(t, run)
	var phases []string
	for _, table := range r.Tables {
		phases = append(phases, table.Phase)
	}
	if !slices.Equal(phases, []string{"put · insert", "put · count", "get"}) {
		t.Fatalf("tables of %q", phases)
	}
	row := resulttest.RowOf(t, r, "put · insert", "oak")
	if row.Rate == nil || math.Abs(row.Rate.Value-200e3) > 10e3 || row.Attempted == 0 {
		t.Errorf("insert: %+v", row)
	}
	alone := resulttest.RowOf(t, resulttest.ResultOf(t, resulttest.CleanRun()), "put", "oak")
	if alone.Rate.Value != row.Rate.Value {
		t.Errorf("%v alone, %v as a group", alone.Rate.Value, row.Rate.Value)
	}
	if count := resulttest.RowOf(t, r, "put · count", "oak"); count.Rate == nil || count.Rate.Value != 1 || count.CPUNS != nil {
		t.Errorf("count: %+v", count)
	}
	for _, table := range r.Tables {
		for _, s := range table.Series {
			var want []model.Clients
			switch {
			case !s.Median:
			case table.Phase == "put · insert":
				want = []model.Clients{{Name: "count", Phase: "put · count", From: 20, Until: 26}}
			case table.Phase == "put · count":
				want = []model.Clients{{Name: "insert", Phase: "put · insert", From: 0, Until: 60}}
			}
			if !slices.Equal(s.Groups, want) {
				t.Fatalf("%s of %s has %+v beside it, expected %+v", table.Phase, s.Arm, s.Groups, want)
			}
		}
	}
	for _, trial := range r.Trials {
		var names []string
		for _, p := range trial.Phases {
			names = append(names, p.Name)
		}
		if !slices.Contains(names, "put · insert") || slices.Contains(names, "put") {
			t.Fatalf("phases of %s: %q", trial.ID, names)
		}
	}
	if again := run.ByGroup().ByGroup(); len(again.Experiment.Phases) != len(run.ByGroup().Experiment.Phases) {
		t.Error("a run by group changes when it is parted again")
	}
	if same := resulttest.CleanRun(); same.ByGroup() != same {
		t.Error("a run without groups is copied")
	}
}
