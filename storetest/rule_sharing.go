package storetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

const (
	handlesShared       = control.HandlesShared
	handlesPerThread    = control.HandlesPerThread
	handlesPool         = control.HandlesPool
	handlesPerOperation = control.HandlesPerOperation
	handlesAsync        = control.HandlesAsync
)

// mixedRounds have each of mixed's operations.
const mixedRounds = 3

// mixed fills a script with operations of all lengths: each thread writes, overwrites, reads and
// deletes records of its own.
func (b *bench) mixed(s *script, rounds int) {
	base := b.base(s.keys)
	for thread := range s.threads {
		own := base + uint64(thread)*500
		for round := range uint64(rounds) {
			length := []int{24, 3000, 100, 0, 700, 23, 64}[(round+uint64(thread))%7]
			s.do(thread, trace.Insert, own+round, length)
			s.do(thread, trace.Read, own+round, 0)
			s.do(thread, trace.Read, own+round/2, 0)
			s.do(thread, trace.Update, own+round/2, 24+length/2)
			s.do(thread, trace.Read, own+round/2, 0)
			s.do(thread, trace.Read, own+round, 0)
			if round%3 == 2 {
				s.do(thread, trace.ReadModifyWrite, own+round-1, 90+int(round%50))
			}
		}
	}
}

func buffersRule(b *bench) error {
	threads := b.threads(4)
	if err := b.openFor(opening{threads: threads}); err != nil {
		return err
	}
	s := b.script(threads)
	b.mixed(s, b.many(60))
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.allDone(r, "values of many lengths, written and read by several threads")
	m := model{}
	m.remember(r)
	return b.holds(m, s, "after writes of many lengths")
}

// handlesRule checks one way to share handles.
func handlesRule(mode string) func(b *bench) error {
	return func(b *bench) error {
		d := b.description
		threads := 4
		o := opening{handles: mode, threads: threads}
		switch {
		case mode == handlesShared && !d.HandlesShareable:
			return skip("%s does not claim that a handle can be shared", d.Name)
		case mode == handlesAsync && !d.Abilities.Async:
			return skip("%s does not claim asynchronous handles", d.Name)
		case mode == handlesAsync:
			o.pipeline = 8
		case mode == handlesPool:
			o.poolHandles = 2
			if d.HandlesMax > 0 {
				o.poolHandles = min(2, d.HandlesMax)
			}
		case d.HandlesMax > 0:
			threads = min(threads, d.HandlesMax)
			o.threads = threads
		}
		err := b.openFor(o)
		if why := b.refusesHandles(mode, err); why != "" {
			return skip("%s refuses such handles with these options: %s", d.Name, why)
		}
		if err != nil {
			return err
		}
		s, rounds := b.script(threads), 30
		if mode == handlesPerOperation {
			rounds = 10 // a server may start a process for each
		}
		b.mixed(s, max(b.many(rounds), mixedRounds))
		timed := d.HandleTimes && (mode == handlesPool || mode == handlesPerOperation)
		if timed {
			s.flags |= trace.FlagHandleTimes
		}
		before, known := openFiles(b.worker.PID())
		r, err := b.run(s)
		if err != nil {
			return err
		}
		b.allDone(r, fmt.Sprintf("%d threads, handles %s", threads, mode))
		operations := uint64(0)
		for _, t := range r.sample.Totals {
			operations += t.Operations()
		}
		switch opened := r.sample.HandlesOpened; {
		case mode == handlesPerOperation && opened != operations:
			b.fault("%d handles were opened for %d operations", opened, operations)
		case mode != handlesPerOperation && opened != 0:
			b.fault("%d handles were opened during the phase, but they were all open before it", opened)
		}
		if mode != handlesPool && r.sample.HandleWaitNS != 0 {
			b.fault("threads are reported to have waited %d ns for pooled handles, but there is no pool", r.sample.HandleWaitNS)
		}
		if timed {
			b.handleTimes(r, mode, operations)
		}
		if known && mode == handlesPerOperation {
			if err := b.filesGone(before, operations); err != nil {
				return err
			}
		}
		m := model{}
		m.remember(r)
		if err := b.holds(m, s, "handles "+mode); err != nil {
			return err
		}
		return b.close()
	}
}

// filesBeside is how many more files a worker may have open after a phase than before it, for other reasons
// than handles: what its runtime loads, connections that a library keeps.
const filesBeside = 24

// unchangedMax is how many looks in a row may see the same number of files before it is taken for the last:
// ten seconds.
const unchangedMax = 30

// filesGone waits until the worker has no more files and sockets open than before it opened handles, and
// closed them, or until none of them is closed any more.
func (b *bench) filesGone(before int, handles uint64) error {
	if handles < 2*filesBeside {
		return nil
	}
	now, unchanged := 0, 0
	_, err := b.settle(func() (bool, error) {
		last := now
		if now, _ = openFiles(b.worker.PID()); now < last {
			unchanged = 0
		}
		unchanged++
		return now <= before+filesBeside || unchanged > unchangedMax, nil
	})
	if err == nil && now > before+filesBeside {
		b.fault("%d handles were opened and closed: the worker has %d files and sockets open after them, and had %d before",
			handles, now, before)
	}
	return err
}

