package verdict

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/finding"
	"assay/internal/host"
	"assay/internal/record"
	"assay/internal/record/recordtest"
	"assay/internal/spec"
	"assay/internal/trace"
	"assay/store"
)

func TestWhatAnArmWroteAndNobodyReadBackIsSaid(t *testing.T) {
	forget := func(run *record.Run, arm string) {
		for _, trial := range trials(run, arm) {
			trial.Final = nil
		}
	}
	for _, c := range []struct {
		name  string
		plant func(run *record.Run)
		arms  []string
	}{
		{"all were read back", func(*record.Run) {}, nil},
		{"one arm", func(run *record.Run) { forget(run, "elm") }, []string{"elm"}},
		{"one trial of an arm", func(run *record.Run) { trials(run, "elm")[2].Final = nil }, []string{"elm"}},
		{"two arms", func(run *record.Run) { forget(run, "elm"); forget(run, "ash") }, []string{"ash", "elm"}},
		{"an arm that only read", func(run *record.Run) {
			forget(run, "elm")
			for _, trial := range trials(run, "elm") {
				trial.Phases = []record.Phase{*phaseOf(trial, "get")}
			}
		}, nil},
		{"failed trials", func(run *record.Run) {
			forget(run, "elm")
			for _, trial := range trials(run, "elm") {
				trial.State, trial.Error = record.Failed, "crashed"
			}
		}, nil},
		{"the null driver", func(run *record.Run) { forget(run, "null") }, nil},
		{"switched off", func(run *record.Run) { forget(run, "elm"); run.Experiment.VerifyRecords = 0 }, nil},
	} {
		run := cleanRun()
		c.plant(run)
		var arms []string
		for _, f := range summarise(t, run).Findings {
			if f.Code != FindNotReadBack {
				continue
			}
			arms = append(arms, f.Where.Arm)
			if f.Severity != Warning || !strings.Contains(f.Sentence, f.Where.Arm+" wrote, nothing was read back") || len(f.Evidence) == 0 || !strings.Contains(f.Evidence[0], "writes were acknowledged") {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		slices.Sort(arms) // they come as they ran
		if strings.Join(arms, " ") != strings.Join(c.arms, " ") {
			t.Errorf("%s: said of %v, want %v", c.name, arms, c.arms)
		}
	}
}

func TestWhatIsAReadAndWhatIsAWrite(t *testing.T) {
	for _, name := range trace.OperationNames() {
		p := spec.Phase{Mix: map[string]float64{name: 1, "insert": 0, "read": 0}}
		wantRead, wantWrite := false, true
		switch name {
		case "read", "scan", "query", "count":
			wantRead, wantWrite = true, false
		case "read_modify_write", "compare_and_swap":
			wantRead = true
		}
		if isRead(p) != wantRead || isWrite(p) != wantWrite {
			t.Errorf("%s: read %v, write %v", name, isRead(p), isWrite(p))
		}
	}
}

// Queries sync nothing: whatever two classes differ by in them, a column of both does not rank durability.
func TestDurabilityIsNotBlamedForQueries(t *testing.T) {
	shape := clean()
	shape.Classes = []store.Durability{store.D1, store.D3}
	for i := range shape.Arms {
		shape.Arms[i].ClassCost = map[store.Durability]float64{store.D3: 0.2}
	}
	for operation, blamed := range map[string]bool{"update": true, "query": false, "count": false, "scan": false} {
		run := recordtest.Run(shape)
		for i := range run.Experiment.Phases {
			if p := &run.Experiment.Phases[i]; p.Name == "put" {
				p.Mix = map[string]float64{operation: 1}
			}
		}
		if found := find(summarise(t, run), FindDurabilityPut) != nil; found != blamed {
			t.Errorf("%s: durability was blamed: %v", operation, found)
		}
	}
}

// A cost of durability is told as a difference between stores is: over blocks, with its interval, and beyond the noise. Where none can be told, that is said.
func TestWhatAClassCostsIsShownOrSaidToBeUntold(t *testing.T) {
	marked := func(run *record.Run) {
		for _, trial := range run.Trials {
			trial.State, trial.Marks = record.Marked, []finding.Mark{{Message: finding.New(finding.MarkForeign, "least", 0.4, "most", 0.4), Phase: "put"}}
		}
	}
	refused := func(run *record.Run) {
		for _, planned := range run.Plan {
			if planned.Arm == "oak" && planned.Cell == 0 || planned.Arm != "oak" && planned.Cell == 1 {
				*run.Trials[planned.ID] = record.Trial{Plan: planned, State: record.Refused, Error: "can't reach it"}
				delete(run.Series, planned.ID)
			}
		}
	}
	for _, c := range []struct {
		name   string
		blocks int
		cost   float64 // rate at D3 ÷ rate at D1
		plant  func(run *record.Run)
		blamed string // in the sentence of what it costs; "": none
		untold string // in the sentence of why that can't be told; "": none
		text   string // in its evidence
		remedy string
	}{
		{"shown", 5, 0.1, nil, " times as many operations in put at D1 as in D3 (95 % interval 9.", "", "", ""},
		{"marked", 5, 0.1, marked, "", "can't be told: no store has good figures", "no good trial at D1: other processes took 40 %", "see why the trials are marked"},
		{"one block", 1, 0.1, nil, "", "can't be told: one block has no interval.", "in one block", "run at least 5 blocks"},
		{"nothing to show", 5, 1, nil, "", "can't be told: no store is shown to be faster in a weaker class.", "oak: ", "run more blocks"},
		{"less than the noise", 5, 0.5, func(run *record.Run) { slow(run, "oak (A/A)", 0.15) }, "", "no store is shown to be faster", "times (95 % interval", "run more blocks"},
		{"more than the noise", 5, 0.1, func(run *record.Run) { slow(run, "oak (A/A)", 0.15) }, "in put at D1 as in D3", "", "", ""},
		{"no store in both", 5, 0.1, refused, "", "can't be told: no store ran in two classes.", "D1 and D3: every store is refused in one of them", "add a store"},
	} {
		shape := clean()
		shape.Classes, shape.Blocks = []store.Durability{store.D1, store.D3}, c.blocks
		for i := range shape.Arms {
			shape.Arms[i].ClassCost = map[store.Durability]float64{store.D3: c.cost}
		}
		run := built(shape)
		if c.plant != nil {
			c.plant(run)
		}
		s := summarise(t, run)
		f := find(s, FindDurabilityPut)
		if (f != nil) != (c.blamed != "") || f != nil && !strings.Contains(f.Sentence, c.blamed) {
			t.Errorf("%s: %+v", c.name, f)
		}
		f = find(s, FindCostUntold)
		if (f != nil) != (c.untold != "") || f != nil && (f.Severity != Notice || f.Where.Phase != "put" || !strings.Contains(f.Sentence, c.untold) || !strings.Contains(strings.Join(f.Evidence, "\n"), c.text) || !strings.HasPrefix(f.Remedy, c.remedy)) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// In the clean run, data is of 1,016 MB, the limit is 200 MB, and get is the phase that reads.
func TestDataThatFitsInMemory(t *testing.T) {
	// forgotten takes away what was counted as live, and makes the put phase one that inserts so many records.
	forgotten := func(run *record.Run, arm string, inserts uint64) {
		for _, trial := range trials(run, arm) {
			for i := range trial.Phases {
				p := &trial.Phases[i]
				p.Sizes.LogicalBytes, p.Sizes.Records = nil, nil
				if p.Name == "put" {
					p.Operations[0].Name, p.Operations[0].OK = "insert", inserts
				}
			}
		}
	}
	holding := func(run *record.Run, arm string, bytes uint64) {
		for _, trial := range trials(run, arm) {
			for i := range trial.Phases {
				trial.Phases[i].Sizes.LogicalBytes = &bytes
			}
		}
	}
	all := func(plant func(run *record.Run, arm string)) func(run *record.Run) {
		return func(run *record.Run) {
			for _, arm := range []string{"oak", "elm", "ash"} {
				plant(run, arm)
			}
		}
	}
	limit := func(bytes int64, then func(run *record.Run)) func(run *record.Run) {
		return func(run *record.Run) {
			for i := range run.Experiment.Cells {
				run.Experiment.Cells[i].MemoryLimit = bytes
			}
			then(run)
		}
	}
	cold := func(run *record.Run, arm string) {
		for _, trial := range trials(run, arm) {
			phaseOf(trial, "get").Cold = &host.PageCache{FileBytes: 1e9}
		}
	}
	nothing := func(*record.Run) {}
	const everywhere = "The data fits in memory: reads are mostly"
	for _, c := range []struct {
		name     string
		plant    func(run *record.Run)
		sentence string // how it begins; "": no finding
		evidence string
	}{
		{"less than the limit", limit(2e9, nothing), everywhere, "get at D1: 1.02 GB of data, the memory limit is 2.00 GB"},
		{"not counted, and nothing was inserted", limit(2e9, all(func(run *record.Run, arm string) { forgotten(run, arm, 0) })), everywhere, "get at D1: at most 1.02 GB of data"},
		{"not counted, and with what was inserted below the limit", limit(2e9, all(func(run *record.Run, arm string) { forgotten(run, arm, 500_000) })), everywhere, "get at D1: at most 1.52 GB of data"},
		{"not counted, and with what was inserted above the limit", limit(2e9, all(func(run *record.Run, arm string) { forgotten(run, arm, 1_500_000) })), "", ""},
		{"one has more than others", limit(2e9, func(run *record.Run) { holding(run, "elm", 1.8e9) }), everywhere, "get at D1: 1.80 GB of data"},
		{"one has more than the limit", limit(2e9, func(run *record.Run) { holding(run, "elm", 3e9) }), "The data fits in memory in get at D1 (ash and oak): reads there are", "get at D1: 1.02 GB of data"},
		{"one does not fit in a cache that others have grown beyond", func(run *record.Run) {
			for i := range run.Experiment.Stores {
				run.Experiment.Stores[i].Description.Options = []store.Option{{Name: "cache_bytes", Type: store.Bytes, Default: "1200MB"}}
				run.Experiment.Stores[i].Options = nil
			}
			forgotten(run, "oak", 150_000)
			forgotten(run, "elm", 200_000)
		}, "The data fits in memory in get at D1 (ash and oak): reads there are", "oak: its cache_bytes of 1.20 GB holds all of at most 1.17 GB of data"},
		{"cold", limit(2e9, all(cold)), "", ""},
		{"cold but for a store that has no files", limit(2e9, func(run *record.Run) { cold(run, "oak"); cold(run, "ash") }), "The data fits in memory in get at D1 (elm): reads there are", "1.02 GB of data"},
		{"failed", limit(2e9, all(func(run *record.Run, arm string) {
			for _, trial := range trials(run, arm) {
				trial.State = record.Failed
			}
		})), "", ""},
	} {
		run := cleanRun()
		c.plant(run)
		f := find(summarise(t, run), FindInMemory)
		if c.sentence == "" {
			if f != nil {
				t.Errorf("%s: %+v", c.name, f)
			}
			continue
		}
		if f == nil || !strings.HasPrefix(f.Sentence, c.sentence) || !strings.Contains(strings.Join(f.Evidence, "\n"), c.evidence) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// A sentence for the whole run would be false of the table with the small limit.
func TestDataThatFitsInTheMemoryOfSomeTablesOnly(t *testing.T) {
	run := recordtest.Run(recordtest.Example())
	for i := range run.Experiment.Cells {
		run.Experiment.Cells[i].MemoryLimit = []int64{0, 200e6, 2e9}[i]
	}
	f := find(summarise(t, run), FindInMemory)
	if f == nil || !strings.HasPrefix(f.Sentence, "The data fits in memory in get at D0, no memory limit; get at D3, memory limit of 1907 MiB: reads there are mostly") {
		t.Fatalf("%+v", f)
	}
	if text := strings.Join(f.Evidence, "\n"); !strings.Contains(text, "get at D0, no memory limit: 1.02 GB") || !strings.Contains(text, "get at D3, memory limit of 1907 MiB: 1.02 GB") || strings.Contains(text, "D1") {
		t.Error(text)
	}
}
