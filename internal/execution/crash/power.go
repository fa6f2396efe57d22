package crash

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"assay/internal/evidence/audit"
	"assay/internal/execution/powercut"
	"assay/internal/execution/server"
)

// recording is one life of a store on a disk that logs what reaches it. All cuts are made of it.
type recording struct {
	disk    string
	phases  []audit.Phase
	names   []string // of the phases
	tag     uint32
	columns bool // of the records
	events  []powercut.Event
	from    int // events before it are of mkfs and the mount
	first   int // event of which a phase was under way
	last    int // event at which the power may be cut: after it, everything was written to the disk
	acks    []int
	stamps  []Stamp       // ascending
	server  *server.Group // that made it, and has ended; nil: none

	eligible int      // calls that a fault may meet
	life     int      // which of those with faults it is, from 1 on
	faulted  *Faulted // nil: no call failed
}

const (
	recordedDisk = "recorded"
	storePlace   = "store" // on the disk
	diskBytesMin = 1 << 30
)

// onRig starts a rig, and cuts the store off on its disk.
func (t *tester) onRig() (err error) {
	rig, err := powercut.Start(t.options.DataRoot, t.options.FileSystem, t.options.MountOptions, t.options.Rig)
	if err != nil {
		return err
	}
	defer rig.EndsWith(t.ctx)()
	defer func() {
		closeErr := rig.Close()
		if stopped := t.ctx.Err(); err != nil && stopped != nil {
			err = stopped // a rig that had to be ended answers nothing more
		}
		err = errors.Join(err, closeErr)
	}()
	t.progress(0)
	switch {
	case t.result.OneNode:
		return t.nodeCuts(rig)
	case t.options.Kind == Kill:
		return t.faultKills(rig)
	case t.options.Fault != "":
		return t.faults(rig)
	}
	return t.powerCuts(rig)
}

func (t *tester) powerCuts(rig *powercut.Rig) error {
	recordings, err := t.recordAll(rig, powercut.Fault{})
	if err != nil || t.result.Why != "" {
		return err
	}
	t.result.Rate = &Rate{RigPerSecond: rateOf(recordings[0].stamps)}
	if t.result.Rate.DiskPerSecond, err = t.measure(); err != nil {
		return err
	}
	for number := 1; number <= t.options.Cuts; number++ {
		if t.options.Only > 0 && number != t.options.Only {
			continue
		}
		t.progress(number)
		if err := t.cutOff(rig, recordings[number%len(recordings)], number); err != nil {
			return err
		}
		if t.isEnough() {
			break
		}
	}
	return nil
}

