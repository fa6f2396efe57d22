package run

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"assay/internal/base/clock"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/event"
	"assay/internal/experiment/trace"
)

// readings are what is read of a phase while it runs: its counters and the machine, each time a line
// of the series.
type readings struct {
	*phaseInput
	file     *trace.File
	counters *counters.File
	parts    []*part
	workers  *workers

	fine      bool // histograms are read with each sample
	last      counters.Sample
	lastAt    float64 // seconds since the phase began
	usage     host.Usage
	most      memoryMost
	bad       uint64 // operations that were lost, wrong, errors, timeouts or conflicts, as in a sample
	missing   uint64 // of these, what a store that evicts may have removed
	batches   batched
	own       ownCounters
	telemetry record.Telemetry
}

// memoryMost is the largest resident memory that was seen.
type memoryMost struct {
	worker uint64
	server uint64
	shared string // why what the servers' processes share is in it more than once
}

// ownCounters are the store's own counters that its worker tells meanwhile.
type ownCounters struct {
	names     []string
	rounds    uint64
	collected float64 // seconds for which collectors of a JVM have stopped it, by what it told last
}

// lanesFine is how many thread-and-operation pairs may have their histograms read with each sample:
// 37 KB each.
const lanesFine = 64

func newReadings(in *phaseInput, file *trace.File, c *counters.File, parts []*part, w *workers,
	told []string) *readings {
	return &readings{phaseInput: in, file: file, counters: c, parts: parts, workers: w,
		fine: len(file.Threads)*len(file.Operations) <= lanesFine, own: ownCounters{names: told}}
}

// now reads the counters of each part, and adds them up.
func (r *readings) now(histograms bool) (parts []counters.Sample, all counters.Sample) {
	for _, p := range r.parts {
		parts = append(parts, p.counters.Sample(histograms))
	}
	return parts, counters.Join(parts)
}

// keep notes what was read last.
func (r *readings) keep(parts []counters.Sample, all counters.Sample) {
	r.last = all
	for i, p := range r.parts {
		p.last = parts[i]
	}
}

// errNoRoom says that a sample found no room, or that operations fail because there is none.
var errNoRoom = errors.New("no room")

// sample reads the counters and the machine and writes a line of the series. What that costs is
// counted. An error that is errNoRoom ends no phase by itself.
func (r *readings) sample(stops *host.StopWatch, outside *outside, disk *diskWatch) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := host.ThreadCPU()
	defer func() { r.telemetry.CPUSeconds += (host.ThreadCPU() - began).Seconds() }()
	start := r.workers.startNS()
	fromNS := clock.MonotonicNS()
	fresh := r.workers.look(r.fine && start > 0, min(r.sampleEvery/2, agentsPatience))
	parts, now := r.now(r.fine && start > 0)
	nowNS := clock.MonotonicNS()
	if fresh {
		outside.look(fromNS, nowNS, now.Acknowledged)
	}
	if start == 0 {
		return nil // the threads are not running yet
	}
	if end := r.workers.endNS(); end > 0 {
		nowNS = int64(end)
	}
	at := float64(nowNS-int64(start)) / 1e9
	if at <= r.lastAt {
		return nil
	}
	for i, p := range r.parts {
		p.milestones.look(parts[i].Acknowledged, at)
		p.turns.look(parts[i].Acknowledged, at)
	}
	r.tested.follow()
	usage := r.workers.addUsage(r.sampler.Sample())
	stops.Look()
	s := r.line(parts, now, usage, at)
	s.Stopped = stops.Within(int64(start)+int64(r.lastAt*1e9), nowNS)
	r.most.see(usage)
	r.keep(parts, now)
	r.lastAt, r.usage = at, usage
	r.telemetry.Readings++
	if s.Bad > 0 && disk.full(r.counters.Messages()) {
		err = errNoRoom
	}
	if writeErr := r.series(s); record.IsFull(writeErr) {
		err = errNoRoom
	} else if writeErr != nil {
		return fmt.Errorf("%w: %w", errRunDirectory, writeErr)
	}
	r.tell(&s)
	return err
}

// wantsLook returns how soon the end of an interval of a rate over time is to be looked at; false: no
// part has one, or it is not known when the threads began.
func (r *readings) wantsLook() (in time.Duration, wanted bool) {
	start := r.workers.startNS()
	for _, p := range r.parts {
		if at, wants := p.overTime.wanted(); wants && start > 0 {
			until := at - time.Duration(clock.MonotonicNS()-int64(start))
			if !wanted || until < in {
				in, wanted = until, true
			}
		}
	}
	return in, wanted
}

