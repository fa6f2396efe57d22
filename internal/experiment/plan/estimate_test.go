package plan_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/plan"
	"assay/store"
)

// What stores lay out in advance is a thousand times as much as a small experiment's data: the plan
// names the store that does, and the stores whose driver does not describe it.
func TestEstimateSeparatesDataFromOverhead(t *testing.T) {
	e := anExperiment()
	e.Phases[1].Mix = map[string]float64{"read": 1}
	for _, c := range []struct {
		fixed        [3]int64 // of the three stores
		disk         uint64
		says, silent string
	}{
		{[3]int64{0, 0, 0}, 348_000, "Not included: files that stores preallocate (unknown for ", "up to"},
		{[3]int64{4e6, 315e6, 1e3}, 315_348_000, "(up to about 315 MB: b)", "unknown"},
		{[3]int64{0, 315e6, 0}, 315_348_000, "(up to about 315 MB: b; unknown for ", "for b"},
		{[3]int64{-5, -5, -5}, 348_000, "unknown for ", "preallocate (up to"}, // a worker of somebody else's may say anything
	} {
		for i, fixed := range c.fixed {
			e.Stores[i].Description.FixedDiskBytes = fixed
		}
		estimate := plan.EstimateOf(e, plan.Plan(e))
		_, text, _ := strings.Cut(estimate.String(), " of data for a trial")
		if !strings.Contains(text, c.says) || strings.Contains(text, c.silent) {
			t.Errorf("%v: %q, want %q in it and not %q", c.fixed, text, c.says, c.silent)
		}
		if estimate.DiskBytes != c.disk || estimate.DataBytes != 348_000 {
			t.Errorf("%v: %+v", c.fixed, estimate)
		}
	}
	for _, name := range []string{"a", "c.d"} {
		e.Stores[0].Description.FixedDiskBytes, e.Stores[1].Description.FixedDiskBytes,
			e.Stores[2].Description.FixedDiskBytes = 0, 1, 0
		if text := plan.EstimateOf(e, plan.Plan(e)).String(); !strings.Contains(text[strings.LastIndex(text, "unknown for"):], name) {
			t.Errorf("%s, which does not say what it sets aside, is not named in %q", name, text)
		}
	}
}

// A quota bounds what a store sets aside as well as its data.
func TestEstimateKeepsToTheQuota(t *testing.T) {
	e := anExperiment()
	for i := range e.Stores {
		e.Stores[i].Description.FixedDiskBytes = 315e6
	}
	for i := range e.Cells {
		e.Cells[i].DiskQuota = 2 << 20
	}
	if estimate := plan.EstimateOf(e, plan.Plan(e)); estimate.DiskBytes != 2<<20 || estimate.DataBytes != 348_000 {
		t.Errorf("%+v", estimate)
	}
}

func TestTooSmallDiskIsReported(t *testing.T) {
	e := anExperiment()
	for i := range e.Cells {
		e.Cells[i].Records = 1e10
	}
	estimate := plan.EstimateOf(e, plan.Plan(e))
	if text := estimate.TooLittle(66e9); !strings.Contains(text, "3.48 TB of disk") || !strings.Contains(text, "66.0 GB are free") || !strings.Contains(text, "disk_quota") {
		t.Errorf("%q", text)
	}
	if text := estimate.TooLittle(estimate.DiskBytes); text != "" {
		t.Errorf("it is just enough, but %q", text)
	}
	for i := range e.Stores {
		e.Stores[i].Description.Kind = store.Memory
	}
	if text := plan.EstimateOf(e, plan.Plan(e)).TooLittle(0); text != "" {
		t.Errorf("stores in memory need no disk, but %q", text)
	}
}

