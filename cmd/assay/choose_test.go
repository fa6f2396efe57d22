package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/experiment/capacity"
	"assay/internal/experiment/read"
	"assay/store"
)

func TestChoose_refuses_what_it_cannot_do(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--objective", "p99 < 5ms"}, "--rate 20000"},
		{[]string{"--rate", "5k"}, "--objective 'p99 < 5ms'"},
		{[]string{"--rate", "5k", "--objective", "p99 > 5ms"}, "METRIC < LIMIT"},
		{[]string{"--rate", "fast", "--objective", "p99 < 5ms"}, "--rate fast: expected operations a second"},
		{[]string{"--rate", "-5", "--objective", "p99 < 5ms"}, "expected operations a second"},
		{[]string{"pebbel", "--rate", "5k", "--objective", "p99 < 5ms"}, `did you mean "pebble"?`},
		{[]string{"--rate", "5k", "--objective", "p99 < 5ms", "--memory", "much"}, "--memory"},
		{[]string{"--rate", "5k", "--objective", "p99 < 5ms", "--disk", "much"}, "--disk"},
		{[]string{"--rate", "5k", "--objective", "p99 < 5ms", "--price", "free"}, "--price free: expected what an hour costs"},
		{[]string{"--rate", "5k", "--objective", "p99 < 5ms", "--workload", "no-such.yaml"}, "there is no file no-such.yaml"},
		{[]string{"--rate", "5k", "--objective", "p99 < 5ms", "--workload", "a.yaml", "--mix", "read"}, "workload"},
		{[]string{"--rat", "5k"}, "--rate"},
	} {
		r := assay(t, append([]string{"choose", "--dry-run"}, c.args...)...)
		r.wants(t, exitUsage)
		wantParts(t, strings.Join(c.args, " "), r.stderr, c.want)
	}
}

// chosen is the plan of a choice.
func chosen(t *testing.T, args ...string) planned {
	t.Helper()
	r := assay(t, append([]string{"choose", "--dry-run", "--json"}, args...)...)
	r.wants(t, 0)
	var p planned
	if err := json.Unmarshal([]byte(r.stdout), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestChoose_plans_a_search_around_the_wanted_rate(t *testing.T) {
	t.Parallel()
	p := chosen(t, "pebble", "bbolt", "--rate", "20k", "--objective", "p99 < 5ms", "--objective", "errors < 0.1%",
		"--memory", "4GiB", "--disk", "100GB", "--price", "0.05/h", "--durability", "D3", "--threads", "8", "--records", "1e4")
	phases := p.Experiment.Phases
	search := phases[len(phases)-1].Capacity
	if search == nil || search.From != 2500 || search.To != 80_000 || len(search.Objectives) != 2 {
		t.Fatalf("searches for %+v", search)
	}
	want := capacity.Wanted{Rate: 20_000, MemoryBytes: 4 << 30, DiskBytes: 100e9, PerHour: 0.05}
	if search.Wanted == nil || *search.Wanted != want {
		t.Errorf("chooses by %+v", search.Wanted)
	}
	cell := p.Experiment.Cells[0]
	if cell.Durability != store.D3 || cell.Threads != 8 || cell.Records != 10_000 || cell.MemoryLimit != 0 {
		t.Errorf("the flags made the cell %+v", cell)
	}
	if about := p.Experiment.About; about != "Which stores do 20.0 k/s with p99 < 5ms and errors < 0.1% within 4GiB of memory and 100GB of disk: pebble and bbolt (50 % read, 50 % update)?" {
		t.Errorf("asks %s", about)
	}
	limited := chosen(t, "pebble", "--rate", "20k", "--objective", "p99 < 5ms", "--memory-limit", "1GiB")
	if limit := limited.Experiment.Cells[0].MemoryLimit; limit != 1<<30 {
		t.Errorf("--memory-limit is %d", limit)
	}
}

func TestChoose_without_stores_tries_the_embedded_ones(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range chosen(t, "--rate", "5k", "--objective", "p99 < 5ms").Experiment.Stores {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "pebble") || strings.Contains(got, "redis") {
		t.Errorf("tries %s", got)
	}
}

const chooseWorkload = `name: shop
stores: [redis@start, pebble]
baseline: pebble
records: 5000
durability: D1
phases:
  - {name: fill, load: true, batch: 100}
  - {name: warm, mix: {read: 100}, for: 1s, unmeasured: true}
  - {name: visit, mix: {read: 90, update: 10}, order: zipfian, for: 20s, rate: 100}
  - {name: later, mix: {insert: 100}, for: 5s}
`

// A workload gives its load, its warm-up and its first measured phase, with the stores that are asked about.
func TestChoose_takes_the_work_of_a_file(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte(chooseWorkload), 0o644); err != nil {
		t.Fatal(err)
	}
	e := chosen(t, "bbolt", "goleveldb", "--workload", file, "--rate", "5k", "--objective", "p99 < 5ms", "--step", "500ms").Experiment
	var names []string
	for _, p := range e.Phases {
		names = append(names, p.Name)
	}
	visit := e.Phases[len(e.Phases)-1]
	if strings.Join(names, " ") != "fill warm visit" || visit.Capacity == nil || visit.Rate != 0 ||
		visit.Order.Distribution != "zipfian" || visit.Mix["update"] != 10 || visit.Capacity.Step.String() != "500ms" {
		t.Errorf("phases %v, the last %+v", names, visit)
	}
	if len(e.Stores) != 2 || e.Stores[0].Name != "bbolt" || e.Baseline != "bbolt" || e.Cells[0].Durability != store.D1 {
		t.Errorf("stores %+v, baseline %s", e.Stores, e.Baseline)
	}
	if e.About != "Which stores do 5.00 k/s with p99 < 5ms: bbolt and goleveldb (shop)?" {
		t.Errorf("asks %s", e.About)
	}
	// The baseline is none that can't reach the class.
	if e = chosen(t, "memory", "bbolt", "--rate", "5k", "--objective", "p99 < 5ms", "--durability", "D3").Experiment; e.Baseline != "bbolt" {
		t.Errorf("the baseline is %s", e.Baseline)
	}
	r := assay(t, "choose", "bbolt", "--workload", "cart", "--rate", "5k", "--objective", "p99 < 5ms", "--dry-run")
	r.wants(t, exitUsage)
	wantParts(t, "a workload of requests", r.stderr, "no search for a capacity does")
}

// The file that is written says the same.
func TestChoose_saves_its_experiment(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "choice.yaml")
	assay(t, "choose", "pebble", "--rate", "5k", "--objective", "p99 < 5ms", "--disk", "1GB", "--save-as", file, "--dry-run").wants(t, 0)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	e, err := read.Load(text, file, nil, driverCatalogue())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	want := capacity.Wanted{Rate: 5000, DiskBytes: 1e9}
	if c := e.Phases[len(e.Phases)-1].Capacity; c == nil || c.Wanted == nil || *c.Wanted != want {
		t.Errorf("the file searches for %+v", c)
	}
}
