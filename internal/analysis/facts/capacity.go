package facts

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/plan"
)

// Capacity is what searches for a capacity found of a row, over its blocks. Its rate is the row's.
type Capacity struct {
	Objectives []capacity.Objective `json:"objectives"`
	Outcome    capacity.Outcome     `json:"outcome"` // what more than half of the blocks show
	Blocks     int                  `json:"blocks"`  // so many of them
	Of         int                  `json:"of_blocks"`
	// Unsure are what the blocks show, where the capacity is of all of them although they differ in kind.
	Unsure []capacity.Outcome `json:"unsure,omitempty"`
	// Rate is what the outcome's words are about, the median of its blocks, in operations a second: of a
	// capacity see the row's rate.
	Rate float64 `json:"rate"`
	// Each is where each objective breaks by itself, and last where the store falls behind: medians of
	// blocks in operations a second; nil: at no rate that was tried.
	Each []*float64 `json:"each"`
	Held *Held      `json:"held,omitempty"` // nil: in no block did a last step hold
	// Knee is the rate at which latency is twice that at low rates; nil: not seen.
	Knee *float64 `json:"knee,omitempty"`
	// Again is how many steps were done again, because others took a part of the machine, and Outliers how
	// many the capacities are fitted without, of all blocks.
	Again    int `json:"steps_again,omitempty"`
	Outliers int `json:"outliers,omitempty"`
	// ClosedRate is what closed load did before the search, and ClosedNS its latencies at the objectives'
	// percentiles (0: of another objective), medians of blocks.
	ClosedRate *float64      `json:"closed_rate,omitempty"`
	ClosedNS   []float64     `json:"closed_ns,omitempty"`
	Limit      CapacityLimit `json:"limited_by"`

	Choice *Choice `json:"choice,omitempty"` // nil: nothing is to be chosen
}

// Held is what the last steps of searches confirm.
type Held struct {
	Rate    float64 `json:"rate"`    // operations a second: the lowest of the blocks in which one held
	Seconds float64 `json:"seconds"` // how long each of them took at least
	Blocks  int     `json:"blocks"`
}

// LimitKind is what limits a store at its capacity, as far as it is seen.
type LimitKind string

// The kinds.
const (
	LimitClient  LimitKind = "client"  // it began operations too late
	LimitMachine LimitKind = "machine" // client and server together used all CPUs
	LimitServer  LimitKind = "server"  // it used a CPU of its own, or several, whole
	LimitDisk    LimitKind = "disk"    // the data's disk had something to do nearly all the time
	LimitPool    LimitKind = "pool"    // threads waited for a handle
	LimitNetwork LimitKind = "network" // an interface carried nearly what it can
	LimitNone    LimitKind = "none"    // none is seen
)

// CapacityLimit is what was used by the steps next to the capacity, medians of blocks.
type CapacityLimit struct {
	Kind       LimitKind `json:"kind"`
	ClientCPUs *float64  `json:"client_cpus,omitempty"` // of an embedded store, with the store; nil: not measured
	ServerCPUs *float64  `json:"server_cpus,omitempty"`
	CPUs       int       `json:"cpus,omitempty"` // of the machine; 0: not recorded
	// DiskBusy is the share of time in which the data's disk had something to do, and DiskRequests its
	// requests a second; nil: not measured.
	DiskBusy     *float64 `json:"disk_busy,omitempty"`
	DiskRequests *float64 `json:"disk_requests_per_s,omitempty"`
	// Waited is the share of their time that threads waited for a handle.
	Waited *float64 `json:"handle_wait_share,omitempty"`
	// LinkBusy is the share of its speed that the busiest network interface carried, and LinkBytes how much
	// one carried at most, a second; nil: not measured. Loopback has no limit of its own.
	LinkBusy  *float64 `json:"link_busy,omitempty"`
	LinkBytes *float64 `json:"link_bytes_per_s,omitempty"`
	// Watts is the power of the machine's processors; nil: not measured.
	Watts *float64 `json:"watts,omitempty"`
}