// What a file may ask for is more than a time.Duration, and than 64 bits, can hold.
func TestEstimateDoesNotOverflow(t *testing.T) {
	for _, c := range []struct {
		duration time.Duration
		says     string
	}{
		{1_000_000 * time.Hour, "about 3082 years to 3082 years"}, // 27 trials of 114 years, and 9 of the null driver
		{math.MaxInt64, "years"},
		{1000 * time.Hour, "about 3.08 years to 3.08 years"},
		{10 * time.Hour, "about 11.3 days to 11.3 days"},
		{time.Hour, "about 27 h 00 min to 27 h"},
	} {
		e := anExperiment()
		e.Phases[1].Duration = c.duration
		if text := plan.EstimateOf(e, plan.Plan(e)).String(); !strings.Contains(text, c.says) || strings.Contains(text, "-") {
			t.Errorf("%v: %q, want %q in it", c.duration, text, c.says)
		}
	}
	e := anExperiment()
	for i := range e.Cells {
		e.Cells[i].Records, e.Cells[i].ValueBytes = 1<<47, 1<<30
	}
	e.Phases = append(e.Phases, experiment.Phase{Name: "insert", Mix: map[string]float64{"insert": 1}, Duration: math.MaxInt64})
	if estimate := plan.EstimateOf(e, plan.Plan(e)); estimate.DataBytes != math.MaxUint64 ||
		estimate.DiskBytes != math.MaxUint64 || estimate.LoadBytes < 1<<60 {
		t.Errorf("%+v", estimate)
	}
}

// A phase that ends by a count takes as long as its rate, or the pauses of its threads, make it.
func TestEstimateCountsRatesAndPauses(t *testing.T) {
	of := func(change func(*experiment.Phase)) plan.Estimate {
		e := anExperiment()
		e.Phases, e.Cells = e.Phases[:2], e.Cells[:1]
		e.Cells[0].Threads = 4
		for i := range e.Stores {
			e.Stores[i].Description.Pauses = true
		}
		p := &e.Phases[1]
		p.Mix, p.Duration, p.Operations = map[string]float64{"read": 1}, 0, 1000
		change(p)
		return plan.EstimateOf(e, plan.Plan(e))
	}
	plain := of(func(*experiment.Phase) {})
	trials := float64(plain.Trials - plain.Refused)
	for name, c := range map[string]struct {
		change  func(*experiment.Phase)
		seconds float64
	}{
		"rate":             {func(p *experiment.Phase) { p.Rate = 10 }, 100},
		"pauses":           {func(p *experiment.Phase) { p.Think.Mean = time.Second }, 250},
		"count, or sooner": {func(p *experiment.Phase) { p.Rate, p.Duration = 10, 30*time.Second }, 30},
		"count, if sooner": {func(p *experiment.Phase) { p.Rate, p.Duration = 10, 300*time.Second }, 100},
	} {
		got := of(c.change)
		if low := got.SecondsLow / trials; low < c.seconds || low > 1.01*c.seconds+1 {
			t.Errorf("%s: %.1f s a trial at least, expected %v", name, low, c.seconds)
		}
		if high := got.SecondsHigh / trials; high < c.seconds {
			t.Errorf("%s: %.1f s a trial at most, expected %v or more", name, high, c.seconds)
		}
	}
}

// A batch of a thousand inserts is a thousand records, in bytes and in time.
func TestEstimateCountsTheRecordsOfBatches(t *testing.T) {
	of := func(batch int) plan.Estimate {
		e := anExperiment()
		e.Phases[1].Mix, e.Phases[1].Duration, e.Phases[1].Operations, e.Phases[1].Batch = map[string]float64{"insert": 1}, 0, 5000, batch
		for i := range e.Stores {
			e.Stores[i].Description.Abilities.Batch = true
		}
		return plan.EstimateOf(e, plan.Plan(e))
	}
	one, many := of(1), of(1000)
	if many.DataBytes < 500*one.DataBytes || many.SecondsLow < 100*one.SecondsLow ||
		many.SecondsHigh < 5*one.SecondsHigh {
		t.Errorf("one by one %+v, in batches of 1000 %+v", one, many)
	}
}

// A store that can't find a record by an index is reported where there are many records, and other
// operations than inserts.
func TestEstimateReportsScanningStores(t *testing.T) {
	for _, c := range []struct {
		idle    bool
		records uint64
		mix     map[string]float64
		told    bool
	}{
		{true, 10_000, map[string]float64{"query": 1}, true},
		{true, 1_000_000, map[string]float64{"insert": 1, "update": 1}, true},
		{true, 9_999, map[string]float64{"query": 1}, false},
		{true, 10_000, map[string]float64{"insert": 1, "read": 0}, false},
		{false, 10_000, map[string]float64{"query": 1}, false},
	} {
		e := anExperiment()
		e.Stores[1].Description.IndexesIdle = c.idle
		for i := range e.Cells {
			e.Cells[i].Records = c.records
		}
		for i := range e.Phases {
			e.Phases[i].Mix = nil
		}
		e.Phases[1].Mix = c.mix
		text := plan.Scanning(e)
		if (text != "") != c.told || c.told && (!strings.HasPrefix(text, e.Stores[1].Name+" ") || !strings.Contains(text, " "+e.Phases[1].Name+" ")) {
			t.Errorf("%+v: %q", c, text)
		}
	}
}

