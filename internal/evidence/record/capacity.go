package record

import (
	"maps"
	"math"
	"slices"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/finds"
	"assay/internal/evidence/host"
	"assay/internal/experiment/capacity"
)

// Capacity is a search for the highest rate at which objectives hold. The phase that has it is the sum of
// its steps, but for response times and lateness: those are of the last step, where that held. Lateness is of
// the part of it that is judged.
type Capacity struct {
	Steps []CapacityStep `json:"steps"` // in the order in which they were done
	// An objective is of errors: operations that failed do not mark the trial.
	MayFail bool `json:"may_fail,omitempty"`
}

// Confirmed are the response times in the judged part of the step that confirms; nil: none held, or the phase
// is no search.
func (p *Phase) Confirmed() *histogram.Histogram {
	if p.Capacity == nil || len(p.Capacity.Steps) == 0 {
		return nil
	}
	last := &p.Capacity.Steps[len(p.Capacity.Steps)-1]
	kept := func(o Operation) bool { return o.Response != nil && o.Response.Count() > 0 }
	if last.Kind != capacity.Hold || !slices.ContainsFunc(p.Operations, kept) {
		return nil
	}
	return last.Response
}

// CapacityStep is what one step of a search saw. due, never_ended, response_ns and late are of the part that
// is judged, all shares, CPUs and rates of the whole step.
type CapacityStep struct {
	// closed, bracket, edge, low, overload, recovery, hold.
	Kind capacity.Kind `json:"kind"`
	Rate float64       `json:"rate,omitempty"` // operations a second that were asked for; 0: closed load
	// Its begin in the series, which leaves out the time between steps.
	AtS     float64 `json:"at_s"`
	Seconds float64 `json:"seconds"`       // the whole step
	Done    float64 `json:"done_per_s"`    // operations a second that ended well
	Due     uint64  `json:"due,omitempty"` // operations of open load that were due
	// Operations that were due and had not ended when the step had.
	Never  uint64  `json:"never_ended,omitempty"`
	Bad    float64 `json:"bad_share,omitempty"`    // of operations: failed, or unfinished
	Missed float64 `json:"missed_share,omitempty"` // of reads: those that found nothing
	// From the due time; of closed load service times.
	Response *histogram.Histogram `json:"response_ns,omitempty"`
	Late     []uint64             `json:"late,omitempty"` // as [Phase.Late]
	// CPUs that the client used. Nil: not measured.
	ClientCPUs *float64 `json:"client_cpus,omitempty"`
	// CPUs that the servers used. Nil: not measured, or there is no server.
	ServerCPUs *float64 `json:"server_cpus,omitempty"`
	// Share of the step in which the data's disk had something to do. Nil: the machine does not report it.
	DiskBusy *float64 `json:"disk_busy,omitempty"`
	// Reads, writes and flushes of the data's disk a second. Nil: the machine does not report it.
	DiskRequests *float64 `json:"disk_requests_per_s,omitempty"`
	// Share of its threads' time that they waited for a handle; 0 too where none is shared.
	Waited float64 `json:"handle_wait_share,omitempty"`
	// Share of its speed that the busiest network interface used, loopback left out. Nil: not measured, or
	// no interface tells its speed.
	LinkBusy *float64 `json:"link_busy,omitempty"`
	// What that interface carried in its busier direction, a second. Nil: not measured.
	LinkBytes *float64 `json:"link_bytes_per_s,omitempty"`
	// Mean power of the machine's processors. Nil: the kernel does not report it.
	Watts *float64 `json:"watts,omitempty"`
	// Share of the machine's CPU time that others and the hypervisor took at least.
	Taken float64 `json:"taken_share,omitempty"`
	// Seconds for which a process was stopped, or held back by a quota or by heat.
	HeldS float64 `json:"held_s,omitempty"`
	// The step was disturbed: the step after it is the same, and this one is not judged.
	Again bool `json:"again,omitempty"`
}

const (
	// takenMax is what others may take of the machine in a step: below that it is noise as any other.
	takenMax = 0.05
	// heldMax is the share of a step for which it may be held back.
	heldMax = 0.005
)

