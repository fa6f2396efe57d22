package run

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"assay/internal/base/finding"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment/trace"
)

// slotResults turns the counters at a phase's end into results, one of each slot.
func slotResults(totals []counters.Total) []record.Operation {
	all := make([]record.Operation, len(totals))
	for i, t := range totals {
		all[i] = record.Operation{
			Name: t.Operation.String(),
			OK:   t.Outcomes[counters.OK], Miss: t.Outcomes[counters.Miss], Lost: t.Outcomes[counters.Lost],
			Conflict: t.Outcomes[counters.Conflict], Wrong: t.Outcomes[counters.Wrong], Foreign: t.Foreign,
			Errors: t.Outcomes[counters.Error], Timeout: t.Outcomes[counters.Timeout],
			BytesWritten: t.BytesWritten, BytesRead: t.BytesRead, Items: t.Items, Absent: t.Absent, Calls: t.Calls,
			MaxNS:   t.ServiceMaxNS,
			Service: t.Service, Response: t.Response,
		}
	}
	return all
}

// lateness returns how late operations began; nil if the worker does not count that.
func lateness(s counters.Sample) []uint64 {
	var counted uint64
	for _, n := range s.Late {
		counted += n
	}
	if counted == 0 && counters.LatenessWord(s.LatenessMaxNS) >= 0 {
		return nil
	}
	return s.Late[:]
}

func messages(from []counters.Message) []record.Message {
	all := make([]record.Message, len(from))
	for i, m := range from {
		all[i] = record.Message{Operation: m.Operation.String(), Outcome: m.Outcome.String(), Text: m.Text,
			Count: m.Count}
	}
	return all
}

// withQuestion returns the result of a slot with what it says of the question that the slot counts.
func withQuestion(o record.Operation, operation trace.Operation, query int) record.Operation {
	if operation.Asks() {
		o.Questions = []record.Question{{Query: query, Operation: o}}
	}
	return o
}

// balance holds the outcomes against the conductor's own count of the trace: for each thread, the
// operations among the entries that it began; in all, attempted = ok + miss + lost + conflict +
// wrong + error + timeout + unfinished. It returns a message for each way in which they disagree.
// name names what a slot counts. What lost threads (nil: there are none) began and did not end is not
// counted: their store did not leave it.
func balance(file *trace.File, c *counters.File, s counters.Sample, lost []bool,
	name func(slot int) string) (attempted, unfinished uint64, problems []finding.Message) {
	counted := file.Counted()
	for i := range file.Threads {
		thread := &file.Threads[i]
		begun, done := s.Attempted[i], s.Acknowledged[i]
		if done > begun {
			problems = append(problems, finding.New(finding.MarkAcknowledgedParams{Thread: i, Acknowledged: done,
				Begun: begun}))
			continue
		}
		if thread.Limit != 0 && begun > thread.Limit {
			problems = append(problems, finding.New(finding.MarkBegunParams{Thread: i, Begun: begun,
				Limit: thread.Limit}))
		}
		began, ended := file.Count(i, begun), file.Count(i, done)
		for slot, o := range file.Operations {
			var outcomes uint64
			cell := c.Slot(i, slot)
			for _, n := range cell.Outcomes {
				outcomes += n
			}
			open := began[slot] - ended[slot]
			// An operation may be counted whose acknowledgement was not stored any more when the
			// worker was killed.
			if outcomes < ended[slot] || outcomes > min(ended[slot]+1, began[slot]) {
				problems = append(problems, finding.New(finding.MarkOutcomesParams{Thread: i, Operation: name(slot),
					Counted: outcomes, Expected: ended[slot]}))
			} else {
				open -= min(outcomes-min(outcomes, ended[slot]), open)
			}
			switch {
			case !counted[o]:
			case lost != nil && lost[i]:
				attempted += began[slot] - open
			default:
				attempted, unfinished = attempted+began[slot], unfinished+open
			}
		}
	}
	expected := timedOf(file, c)
	for slot, t := range s.Totals {
		if t.Service == nil {
			continue
		}
		if timed := t.Service.Count(); timed != expected[slot] {
			problems = append(problems, finding.New(finding.MarkTimedParams{Operation: name(slot),
				Counted: expected[slot], Timed: timed}))
		}
	}
	return attempted, unfinished, problems
}

// timedOf returns how many operations of each slot are timed, by the outcomes that threads counted.
func timedOf(file *trace.File, c *counters.File) []uint64 {
	timed := make([]uint64, len(file.Operations))
	for i := range file.Threads {
		var operations uint64
		for slot := range file.Operations {
			var outcomes uint64
			for _, n := range c.Slot(i, slot).Outcomes {
				outcomes += n
			}
			operations += outcomes
			if file.TimedEvery == 0 {
				timed[slot] += outcomes
			}
		}
		if file.TimedEvery == 0 {
			continue
		}
		for slot, n := range file.Timed(i, operations) {
			timed[slot] += n
		}
	}
	return timed
}

