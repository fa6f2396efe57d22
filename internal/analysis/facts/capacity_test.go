package facts

import (
	"math"
	"testing"

	"assay/internal/analysis/stat"
	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/plan"
)

var capacityWork = experiment.Phase{Name: "capacity", Capacity: &capacity.Asked{
	Objectives: []capacity.Objective{{Metric: capacity.Percentile, Quantile: 0.99, Limit: 5e6}}, From: 100, To: 1e6,
	Step: 2e9, Hold: 10e9}}

// searched is a phase whose store holds up to a rate, as its steps have it: all operations take a
// millisecond then, and ten above.
func searched(rate float64, late bool) *record.Phase {
	cpu, server := 0.5, 0.98
	p := &record.Phase{Name: "capacity", ElapsedNS: 60e9, Open: true, Machine: &record.Machine{CPUs: 4}, Capacity: &record.Capacity{}}
	add := func(kind capacity.Kind, asked float64) capacity.Seen {
		const n = 10_000
		s := record.CapacityStep{Kind: kind, Rate: asked, Seconds: 2, Done: min(asked, rate), Due: n,
			Response: histogram.New(), ClientCPUs: &cpu, ServerCPUs: &server}
		took := uint64(1e6)
		if asked > rate {
			took = 1e7
			if late {
				s.Late = make([]uint64, 25)
				s.Late[16] = n // eight milliseconds and more
			}
		}
		s.Response.Counts[histogram.Bucket(took)] = n
		p.Capacity.Steps = append(p.Capacity.Steps, s)
		return s.Seen(capacityWork.Capacity.Objectives)
	}
	add(capacity.Closed, 2*rate)
	p.Capacity.Steps[0].Done, p.Capacity.Steps[0].Rate = 2*rate, 0
	search := capacity.NewSearch(*capacityWork.Capacity, rate/3, false, 1)
	for {
		step, more := search.Next()
		if !more {
			return p
		}
		search.Saw(add(step.Kind, step.Rate))
	}
}

func rowOf(phases ...*record.Phase) *Row {
	r := &Row{Arm: "redis", Role: plan.Measured}
	for i, p := range phases {
		fitted := p.Capacity.Fitted(capacityWork.Capacity.Objectives)
		r.Trials = append(r.Trials, &Observation{Planned: plan.Trial{Block: i + 1}, Trial: &record.Trial{},
			Phase: p, State: record.OK,
			Used: true, Fitted: &fitted, Rate: &fitted.Rate})
	}
	return r
}

func TestCapacityOfARow(t *testing.T) {
	r := rowOf(searched(40_000, false), searched(41_000, false), searched(42_000, false))
	c := r.capacityOf(capacityWork, false)
	if c.Outcome != capacity.Found || c.Blocks != 3 || math.Abs(c.Rate/41_000-1) > 0.02 {
		t.Errorf("%s %v in %d blocks, expected 41000", c.Outcome, c.Rate, c.Blocks)
	}
	if c.Held == nil || c.Held.Blocks != 3 || c.Held.Rate > 40_000 || c.Held.Rate < 36_000 {
		t.Errorf("held: %+v, expected the lowest of the blocks", c.Held)
	}
	if c.ClosedRate == nil || *c.ClosedRate != 82_000 || math.Abs(c.ClosedNS[0]/1e7-1) > 0.01 {
		t.Errorf("closed load: %v, %v", c.ClosedRate, c.ClosedNS)
	}
	if c.Limit.Kind != LimitServer || *c.Limit.ServerCPUs != 0.98 || c.Limit.CPUs != 4 {
		t.Errorf("limited by %+v", c.Limit)
	}
	if at := c.Each[0]; at == nil || math.Abs(*at/41_000-1) > 0.02 || c.Each[1] != nil {
		t.Errorf("each objective breaks at %v", c.Each)
	}
	bands := r.OverTime.ByRate
	if len(bands) < 8 {
		t.Fatalf("%d bands", len(bands))
	}
	for i, b := range bands {
		p99 := b.At(0.99)
		switch {
		case b.FromRate > b.ToRate || i > 0 && b.FromRate < bands[i-1].ToRate:
			t.Errorf("band %d goes from %v to %v", i, b.FromRate, b.ToRate)
		case p99 == nil, b.ToRate < 40_000 && *p99 > 1.1e6, b.FromRate > 42_000 && *p99 < 9e6:
			t.Errorf("band up to %v: p99 %v", b.ToRate, p99)
		}
	}
}

