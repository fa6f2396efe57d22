package facts

import (
	"math"
	"slices"

	"assay/internal/analysis/stat"
	"assay/internal/evidence/record"
	"assay/internal/experiment/capacity"
	"assay/store"
)

// Verdict is whether a store does what is asked for.
type Verdict string

// The verdicts.
const (
	Does    Verdict = "does"
	Unclear Verdict = "unclear"
	DoesNot Verdict = "does not"
)

// Why a store does not do what is asked for, or why that is unclear: one of these, or what its search shows
// in place of a capacity ([capacity.Outcome]).
const (
	WhyRate     = "rate"     // its capacity is lower
	WhyInterval = "interval" // one run may find its capacity above the rate, and the next below
	WhyMemory   = "memory"   // it used more
	WhyDisk     = "disk"     // its files took more
	WhyUnseen   = "unseen"   // what it uses was not measured
	WhyFaults   = "faults"   // errors, wrong values or a promise that it broke take its rank
	WhyDoubt    = "doubt"    // the machine disturbed it, or its trials did not end
)

// Choice is what a search for a capacity says of a store that is to do a rate, with what it costs.
type Choice struct {
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"` // "": it does
	// Spare is the capacity over the rate that is asked for: as low as one run more may find it.
	Spare       float64  `json:"spare"`
	AtLeast     bool     `json:"at_least,omitempty"` // no rate that was tried was too high, or the client was too slow
	MemoryBytes *float64 `json:"memory_bytes"`       // nil of all these: not measured
	DiskBytes   *float64 `json:"disk_bytes"`
	MayLose     MayLose  `json:"may_lose"`
	// What a million operations cost: CPU time of client and server and energy of the machine's processors
	// next to the capacity, bytes that went to the storage layer over the whole search, and what the
	// machine costs while it does as many at the rate that is asked for.
	CPUSeconds   *float64 `json:"cpu_s_per_million"`
	WrittenBytes *float64 `json:"written_bytes_per_million"`
	Joules       *float64 `json:"joules_per_million"`
	Price        *float64 `json:"price_per_million,omitempty"`
}

// MayLose is what of the acknowledged writes the class lets a power cut take, and what cuts have shown of it.
type MayLose struct {
	WindowNS *int64 `json:"window_ns"`        // 0: nothing; nil: anything
	Cuts     int    `json:"cuts,omitempty"`   // that were made of this store in this class; 0: it is a claim
	Proved   bool   `json:"proved,omitempty"` // all of them kept the promise
	// WorstNS is how long before a cut the first write that was lost had been acknowledged, at most.
	WorstNS *int64 `json:"worst_ns,omitempty"`
}

// million is how many operations a cost is of.
const million = 1e6

// choiceOf judges a row that searched; nil: nothing is to be chosen.
func (t *Table) choiceOf(r *Row) *Choice {
	if t.Work.Capacity == nil || t.Work.Capacity.Wanted == nil || r.Capacity == nil || r.Rate == nil {
		return nil
	}
	asked, found := t.Work.Capacity.Wanted, r.Capacity
	c := &Choice{MemoryBytes: r.MemoryBytes, DiskBytes: r.DiskBytes, MayLose: t.lossOf(r)}
	sure := found.Rate
	switch found.Outcome {
	case capacity.Found:
		sure = r.Rate.inOneRun()
	case capacity.AtLeast, capacity.Client:
		c.AtLeast = true
	}
	c.Spare = sure / asked.Rate
	if used := found.Limit.ClientCPUs; used != nil {
		cpus := *used
		if found.Limit.ServerCPUs != nil {
			cpus += *found.Limit.ServerCPUs
		}
		c.CPUSeconds = perMillion(&cpus, found.Rate)
	}
	c.Joules = perMillion(found.Limit.Watts, found.Rate)
	c.WrittenBytes = writtenPerMillion(r.Phases())
	if asked.PerHour > 0 {
		perSecond := asked.PerHour / 3600
		c.Price = perMillion(&perSecond, asked.Rate)
	}
	c.Verdict, c.Why = verdictOf(r, c, asked)
	return c
}

