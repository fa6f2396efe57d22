package verdict

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/trace"
)

// doing makes the phase get of the clean run one of another operation, each arm with what told sets for it.
func doingIn(operation string, tell func(arm string, o *record.Operation)) *record.Run {
	run := cleanRun()
	for i := range run.Experiment.Phases {
		if p := &run.Experiment.Phases[i]; p.Name == "get" {
			p.Mix, p.Scan, p.Query = map[string]float64{operation: 1}, spec.Scan{Min: 1, Max: 100}, spec.Query{Limit: 20}
		}
	}
	for _, planned := range run.Plan {
		o := &phaseOf(run.Trials[planned.ID], "get").Operations[0]
		o.Name = operation
		tell(planned.Arm, o)
	}
	return run
}

func missing(o *record.Operation, share float64) {
	o.Miss = uint64(share * float64(o.OK))
	o.OK -= o.Miss
}

func TestLessWorkHasNoRank(t *testing.T) {
	for _, c := range []struct {
		name      string
		operation string
		tell      func(arm string, o *record.Operation)
		change    func(run *record.Run)
		code      string // "": nothing is found
		arms      []string
		says      string
	}{
		{"empty scans, what is owed is known", "scan", func(arm string, o *record.Operation) {
			o.Items, o.ItemsOwed = 50*o.OK, pointer(50*o.OK)
			if arm == "elm" {
				o.Items = 0
			}
		}, nil, FindLessWork, []string{"elm"}, "0 records a scan, where the trace and what was stored ask for 50.0 or more"},
		{"all scan less than is owed", "scan", func(_ string, o *record.Operation) { o.Items, o.ItemsOwed = o.OK, pointer(50*o.OK) },
			nil, FindLessWork, []string{"oak", "elm", "ash"}, "1.00 records a scan"},
		{"scans of one record, nothing is known", "scan", func(arm string, o *record.Operation) {
			o.Items = 50 * o.OK
			if arm == "elm" {
				o.Items = o.OK
			}
		}, nil, FindLessWork, []string{"elm"}, "ash has 50.0 of the same trace"},
		{"queries of one record", "query", func(arm string, o *record.Operation) {
			o.Items = 20 * o.OK
			if arm == "elm" {
				o.Items = o.OK
			}
		}, nil, FindLessWork, []string{"elm"}, "1.00 records a query"},
		{"counts that are always 1", "count", func(arm string, o *record.Operation) {
			o.Items, o.ItemsOwed = 55*o.OK, pointer(55*o.OK)
			if arm == "elm" {
				o.Items = o.OK
			}
		}, nil, FindLessWork, []string{"elm"}, "1.00 records a count"},
		{"scans while data grows", "scan", func(arm string, o *record.Operation) {
			o.Items = 50 * o.OK
			if arm == "elm" {
				o.Items = o.OK
			}
		}, func(run *record.Run) { phaseNamedIn(run, "get").Mix["insert"] = 1 }, FindLessWork, []string{"elm"}, "1.00 records a scan"},
		{"scans while data grows and nothing was loaded", "scan", func(arm string, o *record.Operation) {
			o.Items = 85 * o.OK
			if arm == "elm" {
				o.Items = 72 * o.OK
			}
		}, func(run *record.Run) {
			phaseNamedIn(run, "get").Mix["insert"] = 1
			run.Experiment.Phases[0].Load = false
		}, FindUnweighed, nil, "the data grows"},
		{"scans that are long for what was loaded, while data grows", "scan", func(arm string, o *record.Operation) {
			o.Items = 50 * o.OK
			if arm == "elm" {
				o.Items = 45 * o.OK
			}
		}, func(run *record.Run) {
			phaseNamedIn(run, "get").Mix["insert"] = 1
			run.Experiment.Cells[0].Records = 2000
		}, FindUnweighed, nil, "the data grows"},
		{"scans from the newest record on", "scan", func(arm string, o *record.Operation) {
			o.Items = 50 * o.OK
			if arm == "elm" {
				o.Items = 45 * o.OK
			}
		}, func(run *record.Run) {
			phaseNamedIn(run, "get").Mix["insert"] = 1
			phaseNamedIn(run, "get").Order.Distribution = trace.Latest
		}, FindUnweighed, nil, "the data grows"},
		{"queries while data grows", "query", func(arm string, o *record.Operation) {
			o.Items = 20 * o.OK
			if arm == "elm" {
				o.Items = 10 * o.OK
			}
		}, func(run *record.Run) { phaseNamedIn(run, "put").Mix["insert"] = 1 }, FindUnweighed, nil, "the data grows"},
		{"scans a hair shorter", "scan", func(arm string, o *record.Operation) {
			o.Items = 50 * o.OK
			if arm == "elm" {
				o.Items -= o.OK / 4
			}
		}, nil, "", nil, ""},
		{"writes that show late", "read", func(arm string, o *record.Operation) {
			if arm == "elm" {
				missing(o, 0.95)
			}
		}, func(run *record.Run) { phaseNamedIn(run, "get").Mix["insert"] = 1 }, FindLessWork, []string{"elm"}, "95 % of"},
		{"misses where records are deleted", "read", func(arm string, o *record.Operation) {
			if arm == "elm" {
				missing(o, 0.3)
			}
		}, func(run *record.Run) { phaseNamedIn(run, "put").Mix["delete"] = 1 }, FindUnweighed, nil, "deleted"},
		{"misses of what nobody loaded", "read", func(arm string, o *record.Operation) {
			if arm == "elm" {
				missing(o, 0.3)
			}
		}, func(run *record.Run) { run.Experiment.Phases[0].Load = false }, FindUnweighed, nil, "nothing was loaded"},
		{"misses alike", "read", func(_ string, o *record.Operation) { missing(o, 0.3) }, nil, "", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := doingIn(c.operation, c.tell)
			if c.change != nil {
				c.change(run)
			}
			s := summarise(t, run)
			var arms []string
			for _, r := range tableNamed(t, s, "get").Rows {
				if r.Role == plan.Measured && !r.Ranked {
					if arms = append(arms, r.Arm); !strings.Contains(strings.Join(r.Reasons, "\n"), "it did less work") {
						t.Errorf("%s is not ranked because of %v", r.Arm, r.Reasons)
					}
				}
			}
			slices.Sort(arms)
			slices.Sort(c.arms)
			if !slices.Equal(arms, c.arms) {
				t.Errorf("%v are not ranked, expected %v", arms, c.arms)
			}
			f := find(s, c.code)
			if less, unweighed := find(s, FindLessWork), find(s, FindUnweighed); c.code != FindLessWork && less != nil || c.code != FindUnweighed && unweighed != nil {
				t.Errorf("found %v", codes(s))
			}
			if c.code == "" {
				return
			}
			if f == nil || !strings.Contains(strings.Join(f.Evidence, "\n"), c.says) || (f.Severity == Grave) != (c.code == FindLessWork) {
				t.Errorf("found %+v, expected %s that says %q", f, c.code, c.says)
			}
		})
	}
}

