package run

import (
	"fmt"
	"runtime"

	"assay/internal/counters"
	"assay/internal/host"
	"assay/internal/record"
	"assay/internal/trace"
)

// operations turns the counters at a phase's end into its result.
func operations(totals []counters.Total) []record.Operation {
	all := make([]record.Operation, len(totals))
	for i, t := range totals {
		all[i] = record.Operation{
			Name: t.Operation.String(),
			OK:   t.Outcomes[counters.OK], Miss: t.Outcomes[counters.Miss], Lost: t.Outcomes[counters.Lost],
			Conflict: t.Outcomes[counters.Conflict], Wrong: t.Outcomes[counters.Wrong],
			Errors: t.Outcomes[counters.Error], Timeout: t.Outcomes[counters.Timeout],
			BytesWritten: t.BytesWritten, BytesRead: t.BytesRead, Items: t.Items, MaxNS: t.ServiceMaxNS,
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
		all[i] = record.Message{Operation: m.Operation.String(), Outcome: m.Outcome.String(), Text: m.Text, Count: m.Count}
	}
	return all
}

// balance holds the outcomes against the conductor's own count of the trace: for each thread, the operations among the
// entries that it began; in all, attempted = ok + miss + lost + conflict + wrong + error + timeout + unfinished. It returns a
// sentence for each way in which they disagree.
func balance(file *trace.File, c *counters.File, s counters.Sample) (attempted, unfinished uint64, problems []string) {
	for i := range file.Threads {
		thread := &file.Threads[i]
		begun, done := s.Attempted[i], s.Acknowledged[i]
		if done > begun {
			problems = append(problems, fmt.Sprintf("thread %d acknowledged %d entries, but began only %d", i, done, begun))
			continue
		}
		if thread.Limit != 0 && begun > thread.Limit {
			problems = append(problems, fmt.Sprintf("thread %d began %d entries, its trace allows %d", i, begun, thread.Limit))
		}
		began, ended := thread.Count(begun), thread.Count(done)
		for slot, o := range file.Operations {
			var counted uint64
			cell := c.Slot(i, slot)
			for _, n := range cell.Outcomes {
				counted += n
			}
			attempted += began[o]
			unfinished += began[o] - ended[o]
			// An operation may be counted whose acknowledgement was not stored any more when the worker was killed.
			if counted != ended[o] && counted != began[o] {
				problems = append(problems, fmt.Sprintf("thread %d counted %d outcomes of %s, its trace has %d up to entry %d", i, counted, o, ended[o], done))
			} else {
				unfinished -= min(counted-min(counted, ended[o]), unfinished)
			}
		}
	}
	for _, t := range s.Totals {
		if t.Service == nil {
			continue
		}
		if timed := t.Service.Count(); timed != t.Operations() {
			problems = append(problems, fmt.Sprintf("%s has %d outcomes, but %d of them were timed", t.Operation, t.Operations(), timed))
		}
	}
	return attempted, unfinished, problems
}

// behind returns how many operations of open load were due before its end and not begun, and by how much it was behind its schedule then: see
// record.Phase.BehindNS. begun are the entries that each thread began, endNS counts from the phase's start.
func behind(file *trace.File, begun []uint64, endNS uint64) (notBegun, behindNS uint64) {
	var last uint64
	all := true
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
			were, are := thread.Count(entries), thread.Count(begun[i])
			for code := range were {
				notBegun += were[code] - are[code]
			}
		default:
			last = max(last, thread.DueOf(thread.Limit-1))
		}
	}
	if all {
		behindNS = endNS - min(last, endNS)
	}
	return notBegun, behindNS
}

// timeKept says why the service times of a phase can't be: the threads of closed load have so much time and no more, and what they do not
// spend in operations they spend in checking values that were read and in waiting for handles. "" if nothing speaks against them.
func timeKept(p *record.Phase) string {
	if p.Open || p.ElapsedNS <= 0 || p.Threads == 0 {
		return "" // in open load threads wait for due times
	}
	served, operations, onlyWrites := 0.0, uint64(0), true
	for _, o := range p.Operations {
		code, _ := trace.ParseOperation(o.Name)
		onlyWrites = onlyWrites && (code.Writes() && code != trace.ReadModifyWrite && code != trace.CompareAndSwap || code == trace.Batch || code == trace.Delete)
		if o.Service != nil {
			n := o.Service.Count()
			served, operations = served+o.Service.Mean()*float64(n), operations+n
		}
	}
	had := float64(p.ElapsedNS) * float64(p.Threads)
	const bucketError, servedMin, operationsMin = 1.02, 0.1, 1000
	switch {
	case served > bucketError*had:
		return fmt.Sprintf("operations are said to have taken %.3g s, but %d threads had %.3g s", served/1e9, p.Threads, had/1e9)
	// With more threads than processors, some have not begun while others are done, and where work is counted, some are done before others.
	case onlyWrites && p.EndedBy == record.EndedDuration && p.Threads <= runtime.NumCPU() && operations >= operationsMin && served+float64(p.HandleWaitNS) < servedMin*had:
		return fmt.Sprintf("operations are said to have taken %.3g s of the %.3g s that %d threads had, and nothing says what became of the rest", served/1e9, had/1e9, p.Threads)
	}
	return ""
}

// Thresholds of marks. What is below them is still shown, and may be a finding.
const (
	clockDriftShare = 0.001 // of the phase's length
	clockDriftFloor = 2e6   // ns: below this, a late look at the two clocks explains it
	stealShareMax   = 0.05
	foreignShareMax = 0.25
	// Of the phase's length: a store that a quota holds back for 100 ms in ten seconds shows it in its p99.
	throttledShareMax = 0.01
)

