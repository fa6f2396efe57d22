package facts

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"assay/internal/analysis/stat"
	"assay/internal/evidence/proof"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/capacity"
	"assay/store"
)

func known(v float64) *float64 { return &v }

// choosing is a table that asks which store does 20,000 operations a second with 1 GiB each of memory and disk.
func choosing(class store.Durability, window time.Duration) *Table {
	return &Table{Parameters: experiment.Cell{Durability: class, LossWindow: window},
		Work: experiment.Phase{Capacity: &capacity.Asked{Wanted: &capacity.Wanted{Rate: 20_000,
			MemoryBytes: 1 << 30, DiskBytes: 1 << 30, PerHour: 0.36}}}}
}

// searchedRow is a row whose search came to an outcome, at a rate with an interval.
func searchedRow(outcome capacity.Outcome, rate, low, high float64) *Row {
	r := &Row{}
	r.Capacity = &Capacity{Outcome: outcome, Rate: rate,
		Limit: CapacityLimit{ClientCPUs: known(0.5), ServerCPUs: known(1), Watts: known(30)}}
	r.Rate = &Estimate{Value: rate, Low: known(low), High: known(high)}
	r.MemoryBytes, r.DiskBytes = known(1e8), known(1e8)
	return r
}

func TestChoice_verdicts(t *testing.T) {
	found := func() *Row { return searchedRow(capacity.Found, 60_000, 50_000, 70_000) }
	with := func(change func(*Row)) *Row { r := found(); change(r); return r }
	because := func(kind ReasonKind) *Row {
		return with(func(r *Row) { r.Reasons = []Reason{{Kind: kind}} })
	}
	one := func(outcome capacity.Outcome, rate float64) *Row { return searchedRow(outcome, rate, rate, rate) }
	for name, c := range map[string]struct {
		of      *Row
		verdict Verdict
		why     string
		spare   float64
	}{
		"enough":                      {found(), Does, "", 2.5},
		"too slow":                    {searchedRow(capacity.Found, 15_000, 14_000, 16_000), DoesNot, WhyRate, 0.7},
		"rate within the interval":    {searchedRow(capacity.Found, 21_000, 18_000, 24_000), Unclear, WhyInterval, 0.9},
		"too much memory":             {with(func(r *Row) { r.MemoryBytes = known(2e9) }), DoesNot, WhyMemory, 2.5},
		"too much disk":               {with(func(r *Row) { r.DiskBytes = known(2e9) }), DoesNot, WhyDisk, 2.5},
		"memory that is not measured": {with(func(r *Row) { r.MemoryBytes = nil }), Unclear, WhyUnseen, 2.5},
		"all rates hold":              {one(capacity.AtLeast, 80_000), Does, "", 4},
		"client too slow":             {one(capacity.Client, 10_000), Unclear, "client", 0.5},
		"client fast enough":          {one(capacity.Client, 30_000), Does, "", 1.5},
		"no rate held":                {one(capacity.Below, 100), DoesNot, "below", 0.005},
		"cliff above the rate":        {one(capacity.Cliff, 60_000), Unclear, "cliff", 3},
		"cliff below the rate":        {one(capacity.Cliff, 10_000), DoesNot, WhyRate, 0.5},
		"no recovery":                 {one(capacity.NoRecovery, 60_000), DoesNot, "recovery", 3},
		"blocks disagree":             {one(capacity.Disagree, 60_000), Unclear, "disagree", 3},
		"wrong values":                {because(ReasonMarked), DoesNot, WhyFaults, 2.5},
		"broken promise":              {because(ReasonGrave), DoesNot, WhyFaults, 2.5},
		"disturbed":                   {because(ReasonMachine), Unclear, WhyDoubt, 2.5},
		"bound by the harness":        {because(ReasonHarness), Does, "", 2.5},
	} {
		got := choosing(store.D3, 0).choiceOf(c.of)
		if got.Verdict != c.verdict || got.Why != c.why || math.Abs(got.Spare-c.spare) > 1e-9 {
			t.Errorf("%s: %+v", name, got)
		}
		rate := c.of.Capacity.Rate
		if math.Abs(*got.CPUSeconds-1.5/rate*1e6) > 1e-9 || math.Abs(*got.Joules-30/rate*1e6) > 1e-6 ||
			math.Abs(*got.Price-0.005) > 1e-12 || got.WrittenBytes != nil {
			t.Errorf("%s costs %v s, %v J, %v and %v", name, *got.CPUSeconds, *got.Joules, got.WrittenBytes, *got.Price)
		}
	}
	nothing := choosing(store.D3, 0)
	nothing.Work.Capacity.Wanted = nil
	if nothing.choiceOf(found()) != nil {
		t.Error("nothing was to be chosen")
	}
}

