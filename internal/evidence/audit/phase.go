// Package audit says what the keys of a store may hold after a trial, from the traces and what each
// thread acknowledged, and holds what was read back against it: sections 1.3 and 5 of
// docs/worker-contract.md.
//
//  1. NewPhase takes from a phase's counters what the audit needs, before they go.
//
// 2. Sample draws records of those that were loaded, inserted or upserted; VerifyTrace is the trace
// that reads them back.
//  3. Expect works out what each may hold; Check judges what was observed.
//
// What is certain and what is not: phases come one after the other, so an acknowledged write of a
// later phase ends all that was before. Within a phase, threads run at once and nothing tells their
// order: the last acknowledged write of any of them may be the final one. A write under way when
// its thread ended may have been done or not. And where a thread's operations of a kind had an
// outcome other than ok, which of them it was is not known: each of that kind is in doubt. What can
// only be judged with such knowledge is counted as unknown, never as right and never as lost.
package audit

import (
	"slices"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// Phase is what the audit knows of a phase.
type Phase struct {
	Number                  int
	Trace                   *trace.File
	Attempted, Acknowledged []uint64 // entries, a thread each
	// begunMost is how many entries each thread may have begun: more than Attempted where its last
	// counters were not heard. See Unheard. Nil: as many as Attempted says, which a cut sets back.
	begunMost []uint64

	// Doubt has, for each thread, a bit for each operation code of which some ended so that the
	// entry's effect is not known.
	Doubt []uint32

	// History is what was recorded of a sample of keys; nil: nothing.
	History *History

	// Record and Queries are those of define; nil: values are plain. What a delete by query deletes
	// follows from them.
	Record  *keyval.RecordShape
	Queries []*keyval.QueryShape

	// NotIncremented has, for each thread, how many of its increments did not end ok: whether they added
	// something is not known.
	NotIncremented []uint64

	// ZeroVersions: a bulk load, whose values all have version 0. It writes each index once.
	ZeroVersions bool
}

// NewPhase reads what the audit needs from the counters of a phase that has ended.
func NewPhase(number int, t *trace.File, zeroVersions bool, c *counters.File) Phase {
	sample := c.Sample(false)
	p := Phase{
		Number: number, Trace: t, ZeroVersions: zeroVersions, Attempted: sample.Attempted,
		Acknowledged: sample.Acknowledged,
		Doubt:        make([]uint32, len(t.Threads)), NotIncremented: make([]uint64, len(t.Threads)),
	}
	for thread := range p.Doubt {
		for slot, o := range c.Operations() {
			outcomes := &c.Slot(thread, slot).Outcomes
			if inDoubt(o, outcomes) {
				p.Doubt[thread] |= 1 << o
			}
			for outcome, n := range outcomes {
				if o == trace.Increment && outcome != int(counters.OK) {
					p.NotIncremented[thread] += n
				}
			}
		}
	}
	return p
}

// endless is more entries than any thread of a trace without an end begins.
const endless = 1 << 40

// Unheard says that threads may have gone on after the counters of them that were read: they began at
// most what their trace has, and acknowledged at least what they reported. What lies between may have been
// done or not.
func (p *Phase) Unheard(threads []bool) {
	p.begunMost = slices.Clone(p.Attempted)
	for i, unheard := range threads {
		switch limit := p.Trace.Threads[i].Limit; {
		case !unheard:
		case limit == 0:
			p.begunMost[i] = max(p.Attempted[i], endless)
		default:
			p.begunMost[i] = max(p.Attempted[i], limit)
		}
	}
}

// mostBegun is how many entries a thread may have begun.
func (p *Phase) mostBegun(thread int) uint64 {
	if p.begunMost == nil {
		return p.Attempted[thread]
	}
	return p.begunMost[thread]
}

// hasUnheard says if a thread may have gone on after what was read of it.
func (p *Phase) hasUnheard() bool {
	return p.begunMost != nil && !slices.Equal(p.begunMost, p.Attempted)
}

// inDoubt says if some operations of this kind may or may not have done their work. A delete that
// missed has: the key is gone. So has a read that missed and filled.
func inDoubt(o trace.Operation, outcomes *[counters.Outcomes]uint64) bool {
	if !replaces(o) && o != trace.Batch {
		return false
	}
	for outcome, n := range outcomes {
		fine := outcome == int(counters.OK) && o != trace.ReadOrFill || // which has found a value, and put none
			outcome == int(counters.Miss) && o == trace.ReadOrFill ||
			(outcome == int(counters.Miss) || outcome == int(counters.Lost)) && o == trace.GetAndSet || // it put
			o.Deletes() && (outcome == int(counters.Miss) || outcome == int(counters.Lost))
		if n > 0 && !fine {
			return true
		}
	}
	return false
}

// anyDoubt says if any thread's writes of a phase are in doubt.
func (p *Phase) anyDoubt() bool {
	for _, d := range p.Doubt {
		if d != 0 {
			return true
		}
	}
	return false
}

// replaces says if an operation writes or deletes: an increment leaves the version as it is.
func replaces(o trace.Operation) bool { return o.Writes() || o.Deletes() }

// change is one entry that writes or deletes.
type change struct {
	position int
	entry    trace.Entry
	doubtful bool
}

// looks says if the phase's trace lists nothing that changes a store.
func (p *Phase) looks() bool {
	return len(p.Trace.Operations) > 0 && !slices.ContainsFunc(p.Trace.Operations, trace.Operation.Changes)
}

// changes calls visit for each entry of a thread's lap that writes or deletes.
func (p *Phase) changes(thread int, visit func(change)) {
	if p.looks() {
		return
	}
	var batchDoubt bool
	doubt := p.Doubt[thread]
	for position, e := range p.Trace.Threads[thread].Entries {
		o := e.Operation()
		switch {
		case o == trace.Batch:
			batchDoubt = doubt>>trace.Batch&1 != 0
		case replaces(o):
			doubtful := doubt>>o&1 != 0
			if e.IsMember() {
				doubtful = batchDoubt
			}
			visit(change{position, e, doubtful})
		}
	}
}