// openFiles counts the descriptors of a process; false: this system does not report.
func openFiles(pid int) (n int, known bool) {
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	return len(entries), err == nil
}

// handleTimes holds the times of takes of handles against the other counts of a phase: one for each
// operation; of a pool they add up to the time that threads waited, and of a handle per operation, which
// is opened within the operation's service time, to no more than that.
func (b *bench) handleTimes(r *ran, mode string, operations uint64) {
	times := r.sample.HandleTimes
	if times == nil {
		b.fault("no take of a handle was timed")
		return
	}
	if n := times.Count(); n != operations {
		b.fault("%d takes of handles were timed, of %d operations", n, operations)
		return
	}
	sum, most := times.Mean()*float64(operations), float64(r.sample.HandleWaitNS)
	least := most
	if mode == handlesPerOperation {
		least, most = 0, 0
		for _, t := range r.sample.Totals {
			most += t.Service.Mean() * float64(t.Operations())
		}
	}
	// A bucket is a 128th wide at most, and one nanosecond at least.
	if slack := most/64 + float64(operations); sum < least-slack || sum > most+slack {
		b.fault("takes of handles took %.0f ns in all by their histogram, and %.0f to %.0f by the other counts", sum, least, most)
	}
}

// refusesHandles returns why the store refuses handles that it may refuse: asynchronous ones, and
// those of a pool where its writes are late, since a thread may need its own to read them.
func (b *bench) refusesHandles(mode string, err error) (why string) {
	mayRefuse := mode == handlesAsync || mode == handlesPool && b.description.Eventual
	if no := (*control.Error)(nil); mayRefuse && errors.As(err, &no) && no.Class == control.ClassRefused {
		return no.Message
	}
	return ""
}

func contendedRule(b *bench) error {
	threads := b.threads(4)
	if err := b.openFor(opening{threads: threads}); err != nil {
		return err
	}
	s := b.script(threads)
	base := b.base(s.keys)
	const keys = 5
	each := b.many(150)
	for thread := range threads {
		for i := range uint64(each) {
			length := 30 + 400*thread
			s.do(thread, trace.Upsert, base+i%keys, length)
			s.do(thread, trace.Read, base+(i+1)%keys, 0)
		}
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	if !b.description.WriteConflicts {
		b.expect(r, "one key by several threads", trace.Upsert, counters.OK, threads*each)
	} else if upserts := r.total(trace.Upsert).Outcomes; upserts[counters.OK]+upserts[counters.Conflict] !=
		uint64(threads*each) {
		b.fault("one key by several threads: expected %d upserts that are ok, or some of them conflict, counted %s", threads*each, r.outcomes(trace.Upsert))
	}
	reads := r.total(trace.Read)
	fine := reads.Outcomes[counters.OK] + reads.Outcomes[counters.Miss]
	if b.description.WriteConflicts {
		fine += reads.Outcomes[counters.Conflict]
	}
	if fine != reads.Operations() {
		b.fault("reads of keys that other threads write: expected whole values (or a miss at first), counted %s", r.outcomes(trace.Read))
	}
	// Each key must hold the last write of one of the threads.
	verify := b.script(1)
	verify.flags = trace.FlagRecordVersions
	for i := range uint64(keys) {
		verify.do(0, trace.Read, base+i, 0)
	}
	seen, err := b.run(verify)
	if err != nil {
		return err
	}
	told := newLedger()
	for i, word := range seen.observed {
		if !told.stoodLast(r, base+uint64(i), word) {
			b.fault("key %d holds %s, which is the last write of none of the %d threads", i, observedText(word), threads)
		}
	}
	told.audit(b, "one key by several threads")
	return nil
}

// survivors returns the classes whose records outlive the process.
func (b *bench) survivors() []store.Durability {
	var list []store.Durability
	for _, claim := range b.description.Durability {
		if claim.Class != store.D0 || b.description.Kind == store.Server {
			list = append(list, claim.Class)
		}
	}
	return list
}

func reopenRule(b *bench) error {
	if err := b.needsRecords(); err != nil {
		return err
	}
	if b.description.Kind == store.Memory || len(b.survivors()) == 0 {
		return skip("%s does not claim to keep anything after close", b.description.Name)
	}
	for _, class := range b.survivors() {
		o := opening{durability: class}
		if b.description.Kind == store.Embedded {
			var err error
			if o.directory, err = b.newDirectory(); err != nil {
				return err
			}
		}
		m := model{}
		var written *script
		for round := range uint64(3) {
			if _, err := b.open(o); err != nil {
				return err
			}
			b.phases = int(round) * 10 // another number, so that versions differ from those before the close
			if written != nil {
				if err := b.holds(m, written, fmt.Sprintf("class %s, after close and open", class)); err != nil {
					return err
				}
			}
			s := b.script(1)
			base := b.base(s.keys)
			for i := range uint64(50) {
				s.do(0, trace.Upsert, base+round*25+i, 100+int(i))
			}
			s.do(0, trace.Delete, base+round*25, 0)
			r, err := b.run(s)
			if err != nil {
				return err
			}
			b.allOK(r, "writing in class "+string(class))
			m.remember(r)
			written = s
			if err := b.close(); err != nil {
				return fmt.Errorf("closing a store of class %s: %w", class, err)
			}
			if round == 1 {
				b.end() // once in another process
			}
		}
	}
	return nil
}