// bandsOfCapacity is how many bands a curve has at most.
const bandsOfCapacity = 16

// withEdge are the outcomes whose rate is one at which objectives break, as a capacity is.
var withEdge = []capacity.Outcome{capacity.Found, capacity.Cliff, capacity.NoRecovery, capacity.Declines,
	capacity.Unstable}

// Unsteady reports whether blocks of several stores, and of half of all, keep and break objectives at the same
// rates: that is the machine's doing and no store's.
func (t *Table) Unsteady() bool {
	searched, unstable := map[int]bool{}, map[int]bool{}
	for _, r := range t.Rows {
		if r.Role != plan.Measured {
			continue
		}
		for _, o := range r.Used() {
			if o.Fitted != nil {
				searched[r.Store] = true
				unstable[r.Store] = unstable[r.Store] || o.Fitted.Outcome == capacity.Unstable
			}
		}
	}
	n := 0
	for _, is := range unstable {
		if is {
			n++
		}
	}
	return n > 1 && 2*n >= len(searched)
}

// outcomeOf says what blocks show together. Where they differ, one block's hiccup is no property of the store:
// if some found a capacity, and all others a rate at which objectives break, it is of all of them. So it is
// where the machine is what is unstable.
func (c *Capacity) outcomeOf(outcomes []capacity.Outcome, unsteady bool) {
	c.Of = len(outcomes)
	c.Outcome, c.Blocks = MostFrequent(outcomes)
	most := 2*c.Blocks > c.Of
	if most && (c.Outcome != capacity.Unstable || !unsteady) {
		return
	}
	found, edges := 0, 0
	for _, o := range outcomes {
		if o == capacity.Found {
			found++
		}
		if slices.Contains(withEdge, o) {
			edges++
		}
	}
	switch {
	case edges == c.Of && (found > 0 || unsteady):
		c.Outcome, c.Blocks, c.Unsure = capacity.Found, found, outcomes
	case !most:
		c.Outcome = capacity.Disagree
	}
}

// capacityOf sums up a row that searched for a capacity; nil: it did not. The curve of its latency by the
// rate that was asked for is that of a rate over time.
func (r *Row) capacityOf(work experiment.Phase, unsteady bool) *Capacity {
	if work.Capacity == nil {
		return nil
	}
	c := &Capacity{Objectives: work.Capacity.Objectives}
	var outcomes []capacity.Outcome
	var searches []*record.Phase
	for _, o := range r.Used() {
		if o.Fitted != nil {
			outcomes, searches = append(outcomes, o.Fitted.Outcome), append(searches, o.Phase)
		}
	}
	if len(searches) == 0 {
		return nil
	}
	c.outcomeOf(outcomes, unsteady)
	var rates []float64
	each := make([][]float64, len(c.Objectives)+1)
	for _, o := range r.Used() {
		if o.Fitted == nil {
			continue
		}
		if o.Fitted.Outcome == c.Outcome || c.Unsure != nil {
			rates = append(rates, o.Fitted.Rate)
		}
		for k, rate := range o.Fitted.Each {
			if rate > 0 {
				each[k] = append(each[k], rate)
			}
		}
		c.hold(o.Fitted, o.Phase.Capacity)
		c.Outliers += o.Fitted.Outliers
		for i := range o.Phase.Capacity.Steps {
			if o.Phase.Capacity.Steps[i].Again {
				c.Again++
			}
		}
	}
	if median := MedianOf(rates); median != nil {
		c.Rate = *median
	}
	for _, of := range each {
		var at *float64
		if 2*len(of) > c.Of {
			at = MedianOf(of)
		}
		c.Each = append(c.Each, at)
	}
	c.closed(searches)
	c.Limit, c.Knee = limitOf(c, searches), kneeOf(c, searches)
	r.OverTime = &OverTime{ByRate: curveOf(searches, c.Quantile())} // of a curve, no matter whose time they had
	return c
}

