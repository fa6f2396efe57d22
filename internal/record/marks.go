package record

import (
	"math"
	"slices"

	"assay/internal/finding"
)

// Marks returns what the counts of a phase say against ranking its trial.
func (p *Phase) Marks() (marks []finding.Mark) {
	var wrong, foreign, lost, failed, done uint64
	for _, o := range p.Operations {
		foreign += min(o.Foreign, o.Wrong)
		wrong, lost, failed, done = wrong+o.Wrong, lost+o.Lost, failed+o.Errors+o.Timeout, done+o.Done()
	}
	mark := func(code finding.Code, count uint64, outcomes ...string) {
		if count == 0 {
			return
		}
		m := finding.New(code, "count", count, "of", done)
		if text := p.firstMessage(outcomes...); text != "" {
			m = m.With("message", text)
		}
		marks = append(marks, finding.Mark{Message: m, Phase: p.Name})
	}
	mark(finding.MarkWrong, wrong-foreign, "wrong")
	mark(finding.MarkOtherTrial, foreign)
	mark(finding.MarkLost, lost, "lost")
	mark(finding.MarkFailed, failed, "error", "timeout")
	mark(finding.MarkUnfinished, p.Unfinished)
	if h := p.History; h != nil {
		mark := func(code finding.Code, count uint64, pairs ...any) {
			if count > 0 {
				m := finding.New(code, "count", count, "of", h.Reads).With(pairs...)
				marks = append(marks, finding.Mark{Message: m, Phase: p.Name})
			}
		}
		if !h.Eventual { // such a store may answer with what was, but not with what was never written
			mark(finding.MarkStaleReads, h.Stale, "late_ns", h.LateP50NS, "late_max_ns", h.LateMaxNS)
			mark(finding.MarkVanished, h.Vanished)
			mark(finding.MarkUnordered, uint64(h.Unordered))
		}
		mark(finding.MarkLostUpdates, h.LostUpdates)
		mark(finding.MarkGhosts, h.Ghosts)
	}
	if outcomes := done + p.Unfinished; outcomes != p.Attempted {
		marks = append(marks, finding.Mark{Phase: p.Name, Message: finding.New(finding.MarkSum, "attempted", p.Attempted, "outcomes", outcomes)})
	}
	if drift := math.Abs(float64(p.ClockDrift)); drift > ClockSlackNS(float64(p.ElapsedNS)) {
		marks = append(marks, finding.Mark{Phase: p.Name, Message: finding.New(finding.MarkDrift,
			"clock", p.Clock, "drift_ns", drift, "seconds", float64(p.ElapsedNS)/1e9)})
	}
	return marks
}

// firstMessage returns the most frequent text of some outcomes.
func (p *Phase) firstMessage(outcomes ...string) string {
	for _, m := range p.Messages {
		for _, o := range outcomes {
			if m.Outcome == o {
				return m.Text
			}
		}
	}
	return ""
}

// ClockSlackNS is how far two clocks may differ over a length of time: a late look at the two
// explains 2 ms, and a thousandth of the length changes no figure.
func ClockSlackNS(lengthNS float64) float64 { return max(2e6, lengthNS/1000) }

// Marks returns what reading back says against ranking the trial.
func (f *FinalCheck) Marks() (marks []finding.Mark) {
	for _, fault := range []struct {
		code  finding.Code
		count uint64
	}{
		{finding.MarkReadbackLost, f.Lost}, {finding.MarkReadbackStale, f.Stale},
		{finding.MarkReadbackWrong, f.Wrong - min(f.Foreign, f.Wrong)}, {finding.MarkReadbackOther, f.Foreign},
		{finding.MarkReadbackFailed, f.Errors},
	} {
		if fault.count == 0 {
			continue
		}
		m := finding.New(fault.code, "count", fault.count, "of", f.Records)
		if len(f.Examples) > 0 {
			m = m.With("example", f.Examples[0])
		}
		marks = append(marks, finding.Mark{Message: m, Phase: FinalCheckPhase})
	}
	return marks
}

// CountedMarks returns the marks that a trial's counts make, whatever it is marked for, and those
// of its marks that counts can't tell. A directory whose counts show a fault is never ranked.
func (t *Trial) CountedMarks() (marks []finding.Mark) {
	for i := range t.Phases {
		marks = append(marks, t.Phases[i].Marks()...)
	}
	if t.Final != nil {
		marks = append(marks, t.Final.Marks()...)
	}
	for _, m := range t.Marks {
		if !slices.ContainsFunc(marks, func(o finding.Mark) bool { return o.Code == m.Code && o.Phase == m.Phase }) {
			marks = append(marks, m)
		}
	}
	return marks
}

// FinalCheckPhase is the phase of the marks on what was read back.
const FinalCheckPhase = "final check"

// Reasons returns why the trial has no rank, gravest first: why it did not end, then its marks.
func (t *Trial) Reasons() (reasons []finding.Message) {
	if t.Cause != "" {
		reasons = append(reasons, t.Reason())
	}
	for _, m := range t.CountedMarks() {
		reasons = append(reasons, m.Message)
	}
	return reasons
}

// Reason returns why the trial did not end; its parameter text is Error.
func (t *Trial) Reason() finding.Message {
	return finding.New(t.Cause, "text", t.Error)
}
