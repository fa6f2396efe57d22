package run

import (
	"maps"
	"runtime"
	"slices"

	"assay/internal/base/clock"
	"assay/internal/base/finding"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/finds"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// collect reads the final counters, and says in what they disagree, for each part of the phase.
func (p *phase) collect(happened []record.ServerFault) (r record.Phase, problems [][]finding.Message) {
	now := p.sampler.Sample()
	fromNS := clock.MonotonicNS()
	fresh := p.workers.lookLast()
	p.workers.histories()
	now, agents := p.workers.addUsage(now), p.workers.agentShares()
	p.read.keep(p.read.now(true))
	if fresh {
		p.outside.look(fromNS, clock.MonotonicNS(), p.read.last.Acknowledged)
	}
	p.meter(p.read.last.Totals, nil, true)
	r, problems = p.counted()
	r.Name, r.Number = p.request.Phase, p.request.Number
	r.Fidelity = p.fidelity(&r)
	r.Measured, r.Load = !p.asked.Load && !p.asked.Unmeasured, p.asked.Load
	if p.asked.ProcessesIn(p.cell) > 0 && !p.asked.Load {
		r.Processes = len(p.layout)
	}
	r.SampleNS, r.Eventual, r.Cold = int64(p.sampleEvery), p.eventual, p.cold
	r.Messages = messages(p.files.Counters.Messages())
	r.Clock, r.ClockDrift = p.workers.clocks()
	r.StartSpreadNS, r.Gone, r.Agents = p.workers.startSpreadNS(), p.workers.gone, agents
	r.Faults, r.Forgot = happened, p.forgot || p.tested.forgets(happened)
	if p.know.answers {
		r.Expiry = p.lives.told()
	}
	r.Runtime, r.Telemetry = p.workers.told(), &p.read.telemetry
	if !p.workers.died() {
		r.Confined = p.confined()
	}
	r.Stops = p.phaseStops()
	r.Syncs = p.syncs.of(&r, p.began.synced)
	if !p.workers.died() {
		r.Process = p.process(now)
		used := now.Since(p.began.usage)
		r.Machine = machine(used, p.sampler.Throttling().Since(p.began.throttle))
		if !p.remote {
			r.Machine.Spare = record.SpareCPUs(p.sampler.Cores(), r.Threads, len(p.tested.servers.PIDs) > 0,
				cpuSeconds(used), used.Seconds)
		}
		r.Machine.Tolerate(p.holdings.experiment.BusyMachine == experiment.BusyMachineTell)
	}
	return r, problems
}

// cpuSeconds is what the trial's processes used, as far as it is known.
func cpuSeconds(used host.Interval) (seconds float64) {
	for _, part := range []*float64{used.CPUSeconds, used.ServerCPUSeconds} {
		if part != nil {
			seconds += *part
		}
	}
	return seconds
}

// confinement is what the system lets the phase's processes have now: the workers of this machine, and the
// trial's servers.
func (p *phase) confinement() map[int]host.Confinement {
	pids := p.clients.Pids()
	if p.faults == nil { // servers that are killed begin anew
		pids = append(pids, p.tested.servers.PIDs...)
	}
	all := map[int]host.Confinement{}
	for _, pid := range pids {
		if c, known := host.ConfinementOf(pid); known {
			all[pid] = c
		}
	}
	return all
}

// confined is what has changed of it since the phase began, of each kind once.
func (p *phase) confined() (changed []host.Confined) {
	now := p.confinement()
	for _, pid := range slices.Sorted(maps.Keys(p.began.confined)) {
		after, there := now[pid]
		if !there {
			continue
		}
		for _, one := range after.Since(p.began.confined[pid]) {
			if !slices.ContainsFunc(changed, func(c host.Confined) bool { return c.What == one.What }) {
				changed = append(changed, one)
			}
		}
	}
	return changed
}

// counted is what the final counters say.
func (p *phase) counted() (record.Phase, [][]finding.Message) {
	phase := span{elapsedNS: int64(p.read.lastAt * 1e9), startSpreadNS: p.workers.startSpreadNS(),
		deadlineNS: p.request.DeadlineNS,
		lost:       p.workers.lost(), gone: p.workers.goneThreads()}
	if start, end := p.workers.startNS(), p.workers.endNS(); end > start {
		// else the worker died before an operation ended
		phase.elapsedNS = p.outside.elapsedNS(int64(start), int64(end))
	}
	know := p.know
	if p.workers.unheard() != nil {
		know.there.Possible, know.own = nil, nil // what they wrote may be there
	}
	know.there = know.there.Through(p.file, p.read.last.Attempted)
	know.writes = overwritesIn(p.file)
	if know.deletes = know.deletes || deletesIn(p.file); know.deletes && know.own != nil {
		know.own = know.own.With(p.file.IndexesReached(p.read.last.Attempted)...)
	}
	know.begun = p.read.last.Attempted
	var results []record.Phase
	var problems [][]finding.Message
	for _, one := range p.parts {
		r, disagree := one.result(p.phaseInput, phase, know)
		results, problems = append(results, r), append(problems, disagree)
	}
	if len(p.asked.Groups) == 0 {
		return results[0], problems
	}
	return sumOf(results, p.phaseInput, phase, p.read.last), problems
}

// process is what the workers and the servers have used by now.
func (p *phase) process(now host.Usage) (used record.Process) {
	interval := now.Since(p.began.usage)
	used.CPUSeconds, used.MajorFaults, used.HostReadBytes =
		interval.CPUSeconds, interval.MajorFaults, interval.HostReadBytes
	if !p.remote {
		before := p.began.usage.Since(p.began.asked)
		used.CPUSecondsBefore, used.HostWriteBytesBefore, used.HostReadBytesBefore =
			before.CPUSeconds, before.HostWriteBytes, before.HostReadBytes
	}
	p.read.most.see(now)
	p.tested.used(&used, interval, p.read.most.server, p.read.most.shared)
	used.HostWriteBytes, used.HostWriteSource, used.HostWriteWhy = p.writes.since(p.began.written, interval)
	if most := p.read.most.worker; most > 0 {
		used.RSSMaxBytes = &most
	}
	return used
}

// done is what the phase did to the records.
func (p *phase) done(r *record.Phase) audit.Phase {
	done := audit.NewPhase(r.Number, p.file, r.Load, p.files.Counters)
	unheard := p.workers.unheard()
	if unheard != nil {
		done.Unheard(unheard)
	}
	done.Record, done.Queries = p.know.columns, p.know.queries
	if p.files.History != nil && p.know.answers && p.file.Flags&trace.FlagFinds != 0 && unheard == nil {
		recorded := func(thread int) []counters.Recorded {
			records, _ := p.files.History.Records(thread)
			return records
		}
		r.Finds = finds.Check(p.file, recorded, p.read.last.Attempted, finds.Known{Keys: p.know.keys,
			Columns: p.know.columns,
			Queries: p.know.queries, Before: p.know.there, Doubt: done.Doubt, Process: p.apart()})
	}
	if p.files.History != nil && len(p.trace.keys) > 0 {
		done.History = audit.NewHistory(r.Number, p.trace.keys, p.file, p.files.History, p.files.Counters,
			p.cell.Pipeline)
		p.workers.onOneClock(done.History, r.ElapsedNS)
		if p.know.answers { // a store that keeps nothing: no order explains its answers
			r.History = historyOf(done.History, p.eventual)
		}
	}
	return done
}

// apart is which process does each thread, where processes do not see one another's counters; nil: they do.
func (p *phase) apart() (process []int) {
	if !p.remote {
		return nil
	}
	process = make([]int, len(p.file.Threads))
	for number, s := range p.workers.shares {
		for i := range s.count {
			process[s.first+i] = number
		}
	}
	return process
}

// noteEnd notes why the phase, and each part of it, ended. err is what watching it gave.
func (p *phase) noteEnd(r *record.Phase, err error) {
	ended := p.endedBy(err)
	r.EndedBy = ended
	if ended == "" {
		r.EndedBy = endedItself(p.file, p.read.last.Acknowledged)
	}
	for i := range r.Groups {
		one := p.parts[i]
		ofItself := endedItself(one.file, one.last.Acknowledged)
		r.Groups[i].EndedBy = ended
		if ended == "" || ofItself == record.EndedOperations {
			r.Groups[i].EndedBy = ofItself
		}
	}
}

// notDone returns a mark if the phase, or a group of it, was to do something and did not: a worker
// that ends early without an error.
func (p *phase) notDone(r *record.Phase) []finding.Mark {
	if p.end.why != "" {
		return nil // it was asked to end
	}
	for i, one := range p.parts {
		of := r
		if len(r.Groups) > 0 {
			of = &r.Groups[i]
		}
		if mark, early := one.notDone(of, p.request.DeadlineNS); early {
			return []finding.Mark{mark}
		}
	}
	return nil
}

// heldOutside holds the phase's times against what was seen from outside.
func (p *phase) heldOutside(r *record.Phase) []finding.Mark {
	return p.outside.against(r.Name, int64(p.workers.startNS()), int64(p.workers.endNS()), r.HeldNS(runtime.NumCPU()))
}
