package run

import (
	"cmp"
	"slices"

	"assay/internal/base/finding"
	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// part is what works by itself in a phase: one of its groups of clients, or the whole of a phase
// without groups.
type part struct {
	asked    *experiment.Phase
	first    int // of its threads, among the phase's
	file     *trace.File
	counters *counters.File
	last     counters.Sample
	slots    []bool // which slots of the trace the part has; nil: all
	counted  []bool // which slots of the trace a rate counts
	requests bool   // it counts requests, and not their steps

	milestones *milestones
	turns      *turns
	overTime   *overTime
}

// partsOf finds the parts of a phase in its files.
func partsOf(asked *experiment.Phase, file *trace.File, c *counters.File) (parts []*part) {
	of := asked.Parts()
	if len(asked.Groups) == 0 {
		p := newPart(&of[0], file, c)
		p.overTime = newOverTime(p.asked, p.file, p.counts)
		return []*part{p}
	}
	bounds := file.GroupThreads()
	for i := range of {
		from, to := bounds[i], bounds[i+1]
		p := newPart(&of[i], file.Part(from, to), c.Part(from, to))
		p.first, p.slots = from, p.file.Does()
		p.overTime = newOverTime(p.asked, p.file, p.counts)
		parts = append(parts, p)
	}
	return parts
}

func newPart(asked *experiment.Phase, file *trace.File, c *counters.File) *part {
	p := &part{asked: asked, file: file, counters: c, requests: file.HasRequests(), turns: newTurns(file),
		milestones: newMilestones(asked.Milestones, len(file.Threads), asked.From.Seconds())}
	counted := file.Counted()
	for _, o := range file.Operations {
		p.counted = append(p.counted, counted[o])
	}
	return p
}

// does says if the part has the operation of a slot.
func (p *part) does(slot int) bool { return p.slots == nil || p.slots[slot] }

// counts says if a rate of the part counts the operations of a slot.
func (p *part) counts(slot int) bool { return p.does(slot) && p.counted[slot] }

// steps says if the operations of a slot are steps of the part's requests.
func (p *part) steps(slot int) bool { return p.does(slot) && !p.counted[slot] }

// counted is what some parts did of what a rate counts, since their counters were read last.
func counted(parts []*part, now []counters.Sample, fine bool) (s record.GroupSample) {
	merged := histogram.New()
	for k, p := range parts {
		for i, total := range now[k].Totals {
			if !p.counts(i) {
				continue
			}
			before := p.last.Totals[i]
			done := total.Operations() - before.Operations()
			s.Operations += done
			s.Bad += bad(total) - bad(before)
			if len(parts) > 1 || len(now[k].Totals) > 1 && !p.requests {
				if s.ByName == nil {
					s.ByName = map[string]uint64{}
				}
				s.ByName[total.Operation.String()] += done
			}
			if fine {
				interval := histogram.New()
				interval.Add(total.Service)
				interval.Sub(before.Service)
				merged.Add(interval)
			}
		}
	}
	if fine && merged.Count() > 0 {
		p50, p99, longest := merged.Quantile(0.5), merged.Quantile(0.99), merged.Quantile(1)
		s.P50NS, s.P99NS, s.MaxNS = &p50, &p99, &longest
	}
	return s
}

// span is when a phase went on: what its parts know of it.
type span struct {
	elapsedNS     int64
	startSpreadNS int64 // of its processes
	deadlineNS    int64
	lost          []bool // threads of agents that something took away; nil: none were
	gone          []bool // threads whose process ended before its time; nil: none did
}

// result is what the final counters say that a part did, and in what they disagree. know is what the
// conductor knows of the work, and name names what a slot counts.
func (p *part) result(in *phaseInput, phase span, know expected) (r record.Phase, problems []finding.Message) {
	group := len(in.asked.Groups) > 0
	r = record.Phase{
		Name: p.asked.Name, Open: p.file.Flags&trace.FlagDue != 0, Threads: len(p.file.Threads),
		Pipeline: in.cell.Pipeline,
		Batch:    batchOf(p.file), TimedEvery: in.trace.file.TimedEvery, ElapsedNS: phase.elapsedNS,
		HandleWaitNS: p.last.HandleWaitNS, HandlesOpened: p.last.HandlesOpened, HandleTimes: p.last.HandleTimes,
		LatenessMaxNS: p.last.LatenessMaxNS, ThinkNS: int64(p.asked.Think.Mean),
	}
	if group {
		r.Open, r.Processes = p.asked.Rate > 0, p.asked.ProcessesIn(in.cell)
		if r.Processes > 0 {
			r.StartSpreadNS = phase.startSpreadNS
		}
		r.Messages = messages(p.counters.Messages())
		r.BeganNS, r.ElapsedNS = p.worked(phase.elapsedNS)
	}
	lost, gone := p.of(phase.lost), p.of(phase.gone)
	name := in.names(p.file)
	all := slotResults(p.last.Totals)
	r.Attempted, r.Unfinished, problems = balance(p.file, p.counters, p.last, lost, name)
	problems = append(problems, holdWork(p.file, p.counters, p.last, know, all, name)...)
	if know.deletes {
		var deletable *uint64
		if most, known := know.mayDelete(in.trace.file, p.first, p.first+len(p.file.Threads), know.begun,
			know.own); known {
			deletable = &most
		}
		noteVain(all, p.file.Operations, deletable)
	}
	r.Operations, r.Steps = p.operations(all, r.Open)
	seconds := float64(phase.elapsedNS) / 1e9
	p.milestones.look(p.last.Acknowledged, seconds)
	p.turns.look(p.last.Acknowledged, seconds)
	r.Milestones = p.milestones.result()
	if !slices.Contains(gone, true) { // their store did not keep them waiting
		r.Starved = p.turns.result(seconds)
	}
	for i := range p.file.Threads {
		worked := p.counters.Thread(i).NowNS
		r.ThreadsNS += int64(worked - min(worked, p.file.Threads[i].FromNS))
	}
	p.overTime.lookLast(phase.elapsedNS, p.counters)
	r.Intervals = p.overTime.result(phase.elapsedNS)
	if r.Open {
		r.Late = lateness(p.last)
		end, last := phase.elapsedNS, phase.elapsedNS
		if group { // whose last operation may have ended long before the phase
			last = r.BeganNS + r.ElapsedNS
		}
		if deadline := p.shouldEnd(phase.deadlineNS); deadline > 0 {
			end = min(end, deadline)
		}
		r.NotBegun, r.BehindNS = behind(p.file, begunBy(p.file, p.last.Attempted, lost, uint64(end)), uint64(end),
			uint64(last))
	}
	return r, problems
}

// of returns the part's threads' share of a list with one entry for each of the phase's threads.
func (p *part) of(threads []bool) []bool {
	if threads == nil {
		return nil
	}
	return threads[p.first : p.first+len(p.file.Threads)]
}

// operations turns the results of slots into those of the part's operations, and of the steps that they
// are made of.
func (p *part) operations(slots []record.Operation, open bool) (operations, steps []record.Operation) {
	for slot, o := range slots {
		if !open {
			o.Response = nil // other groups have response times
		}
		o = withQuestion(o, p.file.Operations[slot], p.file.Query(slot))
		switch {
		case p.counts(slot):
			operations = append(operations, o)
		case p.steps(slot):
			steps = append(steps, o)
		}
	}
	operations, steps = record.Operations(operations), record.Operations(steps)
	orderSteps(p.asked, steps)
	return operations, steps
}

// orderSteps lists the steps of a request's results as the request has them.
func orderSteps(p *experiment.Phase, results []record.Operation) {
	place := func(o record.Operation) int {
		return slices.IndexFunc(p.Request, func(s experiment.Step) bool { return s.Operation == o.Name })
	}
	slices.SortStableFunc(results, func(a, b record.Operation) int { return place(a) - place(b) })
}

// worked is when a group worked, in a phase that took so long: when it began, since the phase's start,
// and for how long.
func (p *part) worked(phaseNS int64) (beganNS, elapsedNS int64) {
	end, begin := uint64(0), uint64(0)
	for i := range p.file.Threads {
		thread := &p.file.Threads[i]
		at := thread.FromNS
		if len(thread.Due) > 0 {
			at = thread.Due[0]
		}
		if i == 0 || at < begin {
			begin = at
		}
		end = max(end, p.counters.Thread(i).NowNS)
		if p.last.Attempted[i] > p.last.Acknowledged[i] {
			end = max(end, uint64(phaseNS)) // it was under way to the end
		}
	}
	return int64(begin), int64(end - min(begin, end))
}

// shouldEnd is when the part's last thread ends, of a phase that ends at a moment; 0: it has no end.
func (p *part) shouldEnd(phaseEndNS int64) (end int64) {
	for i := range p.file.Threads {
		until := int64(p.file.Threads[i].UntilNS)
		switch {
		case until == 0:
			return phaseEndNS
		case phaseEndNS > 0:
			until = min(until, phaseEndNS)
		}
		end = max(end, until)
	}
	return end
}

// sumOf adds up the groups of a phase. last are the counters at its end.
func sumOf(groups []record.Phase, in *phaseInput, phase span, last counters.Sample) record.Phase {
	file := in.trace.file
	r := record.Phase{
		Open: file.Flags&trace.FlagDue != 0, Threads: len(file.Threads), Pipeline: in.cell.Pipeline,
		Batch: batchOf(file), TimedEvery: file.TimedEvery,
		ElapsedNS: phase.elapsedNS, HandleWaitNS: last.HandleWaitNS, HandlesOpened: last.HandlesOpened,
		HandleTimes:   last.HandleTimes,
		LatenessMaxNS: last.LatenessMaxNS, Groups: groups,
	}
	for i := range groups {
		r.ThinkNS = max(r.ThinkNS, groups[i].ThinkNS)
	}
	if r.Open {
		r.Late = lateness(last)
	}
	var operations, steps []record.Operation
	for _, g := range groups {
		operations, steps = append(operations, g.Operations...), append(steps, g.Steps...)
		r.Attempted, r.Unfinished = r.Attempted+g.Attempted, r.Unfinished+g.Unfinished
		r.NotBegun, r.BehindNS = r.NotBegun+g.NotBegun, max(r.BehindNS, g.BehindNS)
	}
	r.Operations, r.Steps = record.Operations(byCode(operations)), record.Operations(byCode(steps))
	return r
}

// byCode sorts operations by their codes, those of one kind as they stand.
func byCode(all []record.Operation) []record.Operation {
	slices.SortStableFunc(all, func(a, b record.Operation) int {
		first, _ := trace.ParseOperation(a.Name)
		second, _ := trace.ParseOperation(b.Name)
		return cmp.Compare(first, second)
	})
	return all
}

// endedItself says whether threads that nothing stopped had done all, or their time was over.
func endedItself(file *trace.File, acknowledged []uint64) record.Ending {
	for i := range file.Threads {
		thread := &file.Threads[i]
		if idle := len(thread.Entries) == 0; !idle && (thread.Limit == 0 || acknowledged[i] < thread.Limit) {
			return record.EndedDuration
		}
	}
	return record.EndedOperations
}

// notDone returns a mark if the part, whose result is r, was to do something and did not.
func (p *part) notDone(r *record.Phase, deadlineNS int64) (finding.Mark, bool) {
	end := p.shouldEnd(deadlineNS)
	for i := range p.file.Threads {
		if limit := p.file.Threads[i].Limit; limit != 0 && p.last.Acknowledged[i] < limit && end == 0 {
			return finding.Mark{Phase: r.Name,
				Message: finding.New(finding.MarkShortWorkParams{Thread: i, Done: p.last.Acknowledged[i],
					Of: limit})}, true
		}
	}
	should := end - r.BeganNS
	if end > 0 && p.file.Threads[0].Limit == 0 && !r.Open && r.ElapsedNS < should*9/10 {
		return finding.Mark{Phase: r.Name,
			Message: finding.New(finding.MarkShortTimeParams{Seconds: float64(r.ElapsedNS) / 1e9,
				OfS: float64(should) / 1e9})}, true
	}
	return finding.Mark{}, false
}
