package crash

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"assay/internal/experiment/keyval"
)

// kills makes the control, and then the cuts.
func (t *tester) kills() error {
	t.progress(0)
	var opens time.Duration
	for life := range t.target.lives() {
		took, err := t.control(life)
		if err != nil || t.result.Why != "" {
			return err
		}
		opens = max(opens, took)
	}
	for number := 1; number <= t.options.Cuts; number++ {
		if t.options.Only > 0 && number != t.options.Only {
			continue
		}
		t.progress(number)
		cut, err := t.kill(number, opens)
		if err != nil {
			return fmt.Errorf("cut %d of %s: %w", number, t.target.Name(), err)
		}
		t.result.Cuts = append(t.result.Cuts, cut)
		if t.isEnough() {
			break
		}
	}
	return nil
}

// control does the whole workload, closes the store in order, and reads it back. It returns how long
// that store takes to open again, which a cut during recovery is drawn from.
func (t *tester) control(life int) (open time.Duration, err error) {
	s, err := t.newSession(life)
	if err != nil {
		return 0, err
	}
	defer s.discard(&err)
	var stamps []Stamp
	if err := s.begin(); err != nil {
		t.result.Why, err = blame("does not open", err)
		return 0, err
	}
	if err := t.see(s); err != nil {
		return 0, err
	}
	if _, err := s.work(t.options.Seed, nil, time.Now(), &stamps); err != nil {
		t.result.Why, err = blame("fails before it is cut", err)
		return 0, err
	}
	if t.result.Rate == nil {
		t.result.Rate = &Rate{DiskPerSecond: rateOf(stamps)}
	}
	if err := errors.Join(s.close(), s.end()); err != nil {
		t.result.Why, err = blame("does not close", err)
		return 0, err
	}
	c, err := s.check(s.phases, last(stamps), stamps)
	if err != nil {
		return 0, err
	}
	t.result.Control, t.result.Why = &c, failedControl(&c)
	return time.Duration(c.OpenNS), s.end()
}

// failedControl says what a store did not keep though it was closed in order; "": nothing.
func failedControl(c *Check) string {
	const where = "closed in order and opened again: "
	switch damage := c.Damage(); {
	case damage != "":
		return where + damage
	case c.Missing() > 0:
		return where + fmt.Sprintf("%d of %d records are lost or stale", c.Missing(), c.Records)
	}
	return ""
}

func last(stamps []Stamp) Stamp {
	if len(stamps) == 0 {
		return Stamp{}
	}
	return stamps[len(stamps)-1]
}

// tagOf tells the values of one life from those of others.
func tagOf(seed uint64, cut int) uint32 { return uint32(keyval.Mix(seed+uint64(cut))) | 1 }

// moment is when a store is killed.
type moment struct {
	phase    int     // the one under way
	share    float64 // of its entries that are acknowledged then
	closing  bool    // it has done all of them, and is about to close
	recovery bool    // it is killed once more, while it opens
	delay    float64 // of that: as a share of the time that opening took in the control
}

func (m moment) String() string {
	switch {
	case m.closing:
		return "close"
	case m.recovery:
		return "recovery"
	}
	return [...]string{phaseLoad: "load", phaseWrites: "writes", phaseBatches: "batches"}[m.phase]
}

// drawMoment draws one: half of them among single writes, the rest in loads, batches, at the close
// and in recoveries.
func drawMoment(r *rand.Rand, phases int) moment {
	m := moment{phase: phaseWrites, share: r.Float64(), delay: r.Float64() * 1.2}
	switch kind := r.IntN(10); {
	case kind < 4:
	case kind < 5:
		m.phase = phaseLoad
	case kind < 7 && phases > phaseBatches:
		m.phase = phaseBatches
	case kind < 8:
		m.closing, m.phase = true, phases-1
	case kind < 10:
		m.recovery = true
	}
	return m
}

// kill cuts one life of the store off.
func (t *tester) kill(number int, open time.Duration) (cut Cut, err error) {
	seed := keyval.Mix(t.options.Seed ^ uint64(number)<<32)
	r := random(t.options.Seed, number)
	steps, err := t.target.workload(seed, 1)
	if err != nil {
		return cut, err
	}
	m := drawMoment(r, len(steps))
	cut = Cut{Number: number, Moment: m.String()}
	s, err := t.newSession(number)
	if err != nil {
		return cut, err
	}
	defer s.discard(&err)
	if err := s.begin(); err != nil {
		return cut, err
	}
	var stamps []Stamp
	began := time.Now()
	if cut.Entry, err = s.work(seed, &m, began, &stamps); err != nil {
		return cut, err
	}
	cut.NS = time.Since(began).Nanoseconds()
	at := Stamp{NS: cut.NS, Phase: len(s.phases)}
	if m.recovery {
		if err := s.openAndKill(time.Duration(m.delay * float64(open))); err != nil {
			return cut, err
		}
	}
	if cut.Check, err = s.check(s.phases, at, stamps); err != nil {
		return cut, err
	}
	if cut.Refused != "" {
		return cut, nil
	}
	return cut, s.end()
}

// begin starts a worker and opens the store.
func (s *session) begin() error {
	if err := s.start(); err != nil {
		return err
	}
	return s.open()
}

// work does the workload up to a moment, at which it kills the worker; nil: all of it, and nothing is
// killed. It returns how many entries of the last phase were acknowledged. A rig gets each phase before
// it runs.
func (s *session) work(seed uint64, until *moment, began time.Time, stamps *[]Stamp) (entries uint64, err error) {
	steps, err := s.target.workload(seed, max(s.parts, 1))
	if err != nil {
		return 0, err
	}
	for number, step := range steps {
		file := step.File
		p, err := s.prepare(step.name, number, number == phaseLoad, file)
		if err != nil {
			return 0, err
		}
		stop := uint64(0)
		if until != nil && until.phase == number && !until.closing {
			for i := range file.Threads {
				stop += file.Threads[i].Limit
			}
			stop = max(uint64(until.share*float64(stop)), 1)
		}
		ended := false
		if s.rig != nil {
			err = s.rig.Watch(number, p.trace.Name(), p.shared.Name())
		}
		if err == nil {
			err = s.startPhase(p)
		}
		if err == nil {
			ended, err = s.watch(p, stop, began, stamps)
		}
		isLast := until != nil && until.phase == number
		if isLast && err == nil {
			if until.closing && ended {
				// The close is under way when the kill comes: it is asked for, and not waited for.
				_, err = s.worker.Send(closeRequest)
				time.Sleep(time.Duration(until.share * float64(closeMax)))
			}
			err = errors.Join(err, s.cut(p))
		} else {
			s.remember(p)
		}
		entries = sum(s.phases[len(s.phases)-1].Acknowledged)
		if err := errors.Join(err, p.release()); err != nil || isLast {
			return entries, err
		}
	}
	return entries, nil
}

// closeMax bounds how long a store is given to close before it is killed.
const closeMax = 20 * time.Millisecond

// openAndKill opens the store again and kills it after a while, in the middle of what it recovers.
func (s *session) openAndKill(after time.Duration) error {
	if s.server != nil {
		return s.openServerAndKill(after)
	}
	if err := s.start(); err != nil {
		return err
	}
	pending, err := s.worker.Send(s.openRequest())
	if err == nil {
		_, err = pending.Wait(after, nil)
	}
	s.killWorker()
	_, err = blame("", err) // one that does not open is found by the check
	return err
}

// discard ends what is left of a life and removes its files.
func (s *session) discard(err *error) {
	*err = errors.Join(*err, s.drop(), os.RemoveAll(s.directory))
}
