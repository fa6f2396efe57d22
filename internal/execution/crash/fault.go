package crash

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"assay/internal/execution/powercut"
	"assay/internal/experiment/keyval"
)

// Faulted is a life in which a call of the store failed, after which its power was cut.
type Faulted struct {
	Kind     powercut.FaultKind `json:"kind"`
	Call     int                `json:"call"`     // the first that failed, of those that the kind is about
	Calls    int                `json:"calls"`    // that failed
	Eligible int                `json:"eligible"` // calls of that kind, in the life without a fault
	Errors   uint64             `json:"errors"`   // operations of which the store said an error
	// After is how many operations it acknowledged in phases that began after the first call had failed.
	After   uint64 `json:"after"`
	Stopped string `json:"stopped,omitempty"` // how the store ended by itself; "": it went on
}

const (
	// faultCuts is how many cuts are made of one life with a fault.
	faultCuts = 4
	// faultParts is how many phases the single writes are then.
	faultParts = 25
	// noSpaceMax bounds the calls that fail for lack of room, after which there is room again.
	noSpaceMax = 20
	faultTries = 4
)

// faults makes the control, and then lives in each of which a call fails, with some cuts of each. What a
// class promises of a cut holds after an error too: an operation that was acknowledged is there, whether
// a sync before it failed or not. One of which the store has said an error may be there or not.
func (t *tester) faults(rig *powercut.Rig) error {
	controls, err := t.recordAll(rig, powercut.Fault{Kind: t.options.Fault})
	if err != nil || t.result.Why != "" {
		return err
	}
	if controls[0].eligible == 0 {
		t.result.Control, t.result.Why = nil, fmt.Sprintf("makes no call that can meet a %s", t.options.Fault)
		return nil
	}
	var rec *recording
	for number := 1; number <= t.options.Cuts; number++ {
		if t.options.Only > 0 && number != t.options.Only {
			continue
		}
		t.progress(number)
		life := (number-1)/faultCuts + 1
		if rec == nil || rec.life != life {
			if rec != nil {
				if err := rig.Drop(rec.disk); err != nil {
					return err
				}
			}
			if rec, err = t.recordFault(rig, controls[life%len(controls)].eligible, life); err != nil || t.result.Why != "" {
				return err
			}
		}
		if err := t.cutOff(rig, rec, number); err != nil {
			return err
		}
		if t.isEnough() {
			break
		}
	}
	return nil
}

// recordFault lives until a call fails, and on from there as long as the store does.
func (t *tester) recordFault(rig *powercut.Rig, eligible, life int) (*recording, error) {
	r := random(keyval.Mix(t.options.Seed), life)
	for try := range faultTries { // a store need not make the same calls again
		f := t.drawFault(r, eligible>>try)
		disk := fmt.Sprintf("life-%d-%d", life, try)
		rec, err := t.record(rig, disk, f, t.target.hasColumns(life))
		if err != nil || t.result.Why != "" {
			return nil, err
		}
		if rec.faulted != nil {
			rec.life, rec.faulted.Eligible = life, eligible
			t.result.Faults = append(t.result.Faults, *rec.faulted)
			return rec, nil
		}
		if err := rig.Drop(disk); err != nil {
			return nil, err
		}
	}
	return nil, t.noneFailed(eligible)
}

func (t *tester) noneFailed(eligible int) error {
	return fmt.Errorf("%s: no call failed in %d lives, though %d were counted in the control", t.target.Name(), faultTries, eligible)
}

// drawFault draws which of so many calls fails.
func (t *tester) drawFault(r *rand.Rand, eligible int) powercut.Fault {
	f := powercut.Fault{Kind: t.options.Fault, At: 1 + r.IntN(max(eligible, 1)), Calls: 1}
	if f.Kind == powercut.NoSpace {
		f.Calls += r.IntN(noSpaceMax)
	}
	return f
}

// faultKills makes the control, and then lives in each of which a call fails before the store is killed. The
// kernel then has what the store wrote, whether it reached the disk or not.
func (t *tester) faultKills(rig *powercut.Rig) error {
	controls, err := t.recordAll(rig, powercut.Fault{Kind: t.options.Fault})
	if err != nil || t.result.Why != "" {
		return err
	}
	if controls[0].eligible == 0 {
		t.result.Control, t.result.Why = nil, fmt.Sprintf("makes no call that can meet a %s", t.options.Fault)
		return nil
	}
	for number := 1; number <= t.options.Cuts; number++ {
		if t.options.Only > 0 && number != t.options.Only {
			continue
		}
		t.progress(number)
		cut, err := t.killAfterFault(rig, number, controls[number%len(controls)].eligible)
		if err != nil {
			return fmt.Errorf("cut %d of %s: %w", number, t.target.Name(), err)
		}
		if t.result.Why != "" {
			return nil
		}
		t.result.Cuts = append(t.result.Cuts, cut)
		if t.isEnough() {
			break
		}
	}
	return nil
}