// lookOverTime looks at the parts whose rate changes over time.
func (r *readings) lookOverTime() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := host.ThreadCPU()
	defer func() { r.telemetry.CPUSeconds += (host.ThreadCPU() - began).Seconds() }()
	r.workers.look(true, min(r.sampleEvery/2, agentsPatience))
	at := clock.MonotonicNS() - int64(r.workers.startNS())
	for _, p := range r.parts {
		p.overTime.look(at, p.counters)
	}
}

// line is what happened since the sample before.
func (r *readings) line(parts []counters.Sample, now counters.Sample, usage host.Usage, at float64) record.Sample {
	s := record.Sample{Phase: r.request.Phase, At: at, Seconds: at - r.lastAt}
	all := counted(r.parts, parts, r.fine)
	s.Operations, s.ByName, s.Bad, s.P50NS, s.P99NS, s.MaxNS =
		all.Operations, all.ByName, all.Bad, all.P50NS, all.P99NS, all.MaxNS
	if len(r.parts) > 1 {
		for i := range r.parts {
			s.Groups = append(s.Groups, counted(r.parts[i:i+1], parts[i:i+1], r.fine))
		}
	}
	interval := usage.Since(r.usage)
	s.Records, s.DiskBytes, s.RSSBytes = r.records(now), usage.DiskBytes, usage.RSSBytes
	s.CPUSeconds, s.WriteBytes, s.ReadBytes = interval.CPUSeconds, interval.HostWriteBytes, interval.HostReadBytes
	s.Steal, s.Foreign = interval.Steal, interval.Foreign
	s.Resources, s.Stats = record.ValuesOf(r.sampler.Resources(usage)), record.ValuesOf(r.own.read(r.counters))
	return s
}

// tell tells views what a line has.
func (r *readings) tell(s *record.Sample) {
	missing := r.missing
	r.bad += s.Bad
	r.missing = r.misses()
	missed := r.missing - missing // in this sample
	conflicts := r.sum(refused)
	r.tick(event.Tick{Rate: float64(s.Operations-min(s.Bad-min(missed, s.Bad), s.Operations)) / max(s.Seconds,
		1e-9), P99NS: s.P99NS,
		Bad: r.bad - min(r.missing+conflicts, r.bad), Missing: r.missing, Conflicts: conflicts,
		Elapsed: time.Duration(s.At * float64(time.Second)), Planned: time.Duration(r.request.DeadlineNS)})
	r.meter(r.last.Totals, s, false)
}

// misses is how many records that were read last were missing, of a store that counts what it removes
// by itself: while the phase goes on, whether they are losses is unknown.
func (r *readings) misses() (n uint64) {
	if !r.holdings.evicts() {
		return 0
	}
	return r.sum(func(t counters.Total) uint64 { return t.Outcomes[counters.Lost] })
}

// sum adds up what each operation that a rate counts has of something, since the phase began.
func (r *readings) sum(of func(counters.Total) uint64) (n uint64) {
	for _, p := range r.parts {
		for i, total := range p.last.Totals {
			if p.counts(i) {
				n += of(total)
			}
		}
	}
	return n
}

func (m *memoryMost) see(now host.Usage) {
	if now.RSSBytes != nil {
		m.worker = max(m.worker, *now.RSSBytes)
	}
	if now.Server != nil {
		m.server = max(m.server, now.Server.RSSBytes)
		m.shared = cmp.Or(m.shared, now.Server.SharedWhy)
	}
}

// read returns what the store reported about itself since the sample before; nil if nothing.
func (o *ownCounters) read(c *counters.File) map[string]float64 {
	if len(o.names) == 0 {
		return nil
	}
	rounds, values := c.Stats(len(o.names))
	if rounds == o.rounds {
		return nil
	}
	o.rounds = rounds
	told := make(map[string]float64, len(values))
	collected := 0.0
	for i, value := range values {
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			told[o.names[i]] = value
			if record.IsCollection(o.names[i]) {
				collected += value / 1e9
			}
		}
	}
	o.collected = collected
	return told
}

func bad(t counters.Total) uint64 {
	return t.Outcomes[counters.Lost] + t.Outcomes[counters.Wrong] + t.Outcomes[counters.Error] +
		t.Outcomes[counters.Timeout] + refused(t)
}

// refused is how many operations ended in a conflict that they did not ask for.
func refused(t counters.Total) uint64 {
	if t.Operation.Conditional() {
		return 0
	}
	return t.Outcomes[counters.Conflict]
}