// hold notes the step that confirms of one block.
func (c *Capacity) hold(f *capacity.Fitted, of *record.Capacity) {
	if f.Held == 0 {
		return
	}
	for i := range of.Steps {
		if s := &of.Steps[i]; s.Kind == capacity.Hold && s.Rate == f.Held {
			if c.Held == nil {
				c.Held = &Held{Rate: s.Rate, Seconds: s.Seconds}
			}
			c.Held.Rate, c.Held.Seconds = min(c.Held.Rate, s.Rate), min(c.Held.Seconds, s.Seconds)
			c.Held.Blocks++
			return
		}
	}
}

// closed sums up closed load before the searches.
func (c *Capacity) closed(searches []*record.Phase) {
	var rates []float64
	latencies := make([][]float64, len(c.Objectives))
	for _, p := range searches {
		for i := range p.Capacity.Steps {
			s := &p.Capacity.Steps[i]
			if s.Kind != capacity.Closed || s.Response == nil {
				continue
			}
			rates = append(rates, s.Done)
			for k, o := range c.Objectives {
				if o.Metric == capacity.Percentile {
					latencies[k] = append(latencies[k], s.Response.Quantile(o.Quantile))
				}
			}
		}
	}
	if c.ClosedRate = MedianOf(rates); c.ClosedRate == nil {
		return
	}
	for _, of := range latencies {
		ns := 0.0
		if m := MedianOf(of); m != nil {
			ns = *m
		}
		c.ClosedNS = append(c.ClosedNS, ns)
	}
}

const (
	nextTo      = 1.1  // how far from the capacity steps tell what limits it
	machineFull = 0.9  // share of the machine's CPUs
	cpuFull     = 0.93 // of one CPU, or of a whole number of them
	busyFull    = 0.9  // share of the time of a disk, or of the speed of a network interface
	waitsLong   = 0.25 // share of their time that threads wait for a handle
)

// limitOf says what the steps next to the capacity had used up.
func limitOf(c *Capacity, searches []*record.Phase) (l CapacityLimit) {
	var client, server, busy, requests, waited, link, carried, watts []float64
	for _, p := range searches {
		if p.Machine != nil {
			l.CPUs = p.Machine.CPUs
		}
		for i := range p.Capacity.Steps {
			s := &p.Capacity.Steps[i]
			if s.Again || s.Rate < c.Rate/nextTo || s.Rate > c.Rate*nextTo {
				continue
			}
			client, server = AppendKnown(client, s.ClientCPUs), AppendKnown(server, s.ServerCPUs)
			busy, requests = AppendKnown(busy, s.DiskBusy), AppendKnown(requests, s.DiskRequests)
			link, carried = AppendKnown(link, s.LinkBusy), AppendKnown(carried, s.LinkBytes)
			waited, watts = append(waited, s.Waited), AppendKnown(watts, s.Watts)
		}
	}
	l.ClientCPUs, l.ServerCPUs = MedianOf(client), MedianOf(server)
	l.DiskBusy, l.DiskRequests, l.Waited = MedianOf(busy), MedianOf(requests), MedianOf(waited)
	l.LinkBusy, l.LinkBytes, l.Watts = MedianOf(link), MedianOf(carried), MedianOf(watts)
	l.Kind = l.kindOf(c.Outcome)
	return l
}

// kindOf says which of what is used up limits most likely: what takes CPU time before what waits.
func (l *CapacityLimit) kindOf(outcome capacity.Outcome) LimitKind {
	used := 0.0
	for _, cpus := range []*float64{l.ClientCPUs, l.ServerCPUs} {
		if cpus != nil {
			used += *cpus
		}
	}
	atLeast := func(v *float64, least float64) bool { return v != nil && *v >= least }
	switch {
	case outcome == capacity.Client:
		return LimitClient
	case l.CPUs > 0 && used >= machineFull*float64(l.CPUs):
		return LimitMachine
	case atLeast(l.ServerCPUs, cpuFull) && *l.ServerCPUs/math.Ceil(*l.ServerCPUs-(1-cpuFull)) >= cpuFull:
		return LimitServer
	case atLeast(l.DiskBusy, busyFull):
		return LimitDisk
	case l.ServerCPUs == nil && atLeast(l.LinkBusy, busyFull): // a server on this machine is behind no link
		return LimitNetwork
	case atLeast(l.Waited, waitsLong):
		return LimitPool
	}
	return LimitNone
}

