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
	file     *trace.File
	counters *counters.File
	result   *record.Phase
	last     counters.Sample
	slots    []bool // which slots of the trace the part has; nil: all
	counted  []bool // which slots of the trace a rate counts
	requests bool   // it counts requests, and not their steps

	milestones *milestones
	turns      *turns
}

// groupResults makes the results of a phase's groups; nil: it has none.
func groupResults(p *experiment.Phase, cell experiment.Cell, file *trace.File, whole *record.Phase) (groups []record.Phase) {
	if len(p.Groups) == 0 {
		return nil
	}
	bounds := file.GroupThreads()
	for i, g := range p.Parts() {
		groups = append(groups, record.Phase{Name: g.Name, Open: g.Rate > 0, Threads: bounds[i+1] - bounds[i], Processes: g.ProcessesIn(cell), Pipeline: whole.Pipeline, TimedEvery: whole.TimedEvery,
			Batch: batchOf(file.Part(bounds[i], bounds[i+1]))})
	}
	return groups
}

// partition finds the parts of the phase in its files.
func (w *watched) partition() {
	if len(w.result.Groups) == 0 {
		w.parts = []*part{newPart(w.file, w.files.Counters, w.result)}
		return
	}
	bounds := w.file.GroupThreads()
	for i := range w.result.Groups {
		from, to := bounds[i], bounds[i+1]
		p := newPart(w.file.Part(from, to), w.files.Counters.Part(from, to), &w.result.Groups[i])
		p.slots = p.file.Does()
		w.parts = append(w.parts, p)
	}
}

func newPart(file *trace.File, c *counters.File, result *record.Phase) *part {
	p := &part{file: file, counters: c, result: result, requests: file.HasRequests(), turns: newTurns(file)}
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

// read reads the counters of each part, and adds them up.
func (w *watched) read(histograms bool) (parts []counters.Sample, all counters.Sample) {
	for _, p := range w.parts {
		parts = append(parts, p.counters.Sample(histograms))
	}
	return parts, counters.Join(parts)
}

// keep notes what was read last.
func (w *watched) keep(parts []counters.Sample, all counters.Sample) {
	w.last = all
	for i, p := range w.parts {
		p.last = parts[i]
	}
}

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

// collectPart reads the final counters of a part into its result and returns in what they disagree.
func (w *watched) collectPart(p *part) (problems []finding.Message) {
	r := p.result
	all, name := slotResults(p.last.Totals), w.trial.content.slotNames(p.file)
	r.Attempted, r.Unfinished, problems = balance(p.file, p.counters, p.last, name)
	know := w.trial.content.expects(w.request.MustHitBelow, w.trial.past.reached)
	if know.may != nil {
		know.may = know.may.With(w.file.IndexesReached(w.last.Attempted)...)
	}
	know.writes = overwritesIn(w.file)
	problems = append(problems, holdWork(p.file, p.counters, p.last, know, all, name)...)
	for slot, o := range all {
		if !r.Open {
			o.Response = nil // other groups have response times
		}
		o = withQuestion(o, p.file.Operations[slot], p.file.Query(slot))
		switch {
		case p.counts(slot):
			r.Operations = append(r.Operations, o)
		case p.steps(slot):
			r.Steps = append(r.Steps, o)
		}
	}
	r.Operations, r.Steps = record.Operations(r.Operations), record.Operations(r.Steps)
	p.milestones.look(p.last.Acknowledged, float64(w.result.ElapsedNS)/1e9)
	r.Milestones = p.milestones.result()
	p.turns.look(p.last.Acknowledged, float64(w.result.ElapsedNS)/1e9)
	r.Starved = p.turns.result(float64(w.result.ElapsedNS) / 1e9)
	r.HandleWaitNS, r.HandlesOpened, r.HandleTimes = p.last.HandleWaitNS, p.last.HandlesOpened, p.last.HandleTimes
	r.LatenessMaxNS = p.last.LatenessMaxNS
	for i := range p.file.Threads {
		worked := p.counters.Thread(i).NowNS
		r.ThreadsNS += int64(worked - min(worked, p.file.Threads[i].FromNS))
	}
	if r != w.result {
		w.collectGroup(p)
	}
	if r.Open {
		r.Late = lateness(p.last)
		end, last := w.result.ElapsedNS, w.result.ElapsedNS
		if r != w.result { // whose last operation may have ended long before the phase
			last = r.BeganNS + r.ElapsedNS
		}
		if deadline := p.shouldEnd(w.request.DeadlineNS); deadline > 0 {
			end = min(end, deadline)
		}
		r.NotBegun, r.BehindNS = behind(p.file, p.last.Attempted, uint64(end), uint64(last))
	}
	return problems
}

// collectGroup fills in what the counters of a phase tell as a whole: what failed, and when the group
// worked.
func (w *watched) collectGroup(p *part) {
	r := p.result
	if r.Processes > 0 {
		r.StartSpreadNS = w.result.StartSpreadNS
	}
	r.Messages = messages(p.counters.Messages())
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
			end = max(end, uint64(w.result.ElapsedNS)) // it was under way to the end
		}
	}
	r.BeganNS, r.ElapsedNS = int64(begin), int64(end-min(begin, end))
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