func (t *tester) killAfterFault(rig *powercut.Rig, number, eligible int) (cut Cut, err error) {
	r := random(keyval.Mix(t.options.Seed), number)
	steps, err := t.target.workload(t.options.Seed, faultParts)
	if err != nil {
		return cut, err
	}
	for try := range faultTries {
		m := moment{phase: phaseWrites + r.IntN(len(steps)-phaseWrites), share: r.Float64(),
			recovery: r.IntN(4) == 0, delay: r.Float64() * 1.2}
		if try > 0 { // the kill came before the fault: later, then
			m.phase = len(steps) - 1
		}
		f := t.drawFault(r, eligible>>try)
		cut = Cut{Number: number, Moment: steps[m.phase].name}
		if m.recovery {
			cut.Moment = "recovery"
		}
		met, err := t.faultLife(rig, fmt.Sprintf("life-%d-%d", number, try), f, &m, &cut)
		if met || err != nil || t.result.Why != "" {
			return cut, err
		}
	}
	return cut, t.noneFailed(eligible)
}

// faultLife lives until a moment, at which the store is killed, and looks at what it then has. met is false
// where no call has failed before.
func (t *tester) faultLife(rig *powercut.Rig, disk string, f powercut.Fault, m *moment, cut *Cut) (met bool,
	err error) {
	s, err := t.newDisk(rig, disk, tagOf(t.options.Seed, 0), t.target.hasColumns(cut.Number))
	if err != nil {
		return false, err
	}
	defer func() {
		if _, full := rig.Count(disk); full != nil && t.ctx.Err() == nil {
			t.result.Why, t.result.Control, err = fmt.Sprintf("%v: take fewer --operations", full), nil, nil
		}
		err = errors.Join(err, s.drop(), rig.Unmount(), rig.Drop(disk))
	}()
	if _, err := t.beginOn(rig, s, disk, f); err != nil || t.result.Why != "" {
		return false, err
	}
	var stamps []Stamp
	began := time.Now()
	var worked error
	cut.Entry, worked = s.work(t.options.Seed, m, began, &stamps)
	cut.NS = time.Since(began).Nanoseconds()
	stopped, err := blame("stopped", worked)
	if err != nil {
		return false, err
	}
	seen, err := rig.Fault(disk)
	if err != nil || seen.Failed == 0 && stopped == "" {
		return false, err
	}
	if seen.Failed == 0 {
		t.result.Why = "fails before any call does: " + stopped
		return false, nil
	}
	seenBy := Faulted{Kind: f.Kind, Call: f.At, Calls: seen.Failed, Eligible: seen.Eligible, Errors: sum(s.failed),
		Stopped: stopped}
	if first := slices.IndexFunc(s.failed, func(n uint64) bool { return n > 0 }); first >= 0 {
		seenBy.After = sum(s.fine[first+1:])
	}
	t.result.Faults = append(t.result.Faults, seenBy)
	if err := errors.Join(s.drop(), rig.Arm(powercut.Fault{Kind: f.Kind})); err != nil { // what failed works again
		return false, err
	}
	if m.recovery {
		if err := s.openAndKill(time.Duration(m.delay * float64(t.result.Control.OpenNS))); err != nil {
			return false, err
		}
	}
	cut.Check, err = s.check(s.phases, Stamp{NS: cut.NS, Phase: len(s.phases)}, stamps)
	return true, err
}

// afterFault ends a life in which calls may have failed: the store is killed, and its disk is cut later
// at a moment after the first of them. Closing is not asked for, since nothing could be made of how it
// ends.
func (t *tester) afterFault(rig *powercut.Rig, s *session, rec *recording, f powercut.Fault, worked error) (err error) {
	stopped, err := blame("stopped", worked)
	if err != nil {
		return err
	}
	if rec.last, err = rig.Count(rec.disk); err != nil {
		return err
	}
	if err := s.drop(); err != nil {
		return err
	}
	seen, err := rig.Fault(rec.disk)
	if err != nil {
		return err
	}
	if rec.events, err = rig.Stop(rec.disk); err != nil {
		return err
	}
	rec.keep(s)
	if seen.Failed == 0 {
		if worked != nil {
			t.result.Why = "fails before any call does: " + worked.Error()
		}
		return rig.Unmount()
	}
	rec.faulted = &Faulted{Kind: f.Kind, Call: f.At, Calls: seen.Failed, Errors: sum(s.failed), Stopped: stopped}
	if later := rec.at(seen.Event).Phase + 1; later < len(s.fine) {
		rec.faulted.After = sum(s.fine[later:])
	}
	rec.first = max(rec.first, seen.Event)
	rec.acks = slices.DeleteFunc(rec.acks, func(event int) bool { return event <= seen.Event })
	return rig.Unmount()
}
