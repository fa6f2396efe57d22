package run

import (
	"fmt"
	"time"

	"assay/internal/base/format"
	"assay/internal/evidence/counters"
)

// A phase that goes by a number of operations, a load and the final check among them, is given up
// where the store answers no more: each operation would wait for its own time-out, hours for a few
// thousand. It is taken to be silent
//
//   - once so many operations in a row failed or timed out, [failuresInRow] for each thread, and none
//     was answered for [silenceMin] or step_timeout, whichever is less; or
//   - once time-outs have taken as much time as step_timeout, be they in a row or not: one of several
//     servers may be silent.
const (
	failuresInRow = 3
	silenceMin    = 10 * time.Second
)

// silence is what a phase knows of the answers to its operations so far.
type silence struct {
	answered, failed uint64 // operations, when one was answered last
	since            time.Time
}

// look says why the store must be taken to be silent, or "". patience is the step's time-out.
func (s *silence) look(totals []counters.Total, threads int, patience time.Duration, now time.Time) string {
	var answered, failed, timeouts, longestNS uint64
	for i := range totals {
		o := &totals[i]
		bad := o.Outcomes[counters.Error] + o.Outcomes[counters.Timeout]
		answered, failed, timeouts = answered+o.Operations()-bad, failed+bad, timeouts+o.Outcomes[counters.Timeout]
		if o.Outcomes[counters.Timeout] > 0 {
			longestNS = max(longestNS, o.ServiceMaxNS)
		}
	}
	if s.since.IsZero() || answered > s.answered {
		s.answered, s.failed, s.since = answered, failed, now
	}
	inRow := failed - s.failed
	if inRow >= uint64(failuresInRow*threads) && now.Sub(s.since) >= min(silenceMin, patience) {
		return fmt.Sprintf("%s in a row failed or timed out", format.Plural(int(inRow), "operation", ""))
	}
	if took := time.Duration(float64(timeouts) * float64(longestNS) / float64(threads)); took > patience {
		return fmt.Sprintf("%s took %s", format.Plural(int(timeouts), "time-out", ""), took.Round(time.Second))
	}
	return ""
}
