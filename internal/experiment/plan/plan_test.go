package plan_test

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/read"
	"assay/store"
)

func describe(abilities store.Abilities, classes ...store.Durability) store.Description {
	d := store.Description{Kind: store.Embedded, HandlesShareable: true, Abilities: abilities}
	for _, c := range classes {
		d.Durability = append(d.Durability, store.DurabilityClaim{Class: c})
	}
	return d
}

// experiment: three stores, of which one can't reach D1 and one can't reach D0, in three cells.
func anExperiment() *experiment.Experiment {
	cell := experiment.Cell{Records: 1000, ValueBytes: 100, Threads: 1, Handles: experiment.PerThread}
	e := &experiment.Experiment{
		Name: "x", Baseline: "b", Schedule: experiment.Schedule{Blocks: 3}, Seed: 1, VerifyRecords: 1000,
		Keys: keyval.KeyShape{Format: keyval.Binary, Bytes: 16},
		Stores: []experiment.Store{
			{Name: "a", Description: describe(store.Abilities{Scan: true}, store.D0, store.D3)},
			{Name: "b", Description: describe(store.Abilities{Scan: true}, store.D1, store.D3)},
			{Name: "c.d", Description: describe(store.Abilities{Scan: true}, store.D1, store.D3)},
		},
		Phases: []experiment.Phase{{Name: "load", Load: true}, {Name: "read", Mix: map[string]float64{"read": 1}, Duration: 2 * time.Second}},
	}
	for _, class := range []store.Durability{store.D0, store.D1, store.D3} {
		cell.Durability = class
		e.Cells = append(e.Cells, cell)
	}
	return e
}

func TestPlanHasEveryArmOnceABlock(t *testing.T) {
	e := anExperiment()
	trials := plan.Plan(e)
	// D0: a; D1: b and c.d; D3: all three. Each with an A/A arm and a ceiling.
	if want := 3*(6+3+3) + 3; len(trials) != want {
		t.Fatalf("%d trials, want %d", len(trials), want)
	}
	type arm struct {
		block, cell int
		arm         string
		role        plan.Role
	}
	seen := map[arm]int{}
	for _, trial := range trials {
		seen[arm{trial.Block, trial.Cell, trial.Arm, trial.Role}]++
		if (trial.Refuse != "") != (e.Cells[trial.Cell].Durability == store.D0 && trial.Arm != "a" && trial.Role == plan.Measured && trial.Arm != "null" ||
			e.Cells[trial.Cell].Durability == store.D1 && trial.Arm == "a") {
			t.Errorf("%+v", trial)
		}
	}
	for key, times := range seen {
		if times != 1 {
			t.Errorf("%+v is planned %d times", key, times)
		}
	}
	for block := 1; block <= 3; block++ {
		for cell, again := range []string{"a (A/A)", "b (A/A)", "b (A/A)"} { // where the baseline can't, the first that can
			if seen[arm{block, cell, again, plan.AA}] != 1 || seen[arm{block, cell, "null", plan.Ceiling}] != 1 {
				t.Errorf("block %d, cell %d has no A/A arm %s or no ceiling", block, cell, again)
			}
		}
	}
}

func TestRefusalsArePlannedOnceWithTheReason(t *testing.T) {
	var reasons []string
	trials := plan.Plan(anExperiment())
	for i, trial := range trials {
		if trial.Refuse != "" {
			reasons = append(reasons, trial.ID+": "+trial.Refuse)
			if trial.Block != 1 || trials[i+1].Block == 1 && trials[i+1].Refuse == "" {
				t.Errorf("a refused trial stands not at the end of block 1: %+v", trial)
			}
		}
	}
	want := []string{
		"b1-013-b-D0: b can't reach D0: its driver reaches D1, D3",
		"b1-014-c.d-D0: c.d can't reach D0: its driver reaches D1, D3",
		"b1-015-a-D1: a can't reach D1: its driver reaches D0, D3",
	}
	if !slices.Equal(reasons, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(reasons, "\n"), strings.Join(want, "\n"))
	}
}

func TestArmsOfACellDoTheSameInABlock(t *testing.T) {
	seeds := map[[2]int]uint64{}
	var distinct []uint64
	for _, trial := range plan.Plan(anExperiment()) {
		key := [2]int{trial.Block, trial.Cell}
		seed, ok := seeds[key]
		if !ok {
			seeds[key] = trial.Seed
			distinct = append(distinct, trial.Seed)
		} else if seed != trial.Seed {
			t.Errorf("%s has another seed than its cell", trial.ID)
		}
	}
	slices.Sort(distinct)
	if len(slices.Compact(distinct)) != 9 {
		t.Errorf("%d different seeds, want one for each cell and block", len(slices.Compact(distinct)))
	}
}