// marksOf returns what forbids ranking a trial because of this phase.
func marksOf(p *record.Phase, problems []string) []record.Mark {
	var marks []record.Mark
	mark := func(code, format string, args ...any) {
		marks = append(marks, record.Mark{Code: code, Phase: p.Name, Text: fmt.Sprintf(format, args...)})
	}
	var wrong, lost, failed, done uint64
	for _, o := range p.Operations {
		wrong, lost, failed, done = wrong+o.Wrong, lost+o.Lost, failed+o.Errors+o.Timeout, done+o.Done()
	}
	if wrong > 0 {
		mark(record.MarkWrong, "%d of %d operations returned a value that was never written there%s", wrong, done, firstMessage(p, "wrong"))
	}
	if lost > 0 {
		mark(record.MarkLost, "%d of %d operations did not find a record that was stored", lost, done)
	}
	if failed > 0 {
		mark(record.MarkErrors, "%d of %d operations failed%s", failed, done, firstMessage(p, "error", "timeout"))
	}
	if p.Unfinished > 0 {
		mark(record.MarkUnfinished, "operations that were begun and never ended: %d", p.Unfinished)
	}
	for i, problem := range problems {
		if i == 3 {
			mark(record.MarkIdentity, "and %d more counts that disagree", len(problems)-i)
			break
		}
		mark(record.MarkIdentity, "%s", problem)
	}
	if text := timeKept(p); text != "" {
		mark(record.MarkIdentity, "%s", text)
	}
	if drift, length := float64(p.ClockDrift), float64(p.ElapsedNS); drift > clockDriftFloor && drift > clockDriftShare*length {
		mark(record.MarkClock, "the %s clock went %.1f ms away from the monotonic clock in %.1f s", p.Clock, drift/1e6, length/1e9)
	}
	return marks
}

// machine returns how much of the machine a phase had to do without, and what of that can't be told.
func machine(used host.Interval, throttled host.Throttled) *record.Machine {
	m := &record.Machine{
		Seconds: used.Seconds, Foreign: used.ForeignWithin, Steal: used.StealWithin,
		QuotaSeconds: throttled.QuotaSeconds, QuotaPeriods: throttled.QuotaPeriods, QuotaGroup: throttled.QuotaGroup,
		HeatSeconds: throttled.HeatSeconds, HeatEvents: throttled.HeatEvents, NotMeasured: map[string]string{},
	}
	for _, s := range []struct {
		name  string
		share **host.Bounds
		most  float64
	}{{"foreign", &m.Foreign, foreignShareMax}, {"steal", &m.Steal, stealShareMax}} {
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

// machineMarks returns marks for a measured phase that had less of the machine than it should, even if all counters err on its side.
func machineMarks(p *record.Phase) []record.Mark {
	m := p.Machine
	if !p.Measured || m == nil {
		return nil
	}
	var marks []record.Mark
	mark := func(code, format string, args ...any) {
		marks = append(marks, record.Mark{Code: code, Phase: p.Name, Text: fmt.Sprintf(format, args...)})
	}
	if m.Steal != nil && m.Steal.Least > stealShareMax {
		mark(record.MarkForeign, "the hypervisor took %s of the machine's CPU time", within(m.Steal))
	}
	if m.Foreign != nil && m.Foreign.Least > foreignShareMax {
		mark(record.MarkForeign, "other processes took %s of the machine's CPU time", within(m.Foreign))
	}
	if m.QuotaSeconds != nil && *m.QuotaSeconds > throttledShareMax*m.Seconds {
		mark(record.MarkThrottled, "the CPU quota of %s was used up in %d periods and kept threads from a CPU for %.3g s, over all CPUs, in %.3g s", m.QuotaGroup, *m.QuotaPeriods, *m.QuotaSeconds, m.Seconds)
	}
	if m.HeatSeconds != nil && *m.HeatSeconds > throttledShareMax*m.Seconds {
		mark(record.MarkThrottled, "heat slowed a CPU down for %.3g of %.3g s", *m.HeatSeconds, m.Seconds)
	}
	return marks
}

// within writes a share as one number where its bounds are no further apart than that number's digits.
func within(b *host.Bounds) string {
	least, most := fmt.Sprintf("%.0f", b.Least*100), fmt.Sprintf("%.0f", b.Most*100)
	if least == most {
		return least + " %"
	}
	return least + " to " + most + " %"
}

func firstMessage(p *record.Phase, outcomes ...string) string {
	for _, m := range p.Messages {
		for _, o := range outcomes {
			if m.Outcome == o {
				return fmt.Sprintf("; most often: %s", m.Text)
			}
		}
	}
	return ""
}

// why returns what a person must know of how the trial ended, in a sentence; "" if it is fine.
func (t *trial) why() string {
	if t.result.Error != "" {
		return t.result.Error
	}
	if len(t.result.Marks) > 0 {
		return t.result.Marks[0].Phase + ": " + t.result.Marks[0].Text
	}
	return ""
}

// rate returns the good operations a second of the last measured phase, as progress; nil if none was measured.
func (t *trial) rate() *float64 {
	for i := len(t.result.Phases) - 1; i >= 0; i-- {
		p := &t.result.Phases[i]
		if !p.Measured || p.ElapsedNS == 0 {
			continue
		}
		var good uint64
		for _, o := range p.Operations {
			good += o.Good()
		}
		rate := float64(good) / (float64(p.ElapsedNS) / 1e9)
		return &rate
	}
	return nil
}
