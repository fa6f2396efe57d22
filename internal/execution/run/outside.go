package run

import (
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// outside is when the conductor itself saw a phase at work, in ns of CLOCK_MONOTONIC. A rate is
// operations over the time that the worker reports, so that this time is held against what can be
// seen from outside.
type outside struct {
	workingBy    int64 // operations had been done by then, at the latest; 0: never seen
	workingAfter int64 // operations were done after this; 0: never seen

	asked   int64 // the worker got its run request after this
	replied int64 // it had ended by then; 0: it did not reply

	lookedAt     int64 // begin of the look before
	acknowledged uint64
}

// look tells of a reading of the counters that took from one moment to another.
func (s *outside) look(from, to int64, acknowledged []uint64) {
	var done uint64
	for _, n := range acknowledged {
		done += n
	}
	if done > 0 && s.workingBy == 0 {
		s.workingBy = to
	}
	if done > s.acknowledged && s.lookedAt > 0 {
		s.workingAfter = s.lookedAt
	}
	s.lookedAt, s.acknowledged = from, done
}

// against returns a mark if a phase from start to end can't be what was seen. end is 0 if the
// worker told none. A thread that is kept from the CPU between its last look at the clock and its
// counters ends later than it says, by what [record.Phase.HeldNS] says at most.
func (s *outside) against(phase string, start, end, heldNS int64) []finding.Mark {
	if end <= start {
		return nil
	}
	slack := int64(record.ClockSlackNS(float64(end - start)))
	code, by := finding.MarkBeganLate, start-s.workingBy
	switch {
	case s.asked > 0 && start < s.asked-slack:
		code, by = finding.MarkBeganEarly, s.asked-start
	case s.replied > 0 && end > s.replied+slack:
		code, by = finding.MarkEndedLate, end-s.replied
	case s.workingBy > 0 && by > slack:
	case end < s.workingAfter-slack-heldNS:
		code, by = finding.MarkEndedSoon, s.workingAfter-end
	default:
		return nil
	}
	return []finding.Mark{{Message: finding.New(finding.ClockParams{Code: code, ByNS: by}), Phase: phase}}
}

// elapsedNS is how long a phase took that went from start to end by the worker's word: at least for as long
// as it was seen at work. What excuses a worker that ends before that (see [record.Phase.HeldNS])
// makes its rate no higher.
func (s *outside) elapsedNS(start, end int64) int64 {
	told := end - start
	if seen := s.workingAfter - start; s.workingAfter > 0 && seen > told+int64(record.ClockSlackNS(float64(told))) {
		return seen
	}
	return told
}
