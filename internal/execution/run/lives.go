package run

import (
	"os"

	"assay/internal/base/clock"
	"assay/internal/base/memfile"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/store"
)

// lives is the file in which the workers of a trial note until when records are there. It is made for
// the first phase whose values have a TTL, and kept to the trial's end: what one phase wrote, later ones
// read. nil: no phase has come to that.
type lives struct {
	file   *os.File
	mapped *counters.Lives
	expiry store.Expiry
}

// insertsFollowed is how many records beside those of the load are followed.
const insertsFollowed = 1 << 24

// livesFor returns the file for a phase; nil: its values have no TTL, nor had those before it.
func (t *trial) livesFor(file *trace.File) (*lives, error) {
	if !file.Expires() {
		return nil, nil
	}
	if t.lives == nil {
		made, err := newLives(t.run.experiment, t.cell, t.store)
		if err != nil {
			return nil, ownFault{err}
		}
		t.lives = made
	}
	t.lives.mapped.Clear()
	return t.lives, nil
}

func newLives(e *experiment.Experiment, cell experiment.Cell, s experiment.Store) (*lives, error) {
	threads := 1
	for _, p := range e.Phases {
		threads = max(threads, p.ThreadsIn(cell))
	}
	l := &lives{}
	if s.Description.Expiry != nil {
		l.expiry = *s.Description.Expiry
	}
	var err error
	if l.file, err = memfile.Create("assay-lives"); err != nil {
		return nil, err
	}
	l.mapped, err = counters.CreateLives(l.file, threads, min(cell.Records+insertsFollowed, counters.LivesMost))
	if err == nil {
		err = memfile.SealSize(l.file)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// close gives the memory back.
func (l *lives) close() {
	if l == nil {
		return
	}
	if l.mapped != nil {
		_ = l.mapped.Unmap() // memory: there is nothing to lose
	}
	_ = l.file.Close()
}

// told is what the reads of a phase gave; nil: none was held against a time.
func (l *lives) told() *record.Expiry {
	if l == nil {
		return nil
	}
	var all counters.LivesTally
	for i := range l.mapped.Threads() {
		all.Add(l.mapped.Tally(i))
	}
	if all == (counters.LivesTally{}) {
		return nil
	}
	return &record.Expiry{Gone: all.Gone, Within: all.Within, Late: all.Late, Early: all.Early, Alive: all.Alive,
		Unjudged: all.Unjudged,
		LatestNS: int64(all.LatestNS), EarliestNS: int64(all.EarliestNS), TickNS: l.expiry.LateNS,
		EarlyNS: l.expiry.EarlyNS}
}

// between returns what of a record's time is known, if it was read between two moments of CLOCK_MONOTONIC.
func (l *lives) between(beganNS, endedNS int64) func(index uint64) audit.Life {
	return func(index uint64) audit.Life {
		life := l.mapped.Of(index)
		switch {
		case !life.Settled():
			return audit.LifeUnknown
		case !life.Written():
			return audit.LifeNone
		case life.Alive()*1000-l.expiry.EarlyNS > endedNS:
			return audit.LifeAlive
		case life.Dead() > 0 && life.Dead()*1000+l.expiry.LateNS < beganNS:
			return audit.LifeOver
		}
		return audit.LifeEither
	}
}

// readBackLives holds what is read back against the times of records. It is to be called before the
// reading, and what it returns after it.
func (t *trial) readBackLives() func(*audit.Expectation) {
	began := clock.MonotonicNS()
	return func(x *audit.Expectation) {
		if t.lives != nil {
			x.Lives = t.lives.between(began, clock.MonotonicNS())
		}
	}
}