func TestCapacity_of_a_client_that_is_too_slow_is_none(t *testing.T) {
	c := rowOf(searched(40_000, true), searched(41_000, true)).capacityOf(capacityWork, false)
	if c.Outcome != capacity.Client || c.Limit.Kind != LimitClient || c.Rate > 42_000 {
		t.Errorf("%s %v, limited by %s", c.Outcome, c.Rate, c.Limit.Kind)
	}
}

func TestCapacity_is_what_most_blocks_show(t *testing.T) {
	odd := searched(40_000, true)
	c := rowOf(searched(40_000, false), odd, searched(41_000, false)).capacityOf(capacityWork, false)
	if c.Outcome != capacity.Found || c.Blocks != 2 || c.Of != 3 {
		t.Errorf("%s in %d of %d blocks", c.Outcome, c.Blocks, c.Of)
	}
	c = rowOf(searched(40_000, false), odd).capacityOf(capacityWork, false)
	if c.Outcome != capacity.Disagree || c.Rate != 0 {
		t.Errorf("of two blocks that do not agree: %s %v", c.Outcome, c.Rate)
	}
	if (&Row{}).capacityOf(experiment.Phase{}, false) != nil {
		t.Error("a phase that does not search has a capacity")
	}
}

func TestCapacity_outcomeOf(t *testing.T) {
	const found, unstable, declines, atLeast = capacity.Found, capacity.Unstable, capacity.Declines, capacity.AtLeast
	for name, c := range map[string]struct {
		blocks   []capacity.Outcome
		unsteady bool
		want     capacity.Outcome
		unsure   bool
	}{
		"all found":                       {[]capacity.Outcome{found, found, found}, false, found, false},
		"most found":                      {[]capacity.Outcome{found, unstable, found}, false, found, false},
		"one of each":                     {[]capacity.Outcome{found, unstable, declines}, false, found, true},
		"one of each, and one has no end": {[]capacity.Outcome{found, unstable, atLeast}, false, capacity.Disagree, false},
		"none found":                      {[]capacity.Outcome{unstable, declines}, false, capacity.Disagree, false},
		"the store is unstable":           {[]capacity.Outcome{unstable, unstable, found}, false, unstable, false},
		"the machine is unstable":         {[]capacity.Outcome{unstable, unstable, unstable}, true, found, true},
		"it is, and the store gets slow":  {[]capacity.Outcome{declines, declines, unstable}, true, declines, false},
		"it is, and one has no end":       {[]capacity.Outcome{unstable, unstable, atLeast}, true, unstable, false},
	} {
		var got Capacity
		got.outcomeOf(c.blocks, c.unsteady)
		if got.Outcome != c.want || (got.Unsure != nil) != c.unsure {
			t.Errorf("%s: %s, unsure %v", name, got.Outcome, got.Unsure)
		}
	}
}