// A phase that will have deleted all records before it ends is reported beforehand, where that can be
// computed; one that puts as much as it deletes, or ends in time, is not.
//
// Fault (physics): a phase that deletes runs out of records
// Assay: above 5 % of operations without a record, no store has a rank, unless all did the same
// operations, or the mix puts as much as it deletes and the share is equal. A dry run and a run
// warn before
// With: run.TestMayDelete, detect.TestRanOutOfRecords, facts.TestTable_what_has_no_rank_says_why
func TestEmptyingIsReported(t *testing.T) {
	deletes := map[string]float64{"delete": 1}
	for name, c := range map[string]struct {
		mix        map[string]float64
		batch      int
		operations uint64
		rate       float64
		duration   time.Duration
		told       string
	}{
		"deletes alone":       {mix: deletes, duration: time.Second, told: "5,000 records last for 5,000 operations, 50.0 ms at 100,000/s"},
		"half of them":        {mix: map[string]float64{"delete": 50, "read": 50}, duration: time.Second, told: "last for 10,000 operations"},
		"in batches":          {mix: deletes, batch: 10, duration: time.Second, told: "last for 500 operations"},
		"at a rate":           {mix: deletes, rate: 1000, duration: time.Minute, told: "5.0 s at 1,000/s"},
		"at a rate, in time":  {mix: deletes, rate: 100, duration: 50 * time.Second},
		"as many operations":  {mix: deletes, operations: 5000},
		"too many operations": {mix: deletes, operations: 5001, told: "give operations: 5000"},
		"as much put back":    {mix: map[string]float64{"delete": 30, "upsert": 30, "read": 40}, duration: time.Second},
		"no deletes":          {mix: map[string]float64{"update": 1}, duration: time.Second},
	} {
		e := anExperiment()
		for i := range e.Cells {
			e.Cells[i].Records = 5000
		}
		for i := range e.Phases {
			e.Phases[i].Mix = nil
		}
		p := &e.Phases[1]
		p.Mix, p.Batch, p.Operations, p.Rate, p.Duration = c.mix, c.batch, c.operations, c.rate, c.duration
		text := plan.Emptying(e)
		if (text == "") != (c.told == "") || !strings.Contains(text, c.told) {
			t.Errorf("%s: %q; expected %q", name, text, c.told)
		}
	}
}

// A search between two rates ends soon on a store that does them all. One that breaks below the highest needs
// a whole search, however fast it is.
func TestEstimateOfASearchBetweenTwoRates(t *testing.T) {
	e := anExperiment()
	asked := capacity.Asked{Objectives: []capacity.Objective{{Metric: capacity.Percentile, Quantile: 0.99, Limit: 5e6}},
		From: 250, To: 8000, Step: time.Second, Hold: 2 * time.Second}
	e.Phases[1] = experiment.Phase{Name: "capacity", Mix: map[string]float64{"read": 1}, Capacity: &asked}
	e.Phases = e.Phases[:2]
	estimate := plan.EstimateOf(e, plan.Plan(e))
	_, whole := asked.Takes(4000, false)
	done := 0
	for _, trial := range plan.Plan(e) {
		if trial.Refuse == "" && trial.Role != plan.Ceiling {
			done++
		}
	}
	if least := float64(done) * whole; estimate.SecondsHigh < least || estimate.SecondsHigh > 1.5*least {
		t.Errorf("%.0f s at most, expected %.0f s and a little more", estimate.SecondsHigh, least)
	}
	if estimate.SecondsLow > estimate.SecondsHigh/5 {
		t.Errorf("%.0f s at least of %.0f s", estimate.SecondsLow, estimate.SecondsHigh)
	}
}