// begunBy returns the entries that each thread began by a moment of open load, as far as is known: a
// lost one may have begun all that were due.
func begunBy(file *trace.File, begun []uint64, lost []bool, endNS uint64) []uint64 {
	if lost == nil {
		return begun
	}
	begun = slices.Clone(begun)
	for i := range file.Threads {
		if thread := &file.Threads[i]; lost[i] && len(thread.Due) > 0 {
			if begun[i] = max(begun[i], thread.DueBefore(endNS)); thread.Limit > 0 {
				begun[i] = min(begun[i], thread.Limit)
			}
		}
	}
	return begun
}

// behind returns how many operations of open load were due before its end and not begun, and by how
// much it was behind its schedule then: see record.Phase.BehindNS. begun are the entries that each
// thread began, endNS counts from the phase's start; so does lastNS, when the last one ended.
func behind(file *trace.File, begun []uint64, endNS, lastNS uint64) (notBegun, behindNS uint64) {
	var lastDue uint64
	all, counted := true, file.Counted()
	for i := range file.Threads {
		thread := &file.Threads[i]
		switch {
		case len(thread.Due) == 0:
		case thread.Limit == 0 || begun[i] < thread.Limit:
			all = false
			due := thread.DueOf(begun[i])
			behindNS = max(behindNS, endNS-min(due, endNS))
			entries := max(thread.DueBefore(endNS), begun[i])
			if thread.Limit > 0 {
				entries = min(entries, thread.Limit)
			}
			were, are := file.Count(i, entries), file.Count(i, begun[i])
			for slot, o := range file.Operations {
				if counted[o] {
					notBegun += were[slot] - are[slot]
				}
			}
		default:
			lastDue = max(lastDue, thread.DueOf(thread.Limit-1))
		}
	}
	if all {
		behindNS = lastNS - min(lastDue, lastNS)
	}
	return notBegun, behindNS
}

// countsShownMax bounds the marks on counts that disagree: a worker that counts nothing right has
// one for each thread and operation.
const countsShownMax = 3

// marksOf returns what forbids ranking a trial because of this phase. problems are the counts that
// disagree, for each of its groups, or for the whole of a phase without groups.
func marksOf(p *record.Phase, problems [][]finding.Message) []finding.Mark {
	marks := p.Marks()
	parts := []*record.Phase{p}
	if len(p.Groups) > 0 {
		parts = nil
		for i := range p.Groups {
			parts = append(parts, &p.Groups[i])
		}
	}
	for i, part := range parts {
		var told []finding.Message
		if i < len(problems) {
			told = problems[i]
		}
		if more := len(told) - countsShownMax; more > 0 {
			told = append(slices.Clone(told[:countsShownMax]), finding.New(finding.MarkMoreCountsParams{Count: more}))
		}
		for _, m := range told {
			marks = append(marks, finding.Mark{Message: m, Phase: part.Name})
		}
	}
	return marks
}

// machine returns how much of the machine a phase had to do without, and what of that is not known.
func machine(used host.Interval, throttled host.Throttled) *record.Machine {
	m := &record.Machine{
		Seconds: used.Seconds, CPUs: cmp.Or(used.CPUs, runtime.NumCPU()),
		Foreign: used.ForeignWithin, Steal: used.StealWithin,
		QuotaSeconds: throttled.QuotaSeconds, QuotaPeriods: throttled.QuotaPeriods, QuotaGroup: throttled.QuotaGroup,
		HeatSeconds: throttled.HeatSeconds, HeatEvents: throttled.HeatEvents, NotMeasured: map[string]string{},
	}
	for _, s := range []struct {
		name  string
		share **host.Bounds
		most  float64
	}{{"foreign", &m.Foreign, record.TakenShareMax}, {"steal", &m.Steal, record.TakenShareMax}} {
		switch b := *s.share; {
		case b == nil:
			m.NotMeasured[s.name] = "/proc/stat does not tell, or a CPU came or went"
		case b.Least <= 0 && b.Most >= 1:
			*s.share = nil
			m.NotMeasured[s.name] = fmt.Sprintf("%.3g s are too short for the kernel's clock ticks: it may be anything", m.Seconds)
		case b.Least <= s.most && b.Most > s.most:
			m.NotMeasured[s.name] = fmt.Sprintf("from %.1f %% to %.1f %% in %.3g s: the kernel's clock ticks leave open whether it was above %.0f %%",
				b.Least*100, b.Most*100, m.Seconds, s.most*100)
		}
	}
	for name, why := range map[string]string{"quota": throttled.QuotaWhy, "heat": throttled.HeatWhy} {
		if why != "" {
			m.NotMeasured[name] = why
		}
	}
	return m
}