// What is advised holds in one run more: where the rate is as high as it may be, in 97.5 % of them.
func TestChoice_counts_on_what_one_run_more_finds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const runs, noise, truth = 4000, 0.05, 60_000.0
	for _, blocks := range []int{3, 5} {
		holds := 0
		for range runs {
			draw := func() float64 { return truth * math.Exp(noise*r.NormFloat64()) }
			values := make([]float64, blocks)
			for i := range values {
				values[i] = draw()
			}
			of := stat.Estimates([][]float64{values}, stat.Options{Resolution: capacity.Resolution})
			estimate := EstimateOf(of[0])
			if low := estimate.inOneRun(); draw() >= low {
				holds++
			}
		}
		if share := float64(holds) / runs; share < 0.965 || share > 0.985 {
			t.Errorf("%d blocks: %.1f %% of one run more hold", blocks, 100*share)
		}
	}
	if one := (&Estimate{Value: 1000, Blocks: 1}); one.inOneRun() != 800 {
		t.Errorf("of one block: %v", one.inOneRun())
	}
}

func TestChoice_reports_bytes_written_over_the_whole_search(t *testing.T) {
	r := searchedRow(capacity.Found, 60_000, 50_000, 70_000)
	for _, bytes := range []uint64{100e6, 300e6} {
		p := &record.Phase{Operations: []record.Operation{{OK: 2e6}}}
		p.Process.HostWriteBytes = &bytes
		r.Trials = append(r.Trials, &Observation{Trial: &record.Trial{}, Phase: p, Used: true})
	}
	if got := choosing(store.D1, 0).choiceOf(r).WrittenBytes; got == nil || math.Abs(*got-100e6) > 1 {
		t.Errorf("%v bytes of a million operations, expected the mean of 50 and 150 MB", got)
	}
}

func TestChoice_reports_what_cuts_have_shown(t *testing.T) {
	cut := func(p *record.Proof) *Row {
		r := searchedRow(capacity.Found, 60_000, 50_000, 70_000)
		r.Trials = []*Observation{{Trial: &record.Trial{Proof: p}, Phase: &record.Phase{}, Used: true}}
		return r
	}
	lost := proof.Measure{Loss: &proof.Loss{WorstNS: 4e9}}
	for name, c := range map[string]struct {
		class  store.Durability
		proof  *record.Proof
		window int64 // -1: anything
		cuts   int
		proved bool
		worst  int64 // 0: not told
	}{
		"claimed":          {store.D3, nil, 0, 0, false, 0},
		"proved":           {store.D3, &record.Proof{Kept: true, Cuts: 60}, 0, 60, true, 0},
		"of other options": {store.D3, &record.Proof{Kept: true, Cuts: 60, Differs: []string{"options"}}, 0, 0, false, 0},
		"a window":         {store.D2, &record.Proof{Kept: true, Cuts: 9}, 1e8, 9, true, 0},
		"no promise":       {store.D1, &record.Proof{Kept: true, NoPromise: true, Cuts: 20, Measure: lost}, -1, 20, false, 4e9},
		"refuted":          {store.D3, &record.Proof{Cuts: 20, Measure: lost}, 0, 20, false, 4e9},
	} {
		got := choosing(c.class, 100*time.Millisecond).choiceOf(cut(c.proof)).MayLose
		window, worst := int64(-1), int64(0)
		if got.WindowNS != nil {
			window = *got.WindowNS
		}
		if got.WorstNS != nil {
			worst = *got.WorstNS
		}
		if window != c.window || got.Cuts != c.cuts || got.Proved != c.proved || worst != c.worst {
			t.Errorf("%s: window %d, worst %d, %+v", name, window, worst, got)
		}
	}
}
