package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

// killRule kills what keeps the records, in the middle of writing: the worker of an embedded store,
// or the server.
func killRule(b *bench) error {
	switch b.description.Kind {
	case store.Embedded:
	case store.Server:
		if b.target.Cut == nil {
			return skip("the server of %s is not the kit's to kill and to start again", b.description.Name)
		}
	default:
		return skip("%s keeps no records that outlive a process", b.description.Name)
	}
	tried := 0
	for n, claim := range b.description.Durability {
		if claim.Class == store.D0 || claim.Class == store.D4 {
			continue // nothing is promised of the process; it is about nodes
		}
		tried++
		if err := b.killAndLook(n, claim.Class); err != nil {
			return err
		}
	}
	if tried == 0 {
		return skip("%s claims no class that bounds what a kill may take", b.description.Name)
	}
	return nil
}

// killAfter is how many operations each thread must have acknowledged before the kill, or before the
// last T of it in D2(T).
const killAfter = 100

// stamp is how far the threads had come at a moment at the latest.
type stamp struct {
	at           time.Time
	acknowledged []uint64
}

func (s stamp) farEnough() bool { return slices.Min(s.acknowledged) >= killAfter }

func (b *bench) killAndLook(ordinal int, class store.Durability) error {
	o := opening{durability: class, threads: b.threads(2)}
	var err error
	if class == store.D2 {
		if o.window, err = b.leastWindow(); err != nil {
			return err
		}
	}
	if b.description.Kind == store.Embedded {
		if o.directory, err = b.newDirectory(); err != nil {
			return err
		}
	}
	if _, err := b.open(o); err != nil {
		return err
	}
	s := b.endlessWrites(o.threads, ordinal)
	running, err := b.begin(s)
	if err != nil {
		return err
	}
	killed, sure, err := running.killAfter(o.window)
	if err != nil {
		return err
	}
	b.allDone(killed, "writing in class "+string(class))
	if err := running.counters.Unmap(); err != nil {
		return err
	}
	if _, err := b.open(o); err != nil {
		return fmt.Errorf("class %s, after a kill: %w", class, err)
	}
	b.phases = killed.number
	what := fmt.Sprintf("class %s, after a kill", class)
	if class == store.D2 {
		what = fmt.Sprintf("class D2(%v), acknowledged more than %v before a kill", o.window, o.window)
	}
	kept := model{}
	kept.rememberUpTo(killed, sure)
	recent := killed.writtenAfter(sure)
	for index := range recent {
		delete(kept, index) // an array's numbers are written again and again
	}
	if err := b.holds(kept, s, what); err != nil {
		return err
	}
	if err := b.holdsOrMisses(recent, s, fmt.Sprintf("class %s, what may be lost after a kill", class)); err != nil {
		return err
	}
	return b.close()
}

// killAfter kills the store once enough was written: each thread's operations, and of D2(T) those
// before the last T. It returns what was acknowledged then, and of each thread how much of it must
// be there.
func (r *running) killAfter(window time.Duration) (killed *ran, sure []uint64, err error) {
	b := r.bench
	var stamps []stamp
	old := 0 // of the stamps: the last one that is older than the window
	err = r.await(fmt.Sprintf("%d writes of each thread", killAfter), func(now counters.Sample) bool {
		stamps = append(stamps, stamp{time.Now(), slices.Clone(now.Acknowledged)})
		if window == 0 {
			return stamps[len(stamps)-1].farEnough()
		}
		for old+1 < len(stamps) && time.Since(stamps[old+1].at) > window {
			old++
		}
		return old > 0 && stamps[old].farEnough()
	})
	if err != nil {
		return nil, nil, err
	}
	began := time.Now() // nothing that is acknowledged before it minus T may be missing
	if b.description.Kind == store.Embedded {
		b.end()
	} else if err := b.target.Cut(b.end); err != nil {
		return nil, nil, fmt.Errorf("killing the server and starting it again: %w", err)
	}
	killed = r.take()
	if window == 0 {
		return killed, killed.sample.Acknowledged, nil
	}
	for old+1 < len(stamps) && began.Sub(stamps[old+1].at) > window {
		old++
	}
	return killed, stamps[old].acknowledged, nil
}

// leastWindow returns the shortest T in which the store is opened in class D2(T), of some.
func (b *bench) leastWindow() (time.Duration, error) {
	const ms, s = time.Millisecond, time.Second
	windows := []time.Duration{50 * ms, 100 * ms, 200 * ms, 300 * ms, 600 * ms, s, 2 * s, 3 * s, 5 * s, 10 * s,
		15 * s, 30 * s, lossWindow}
	for _, window := range windows {
		_, err := b.open(opening{durability: store.D2, window: window})
		var no *control.Error
		switch {
		case err == nil:
			return window, b.close()
		case !errors.As(err, &no) || no.Class != control.ClassRefused:
			return 0, err
		}
	}
	return 0, fmt.Errorf("class D2 is claimed, and D2(%v) refused", lossWindow)
}

// endlessWrites is what is under way when the store is killed: inserts without end. An array, of
// which the end is soon reached, is overwritten instead. On a server, those of each ordinal stay apart
// from each other's, and from other rules' records.
func (b *bench) endlessWrites(threads, ordinal int) *script {
	s := b.script(threads)
	s.endless = true
	first := uint64(0)
	if b.description.Kind == store.Server {
		first = uint64(1 + ordinal*threads)
	}
	for thread := range s.threads {
		if b.description.KeyNumbers {
			const records = 500
			for i := range uint64(records) {
				s.do(thread, trace.Upsert, uint64(thread)*records+i, 50+int(i%20)*20)
			}
			continue
		}
		const part = 1 << 34 // no thread reaches the next one's indexes
		s.threads[thread].Stride = 20
		for i := range uint64(20) {
			s.grow(thread, trace.Insert, (first+uint64(thread))*part+i, 50+int(i)*20)
		}
	}
	return s
}

// rememberUpTo applies the first writes of each thread to the model.
func (m model) rememberUpTo(r *ran, writes []uint64) {
	for thread, n := range writes {
		m.rememberThread(r, thread, n)
	}
}

// writtenAfter returns the versions that each thread wrote after so many writes, by index; the one
// that was under way is the last of them.
func (r *ran) writtenAfter(writes []uint64) map[uint64][]uint64 {
	versions := map[uint64][]uint64{}
	for thread, n := range writes {
		for sequence := n; sequence <= r.sample.Acknowledged[thread]; sequence++ {
			_, index := r.file.Threads[thread].EntryAt(sequence)
			versions[index] = append(versions[index], r.version(thread, sequence))
		}
	}
	return versions
}

// holdsOrMisses reads indexes back that may hold one of some versions, or nothing. An array's may
// hold older ones too.
func (b *bench) holdsOrMisses(versions map[uint64][]uint64, writer *script, what string) error {
	if b.description.KeyNumbers || len(versions) == 0 {
		return nil
	}
	indexes := make([]uint64, 0, len(versions))
	for index := range versions {
		indexes = append(indexes, index)
	}
	slices.Sort(indexes)
	r, err := b.readBack(indexes, writer, what)
	if err != nil {
		return err
	}
	for position, index := range indexes {
		if got := r.observed[position]; got != counters.ObservedMiss && !slices.Contains(versions[index], got) {
			b.fault("%s: index %d holds %s, expected what was written there, or nothing", what, index, observedText(got))
		}
	}
	return nil
}