// Disturbed reports whether others took so much of the machine that the step may have broken by that.
func (s *CapacityStep) Disturbed() bool { return s.Taken > takenMax || s.HeldS > heldMax*s.Seconds }

// NoteMachine notes what others took of the machine in the step, of the phase that it was.
func (s *CapacityStep) NoteMachine(p *Phase) {
	s.HeldS = float64(p.stoppedNS()) / 1e9
	m := p.Machine
	if m == nil {
		return
	}
	for _, taken := range []*host.Bounds{m.Taken(), m.Steal} {
		if taken != nil {
			s.Taken += max(taken.Least, 0)
		}
	}
	for _, held := range []*float64{m.QuotaSeconds, m.HeatSeconds} {
		if held != nil {
			s.HeldS += *held
		}
	}
}

// Seen is what the step saw of objectives.
func (s *CapacityStep) Seen(objectives []capacity.Objective) capacity.Seen {
	seen := capacity.Seen{Kind: s.Kind, Rate: s.Rate, Done: s.Done, Due: s.Due, Disturbed: s.Disturbed(),
		Again: s.Again}
	if s.Kind == capacity.Closed || s.Response == nil {
		return seen
	}
	c := capacity.Counts{Due: s.Due, Ended: s.Due - min(s.Never, s.Due), Bad: s.Bad, Missed: s.Missed,
		MeanNS: s.Response.Mean(), Above: s.above, Late: s.lateMost, LateMeanNS: s.lateMean()}
	seen.Used = capacity.Used(objectives, c)
	seen.ByClient = capacity.ByClient(objectives, c)
	return seen
}

// above returns how many operations took longer, by the middle of their buckets.
func (s *CapacityStep) above(ns float64) (n uint64) {
	for bucket, count := range s.Response.All() {
		if histogram.Middle(bucket) > ns {
			n += count
		}
	}
	return n
}

// lateMost returns how many operations began later, at most: all of the word that it lies in.
func (s *CapacityStep) lateMost(ns float64) (n uint64) {
	for word, count := range s.Late {
		if lateUntil(word) > ns {
			n += count
		}
	}
	return n
}

// lateMean is by how much operations began late on average, at most, in ns.
func (s *CapacityStep) lateMean() (ns float64) {
	for word, count := range s.Late {
		if count > 0 {
			ns += lateUntil(word) * float64(count) / float64(s.Due)
		}
	}
	return ns
}

// lateUntil is the greatest lateness that a word counts: the last has no end.
func lateUntil(word int) float64 {
	if word >= counters.LatenessWords-1 {
		return math.Inf(1)
	}
	return float64(counters.LatenessFromNS(word + 1))
}

// Fitted is what the steps come to.
func (c *Capacity) Fitted(objectives []capacity.Objective) capacity.Fitted {
	var seen []capacity.Seen
	for i := range c.Steps {
		seen = append(seen, c.Steps[i].Seen(objectives))
	}
	return capacity.Fit(seen)
}

