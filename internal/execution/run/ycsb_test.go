package run

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/read"
	"assay/internal/experiment/trace"
	"assay/internal/testkit/misbehave"
	"assay/store"
)

// workloadFile is one of YCSB's six core workload files: its documented properties, with more operations.
type workloadFile struct {
	shares       map[string]float64 // of operations
	distribution string
}

var workloadFiles = map[string]workloadFile{
	"a": {map[string]float64{"read": 0.5, "update": 0.5}, "zipfian"},
	"b": {map[string]float64{"read": 0.95, "update": 0.05}, "zipfian"},
	"c": {map[string]float64{"read": 1}, "zipfian"},
	"d": {map[string]float64{"read": 0.95, "insert": 0.05}, "latest"},
	"e": {map[string]float64{"scan": 0.95, "insert": 0.05}, "zipfian"},
	"f": {map[string]float64{"read": 0.5, "read_modify_write": 0.5}, "zipfian"},
}

func (w workloadFile) text() string {
	text := "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=1000\noperationcount=20000\nreadallfields=true\n" +
		"updateproportion=0\nreadproportion=0\n"
	for name, share := range w.shares {
		text += fmt.Sprintf("%sproportion=%v\n", strings.ReplaceAll(name, "_", ""), share)
	}
	if w.shares["scan"] > 0 {
		text += "maxscanlength=100\nscanlengthdistribution=uniform\n"
	}
	return text + "requestdistribution=" + w.distribution + "\n"
}

// YCSB's six core workloads are done as its documentation says: so many of each operation, records of ten
// fields of 100 bytes, scans of 1 to 100 records, and keys by its zipfian or from the newest on.
func TestWorkloadsOfYCSB(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for name, w := range workloadFiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			imported, _, err := read.ImportYCSB([]byte(w.text()), "workload"+name)
			if err != nil {
				t.Fatal(err)
			}
			text, driver := "", "memory"
			if w.shares["scan"] > 0 { // whose keys have no order
				driver = misbehave.Honest
			}
			for line := range strings.Lines(string(imported)) {
				switch key, _, _ := strings.Cut(line, ":"); key {
				case "stores":
					line = fmt.Sprintf("stores: [{driver: %s, worker: %s}]\n", driver, own())
				case "durability":
					line = "durability: " + map[string]string{"memory": "D0", misbehave.Honest: "D1"}[driver] + "\n"
				case "blocks":
					line = "blocks: 1\n"
				}
				text += line
			}
			text += "\nbusy_machine: tell\nstep_timeout: 300s\n"
			directory := filepath.Join(t.TempDir(), "run")
			if _, err := runText(context.Background(), text, directory); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			trial := trialOf(t, directory, driver)
			if trial.Error != "" || len(trial.Phases) != 2 || len(codes(trial)) > 0 {
				t.Fatalf("%s, %d phases, marks %v", trial.Error, len(trial.Phases), trial.Marks)
			}
			all, done := 0.0, map[string]float64{}
			for _, o := range trial.Phases[1].Operations {
				done[o.Name] = float64(o.Done())
				all += done[o.Name]
				n, keyMax, writes := o.OK, uint64(30), o.Name == "update" || o.Name == "insert"
				if o.Name == "read" && o.BytesRead != n*1000 ||
					writes && (o.BytesWritten < n*1000 || o.BytesWritten > n*(1000+keyMax)) {
					t.Errorf("%s: %v operations, %d bytes read, %d written", o.Name, n, o.BytesRead, o.BytesWritten)
				}
			}
			for operation, share := range w.shares {
				if all != 20_000 || math.Abs(done[operation]/all-share) > 0.015 {
					t.Errorf("%v of %v are %s, want %v", done[operation], all, operation, share)
				}
			}
			keysOfYCSB(t, text, w)
		})
	}
}

// keysOfYCSB holds which keys come, and how long scans are.
func keysOfYCSB(t *testing.T, text string, w workloadFile) {
	t.Helper()
	drivers := read.Drivers{Describe: func(s experiment.Store) (store.Description, error) { return describe(s.Driver) }}
	e, err := read.Load([]byte(text), "test.yaml", nil, drivers)
	if err != nil {
		t.Fatal(err)
	}
	made := &traces{content: &content{experiment: e, cell: e.Cells[0], store: e.Stores[0]}, past: new(past),
		seed: plan.Plan(e)[0].Seed}
	specs, err := made.specs(&e.Phases[1], place{position: 1, number: 2})
	if err != nil {
		t.Fatal(err)
	}
	f, err := trace.Generate(specs...)
	if err != nil {
		t.Fatal(err)
	}
	times, asks, newest, near := map[uint64]int{}, 0, uint64(1000), 0
	lengths := map[uint32]int{}
	thread := &f.Threads[0]
	for sequence := range min(thread.Limit, 20_000) {
		entry, index := thread.EntryAt(sequence)
		switch o := entry.Operation(); o {
		case trace.Insert:
			newest = max(newest, index+1)
			continue
		case trace.Scan:
			lengths[f.Amounts[entry.SizeClass()]]++
		}
		times[index]++
		if asks++; index+31 >= newest {
			near++
		}
	}
	hottest := 0
	for _, n := range times {
		hottest = max(hottest, n)
	}
	// A zipfian with θ = 0.99: of 10¹⁰ items, whose numbers are hashed to the records, the first has 1 ÷ 26.47 of
	// the requests, and of 1,000 records counted back from the newest, the first 31 have 0.53.
	if share := float64(hottest) / float64(asks); w.distribution == "zipfian" && math.Abs(share-1/26.47) > 0.012 {
		t.Errorf("the hottest key has %v of the requests", share)
	}
	if share := float64(near) / float64(asks); w.distribution == "latest" && math.Abs(share-0.53) > 0.05 {
		t.Errorf("%v of the requests are for the 31 newest records", share)
	}
	if w.shares["scan"] == 0 {
		return
	}
	sum, scans := 0.0, 0.0
	for length, n := range lengths {
		if length < 1 || length > 100 || math.Abs(float64(n)/float64(asks)-0.01) > 0.004 {
			t.Errorf("%d scans of %d records", n, length)
		}
		sum, scans = sum+float64(length)*float64(n), scans+float64(n)
	}
	if mean := sum / scans; len(lengths) != 100 || math.Abs(mean-50.5) > 1.5 {
		t.Errorf("scans of %d lengths, %v records in the mean", len(lengths), mean)
	}
}
