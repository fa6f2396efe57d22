package audit

import (
	"iter"

	"assay/internal/evidence/answers"
	"assay/internal/experiment/trace"
)

// history is what one thread did to one key in one phase. Sequence numbers are one more than the
// contract's, so that 0 is "never".
type history struct {
	phase, thread int // positions in Expectation.phases and Phase.Trace.Threads

	certain       uint64 // last acknowledged change that is certain
	certainDelete bool   // that was a delete
	doubtful      uint64 // last acknowledged change that is in doubt

	doubtfulPut, doubtfulDelete uint64 // the last of each kind
	underwayPut, underwayDelete bool

	puts    int    // attempted: 0, 1, or 2 for more than one
	lastPut uint64 // one of them
}

// Expectation is what sampled records may hold.
type Expectation struct {
	// Lives says what of a record's time is known; nil: records had none.
	Lives func(index uint64) Life

	indexes   []uint64
	phases    []Phase
	position  map[int]int // phase number → position in phases
	histories [][]history // of each sampled record, phases in order of time

	sampled map[uint64]int           // index → position in indexes
	asked   map[int]*answers.Answers // by query: which sampled records a delete finds
}

// Expect works out what the records of the given indexes may hold after the phases, which are in
// order of time. It costs one walk over each trace that is not a plain load, whatever the number of
// laps.
func Expect(phases []Phase, indexes []uint64) *Expectation {
	x := &Expectation{indexes: indexes, phases: phases, position: map[int]int{}, histories: make([][]history,
		len(indexes)),
		sampled: make(map[uint64]int, len(indexes)), asked: map[int]*answers.Answers{}}
	for i, index := range indexes {
		x.sampled[index] = i
	}
	touched := make([]*history, len(indexes))
	for number := range phases {
		x.position[phases[number].Number] = number
		if phases[number].isCompleteLoad() {
			x.addLoad(number)
			continue
		}
		for thread := range phases[number].Trace.Threads {
			x.addThread(number, thread, touched)
		}
	}
	return x
}

// addLoad spares the walk over a trace that may have an entry for each of many millions of records.
func (x *Expectation) addLoad(phase int) {
	records := x.phases[phase].inserts()
	for sample, index := range x.indexes {
		if index < records {
			x.histories[sample] = append(x.histories[sample], history{phase: phase, certain: 1, puts: 1, lastPut: 1})
		}
	}
}

// addThread adds what a thread of a phase did to the sampled records. touched is for its use: one word
// for each, nil before and after.
func (x *Expectation) addThread(phase, thread int, touched []*history) {
	p := &x.phases[phase]
	t := &p.Trace.Threads[thread]
	attempted, n := p.mostBegun(thread), uint64(len(t.Entries))
	if attempted == 0 || n == 0 {
		return
	}
	var order []int
	add := func(c change, sample int, sequence uint64) { // of an entry that comes in several laps, the last times alone
		h := touched[sample]
		if h == nil {
			h = &history{phase: phase, thread: thread}
			touched[sample], order = h, append(order, sample)
		}
		h.add(c, sequence, p.Acknowledged[thread])
	}
	byResidue := x.byResidue(t)
	var deletes []change // by query
	p.changes(thread, func(c change) {
		position := uint64(c.position)
		if c.entry.Operation() == trace.DeleteQuery {
			deletes = append(deletes, c)
			return
		}
		if !c.entry.Grows() || t.Stride == 0 {
			if sample, ok := x.sampled[c.entry.Index()]; ok {
				for sequence := range lastOccurrences(position, n, p.Acknowledged[thread], attempted) {
					add(c, sample, sequence)
				}
				if h := touched[sample]; h != nil && h.puts > 0 && attempted > n+position {
					h.puts = 2
				}
			}
			return
		}
		for _, sample := range byResidue[c.entry.Index()%t.Stride] {
			if index := x.indexes[sample]; index >= c.entry.Index() {
				lap := (index - c.entry.Index()) / t.Stride
				if lap <= attempted/n && lap*n+position < attempted {
					add(c, sample, lap*n+position)
				}
			}
		}
	})
	x.addDeletes(p, thread, deletes, add)
	for _, sample := range order {
		x.histories[sample] = append(x.histories[sample], *touched[sample])
		touched[sample] = nil
	}
}

// byResidue lists the samples by their index modulo the stride: those that a growing entry of that
// residue can meet.
func (x *Expectation) byResidue(t *trace.Thread) map[uint64][]int {
	lowest, grows := uint64(0), false
	for _, e := range t.Entries {
		if e.Grows() && replaces(e.Operation()) && (!grows || e.Index() < lowest) {
			lowest, grows = e.Index(), true
		}
	}
	if !grows || t.Stride == 0 {
		return nil
	}
	residues := map[uint64][]int{}
	for sample, index := range x.indexes {
		if index >= lowest {
			residues[index%t.Stride] = append(residues[index%t.Stride], sample)
		}
	}
	return residues
}

// lastOccurrences are the last sequence number below acknowledged, and the last one below attempted
// if that is another, at which the entry at a position came.
func lastOccurrences(position, n, acknowledged, attempted uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		last := func(end uint64) uint64 { return (end-1-position)/n*n + position }
		if acknowledged > position && !yield(last(acknowledged)) {
			return
		}
		if attempted > position && (acknowledged <= position || last(attempted) != last(acknowledged)) {
			yield(last(attempted))
		}
	}
}

func (h *history) add(c change, sequence, acknowledged uint64) {
	deletes := c.entry.Operation().Deletes()
	if !deletes {
		h.puts, h.lastPut = min(h.puts+1, 2), sequence+1
	}
	switch {
	case sequence >= acknowledged && deletes:
		h.underwayDelete = true
	case sequence >= acknowledged:
		h.underwayPut = true
	case c.doubtful:
		h.doubtful = max(h.doubtful, sequence+1)
		if deletes {
			h.doubtfulDelete = max(h.doubtfulDelete, sequence+1)
		} else {
			h.doubtfulPut = max(h.doubtfulPut, sequence+1)
		}
	case sequence+1 > h.certain:
		h.certain, h.certainDelete = sequence+1, deletes
	}
}
