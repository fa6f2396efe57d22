package detect_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/analysis/detect"
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/trace"
	"assay/internal/presentation/model"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// doing makes the phase get of the clean run one of another operation, each arm with what told sets
// for it.
func doingIn(operation string, tell func(arm string, o *record.Operation)) *record.Run {
	run := resulttest.CleanRun()
	for i := range run.Experiment.Phases {
		if p := &run.Experiment.Phases[i]; p.Name == "get" {
			p.Mix, p.Scan, p.Asked = map[string]float64{operation: 1}, experiment.Scan{Min: 1, Max: 100},
				[]experiment.AskedQuery{{Operation: operation, Weight: 1}}
			run.Experiment.Values.Queries = []keyval.Query{{Limit: 20}}
		}
	}
	for _, planned := range run.Plan {
		o := &resulttest.PhaseOf(run.Trials[planned.ID], "get").Operations[0]
		o.Name = operation
		tell(planned.Arm, o)
	}
	return run
}

func missing(o *record.Operation, share float64) {
	o.Miss = uint64(share * float64(o.OK))
	o.OK -= o.Miss
}

// One driver reports a delete of nothing as a miss, another as a delete. Neither store is accused: the
// finding says that both ran out of records. A few that found nothing change no rate.
func TestRanOutOfRecords(t *testing.T) {
	for share, want := range map[float64]int{0.97: 3, 0.06: 3, 0.04: 0} {
		run := doingIn("delete", func(arm string, o *record.Operation) {
			vain := uint64(share * float64(o.OK))
			o.Vain = &vain
			if arm == "elm" {
				missing(o, share)
			}
		})
		result := resulttest.ResultOf(t, run)
		told := 0
		for _, f := range result.Findings {
			switch f.Code {
			case finding.RanOut:
				told++
			case finding.LessWork, finding.WorkIncomparable:
				t.Errorf("%.0f %% without success: %s", 100*share, finding.Text(f.Message))
			}
		}
		if told != want {
			t.Errorf("%.0f %% without success: told of %d arms, expected %d", 100*share, told, want)
		}
	}
}

// A mix that puts as much as it deletes has its share of operations that find nothing, in every arm.
func TestMixThatPutsAgainDoesNotRunOut(t *testing.T) {
	run := doingIn("read", func(_ string, o *record.Operation) {
		vain := o.OK / 5
		o.Vain = &vain
	})
	for _, f := range resulttest.ResultOf(t, run).Findings {
		if f.Code == finding.RanOut || f.Code == finding.LessWork {
			t.Errorf("told of: %s", finding.Text(f.Message))
		}
	}
}