// Quantile is the first percentile that an objective bounds; p99 where none does.
func (c *Capacity) Quantile() float64 {
	for _, o := range c.Objectives {
		if o.Metric == capacity.Percentile {
			return o.Quantile
		}
	}
	return 0.99
}

// kneeTimes is how many times its latency at low rates a store has at the knee.
const kneeTimes = 2

// kneeOf is the rate at which the latency of the first percentile that is asked about, or p99, is twice that
// at rates up to half of the capacity, over the steps of all blocks; nil: not seen, as no step was so low.
func kneeOf(c *Capacity, searches []*record.Phase) *float64 {
	q := c.Quantile()
	var low []float64
	var seen []capacity.Seen
	for _, p := range searches {
		for i := range p.Capacity.Steps {
			s := &p.Capacity.Steps[i]
			if s.Kind == capacity.Closed || s.Again || s.Response == nil || s.Response.Count() == 0 {
				continue
			}
			latency := s.Response.Quantile(q)
			if s.Rate <= c.Rate/2 {
				low = append(low, latency)
			}
			seen = append(seen, capacity.Seen{Kind: s.Kind, Rate: s.Rate, Used: []float64{latency}})
		}
	}
	base := MedianOf(low)
	if base == nil || *base <= 0 {
		return nil
	}
	for i := range seen {
		seen[i].Used[0] /= kneeTimes * *base
	}
	return capacity.Passes(seen)
}

// curveOf puts the steps of all blocks together by their rates, about as many in a band as there are
// blocks: each began drained, so that it is of its own rate alone.
//
// Of the percentile q a band has what its steps saw at least and at most.
func curveOf(searches []*record.Phase, q float64) (bands []Band) {
	var steps []*record.CapacityStep
	for _, p := range searches {
		for i := range p.Capacity.Steps {
			if s := &p.Capacity.Steps[i]; s.Kind != capacity.Closed && !s.Again && s.Response != nil {
				steps = append(steps, s)
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b *record.CapacityStep) int { return cmp.Compare(a.Rate, b.Rate) })
	n := min(bandsOfCapacity, len(steps)/max(len(searches), 1))
	for k := range n {
		of := steps[k*len(steps)/n : (k+1)*len(steps)/n]
		b := Band{FromRate: of[0].Rate, ToRate: of[len(of)-1].Rate}
		var phases []*record.Phase
		for _, s := range of {
			b.Seconds += s.Seconds
			b.Ended += s.Done / float64(len(of))
			b.Backlog = max(b.Backlog, float64(s.Never))
			if s.Response.Count() > 0 {
				seen := s.Response.Quantile(q)
				b.LowNS, b.HighNS = atMostOf(b.LowNS, seen), atLeastOf(b.HighNS, seen)
			}
			phases = append(phases, asPhase([]record.Interval{{ToNS: int64(s.Seconds * 1e9), Never: s.Never,
				Response: s.Response, Late: s.Late}}))
		}
		b.Latencies = meanLatencies(phases)
		bands = append(bands, b)
	}
	return bands
}

func atMostOf(have *float64, v float64) *float64 {
	if have != nil {
		v = min(v, *have)
	}
	return &v
}

func atLeastOf(have *float64, v float64) *float64 {
	if have != nil {
		v = max(v, *have)
	}
	return &v
}

// NoCapacity says what was found of a row in place of a capacity.
func NoCapacity(t *Table, r *Row) finding.NoCapacityParams {
	c := r.Capacity
	return finding.NoCapacityParams{At: finding.At{Arm: r.Arm, Place: t.Place()}, Outcome: string(c.Outcome),
		Objectives: capacity.Texts(c.Objectives), Rate: c.Rate, Blocks: c.Blocks, Of: c.Of}
}
