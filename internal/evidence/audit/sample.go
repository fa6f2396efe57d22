package audit

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"

	"assay/internal/experiment/trace"
)

// Sample draws n of the records that the phases put (loaded, inserted, upserted or updated; deleted
// since or not; by writes that were under way too), or all if there are no more. It returns their
// indexes, ascending and each once, and of how many records they were drawn.
//
// The records are parted into n strata, of the same size to within one record, in the order of
// their indexes as far as that is known, and one is drawn at random from each: the sample covers
// the whole range, and a store's losses, however regular, can't pass between its members, as they
// could with a fixed stride. Where k of all records are lost, a sample misses all of them with a
// probability of at most (1 − k/of)^n, which is that of n independent draws: strata do no worse, by
// the inequality of the arithmetic and the geometric mean. The same seed draws the same sample.
//
// Records are counted from the traces and are not listed, but for those that were put in no order
// and not loaded: 8 bytes each.
func Sample(phases []Phase, n, seed uint64) (indexes []uint64, of uint64) {
	parts := partsOf(phases)
	for _, p := range parts {
		of += p.records
	}
	n = min(n, of)
	indexes = make([]uint64, 0, n)
	random := rand.New(rand.NewPCG(seed, n))
	at, before := 0, uint64(0) // the part that we are in, and how many records the parts before it have
	for i := range n {
		from, to := stratum(of, n, i), stratum(of, n, i+1)
		k := from + random.Uint64N(to-from)
		for k-before >= parts[at].records {
			before += parts[at].records
			at++
		}
		indexes = append(indexes, parts[at].index(k-before))
	}
	slices.Sort(indexes)
	return indexes, of
}

// stratum returns where stratum i of n begins.
func stratum(of, n, i uint64) uint64 { return of/n*i + of%n*i/n }

// part is some of the records that were put, and which one is the k-th.
type part struct {
	records uint64
	index   func(k uint64) uint64
}

// partsOf parts the records that the phases put: none is in two parts, however many writes it had.
func partsOf(phases []Phase) (parts []part) {
	var w wrote
	for i := range phases {
		w.addPhase(&phases[i])
	}
	w.mergeSpans()
	for _, s := range w.spans {
		if s.from < s.to {
			parts = append(parts, part{s.to - s.from, func(k uint64) uint64 { return s.from + k }})
		}
	}
	for i := range w.climbs {
		parts = append(parts, w.climbs[i].outside(w.spans)...)
	}
	if scattered := w.onlyScattered(); len(scattered) > 0 {
		parts = append(parts, part{uint64(len(scattered)), func(k uint64) uint64 { return scattered[k] }})
	}
	return parts
}

// wrote gathers what was put. Climbs share no index with each other: no trace takes a fresh index
// twice. Upserts may meet anything.
type wrote struct {
	spans     []span
	climbs    []climb
	scattered []uint64 // in any order, with repetitions
}

// span is the indexes from … to−1.
type span struct{ from, to uint64 }

// climb is what a thread put at rising indexes: those of a lap, and all of them a stride higher in
// each lap after it.
type climb struct {
	lap     []uint64 // rising, over less than a stride
	stride  uint64
	records uint64
}

func (w *wrote) addPhase(p *Phase) {
	// spares the walk over a trace with an entry for each of many millions of records
	if records, whole := p.wholeLoad(); whole {
		w.spans = append(w.spans, span{0, records})
		return
	}
	for thread := range p.Trace.Threads {
		if p.Attempted[thread] > 0 {
			w.addThread(p, thread)
		}
	}
}

// wholeLoad says if a bulk load tried all of its records, and how many they are, whatever came of
// them.
func (p *Phase) wholeLoad() (records uint64, whole bool) {
	if !p.ZeroVersions {
		return 0, false
	}
	for i := range p.Trace.Threads {
		t := &p.Trace.Threads[i]
		if p.Attempted[i] != t.Limit {
			return 0, false
		}
		records += t.CountItems(t.Limit)[trace.Insert]
	}
	return records, true
}

// addThread sorts out a thread's puts. Read-modify-writes and compare-and-swaps are none: they put
// nothing where nothing was.
func (w *wrote) addThread(p *Phase, thread int) {
	t, attempted := &p.Trace.Threads[thread], p.Attempted[thread]
	var fresh, others []change // that grow
	p.changes(thread, func(c change) {
		o := c.entry.Operation()
		isFresh := o == trace.Insert || o == trace.Add
		switch grows := c.entry.Grows() && t.Stride > 0; {
		case !isFresh && o != trace.Upsert && o != trace.Update:
		case grows && isFresh:
			fresh = append(fresh, c)
		case grows:
			others = append(others, c)
		case uint64(c.position) < attempted:
			w.scattered = append(w.scattered, c.entry.Index())
		}
	})
	inserted, rises := climbOf(t, fresh, attempted)
	switch {
	case rises && inserted.isSpan():
		w.spans = append(w.spans, inserted.span())
	case rises:
		w.climbs = append(w.climbs, inserted)
	default:
		w.addLaps(t, fresh, attempted, climb{})
	}
	if c, rises := climbOf(t, others, attempted); rises && c.isSpan() {
		w.spans = append(w.spans, c.span())
	} else {
		w.addLaps(t, others, attempted, inserted)
	}
}