func TestLessWorkHasNoRank(t *testing.T) {
	for _, c := range []struct {
		name      string
		operation string
		tell      func(arm string, o *record.Operation)
		change    func(run *record.Run)
		code      finding.Code // "": nothing is found
		arms      []string
		seen      finding.Code // of the evidence
		because   string
	}{
		{"empty scans, what is owed is known", "scan", func(arm string, o *record.Operation) {
			o.Items, o.ItemsOwed = 50*o.OK, resulttest.Pointer(50*o.OK)
			if arm == "elm" {
				o.Items = 0
			}
		}, nil, finding.LessWork, []string{"elm"}, finding.SeenItemsOwed, ""},
		{"all scan less than is owed", "scan", func(_ string, o *record.Operation) { o.Items, o.ItemsOwed = o.OK, resulttest.Pointer(50*o.OK) },
			nil, finding.LessWork, []string{"ash", "elm", "oak"}, finding.SeenItemsOwed, ""},
		{"scans of one record, nothing is known", "scan", func(arm string, o *record.Operation) {
			o.Items = 50 * o.OK
			if arm == "elm" {
				o.Items = o.OK
			}
		}, nil, finding.LessWork, []string{"elm"}, finding.SeenItems, ""},
		{"queries of one record", "query", func(arm string, o *record.Operation) {
			o.Items = 20 * o.OK
			if arm == "elm" {
				o.Items = o.OK
			}
		}, nil, finding.LessWork, []string{"elm"}, finding.SeenItems, ""},
		{"counts that are always 1", "count", func(arm string, o *record.Operation) {
			o.Items, o.ItemsOwed = 55*o.OK, resulttest.Pointer(55*o.OK)
			if arm == "elm" {
				o.Items = o.OK
			}
		}, nil, finding.LessWork, []string{"elm"}, finding.SeenItemsOwed, ""},
		{"scans while data grows", "scan", func(arm string, o *record.Operation) {
			o.Items = 50 * o.OK
			if arm == "elm" {
				o.Items = o.OK
			}
		}, func(run *record.Run) { resulttest.PhaseNamedIn(run, "get").Mix["insert"] = 1 }, finding.LessWork, []string{"elm"}, finding.SeenItems, ""},
		{"scans while data grows and nothing was loaded", "scan", func(arm string, o *record.Operation) {
			o.Items = 85 * o.OK
			if arm == "elm" {
				o.Items = 72 * o.OK
			}
		}, func(run *record.Run) {
			resulttest.PhaseNamedIn(run, "get").Mix["insert"] = 1
			run.Experiment.Phases[0].Load = false
		}, finding.WorkIncomparable, []string{"elm"}, finding.SeenItems, detect.BecauseGrows},
		{"scans that are long for what was loaded, while data grows", "scan", func(arm string, o *record.Operation) {
			o.Items = 50 * o.OK
			if arm == "elm" {
				o.Items = 45 * o.OK
			}
		}, func(run *record.Run) {
			resulttest.PhaseNamedIn(run, "get").Mix["insert"] = 1
			run.Experiment.Cells[0].Records = 2000
		}, finding.WorkIncomparable, []string{"elm"}, finding.SeenItems, detect.BecauseGrows},
		{"scans from the newest record on", "scan", func(arm string, o *record.Operation) {
			o.Items = 50 * o.OK
			if arm == "elm" {
				o.Items = 45 * o.OK
			}
		}, func(run *record.Run) {
			resulttest.PhaseNamedIn(run, "get").Mix["insert"] = 1
			resulttest.PhaseNamedIn(run, "get").Order.Distribution = trace.Latest
		}, finding.WorkIncomparable, []string{"elm"}, finding.SeenItems, detect.BecauseGrows},
		{"queries while data grows", "query", func(arm string, o *record.Operation) {
			o.Items = 20 * o.OK
			if arm == "elm" {
				o.Items = 10 * o.OK
			}
		}, func(run *record.Run) { resulttest.PhaseNamedIn(run, "put").Mix["insert"] = 1 }, finding.WorkIncomparable, []string{"elm"}, finding.SeenItems, detect.BecauseGrows},
		{"scans a hair shorter", "scan", func(arm string, o *record.Operation) {
			o.Items = 50 * o.OK
			if arm == "elm" {
				o.Items -= o.OK / 4
			}
		}, nil, "", nil, "", ""},
		{"writes that show late", "read", func(arm string, o *record.Operation) {
			if arm == "elm" {
				missing(o, 0.95)
			}
		}, func(run *record.Run) { resulttest.PhaseNamedIn(run, "get").Mix["insert"] = 1 }, finding.LessWork, []string{"elm"}, finding.SeenMisses, ""},
		{"misses where records are deleted", "read", func(arm string, o *record.Operation) {
			if arm == "elm" {
				missing(o, 0.3)
			}
		}, func(run *record.Run) { resulttest.PhaseNamedIn(run, "put").Mix["delete"] = 1 }, finding.WorkIncomparable, []string{"elm"}, finding.SeenMisses, detect.BecauseDeletes},
		{"misses of records that were not loaded", "read", func(arm string, o *record.Operation) {
			if arm == "elm" {
				missing(o, 0.3)
			}
		}, func(run *record.Run) { run.Experiment.Phases[0].Load = false }, finding.WorkIncomparable, []string{"elm"}, finding.SeenMisses, detect.BecauseEmpty},
		{"misses alike", "read", func(_ string, o *record.Operation) { missing(o, 0.3) }, nil, "", nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := doingIn(c.operation, c.tell)
			if c.change != nil {
				c.change(run)
			}
			r := resulttest.ResultOf(t, run)
			var arms []string
			for _, f := range r.Findings {
				if f.Code == finding.LessWork || f.Code == finding.WorkIncomparable {
					if f.Code != c.code || len(f.Evidence) != 1 || f.Evidence[0].Code != c.seen || c.because != "" && f.Evidence[0].Params["because"] != c.because {
						t.Errorf("%s of %s: %+v", f.Code, f.Where.Arm, f.Evidence)
					}
					arms = append(arms, f.Where.Arm)
				}
			}
			if slices.Sort(arms); !slices.Equal(arms, c.arms) {
				t.Errorf("found of %v, expected %v", arms, c.arms)
			}
			for _, arm := range []string{"ash", "elm", "oak"} {
				if ranked := resulttest.RowOf(t, r, "get", arm).Standing == model.Ranked; ranked == (c.code == finding.LessWork && slices.Contains(c.arms, arm)) {
					t.Errorf("%s is ranked: %v", arm, ranked)
				}
			}
		})
	}
}