// AddStep adds to a phase, which is a sum of steps, what one more did.
func (p *Phase) AddStep(step *Phase) {
	offset := float64(p.ElapsedNS) / 1e9
	for i := range step.Operations {
		at := slices.IndexFunc(p.Operations, func(o Operation) bool { return o.Name == step.Operations[i].Name })
		if at < 0 {
			p.Operations = append(p.Operations, step.Operations[i])
			continue
		}
		p.Operations[at].Add(&step.Operations[i])
	}
	p.SampleNS = max(p.SampleNS, step.SampleNS)
	p.ElapsedNS, p.ThreadsNS = p.ElapsedNS+step.ElapsedNS, p.ThreadsNS+step.ThreadsNS
	p.Attempted, p.Unfinished = p.Attempted+step.Attempted, p.Unfinished+step.Unfinished
	for _, m := range step.Messages {
		at := slices.IndexFunc(p.Messages, func(o Message) bool {
			return o.Operation == m.Operation && o.Outcome == m.Outcome && o.Text == m.Text
		})
		if at < 0 {
			p.Messages = append(p.Messages, m)
			continue
		}
		p.Messages[at].Count += m.Count
	}
	p.HandleWaitNS, p.HandlesOpened = p.HandleWaitNS+step.HandleWaitNS, p.HandlesOpened+step.HandlesOpened
	p.HandleTimes = histogram.Sum(p.HandleTimes, step.HandleTimes)
	p.StartSpreadNS, p.ClockDrift = max(p.StartSpreadNS, step.StartSpreadNS), max(p.ClockDrift, step.ClockDrift)
	p.Gone, p.Confined, p.EndedBy = append(p.Gone, step.Gone...), append(p.Confined, step.Confined...), step.EndedBy
	for _, s := range step.Stops {
		s.At += offset
		p.Stops = append(p.Stops, s)
	}
	p.Forgot, p.Eventual = p.Forgot || step.Forgot, p.Eventual || step.Eventual
	p.Stats, p.Evicted, p.Sizes = step.Stats, step.Evicted, step.Sizes
	p.History, p.Finds = sumHistories(p.History, step.History), sumFinds(p.Finds, step.Finds)
	p.Runtime = maps.Clone(p.Runtime)
	for name, v := range step.Runtime {
		if p.Runtime == nil {
			p.Runtime = map[string]float64{}
		}
		p.Runtime[name] += v
	}
	p.Process.add(&step.Process)
	p.Syncs = sumSyncs(p.Syncs, step.Syncs)
	p.Machine = sumMachine(p.Machine, step.Machine)
	p.Telemetry = sumTelemetry(p.Telemetry, step.Telemetry)
	p.Agents = sumAgents(p.Agents, step.Agents)
}

func (p *Process) add(o *Process) {
	p.CPUSeconds, p.ServerCPUSeconds = sumOf(p.CPUSeconds, o.CPUSeconds), sumOf(p.ServerCPUSeconds, o.ServerCPUSeconds)
	p.MajorFaults, p.HostReadBytes, p.ServerHostReadBytes = sumKnown(p.MajorFaults,
		o.MajorFaults), sumKnown(p.HostReadBytes, o.HostReadBytes), sumKnown(p.ServerHostReadBytes,
		o.ServerHostReadBytes)
	p.HostWriteBytes, p.HostWriteBytesDrained = sumKnown(p.HostWriteBytes,
		o.HostWriteBytes), sumKnown(p.HostWriteBytesDrained, o.HostWriteBytesDrained)
	p.RSSMaxBytes, p.ServerRSSMaxBytes = mostKnown(p.RSSMaxBytes, o.RSSMaxBytes), mostKnown(p.ServerRSSMaxBytes,
		o.ServerRSSMaxBytes)
}