// climbOf returns what entries that grow put, if their indexes rise with the sequence numbers. Of
// no entries it is empty.
func climbOf(t *trace.Thread, entries []change, attempted uint64) (c climb, rises bool) {
	n := uint64(len(t.Entries))
	c.stride = t.Stride
	for i, e := range entries {
		index := e.entry.Index()
		if i > 0 && index <= c.lap[i-1] || i > 0 && index-c.lap[0] >= c.stride {
			return climb{}, false
		}
		c.lap = append(c.lap, index)
		c.records += attempted / n
		if uint64(e.position) < attempted%n {
			c.records++
		}
	}
	return c, len(entries) > 0
}

// addLaps adds what entries that grow put, one by one of each lap. Once one meets a record that its
// thread has inserted, it does so in each lap to come: of a long phase, that is nearly all of them.
func (w *wrote) addLaps(t *trace.Thread, entries []change, attempted uint64, inserted climb) {
	for _, e := range entries {
		sequence := uint64(e.position)
		for lap := uint64(0); sequence < attempted; lap++ {
			index := e.entry.EffectiveIndex(lap, t.Stride)
			if inserted.meets(index) {
				break
			}
			w.scattered = append(w.scattered, index)
			sequence += uint64(len(t.Entries))
		}
	}
}

// mergeSpans puts spans in order and makes one of those that touch.
func (w *wrote) mergeSpans() {
	slices.SortFunc(w.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := w.spans[:0]
	for _, s := range w.spans {
		if last := len(merged) - 1; last >= 0 && s.from <= merged[last].to {
			merged[last].to = max(merged[last].to, s.to)
		} else {
			merged = append(merged, s)
		}
	}
	w.spans = merged
}

// onlyScattered returns the scattered indexes that are in no span and no climb, ascending, each
// once.
func (w *wrote) onlyScattered() []uint64 {
	only := slices.DeleteFunc(w.scattered, func(index uint64) bool {
		after := sort.Search(len(w.spans), func(i int) bool { return w.spans[i].from > index })
		return after > 0 && index < w.spans[after-1].to ||
			slices.ContainsFunc(w.climbs, func(c climb) bool { return c.meets(index) && c.below(index) < c.records })
	})
	slices.Sort(only)
	return slices.Compact(only)
}

// isSpan says if the climb leaves out no index between its first and its last.
func (c *climb) isSpan() bool {
	n := uint64(len(c.lap))
	return c.stride == n && c.lap[n-1]-c.lap[0] == n-1
}

func (c *climb) span() span { return span{c.lap[0], c.lap[0] + c.records} }

func (c *climb) index(k uint64) uint64 {
	n := uint64(len(c.lap))
	return c.lap[k%n] + k/n*c.stride
}

// below returns how many members of the climb lie below an index, if it never ended.
func (c *climb) below(index uint64) uint64 {
	if index <= c.lap[0] {
		return 0
	}
	laps, rest := (index-c.lap[0])/c.stride, (index-c.lap[0])%c.stride
	in, _ := slices.BinarySearch(c.lap, c.lap[0]+rest)
	return laps*uint64(len(c.lap)) + uint64(in)
}

// meets says if an index is a member of the climb, or would become one in time.
func (c *climb) meets(index uint64) bool {
	return len(c.lap) > 0 && index >= c.lap[0] && c.index(c.below(index)) == index
}

// outside returns what of the climb is in no span.
func (c *climb) outside(spans []span) (parts []part) {
	add := func(from, to uint64) {
		if from < to {
			parts = append(parts, part{to - from, func(k uint64) uint64 { return c.index(from + k) }})
		}
	}
	next := uint64(0)
	for _, s := range spans {
		add(next, min(c.below(s.from), c.records))
		next = max(next, c.below(s.to))
	}
	add(next, c.records)
	return parts
}

// VerifyTrace returns the trace of a verify phase: one read of each index, in their order, parted
// over the threads. What the phase observes, threads one after the other, is what Expectation.Check
// wants for the same indexes.
func VerifyTrace(indexes []uint64, threads int) *trace.File {
	f := &trace.File{
		Flags: trace.FlagRecordVersions, Groups: 1, Operations: []trace.Operation{trace.Read},
		Threads: make([]trace.Thread, threads),
	}
	for i := range f.Threads {
		from, to := len(indexes)*i/threads, len(indexes)*(i+1)/threads
		entries := make([]trace.Entry, 0, to-from)
		for _, index := range indexes[from:to] {
			entries = append(entries, trace.MakeEntry(trace.Read, index, 0, false))
		}
		f.Threads[i] = trace.Thread{Entries: entries, Limit: uint64(len(entries))}
	}
	return f
}