func phaseNamedIn(run *record.Run, name string) *spec.Phase {
	for i := range run.Experiment.Phases {
		if run.Experiment.Phases[i].Name == name {
			return &run.Experiment.Phases[i]
		}
	}
	panic("no phase " + name)
}

// Honest stores, some of which get further in the same trace than others, do the same work, however short the phase.
func TestEqualStoresWithDifferentProgressDoTheSameWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.Uint64Range(200, 5000).Draw(t, "records")
		s := trace.Spec{
			Records: records, Fresh: records, Threads: rapid.IntRange(1, 4).Draw(t, "threads"), ThreadEntries: rapid.IntRange(16, 3000).Draw(t, "entries"), Seed: rapid.Uint64().Draw(t, "seed"),
			Mix: []trace.Share{{Operation: trace.Scan, Weight: 1}, {Operation: trace.Insert, Weight: 1}}, Sizes: []trace.Size{{Bytes: 10, Weight: 1}},
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
		run := &record.Run{Experiment: spec.Experiment{Phases: []spec.Phase{{Name: "load", Load: true}, {Name: "p", Mix: map[string]float64{"scan": 1}, Scan: spec.Scan{Min: 1, Max: s.Scan.Max}}}}}
		table := Table{Phase: "p"}
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
			table.Rows = append(table.Rows, Row{Arm: arm, Role: plan.Measured, Trials: []Observation{{Used: true, State: record.OK, phase: &record.Phase{Operations: []record.Operation{o}}}}})
		}
		table.weighWork(run)
		for _, r := range table.Rows {
			if len(r.lessWork)+len(r.unweighed) > 0 {
				t.Fatalf("%s: %v %v", r.Arm, r.lessWork, r.unweighed)
			}
		}
	})
}

