package run

import "assay/internal/evidence/record"

// milestones finds when each thread had done each so many operations: between two looks at the
// counters, at the thread's mean rate between them. A nil one looks for nothing.
type milestones struct {
	every   uint64
	seconds [][]float64
	done    []uint64 // at the last look
	at      float64  // of it, in seconds since the phase began
}

// newMilestones looks for those of threads that begin so many seconds after the phase.
func newMilestones(every uint64, threads int, from float64) *milestones {
	if every == 0 {
		return nil
	}
	return &milestones{every: every, seconds: make([][]float64, threads), done: make([]uint64, threads), at: from}
}

// look takes what each thread has done so many seconds after the phase began.
func (m *milestones) look(done []uint64, at float64) {
	if m == nil || at <= m.at {
		return
	}
	for i, now := range done {
		before := m.done[i]
		for next := uint64(len(m.seconds[i])+1) * m.every; next <= now; next += m.every {
			part := float64(next-before) / float64(now-before)
			m.seconds[i] = append(m.seconds[i], m.at+part*(at-m.at))
		}
	}
	copy(m.done, done)
	m.at = at
}

func (m *milestones) result() *record.Milestones {
	if m == nil {
		return nil
	}
	return &record.Milestones{Every: m.every, Seconds: m.seconds}
}