// The order is part of what a seed means: a change of it is a change of every experiment.
func TestOrderIsPinned(t *testing.T) {
	var ids []string
	for _, trial := range plan.Plan(anExperiment())[:6] {
		ids = append(ids, trial.ID)
	}
	want := []string{"b1-001-b-aa-D1", "b1-002-b-D3", "b1-003-a-D0", "b1-004-null-D3", "b1-005-a-aa-D0", "b1-006-a-D3"}
	if !slices.Equal(ids, want) {
		t.Errorf("got %q", ids)
	}
}

func TestOrderChangesWithSeedAndBlock(t *testing.T) {
	order := func(trials []plan.Trial, block int) (arms []string) {
		for _, trial := range trials {
			if trial.Block == block && trial.Refuse == "" {
				arms = append(arms, fmt.Sprint(trial.Arm, trial.Cell))
			}
		}
		return arms
	}
	e := anExperiment()
	first := plan.Plan(e)
	if !reflect.DeepEqual(first, plan.Plan(e)) {
		t.Error("the same experiment gives another plan")
	}
	if slices.Equal(order(first, 1), order(first, 2)) {
		t.Error("two blocks have the same order")
	}
	e.Seed = 2
	if slices.Equal(order(first, 1), order(plan.Plan(e), 1)) {
		t.Error("two seeds give the same order")
	}
}

// Each arm stands as far into blocks as any other, so that a drift within blocks slows all alike: over
// 12 blocks of 12, the mean of its positions (from 0 on) is nearer to 5.5 than chance would have it, a
// standard deviation of 1.
func TestPositionsAreEven(t *testing.T) {
	var squares, n float64
	for seed := range uint64(20) {
		e := anExperiment()
		e.Seed, e.Blocks = seed, 12
		sums := map[string]float64{}
		position, block := 0, 0
		for _, trial := range plan.Plan(e) {
			if trial.Refuse != "" {
				continue
			}
			if trial.Block != block {
				position, block = 0, trial.Block
			}
			sums[fmt.Sprint(trial.Arm, trial.Cell)] += float64(position)
			position++
		}
		for arm, sum := range sums {
			from := sum/12 - 5.5
			if math.Abs(from) > 2 {
				t.Errorf("seed %d: %s stands at %.1f in the mean", seed, arm, sum/12)
			}
			squares, n = squares+from*from, n+1
		}
	}
	if deviation := math.Sqrt(squares / n); deviation > 0.8 {
		t.Errorf("positions deviate by %.2f, as by chance", deviation)
	}
}

// An arm comes after its own store as often as another arm does, though within a block it never does:
// twelve blocks of two stores, without what stands beside them.
func TestNoArmComesMostlyAfterOneStore(t *testing.T) {
	for seed := range uint64(20) {
		e := anExperiment()
		e.Seed, e.Blocks, e.Cells = seed, 12, e.Cells[2:]
		after := map[string]int{} // store a
		var before plan.Trial
		for _, trial := range plan.Plan(e) {
			if trial.Refuse == "" && before.Leaves() == "a" {
				after[trial.Arm]++
			}
			before = trial
		}
		for _, arm := range []string{"a", "b", "c.d", "b (A/A)", "null"} {
			if after[arm] > 5 {
				t.Errorf("seed %d: %s came after a %d times of 12", seed, arm, after[arm])
			}
		}
	}
}

func TestIDsAreUniqueSortedAndPlain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := anExperiment()
		e.Blocks = rapid.IntRange(1, 120).Draw(rt, "blocks")
		e.Seed = rapid.Uint64().Draw(rt, "seed")
		for range rapid.IntRange(0, 300).Draw(rt, "cells") {
			e.Cells = append(e.Cells, e.Cells[0])
		}
		e.Blocks = max(1, min(e.Blocks, 2_000/len(e.Cells)))
		var ids []string
		for _, trial := range plan.Plan(e) {
			if filepath.Base(trial.ID) != trial.ID || strings.ContainsAny(trial.ID, " ()/\\:") {
				rt.Fatalf("the ID %q is no name of a directory", trial.ID)
			}
			ids = append(ids, trial.ID)
		}
		if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
			rt.Fatalf("IDs are not sorted as they run, or not unique: %v", ids)
		}
	})
}