// The machine is unsteady where half of the stores are, two at least.
func TestTable_Unsteady(t *testing.T) {
	for name, c := range map[string]struct {
		unstable []bool // stores
		want     bool
	}{
		"one store alone": {[]bool{true}, false}, "one of two": {[]bool{true, false}, false},
		"both": {[]bool{true, true}, true}, "two of four": {[]bool{true, false, true, false}, true},
		"two of five": {[]bool{true, false, true, false, false}, false},
	} {
		var table Table
		for i, unstable := range c.unstable {
			r := rowOf(searched(40_000, false), searched(40_000, false))
			if r.Store = i; unstable {
				r.Trials[1].Fitted.Outcome = capacity.Unstable
			}
			table.Rows = append(table.Rows, r)
		}
		if got := table.Unsteady(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A search that ended at the highest rate it tried says nothing of what the harness takes.
func TestCeilingOfASearch(t *testing.T) {
	for outcome, want := range map[capacity.Outcome]bool{capacity.Found: true, capacity.AtLeast: false} {
		r := rowOf(searched(40_000, false))
		r.Role, r.Rate, r.Capacity = plan.Ceiling, &Estimate{Value: 40_000}, &Capacity{Outcome: outcome}
		if got := r.isCeiling(); got != want {
			t.Errorf("%s: %v", outcome, got)
		}
	}
}

// The highest rate that was tried has no interval: it is no capacity.
func TestIntervalIsOfACapacityAlone(t *testing.T) {
	for outcome, want := range map[capacity.Outcome]bool{capacity.Found: true, capacity.AtLeast: false} {
		r := rowOf(searched(40_000, false))
		r.Capacity = &Capacity{Outcome: outcome}
		r.setRate(stat.Estimate{Value: 40_000, N: 3, Interval: &stat.Interval{Low: 35_000, High: 45_000}})
		if r.Rate.Value != 40_000 || (r.Rate.Low != nil) != want || (r.Rate.High != nil) != want {
			t.Errorf("%s: %+v", outcome, r.Rate)
		}
	}
}

func TestLimitOf(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	for name, c := range map[string]struct {
		limit   CapacityLimit
		outcome capacity.Outcome
		want    LimitKind
	}{
		"the client is late":                  {CapacityLimit{ClientCPUs: number(0.5), DiskBusy: number(1), CPUs: 4}, capacity.Client, LimitClient},
		"all CPUs are used":                   {CapacityLimit{ClientCPUs: number(1.9), ServerCPUs: number(1.8), DiskBusy: number(1), CPUs: 4}, capacity.Found, LimitMachine},
		"one CPU of the server is":            {CapacityLimit{ClientCPUs: number(0.3), ServerCPUs: number(0.97), CPUs: 4}, capacity.Found, LimitServer},
		"the disk is busy":                    {CapacityLimit{ClientCPUs: number(0.3), DiskBusy: number(0.95), Waited: number(0.5), CPUs: 4}, capacity.Found, LimitDisk},
		"the network is full":                 {CapacityLimit{ClientCPUs: number(0.3), LinkBusy: number(0.95), CPUs: 4}, capacity.Found, LimitNetwork},
		"a link that no store here is behind": {CapacityLimit{ClientCPUs: number(0.3), ServerCPUs: number(0.3), LinkBusy: number(0.95), CPUs: 4}, capacity.Found, LimitNone},
		"threads wait for handles":            {CapacityLimit{ClientCPUs: number(0.3), DiskBusy: number(0.2), Waited: number(0.5), CPUs: 4}, capacity.Found, LimitPool},
		"nothing is used up":                  {CapacityLimit{ClientCPUs: number(0.3), DiskBusy: number(0.2), Waited: number(0.02), CPUs: 4}, capacity.Found, LimitNone},
	} {
		if got := c.limit.kindOf(c.outcome); got != c.want {
			t.Errorf("%s: %s, expected %s", name, got, c.want)
		}
	}
	p := searched(40_000, false)
	for i := range p.Capacity.Steps {
		s := &p.Capacity.Steps[i]
		s.ServerCPUs, s.DiskBusy, s.DiskRequests = number(0.2), number(min(s.Rate/40_000, 1)), number(s.Rate/10)
		if s.Again = s.Kind == capacity.Edge && i%2 == 0; s.Again {
			s.DiskBusy = number(0)
		}
	}
	if l := rowOf(p, p, p).capacityOf(capacityWork, false).Limit; l.Kind != LimitDisk ||
		math.Abs(*l.DiskRequests/4000-1) > 0.1 {
		t.Errorf("limited by %+v, expected the disk; steps that are done again do not count", l)
	}
}

func TestKneeOfACapacity(t *testing.T) {
	p := &record.Phase{Name: "capacity", Capacity: &record.Capacity{}}
	for rate := 5000.0; rate <= 40_000; rate *= 1.1 {
		s := record.CapacityStep{Kind: capacity.Edge, Rate: rate, Seconds: 2, Due: 1000, Response: histogram.New()}
		s.Response.Counts[histogram.Bucket(uint64(1e6/(1-rate/50_000)))] = 1000
		p.Capacity.Steps = append(p.Capacity.Steps, s)
	}
	knee := kneeOf(&Capacity{Objectives: capacityWork.Capacity.Objectives, Rate: 40_000}, []*record.Phase{p})
	if knee == nil || *knee < 25_000 || *knee > 33_000 {
		t.Errorf("the knee is at %v, expected a rate at which latency is twice that below 20000/s", knee)
	}
	if knee := kneeOf(&Capacity{Objectives: capacityWork.Capacity.Objectives, Rate: 4000},
		[]*record.Phase{p}); knee != nil {
		t.Errorf("a knee, %v, although no step was below half of the capacity", *knee)
	}
}