// sumParts adds up the groups in the phase's result.
func (w *watched) sumParts() {
	if len(w.result.Groups) == 0 {
		return
	}
	r := w.result
	var operations, steps []record.Operation
	for _, g := range r.Groups {
		operations, steps = append(operations, g.Operations...), append(steps, g.Steps...)
	}
	r.Operations, r.Steps = record.Operations(byCode(operations)), record.Operations(byCode(steps))
	r.HandleWaitNS, r.HandlesOpened, r.HandleTimes = w.last.HandleWaitNS, w.last.HandlesOpened, w.last.HandleTimes
	r.LatenessMaxNS = w.last.LatenessMaxNS
	if r.Open {
		r.Late = lateness(w.last)
	}
	for _, g := range r.Groups {
		r.Attempted, r.Unfinished = r.Attempted+g.Attempted, r.Unfinished+g.Unfinished
		r.NotBegun, r.BehindNS = r.NotBegun+g.NotBegun, max(r.BehindNS, g.BehindNS)
	}
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

// endParts notes why the phase, and each part of it, ended. err is what watching it gave.
func (w *watched) endParts(err error) {
	ended := w.endedBy(err)
	w.result.EndedBy = ended
	if ended == "" {
		w.result.EndedBy = endedItself(w.file, w.last.Acknowledged)
	}
	for _, p := range w.parts {
		if ofItself := endedItself(p.file, p.last.Acknowledged); p.result != w.result {
			p.result.EndedBy = ended
			if ended == "" || ofItself == record.EndedOperations {
				p.result.EndedBy = ofItself
			}
		}
	}
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

// notDone returns a mark if the part was to do something and did not.
func (p *part) notDone(deadlineNS int64) (finding.Mark, bool) {
	r, end := p.result, p.shouldEnd(deadlineNS)
	for i := range p.file.Threads {
		if limit := p.file.Threads[i].Limit; limit != 0 && p.last.Acknowledged[i] < limit && end == 0 {
			return finding.Mark{Phase: r.Name,
				Message: finding.New(finding.MarkShortWorkParams{Thread: i, Done: p.last.Acknowledged[i], Of: limit})}, true
		}
	}
	should := end - r.BeganNS
	if end > 0 && p.file.Threads[0].Limit == 0 && !r.Open && r.ElapsedNS < should*9/10 {
		return finding.Mark{Phase: r.Name,
			Message: finding.New(finding.MarkShortTimeParams{Seconds: float64(r.ElapsedNS) / 1e9, OfS: float64(should) / 1e9})}, true
	}
	return finding.Mark{}, false
}
