package storetest

import (
	"fmt"
	"maps"
	"slices"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// Operations that a store may refuse because others write beside them: the claim write_conflicts.
// Counters tell how many of a thread's writes ended in conflict, not which. So a model keeps, under
// each write that may have been refused, what stands if it was; what is read back tells which were
// done, and their numbers must be those that were counted. Without conflicts nothing may be
// refused, and a model has one answer for each key.

// kind is all writes of one operation by one thread in one phase: what outcomes are counted by.
type kind struct {
	phase, thread int
	operation     trace.Operation // of a batch's members, Batch
}

func (k kind) String() string {
	return fmt.Sprintf("phase %d, thread %d, %s", k.phase, k.thread, k.operation)
}

// origin is the operation that wrote a value and may have been refused.
type origin struct {
	kind
	sequence   uint64 // of a batch's member, its head's
	done, left uint64 // how many of the kind were counted as done, and as not
}

// notDone returns how many writes of a kind were, by the outcomes that were counted, not done. A
// delete that finds nothing has nothing to do.
func notDone(o trace.Operation, outcomes *[counters.Outcomes]uint64) uint64 {
	n := outcomes[counters.Conflict]
	if o == trace.ReadModifyWrite {
		n += outcomes[counters.Miss] // nothing was there to be modified: its insert had been refused
	}
	return n
}

// origin returns where the value of a write comes from; nil if all writes of its kind were done.
func (r *ran) origin(thread int, sequence uint64, o trace.Operation) *origin {
	outcomes := r.outcomesOf[thread][o]
	left := notDone(o, &outcomes)
	if left == 0 {
		return nil
	}
	from := &origin{kind: kind{r.number, thread, o}, sequence: sequence, left: left}
	for _, n := range outcomes {
		from.done += n
	}
	from.done -= from.left
	return from
}

// mayHold says if the value, or one that stands if it was refused, is what was observed.
func (h *held) mayHold(word uint64) bool {
	for ; h != nil; h = h.before {
		if h.version == word {
			return true
		}
	}
	return false
}

// ledger holds what was read back against what was counted.
type ledger struct {
	done, refused map[kind]map[uint64]bool // sequence numbers of operations that must have been
	counted       map[kind]origin
}

func newLedger() *ledger {
	return &ledger{map[kind]map[uint64]bool{}, map[kind]map[uint64]bool{}, map[kind]origin{}}
}

func (l *ledger) enter(column map[kind]map[uint64]bool, from *origin) {
	if column[from.kind] == nil {
		column[from.kind] = map[uint64]bool{}
	}
	column[from.kind][from.sequence] = true
	l.counted[from.kind] = *from
}

// stands returns the value that the store holds where it is one of those that it may hold, the last
// possible one first. All writes after it must then have been refused.
func (l *ledger) stands(expected *held, word uint64) (now held, ok bool) {
	if !expected.mayHold(word) {
		return *expected, false
	}
	at := expected
	for ; at.version != word; at = at.before {
		l.enter(l.refused, at.from)
	}
	if at.from != nil && !at.before.mayHold(word) {
		l.enter(l.done, at.from)
	}
	return held{version: at.version, length: at.length}, true
}

// stoodLast says if a version is of a thread's last write of a key that several threads wrote, but
// for later ones that were refused.
func (l *ledger) stoodLast(r *ran, index, version uint64) bool {
	_, thread, wrote := keyval.SplitVersion(version)
	if thread >= len(r.file.Threads) || wrote >= r.sample.Acknowledged[thread] || version != r.version(thread, wrote) {
		return false
	}
	if e, of := r.file.Threads[thread].EntryAt(wrote); !e.Operation().Writes() || of != index {
		return false
	}
	var later []*origin
	for sequence := wrote; sequence < r.sample.Acknowledged[thread]; sequence++ {
		e, of := r.file.Threads[thread].EntryAt(sequence)
		if !e.Operation().Writes() || of != index {
			continue
		}
		from := r.origin(thread, sequence, e.Operation())
		switch {
		case sequence == wrote && from != nil:
			l.enter(l.done, from)
		case sequence == wrote:
		case from == nil:
			return false
		default:
			later = append(later, from)
		}
	}
	for _, from := range later {
		l.enter(l.refused, from)
	}
	return true
}

// audit holds the writes that were done, and those that were not, against their counts.
func (l *ledger) audit(b *bench, what string) {
	for _, k := range slices.SortedFunc(maps.Keys(l.counted), func(a, b kind) int {
		return slices.Compare([]int{a.phase, a.thread, int(a.operation)}, []int{b.phase, b.thread, int(b.operation)})
	}) {
		counted := l.counted[k]
		if n := uint64(len(l.done[k])); n > counted.done {
			b.fault("%s: %s: %d were done, but only %d were ok: some that ended in conflict were done anyway", what, k, n, counted.done)
		}
		if n := uint64(len(l.refused[k])); n > counted.left {
			b.fault("%s: %s: %d were not done, but only %d ended in conflict: some that were ok are lost", what, k, n, counted.left)
		}
		for sequence := range l.done[k] {
			if l.refused[k][sequence] {
				b.fault("%s: %s: the one at entry %d was done in part", what, k, sequence)
			}
		}
	}
}

// allDone holds every operation of a phase in which several threads write to be ok. Where the
// driver claims that one may conflict with others' writes, it may have; then reads of what it would
// have written may miss.
func (b *bench) allDone(r *ran, what string) {
	if !b.description.WriteConflicts {
		b.allOK(r, what)
		if r.refused() > 0 {
			b.fault("%s: %d operations ended in conflict, but the driver does not say that they may (write_conflicts)", what, r.refused())
		}
		return
	}
	for thread := range r.outcomesOf {
		b.allDoneBy(r, thread, what)
	}
}

func (b *bench) allDoneBy(r *ran, thread int, what string) {
	var refused, missed uint64
	looks := map[uint64]uint64{} // at each index
	for sequence := range r.sample.Acknowledged[thread] {
		e, index := r.file.Threads[thread].EntryAt(sequence)
		if o := e.Operation(); o == trace.Read || o == trace.ReadModifyWrite {
			looks[index]++
		}
	}
	for o, outcomes := range r.outcomesOf[thread] {
		var total uint64
		for _, n := range outcomes {
			total += n
		}
		fine := outcomes[counters.OK]
		if o == trace.Read || o == trace.ReadModifyWrite {
			fine += outcomes[counters.Miss]
			missed += outcomes[counters.Miss]
		}
		fine += outcomes[counters.Conflict]
		if changes(o) {
			refused += outcomes[counters.Conflict]
		}
		if fine != total {
			b.fault("%s: thread %d, %s: expected ok or conflict, counted %s", what, thread, o, r.outcomes(o))
		}
	}
	// What one refused write leaves out may be missed each time that it is looked at.
	most := uint64(0)
	for n := range maps.Values(looks) {
		most = max(most, n)
	}
	if missed > refused*most {
		b.fault("%s: thread %d missed %d records that it had written, but only %d writes ended in conflict, of records that it looked at %d times at most",
			what, thread, missed, refused, most)
	}
}

// changes says if an operation writes, and ends in conflict only where others are in its way.
func changes(o trace.Operation) bool {
	return o.Writes() && o != trace.Add && o != trace.CompareAndSwap || o == trace.Delete || o == trace.Batch
}

// refused returns how many operations of the phase ended in conflict because others were in their
// way.
func (r *ran) refused() (n uint64) {
	for _, t := range r.sample.Totals {
		if changes(t.Operation) || t.Operation == trace.Read {
			n += t.Outcomes[counters.Conflict]
		}
	}
	return n
}