func sumOf(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

func mostKnown(a, b *uint64) *uint64 {
	if a == nil || b == nil {
		return nil
	}
	most := max(*a, *b)
	return &most
}

func sumSyncs(a, b *Syncs) *Syncs {
	if a == nil || b == nil {
		return b
	}
	sum := *a
	sum.Acknowledged, sum.Least, sum.Clients = a.Acknowledged+b.Acknowledged, a.Least+b.Least, max(a.Clients, b.Clients)
	sum.Done, sum.Server, sum.Calls = sumKnown(a.Done, b.Done), sumKnown(a.Server, b.Server), sumKnown(a.Calls, b.Calls)
	if b.SyncNS > 0 && (a.SyncNS == 0 || b.SyncNS < a.SyncNS) {
		sum.SyncNS = b.SyncNS
	}
	for _, text := range []struct{ to, from *string }{{&sum.Why, &b.Why}, {&sum.CallsWhy, &b.CallsWhy},
		{&sum.Broken, &b.Broken}} {
		if *text.to == "" {
			*text.to = *text.from
		}
	}
	return &sum
}

// sumMachine weighs what was taken by how long the parts were.
func sumMachine(a, b *Machine) *Machine {
	if a == nil || b == nil {
		return b
	}
	sum := *a
	sum.Seconds, sum.Spare = a.Seconds+b.Seconds, min(a.Spare, b.Spare)
	bounds := func(x, y *host.Bounds) *host.Bounds {
		if x == nil || y == nil || sum.Seconds == 0 {
			return nil
		}
		return &host.Bounds{Least: (x.Least*a.Seconds + y.Least*b.Seconds) / sum.Seconds,
			Most: (x.Most*a.Seconds + y.Most*b.Seconds) / sum.Seconds}
	}
	sum.Foreign, sum.Steal = bounds(a.Foreign, b.Foreign), bounds(a.Steal, b.Steal)
	sum.QuotaSeconds, sum.QuotaPeriods = sumOf(a.QuotaSeconds, b.QuotaSeconds), sumKnown(a.QuotaPeriods, b.QuotaPeriods)
	sum.HeatSeconds, sum.HeatEvents = sumOf(a.HeatSeconds, b.HeatSeconds), sumKnown(a.HeatEvents, b.HeatEvents)
	if sum.QuotaGroup == "" {
		sum.QuotaGroup = b.QuotaGroup
	}
	sum.NotMeasured = maps.Clone(a.NotMeasured)
	for what, why := range b.NotMeasured {
		if sum.NotMeasured == nil {
			sum.NotMeasured = map[string]string{}
		}
		sum.NotMeasured[what] = why
	}
	return &sum
}

func sumTelemetry(a, b *Telemetry) *Telemetry {
	if a == nil || b == nil {
		return b
	}
	return &Telemetry{Readings: a.Readings + b.Readings, CPUSeconds: a.CPUSeconds + b.CPUSeconds}
}

func sumAgents(a, b []AgentShare) []AgentShare {
	for _, share := range b {
		at := slices.IndexFunc(a, func(o AgentShare) bool { return o.Name == share.Name })
		if at < 0 {
			a = append(a, share)
			continue
		}
		o := &a[at]
		o.Operations, o.CPUSeconds, o.AgentCPUSeconds =
			o.Operations+share.Operations, o.CPUSeconds+share.CPUSeconds, o.AgentCPUSeconds+share.AgentCPUSeconds
		o.RSSBytes, o.LatenessMaxNS = max(o.RSSBytes, share.RSSBytes), max(o.LatenessMaxNS, share.LatenessMaxNS)
		o.SilentSeconds = max(o.SilentSeconds, share.SilentSeconds)
		if o.Unheard == nil {
			o.Unheard = share.Unheard
		}
	}
	return a
}

func sumFinds(a, b *finds.Result) *finds.Result {
	if a == nil || b == nil {
		return b
	}
	return &finds.Result{Finds: a.Finds + b.Finds, NotJudged: a.NotJudged + b.NotJudged, Owed: a.Owed + b.Owed,
		Missing:   a.Missing + b.Missing,
		MissingIn: a.MissingIn + b.MissingIn, Beyond: a.Beyond + b.Beyond, BeyondIn: a.BeyondIn + b.BeyondIn}
}

func sumHistories(a, b *History) *History {
	if a == nil || b == nil {
		return b
	}
	sum := *a
	sum.Sample, sum.Records, sum.Dropped = max(a.Sample, b.Sample), a.Records+b.Records, a.Dropped+b.Dropped
	sum.ClockErrorNS, sum.CompleteNS, sum.Updates = max(a.ClockErrorNS, b.ClockErrorNS), nil, nil
	sum.Keys, sum.Reads, sum.Writes, sum.Covered = max(a.Keys,
		b.Keys), a.Reads+b.Reads, a.Writes+b.Writes, a.Covered+b.Covered
	sum.Stale, sum.LateMaxNS, sum.LateP50NS = a.Stale+b.Stale, max(a.LateMaxNS, b.LateMaxNS), max(a.LateP50NS,
		b.LateP50NS)
	sum.Staleness = a.Staleness.With(b.Staleness)
	sum.LostUpdates, sum.Vanished, sum.Ghosts = a.LostUpdates+b.LostUpdates, a.Vanished+b.Vanished, a.Ghosts+b.Ghosts
	sum.FailedReads, sum.CameLater = a.FailedReads+b.FailedReads, a.CameLater+b.CameLater
	sum.Unordered, sum.Undecided = a.Unordered+b.Unordered, a.Undecided+b.Undecided
	sum.Examples = slices.Concat(a.Examples, b.Examples)
	return &sum
}