// recordAll records a life of each kind that the store has, and looks at it without a cut.
func (t *tester) recordAll(rig *powercut.Rig, fault powercut.Fault) (all []*recording, err error) {
	for life, columns := range t.target.lives() {
		rec, err := t.record(rig, fmt.Sprintf("%s-%d", recordedDisk, life), fault, columns)
		if err != nil || t.result.Why != "" {
			return nil, err
		}
		if err := t.powerControl(rig, rec); err != nil || t.result.Why != "" {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, nil
}

func (t *tester) cutOff(rig *powercut.Rig, rec *recording, number int) error {
	cut, err := t.powerCut(rig, rec, number)
	if err != nil {
		return fmt.Errorf("cut %d of %s: %w", number, t.target.Name(), err)
	}
	t.result.Cuts = append(t.result.Cuts, cut)
	return nil
}

// isEnough reports whether the last cut broke a promise, and no more are asked for.
func (t *tester) isEnough() bool {
	cuts := t.result.Cuts
	return t.options.FirstOnly && len(cuts) > 0 && t.result.HowBroken(&cuts[len(cuts)-1].Check, t.options.Kind) != ""
}

// record does the whole workload on a disk, closes the store in order, and ends the recording. With a
// fault, its calls are counted, and fail where it says so.
func (t *tester) record(rig *powercut.Rig, disk string, fault powercut.Fault, columns bool) (rec *recording,
	err error) {
	rec = &recording{disk: disk, tag: tagOf(t.options.Seed, 0), columns: columns}
	s, err := t.newDisk(rig, disk, rec.tag, columns)
	if err != nil {
		return nil, err
	}
	defer func() {
		// what failed for that is no fault of the store
		if _, full := rig.Count(disk); full != nil && t.ctx.Err() == nil {
			t.result.Why, t.result.Control, err = fmt.Sprintf("%v: take fewer --operations", full), nil, nil
			rec = nil
		}
		err = errors.Join(err, s.drop())
	}()
	if rec.from, err = t.beginOn(rig, s, disk, fault); err != nil || t.result.Why != "" {
		return nil, err
	}
	var stamps []Stamp
	_, err = s.work(t.options.Seed, nil, time.Now(), &stamps)
	if fault.At > 0 {
		return rec, t.afterFault(rig, s, rec, fault, err)
	}
	if err != nil {
		t.result.Why, err = blame("fails before it is cut", err)
		return nil, err
	}
	seen, err := rig.Fault(disk)
	if err != nil {
		return nil, err
	}
	rec.eligible = seen.Eligible
	if err := errors.Join(s.close(), s.end()); err != nil {
		t.result.Why, err = blame("does not close", err)
		return nil, err
	}
	if rec.last, err = rig.Count(disk); err != nil {
		return nil, err
	}
	// The control sees what the page cache still has: a store that never syncs keeps its records, too,
	// as long as the power stays.
	if err := rig.Sync(); err != nil {
		return nil, err
	}
	if rec.events, err = rig.Stop(disk); err != nil {
		return nil, err
	}
	rec.keep(s)
	return rec, rig.Unmount()
}

// newDisk makes a disk, mounts it, and returns a session whose files stand there.
func (t *tester) newDisk(rig *powercut.Rig, disk string, tag uint32, columns bool) (*session, error) {
	if err := errors.Join(rig.New(disk, t.diskBytes()), rig.Mount(disk)); err != nil {
		return nil, err
	}
	directory := filepath.Join(rig.Point(), storePlace)
	if err := errors.Join(os.Mkdir(directory, 0o700), t.target.letIn(directory), t.target.letIn(rig.Point()),
		t.target.letIn(rig.Directory())); err != nil {
		return nil, err
	}
	s := t.sessionIn(directory, tag, columns)
	s.rig = rig
	return s, nil
}

// beginOn opens the store, and arms the fault. It returns how many events the disk had seen before the store
// was opened.
func (t *tester) beginOn(rig *powercut.Rig, s *session, disk string, fault powercut.Fault) (from int, err error) {
	if err := s.startServer(); err != nil {
		t.result.Why, err = blame("does not open", err)
		return 0, err
	}
	if err := rig.Sync(); err != nil { // what a server makes before it serves is no one's acknowledged write
		return 0, err
	}
	if from, err = rig.Count(disk); err != nil {
		return 0, err
	}
	if err := s.begin(); err != nil {
		t.result.Why, err = blame("does not open", err)
		return 0, err
	}
	if err := t.see(s); err != nil {
		return 0, err
	}
	if fault.Kind != "" {
		s.parts = faultParts
		err = rig.Arm(fault)
	}
	return from, err
}

// keep takes from a life what is known of it, once its events are there.
func (rec *recording) keep(s *session) {
	rec.phases, rec.names, rec.server = s.phases, s.names, s.server
	rec.index()
}

// index finds the events at which something new was acknowledged, and the moments of all.
func (rec *recording) index() {
	rec.first = len(rec.events)
	for i, e := range rec.events[:min(rec.last+1, len(rec.events))] {
		if e.Phase < 0 {
			continue
		}
		rec.first = min(rec.first, i)
		s := Stamp{e.NS, e.Phase, e.Attempted, e.Acknowledged}
		if n := len(rec.stamps); n == 0 || rec.stamps[n-1].Phase != s.Phase ||
			sum(rec.stamps[n-1].Acknowledged) != sum(s.Acknowledged) {
			rec.acks = append(rec.acks, i)
			rec.stamps = append(rec.stamps, s)
		}
	}
}

// at returns what is known just before an event.
func (rec *recording) at(event int) Stamp {
	if event < len(rec.events) {
		e := rec.events[event]
		return Stamp{e.NS, e.Phase, e.Attempted, e.Acknowledged}
	}
	return Stamp{NS: rec.events[len(rec.events)-1].NS, Phase: len(rec.phases)}
}

// powerControl looks at the disk as the recording left it, without a cut.
func (t *tester) powerControl(rig *powercut.Rig, rec *recording) error {
	const name = "control"
	whole := powercut.Cut{Of: rec.disk, From: rec.from, At: len(rec.events), Keep: powercut.KeepAll}
	if _, err := rig.Cut(name, whole); err != nil {
		return err
	}
	c, err := t.look(rig, rec, name, rec.at(len(rec.events)))
	if err != nil {
		return err
	}
	t.result.Control = &c
	if t.result.Why = failedControl(&c); c.NoFileSystem != "" {
		return fmt.Errorf("the disk of the control does not mount: %s", c.NoFileSystem)
	}
	return nil
}

// look mounts a disk, opens the store on it and reads it back. The disk is then dropped.
func (t *tester) look(rig *powercut.Rig, rec *recording, name string, at Stamp) (c Check, err error) {
	why, err := mount(rig, name)
	switch {
	case err != nil:
		return c, err
	case why != "" && t.options.IgnoresFlushes:
		return Check{Refused: "its file system does not recover: " + why}, rig.Drop(name)
	case why != "":
		return Check{NoFileSystem: why}, rig.Drop(name)
	}
	s := t.sessionIn(filepath.Join(rig.Point(), storePlace), rec.tag, rec.columns)
	s.opened, s.server = true, rec.server
	cut := phasesAt(rec.phases, at)
	c, err = s.check(cut, at, rec.stamps)
	return c, errors.Join(err, s.drop(), rig.Unmount(), rig.Drop(name))
}

// mount mounts a disk, after a repair where it needs one. why says what kept a file system from
// recovering, which is no fault of the store.
func mount(rig *powercut.Rig, name string) (why string, err error) {
	var broken *powercut.MountError
	if err = rig.Mount(name); err == nil || !errors.As(err, &broken) {
		return "", err
	}
	if repairErr := rig.Repair(name); repairErr != nil {
		return errors.Join(err, repairErr).Error(), nil
	}
	if err = rig.Mount(name); errors.As(err, &broken) {
		return err.Error(), nil
	}
	return "", err
}

// powerCut makes one cut of the recording, or two: the second in the recovery from the first.
func (t *tester) powerCut(rig *powercut.Rig, rec *recording, number int) (cut Cut, err error) {
	r := random(t.options.Seed, number)
	event := rec.drawEvent(r)
	at := rec.at(event)
	keep := drawKeep(r)
	twice := r.IntN(4) == 0
	cut = Cut{Number: number, Moment: "close", Entry: sum(at.Acknowledged), NS: at.NS - rec.stamps[0].NS, Keep: keep}
	if at.Phase < len(rec.phases) {
		cut.Moment = rec.names[at.Phase]
	}
	name := fmt.Sprintf("cut-%d", number)
	made := diskCut{powercut.Cut{Of: rec.disk, From: rec.from, At: event, Keep: keep, Seed: r.Uint64(),
		IgnoresFlushes: t.options.IgnoresFlushes, SectorBytes: t.options.SectorBytes}, t.diskBytes()}
	if cut.Digest, err = rig.Cut(name, made.Cut); err != nil {
		return cut, err
	}
	if twice && !t.options.IgnoresFlushes {
		cut.Moment = "recovery"
		first := name
		if name, made.Cut, cut.Digest, err = t.cutRecovery(rig, rec, first, r); err != nil {
			return cut, err
		}
		cut.Keep = made.Keep
		defer func() { err = errors.Join(err, rig.Drop(first)) }()
	}
	cut.Check, err = t.look(rig, rec, name, at)
	if err == nil && t.result.HowBroken(&cut.Check, Power) != "" {
		err = t.keep(rig, rec, made, at, cut)
	}
	return cut, err
}

// diskBytes is the size of a disk: pages that are never written take no memory.
func (t *tester) diskBytes() int64 {
	return diskBytesMin + 4*t.target.Store.Description.FixedDiskBytes
}

// cutRecovery opens the store on a disk, and makes another disk of one moment of that.
func (t *tester) cutRecovery(rig *powercut.Rig, rec *recording, first string, r *rand.Rand) (second string,
	made powercut.Cut, digest string, err error) {
	why, err := mount(rig, first)
	if err != nil {
		return "", made, "", err
	}
	if why != "" { // nothing recovers: the second cut leaves what the first did
		made = powercut.Cut{Of: first, Keep: powercut.KeepAll}
		second = first + "-again"
		digest, err = rig.Cut(second, made)
		return second, made, digest, err
	}
	s := t.sessionIn(filepath.Join(rig.Point(), storePlace), rec.tag, rec.columns)
	s.opened, s.server = true, rec.server
	defer func() { err = errors.Join(err, s.drop()) }()
	if err := s.begin(); err != nil {
		if _, err := blame("", err); err != nil { // one that does not open is found by the check
			return "", made, "", err
		}
	}
	events, err := rig.Stop(first)
	if err != nil {
		return "", made, "", err
	}
	if err := errors.Join(s.drop(), rig.Unmount()); err != nil {
		return "", made, "", err
	}
	second = first + "-again"
	made = powercut.Cut{Of: first, At: r.IntN(len(events) + 1), Keep: drawKeep(r), Seed: r.Uint64(),
		SectorBytes: t.options.SectorBytes}
	digest, err = rig.Cut(second, made)
	return second, made, digest, err
}

// drawEvent draws when the power is cut: half of them right after an acknowledgement, the rest
// anywhere while the store was at work.
func (rec *recording) drawEvent(r *rand.Rand) int {
	if r.IntN(2) == 0 && len(rec.acks) > 0 {
		return rec.acks[r.IntN(len(rec.acks))]
	}
	return rec.first + r.IntN(max(rec.last-rec.first, 0)+1)
}

func drawKeep(r *rand.Rand) powercut.Keep {
	switch n := r.IntN(20); {
	case n < 8:
		return powercut.KeepNone
	case n < 10:
		return powercut.KeepAll
	case n < 15:
		return powercut.KeepHalf
	}
	return powercut.KeepTorn
}