// Honest stores that begin empty, or with a load, and insert beside their scans find different numbers of records the scan, by how far they get: that is
// never held against one.
func TestScansOfAGrowingStoreAreHonest(t *testing.T) {
	for _, loaded := range []uint64{0, 100, 5000} {
		rapid.Check(t, func(t *rapid.T) {
			drawn, first := loaded, uint64(0) // records that scans begin at, and the first that is there
			if loaded == 0 {
				drawn, first = 1000, 1000
			}
			s := trace.Spec{
				Records: drawn, Fresh: drawn, Threads: rapid.IntRange(1, 4).Draw(t, "threads"), ThreadEntries: 4096, Seed: rapid.Uint64().Draw(t, "seed"),
				Mix: []trace.Share{{Operation: trace.Scan, Weight: 1}, {Operation: trace.Insert, Weight: 1}}, Sizes: []trace.Size{{Bytes: 10, Weight: 1}},
				Scan:  trace.ScanLengths{Min: 1, Max: rapid.IntRange(1, 1000).Draw(t, "most")},
				Order: rapid.SampledFrom([]trace.Order{{Distribution: trace.Uniform}, {Distribution: trace.Latest, Theta: 0.99}}).Draw(t, "order"),
			}
			file, err := trace.Generate(s)
			if err != nil {
				t.Fatal(err)
			}
			run := &record.Run{Experiment: spec.Experiment{Phases: []spec.Phase{
				{Name: "load", Load: loaded > 0},
				{Name: "p", Mix: map[string]float64{"scan": 1, "insert": 1}, Scan: spec.Scan{Min: 1, Max: s.Scan.Max}, Order: spec.Order{Distribution: s.Order.Distribution}}}}}
			table := Table{Phase: "p", Parameters: spec.Cell{Records: loaded}}
			for _, arm := range []string{"quick", "slow", "slower"} {
				o := record.Operation{Name: "scan"}
				end := drawn // keys in the order of indexes, inserted in about that order
				for sequence := range rapid.Uint64Range(100, 20000).Draw(t, arm) {
					for i := range file.Threads {
						e, index := file.Threads[i].EntryAt(sequence)
						if e.Operation() == trace.Scan {
							o.OK, o.Items = o.OK+1, o.Items+min(uint64(file.Amounts[e.SizeClass()]), end-min(max(index, first), end))
						} else {
							end = max(end, index+1)
						}
					}
				}
				table.Rows = append(table.Rows, Row{Arm: arm, Role: plan.Measured, Trials: []Observation{{Used: true, State: record.OK, phase: &record.Phase{Operations: []record.Operation{o}}}}})
			}
			table.weighWork(run)
			for _, r := range table.Rows {
				if len(r.lessWork) > 0 {
					t.Fatalf("%d records loaded, %s: %v", loaded, r.Arm, r.lessWork)
				}
			}
		})
	}
}