// unknownNoise is which share of a figure of a single block is counted on: nothing says how far the next one
// differs.
const unknownNoise = 0.8

// inOneRun is how low one run more may find what an estimate is of: the low end of its prediction interval. That
// of the mean of n blocks says nothing of one block, whose logarithm is √(n + 1) times as far from it.
func (e *Estimate) inOneRun() float64 {
	if e.Low == nil {
		return unknownNoise * e.Value
	}
	return e.Value * math.Pow(*e.Low/e.Value, math.Sqrt(float64(e.Blocks+1)))
}

// perMillion is what a million operations take at a rate, of what is used in a second.
func perMillion(perSecond *float64, rate float64) *float64 {
	if perSecond == nil {
		return nil
	}
	each := *perSecond * million
	return Divided(&each, rate)
}

func writtenPerMillion(phases []*record.Phase) *float64 {
	var all []float64
	for _, p := range phases {
		all = AppendKnown(all, Divided(Float(p.Process.WrittenBytes()), float64(DoneOf(p))/million))
	}
	if len(all) == 0 {
		return nil
	}
	mean := stat.Mean(all)
	return &mean
}

// lossOf is what cuts have shown of a row's store in the class of its table.
func (t *Table) lossOf(r *Row) (l MayLose) {
	class := t.Parameters.Durability
	switch class {
	case store.D2:
		window := int64(t.Parameters.LossWindow)
		l.WindowNS = &window
	case store.D3, store.D4:
		l.WindowNS = new(int64)
	}
	for _, o := range r.Used() {
		p := o.Trial.Proof // of power cuts
		if p == nil || len(p.Differs) > 0 {
			continue
		}
		l.Cuts, l.Proved = p.Cuts, p.Proves()
		if p.Loss != nil {
			l.WorstNS = &p.Loss.WorstNS
		}
	}
	return l
}

// faultReasons are those by which a store does not do what it is asked for, whatever its rate.
var faultReasons = []ReasonKind{ReasonEnded, ReasonMarked, ReasonGrave, ReasonNothingDone, ReasonIdle, ReasonQuota}

// doubtReasons are those by which its figures tell too little.
var doubtReasons = []ReasonKind{ReasonNoTrialEnded, ReasonInterrupted, ReasonMachine}

func verdictOf(r *Row, c *Choice, asked *capacity.Wanted) (Verdict, string) {
	above := func(used *float64, most int64) bool { return most > 0 && used != nil && *used > float64(most) }
	unseen := func(used *float64, most int64) bool { return most > 0 && used == nil }
	found := r.Capacity.Outcome
	highest := r.Capacity.Rate
	if r.Rate.High != nil && found == capacity.Found {
		highest = *r.Rate.High
	}
	switch {
	case slices.ContainsFunc(faultReasons, r.Lacks):
		return DoesNot, WhyFaults
	case slices.ContainsFunc(doubtReasons, r.Lacks):
		return Unclear, WhyDoubt
	case found == capacity.Client && c.Spare < 1, found == capacity.Disagree, found == capacity.Unfinished,
		found == capacity.Cliff && c.Spare >= 1:
		return Unclear, string(found)
	case found != capacity.Found && found != capacity.Cliff && !c.AtLeast:
		return DoesNot, string(found)
	case highest < asked.Rate:
		return DoesNot, WhyRate
	case above(r.MemoryBytes, asked.MemoryBytes):
		return DoesNot, WhyMemory
	case above(r.DiskBytes, asked.DiskBytes):
		return DoesNot, WhyDisk
	case c.Spare < 1:
		return Unclear, WhyInterval
	case unseen(r.MemoryBytes, asked.MemoryBytes) || unseen(r.DiskBytes, asked.DiskBytes):
		return Unclear, WhyUnseen
	}
	return Does, ""
}