// Honest stores, some of which get further in the same trace than others, do the same work, however
// short the phase.
func TestEqualStoresWithDifferentProgressDoTheSameWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.Uint64Range(200, 5000).Draw(t, "records")
		s := trace.Spec{
			Records: records, Fresh: records, Threads: rapid.IntRange(1, 4).Draw(t, "threads"), ThreadEntries: rapid.IntRange(16, 3000).Draw(t, "entries"), Seed: rapid.Uint64().Draw(t, "seed"),
			Mix:   []trace.Share{{Operation: trace.Scan, Weight: 1}, {Operation: trace.Insert, Weight: 1}},
			Sizes: []trace.Size{{Bytes: 10, Weight: 1}},
			Scan:  trace.ScanLengths{Min: 1, Max: rapid.IntRange(1, 100).Draw(t, "most"), Zipfian: rapid.Bool().Draw(t, "short ones")},
			Order: rapid.SampledFrom([]trace.Order{{Distribution: trace.Uniform}, {Distribution: trace.Zipfian, Theta: 0.99}, {Distribution: trace.Shuffled}}).Draw(t, "order"),
		}
		grows := rapid.Bool().Draw(t, "grows")
		if !grows {
			s.Mix = s.Mix[:1]
		}
		file, err := trace.Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		run := &record.Run{Experiment: experiment.Experiment{Cells: []experiment.Cell{{Durability: store.D1}}, Phases: []experiment.Phase{{Name: "load", Load: true}, {Name: "p", Mix: map[string]float64{"scan": 1}, Scan: experiment.Scan{Min: 1, Max: s.Scan.Max}}}}}
		judged := &facts.Table{Phase: "p", Run: run}
		for _, arm := range []string{"quick", "slow", "slower"} {
			o := record.Operation{Name: "scan"}
			done := rapid.Uint64Range(1, 4000).Draw(t, arm)
			for i := range file.Threads {
				for sequence := range done {
					e, index := file.Threads[i].EntryAt(sequence)
					if e.Operation() == trace.Scan { // keys in the order of indexes
						o.OK, o.Items = o.OK+1, o.Items+min(uint64(file.Amounts[e.SizeClass()]), records-index)
					}
				}
			}
			judged.Rows = append(judged.Rows, &facts.Row{Arm: arm, Role: plan.Measured,
				Trials: []*facts.Observation{{Used: true, State: record.OK,
					Phase: &record.Phase{Operations: []record.Operation{o}}}}})
		}
		if found := detect.LessWork(run, []*facts.Table{judged}); len(found) > 0 {
			t.Fatal(found)
		}
	})
}

// Honest stores that begin empty, or with a load, and insert beside their scans find different
// numbers of records the scan, by how far they get: that is never held against one.
func TestScansOfAGrowingStoreAreHonest(t *testing.T) {
	for _, loaded := range []uint64{0, 100, 5000} {
		rapid.Check(t, func(t *rapid.T) {
			drawn, first := loaded, uint64(0) // records that scans begin at, and the first that is there
			if loaded == 0 {
				drawn, first = 1000, 1000
			}
			s := trace.Spec{
				Records: drawn, Fresh: drawn, Threads: rapid.IntRange(1, 4).Draw(t, "threads"), ThreadEntries: 4096, Seed: rapid.Uint64().Draw(t, "seed"),
				Mix:   []trace.Share{{Operation: trace.Scan, Weight: 1}, {Operation: trace.Insert, Weight: 1}},
				Sizes: []trace.Size{{Bytes: 10, Weight: 1}},
				Scan:  trace.ScanLengths{Min: 1, Max: rapid.IntRange(1, 1000).Draw(t, "most")},
				Order: rapid.SampledFrom([]trace.Order{{Distribution: trace.Uniform}, {Distribution: trace.Latest, Theta: 0.99}}).Draw(t, "order"),
			}
			file, err := trace.Generate(s)
			if err != nil {
				t.Fatal(err)
			}
			run := &record.Run{Experiment: experiment.Experiment{Cells: []experiment.Cell{{Durability: store.D1}},
				Phases: []experiment.Phase{
					{Name: "load", Load: loaded > 0},
					{Name: "p", Mix: map[string]float64{"scan": 1, "insert": 1}, Scan: experiment.Scan{Min: 1, Max: s.Scan.Max}, Order: experiment.Order{Distribution: s.Order.Distribution}}}}}
			judged := &facts.Table{Phase: "p", Run: run, Parameters: experiment.Cell{Records: loaded}}
			for _, arm := range []string{"quick", "slow", "slower"} {
				o := record.Operation{Name: "scan"}
				end := drawn // keys in the order of indexes, inserted in about that order
				for sequence := range rapid.Uint64Range(100, 20000).Draw(t, arm) {
					for i := range file.Threads {
						e, index := file.Threads[i].EntryAt(sequence)
						if e.Operation() == trace.Scan {
							o.OK, o.Items = o.OK+1, o.Items+min(uint64(file.Amounts[e.SizeClass()]),
								end-min(max(index, first), end))
						} else {
							end = max(end, index+1)
						}
					}
				}
				judged.Rows = append(judged.Rows, &facts.Row{Arm: arm, Role: plan.Measured,
					Trials: []*facts.Observation{{Used: true, State: record.OK,
						Phase: &record.Phase{Operations: []record.Operation{o}}}}})
			}
			for _, f := range detect.LessWork(run, []*facts.Table{judged}) {
				if f.Code == finding.LessWork {
					t.Fatalf("%d records loaded: %+v", loaded, f)
				}
			}
		})
	}
}
