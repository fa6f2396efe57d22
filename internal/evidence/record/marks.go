package record

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/base/finding"
)

// Marks returns what the counts of a phase say against ranking its trial.
func (p *Phase) Marks() (marks []finding.Mark) {
	if len(p.Groups) > 0 {
		for i := range p.Groups {
			group := p.Groups[i]
			group.Faults = p.Faults
			marks = append(marks, group.outcomeMarks(p.mayMiss())...)
		}
	} else {
		marks = p.outcomeMarks(p.mayMiss())
	}
	if h := p.History; h != nil {
		mark := func(code finding.Code, count uint64) {
			if count > 0 {
				marks = append(marks, p.mark(finding.CountParams{Code: code, Count: count, Of: h.Reads}))
			}
		}
		if !p.Eventual && !p.Forgot { // such a store may answer with what was, but not with what was never written
			if h.Stale > 0 {
				marks = append(marks, p.mark(finding.MarkStaleReadsParams{Count: h.Stale, Of: h.Reads,
					LateNS: h.LateP50NS, LateMaxNS: h.LateMaxNS}))
			}
			if !p.Forgets() {
				mark(finding.MarkVanished, h.Vanished)
			}
			mark(finding.MarkUnordered, uint64(h.Unordered))
		}
		// Two swaps of one version are seen twice: when the second succeeds, and as one that is gone.
		atomic := uint64(0)
		if u := h.Updates; u != nil && !p.Eventual && !p.Forgot {
			atomic = u.Atomic.Lost
		}
		if h.LostUpdates > atomic && !p.Forgot {
			mark(finding.MarkLostUpdates, h.LostUpdates)
		} else if u := h.Updates; atomic > 0 {
			marks = append(marks, p.mark(finding.MarkAtomicLostParams{Count: u.Atomic.Lost, Of: u.Atomic.Done,
				Items: u.Atomic.ItemsLost}))
		}
		mark(finding.MarkGhosts, h.Ghosts)
	}
	marks = append(marks, p.findMarks()...)
	if x := p.Expiry; x != nil && x.Late > 0 && !p.Eventual && !p.Forgot {
		marks = append(marks, p.mark(finding.LateParams{Code: finding.MarkLate, Count: x.Late, Of: x.Over(),
			LatestNS: float64(x.LatestNS), TickNS: float64(x.TickNS)}))
	}
	parts, whole := []*Phase{p}, cmp.Or(p.whole, p)
	for i := range p.Groups {
		if i == 0 {
			parts = nil
		}
		parts = append(parts, &p.Groups[i])
	}
	for _, part := range parts {
		for _, m := range plausible(part, whole) {
			marks = append(marks, finding.Mark{Message: m, Phase: part.Name})
		}
	}
	marks = slices.Concat(marks, p.stopMarks(), p.confinedMarks(), p.agentMarks(), p.durabilityMarks(),
		p.machineMarks())
	if drift := math.Abs(float64(p.ClockDrift)); drift > ClockSlackNS(float64(p.ElapsedNS)) {
		marks = append(marks, p.mark(finding.MarkDriftParams{Clock: p.Clock, DriftNS: drift,
			Seconds: float64(p.ElapsedNS) / 1e9}))
	}
	return marks
}

// findMarks returns what scans, queries and counts gave or left out against what was there.
func (p *Phase) findMarks() (marks []finding.Mark) {
	f := p.Finds
	if f == nil {
		return nil
	}
	if f.Missing > 0 && !p.mayMiss() {
		marks = append(marks, p.mark(finding.FindsParams{Code: finding.MarkFindsMissing, Count: f.Missing,
			Of: f.Owed, Finds: f.MissingIn, OfFinds: f.Finds}))
	}
	if f.Beyond > 0 && !p.Eventual {
		marks = append(marks, p.mark(finding.FindsParams{Code: finding.MarkFindsBeyond, Count: f.Beyond,
			Finds: f.BeyondIn, OfFinds: f.Finds}))
	}
	return marks
}

// Forgets reports whether the store said, by the phase's end, that it had removed records by itself.
func (p *Phase) Forgets() bool { return p.Evicted != nil && *p.Evicted > 0 }

// mayMiss reports whether a read that finds nothing is no fault by itself.
func (p *Phase) mayMiss() bool { return p.Eventual || p.Forgets() || p.Forgot }

func (p *Phase) mark(of finding.Parameters) finding.Mark {
	return finding.Mark{Message: finding.New(of), Phase: p.Name}
}

// outcomeMarks returns what the outcomes of a phase without groups, or of a group, say.
func (p *Phase) outcomeMarks(mayMiss bool) (marks []finding.Mark) {
	var wrong, foreign, lost, failed, late, done uint64
	for _, o := range p.Calls() {
		foreign += min(o.Foreign, o.Wrong)
		wrong, lost, failed, late, done = wrong+o.Wrong, lost+o.Lost, failed+o.Errors, late+o.Timeout, done+o.Done()
	}
	failed += late - min(late, p.lateByStops())
	mark := func(code finding.Code, count uint64, outcomes ...string) {
		if count == 0 {
			return
		}
		marks = append(marks, p.mark(finding.CountParams{Code: code, Count: count, Of: done,
			Message: p.firstMessage(outcomes...)}))
	}
	mark(finding.MarkWrong, wrong-foreign, "wrong")
	mark(finding.MarkOtherTrial, foreign)
	if !mayMiss { // reading back tells what such a store has lost permanently
		mark(finding.MarkLost, lost, "lost")
	}
	// which is what the phase asks for: see detect
	if len(p.Faults) == 0 && (p.Capacity == nil || !p.Capacity.MayFail) {
		mark(finding.MarkFailed, failed, "error", "timeout")
	}
	if p.EndedBy != EndedInterrupted { // a stop by the user needs no mark
		mark(finding.MarkUnfinished, p.Unfinished)
	}
	outcomes := p.Unfinished
	for _, o := range p.Operations {
		outcomes += o.Done()
	}
	if outcomes != p.Attempted {
		marks = append(marks, p.mark(finding.MarkSumParams{Attempted: p.Attempted, Outcomes: outcomes}))
	}
	return marks
}