// TestRefusalReasons: each limit that a driver may claim is asked, and nothing is refused without
// one.
func TestRefusalReasons(t *testing.T) {
	base := anExperiment()
	base.Stores = base.Stores[1:2]
	base.Cells = base.Cells[1:2]
	for _, c := range []struct {
		name   string
		change func(d *store.Description, cell *experiment.Cell, p *experiment.Phase)
		want   string
	}{
		{"nothing", func(*store.Description, *experiment.Cell, *experiment.Phase) {}, ""},
		{"key", func(d *store.Description, _ *experiment.Cell, _ *experiment.Phase) { d.KeyBytesMax = 15 }, "keys of 16 bytes"},
		{"key at the limit", func(d *store.Description, _ *experiment.Cell, _ *experiment.Phase) { d.KeyBytesMax = 16 }, ""},
		{"short key", func(d *store.Description, _ *experiment.Cell, _ *experiment.Phase) { d.KeyBytesMin = 17 }, "at least 17"},
		{"key of an array", func(d *store.Description, _ *experiment.Cell, _ *experiment.Phase) { d.KeyNumbers = true }, ""},
		{"value of an option", func(d *store.Description, _ *experiment.Cell, _ *experiment.Phase) {
			d.ValueBytesMax, d.ValueBytesOption = 99, "width_bytes"
		}, "at most 99, which its option width_bytes sets"},
		{"value", func(d *store.Description, _ *experiment.Cell, _ *experiment.Phase) { d.ValueBytesMax = 99 }, "values of 100 bytes"},
		{"short value", func(d *store.Description, _ *experiment.Cell, _ *experiment.Phase) { d.ValueBytesMin = 101 }, "values of 100 bytes: its driver needs at least 101"},
		{"value at the least", func(d *store.Description, _ *experiment.Cell, _ *experiment.Phase) { d.ValueBytesMin = 100 }, ""},
		{"shared", func(d *store.Description, c *experiment.Cell, _ *experiment.Phase) {
			d.HandlesShareable, c.Handles, c.Threads = false, experiment.Shared, 2
		}, "can't share"},
		{"shared alone", func(d *store.Description, c *experiment.Cell, _ *experiment.Phase) {
			d.HandlesShareable, c.Handles, c.Threads = false, experiment.Shared, 1
		}, ""},
		{"handles", func(d *store.Description, c *experiment.Cell, _ *experiment.Phase) { d.HandlesMax, c.Threads = 3, 4 }, "can't open 4 handles"},
		{"handles of a phase", func(d *store.Description, _ *experiment.Cell, p *experiment.Phase) { d.HandlesMax, p.Threads = 3, 4 }, "can't open 4 handles"},
		{"pool", func(d *store.Description, c *experiment.Cell, _ *experiment.Phase) {
			d.HandlesMax, c.Threads, c.Handles, c.PoolHandles = 3, 9, experiment.Pool, 3
		}, ""},
		{"scan", func(d *store.Description, _ *experiment.Cell, p *experiment.Phase) {
			d.Abilities.Scan, p.Mix = false, map[string]float64{"scan": 1}
		}, "can't scan"},
		{"scan of weight 0", func(d *store.Description, _ *experiment.Cell, p *experiment.Phase) {
			d.Abilities.Scan, p.Mix = false, map[string]float64{"scan": 0, "read": 1}
		}, ""},
		{"add", func(_ *store.Description, _ *experiment.Cell, p *experiment.Phase) {
			p.Mix = map[string]float64{"add": 1}
		}, "add a record if absent"},
		{"swap", func(_ *store.Description, _ *experiment.Cell, p *experiment.Phase) {
			p.Mix = map[string]float64{"compare_and_swap": 1}
		}, "compare and swap"},
		{"batch", func(_ *store.Description, _ *experiment.Cell, p *experiment.Phase) { p.Batch = 2 }, "can't write batches"},
		{"batch of one", func(_ *store.Description, _ *experiment.Cell, p *experiment.Phase) { p.Batch = 1 }, ""},
		{"batch too large", func(d *store.Description, _ *experiment.Cell, p *experiment.Phase) {
			d.Abilities.Batch, d.BatchMax, p.Batch = true, 10, 11
		}, "at most 10"},
	} {
		e := *base
		e.Stores, e.Cells, e.Phases = slices.Clone(base.Stores), slices.Clone(base.Cells), slices.Clone(base.Phases)
		c.change(&e.Stores[0].Description, &e.Cells[0], &e.Phases[1])
		refused := ""
		for _, trial := range plan.Plan(&e) {
			refused += trial.Refuse
		}
		if (c.want == "") != (refused == "") || !strings.Contains(refused, c.want) {
			t.Errorf("%s: %q, want %q in it", c.name, refused, c.want)
		}
	}
}