// lateByStops is how many operations may have timed out since something outside stopped their threads: one
// of each, in each stop. Its own mark keeps the trial from a rank, and accuses no store.
func (p *Phase) lateByStops() uint64 { return uint64(p.Threads) * uint64(len(p.Stops)) }

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

// MissingAtLeast is how many of all records are absent at least, by those that were read back: exact
// where all were, and otherwise the lower end of an interval of four standard errors.
func (f *FinalCheck) MissingAtLeast() float64 {
	if f.Records == 0 {
		return 0
	}
	n, all := float64(f.Records), float64(max(f.Of, f.Records))
	share := float64(f.Lost+f.Evicted) / n
	spread := math.Sqrt(share * (1 - share) / n * (1 - n/all))
	return math.Max(float64(f.Lost+f.Evicted), math.Ceil(all*(share-4*spread)))
}

// Marks returns what reading back says against ranking the trial.
func (f *FinalCheck) Marks() (marks []finding.Mark) {
	for _, fault := range []struct {
		code  finding.Code
		count uint64
	}{
		{finding.MarkReadbackLost, f.Lost}, {finding.MarkReadbackStale, f.Stale},
		{finding.MarkReadbackWrong, f.Wrong - min(f.Foreign, f.Wrong)}, {finding.MarkReadbackOther, f.Foreign},
		{finding.MarkReadbackFailed, f.Errors}, {finding.MarkReadbackLate, f.Late},
	} {
		if f.Forgot && (fault.code == finding.MarkReadbackLost || fault.code == finding.MarkReadbackStale) {
			continue
		}
		unread := fault.code == finding.MarkReadbackFailed && f.NotRead > 0
		if fault.count == 0 && !unread {
			continue
		}
		counted := finding.CountParams{Code: fault.code, Count: fault.count, Of: f.Records}
		if unread {
			counted.Of, counted.NotRead = f.Records+f.NotRead, f.NotRead
		}
		if fault.code == finding.MarkReadbackLost && f.StoreEvicted != nil {
			counted.Evicted = *f.StoreEvicted
		}
		if len(f.Examples) > 0 {
			counted.Example = f.Examples[0]
		}
		marks = append(marks, finding.Mark{Message: finding.New(counted), Phase: FinalCheckPhase})
	}
	return append(append(marks, f.Increments.marks()...), f.Adds.Marks()...)
}

// Marks are what the adds show; of nil, nothing.
func (a *Adds) Marks() (marks []finding.Mark) {
	if a == nil {
		return nil
	}
	mark := func(code finding.Code, count, of uint64) {
		if count > 0 {
			marks = append(marks, finding.Mark{Message: finding.New(finding.CountParams{Code: code, Count: count,
				Of: of}), Phase: FinalCheckPhase})
		}
	}
	mark(finding.MarkAddsOver, a.Overwritten+a.Stored-min(a.Stored, a.Contested), a.Existing+a.Contested)
	mark(finding.MarkAddsRefused, a.Contested-min(a.Stored, a.Contested), a.Contested)
	return marks
}

func (i *Increments) marks() []finding.Mark {
	var m finding.Message
	switch {
	case i == nil || i.Counted >= i.Least && i.Counted <= i.Most:
		return nil
	case i.Counted < i.Least:
		m = finding.New(finding.CountParams{Code: finding.MarkIncrementsLost, Count: i.Least - i.Counted, Of: i.Least})
	default:
		m = finding.New(finding.CountParams{Code: finding.MarkIncrementsMore, Count: i.Counted - i.Most, Of: i.Most})
	}
	return []finding.Mark{{Message: m, Phase: FinalCheckPhase}}
}

// ClassMarks returns a mark if a cut has refuted the store's class, for a phase that was measured in it.
func (t *Trial) ClassMarks(p *Phase) (marks []finding.Mark) {
	for _, c := range []*Proof{t.Proof, t.Kills} {
		if c.Refutes() && !p.Load {
			marks = append(marks, p.mark(finding.MarkClassRefutedParams{FileSystem: c.FileSystem,
				Kills: c == t.Kills, Why: c.Why}))
		}
	}
	return marks
}

// CountedMarks returns the marks that what is stored of a trial makes, whatever it is marked for, and
// those of its marks that this can't tell. A directory whose counts show a fault is never ranked, also
// if its marks were taken out and it was sealed again.
func (t *Trial) CountedMarks() (marks []finding.Mark) {
	for i := range t.Phases {
		p := &t.Phases[i]
		marks = slices.Concat(marks, p.Marks(), t.ClassMarks(p))
		if p.EndedBy == EndedDiskFull && !slices.ContainsFunc(t.Marks,
			func(m finding.Mark) bool { return m.Fault() == finding.FaultDiskFull }) {
			marks = append(marks, p.mark(finding.FullDiskParams{Code: finding.MarkDiskFull}))
		}
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
	return finding.New(finding.CauseParams{Code: t.Cause, Text: t.Error})
}