// An array takes keys that count from 0 on, and no others.
func TestArrayRefusesKeysThatAreNoPositions(t *testing.T) {
	e := anExperiment()
	e.Stores[0].Description.KeyNumbers = true
	e.Stores[0].Description.KeyLengths = true
	for _, c := range []struct {
		keys  keyval.KeyShape
		taken bool
	}{
		{keyval.KeyShape{Format: keyval.Binary, Bytes: 16}, true},
		{keyval.KeyShape{Format: keyval.Binary, Bytes: 16, Scatter: true}, false},
		{keyval.KeyShape{Format: keyval.Decimal}, false},
		{keyval.KeyShape{Format: keyval.Binary, Lengths: []keyval.Stretch{{Bytes: 8}}}, false},
	} {
		e.Keys = c.keys
		r := e.Refusal(0, 0)
		if fits := r == nil || !strings.Contains(r.Reason, "count from 0 on"); fits != c.taken {
			t.Errorf("%+v: %+v", c.keys, r)
		}
	}
}

func TestOptionalPhasesAreSkippedNotRefused(t *testing.T) {
	e := anExperiment()
	e.Stores[0].Description.Abilities.Scan = false
	e.Phases = append(e.Phases, experiment.Phase{Name: "scan", Mix: map[string]float64{"scan": 1}, Duration: time.Second, Optional: true})
	skipping := 0
	for _, trial := range plan.Plan(e) {
		if trial.Refuse != "" {
			continue
		}
		if skips := trial.Store == 0; skips != (trial.Skip["scan"] != "") {
			t.Errorf("%s skips %v", trial.ID, trial.Skip)
		} else if skips {
			skipping++
		}
	}
	if skipping != 9 { // three blocks: in D0, its A/A arm there, and in D3
		t.Errorf("%d trials skip the phase", skipping)
	}
	all := plan.EstimateOf(e, plan.Plan(e))
	if want := 27.0*2 + 9 + 18 + 9; all.SecondsLow != want {
		t.Errorf("%v s, want %v", all.SecondsLow, want)
	}
}

func TestEstimateSaysWhatItKnows(t *testing.T) {
	e := anExperiment()
	estimate := plan.EstimateOf(e, plan.Plan(e))
	if estimate.Trials != 39 || estimate.Refused != 3 || estimate.SecondsLow != 27*2+9 ||
		estimate.SecondsHigh <= estimate.SecondsLow {
		t.Errorf("%+v", estimate)
	}
	if estimate.LoadRecords != 36_000 || estimate.LoadBytes != 36_000*116 || estimate.DataBytes != 1000*116*3 {
		t.Errorf("%+v", estimate)
	}
	text := estimate.String()
	for _, part := range []string{"36 trials", "3 not supported", "63.0 s to", "not included: loads (36,000 records,", "348 kB of data for a trial", "Not included: files"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
	e.Stores[0].Server = &experiment.Server{Count: 3}
	if text := plan.EstimateOf(e, plan.Plan(e)).String(); !strings.Contains(text, "in all) and the start of 27 servers") {
		t.Errorf("started servers are not in %q", text)
	}
	e.Stores[0].Server = nil
	// By operations: more of them take longer, and D3 longer than D1.
	e.Phases[1].Duration, e.Phases[1].Operations = 0, 1000
	counted := plan.EstimateOf(e, plan.Plan(e))
	if counted.SecondsLow >= 1 || counted.SecondsHigh <= counted.SecondsLow {
		t.Errorf("%+v", counted)
	}
	// Inserts need disk, and no more than there are operations.
	e.Phases[1].Mix = map[string]float64{"insert": 1}
	if got := plan.EstimateOf(e, plan.Plan(e)).DataBytes; got != 2000*116*3 {
		t.Errorf("%d bytes", got)
	}
}

func TestStoreMissingOnThisMachineIsPlannedAndRefused(t *testing.T) {
	e, err := read.Load([]byte(`
name: missing
stores: [memory, kyoto]
phases: [{name: load, load: true}, {name: read, mix: {read: 1}, for: 1s}]
durability: D0
`), "missing.yaml", nil, read.Drivers{Names: []string{"memory", "kyoto"}, Describe: func(s experiment.Store) (store.Description, error) {
		if s.Driver == "kyoto" {
			return store.Description{}, fmt.Errorf("kyoto is not built: apt-get install libkyotocabinet-dev: %w", read.ErrNotHere)
		}
		return store.Description{Name: s.Driver, Kind: store.Memory, HandlesShareable: true,
			Durability: []store.DurabilityClaim{{Class: store.D0}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range plan.Plan(e) {
		if refused := trial.Refuse != ""; refused != (trial.Arm == "kyoto") {
			t.Errorf("%s: refused %q", trial.ID, trial.Refuse)
		}
	}
}
