package audit

import (
	"math/bits"

	"assay/internal/experiment/trace"
)

// Indexes are a set of indexes. The zero value is empty.
type Indexes struct {
	below uint64   // all below it are in the set
	words []uint64 // a bit for each index from below on
}

// indexesSpanMax bounds how far beyond the first gap a set reaches: 16 MiB of bits.
const indexesSpanMax = 1 << 27

// deletedLapsMax bounds the laps of deletes whose index grows.
const deletedLapsMax = 1 << 16

// IndexesOf returns a set of spans; nil: they lie too far apart.
func IndexesOf(spans ...trace.Span) *Indexes {
	s := &Indexes{}
	for i, span := range trace.Spans(nil).With(spans...) {
		if i == 0 && span.From == 0 {
			s.below = span.Below
			continue
		}
		for index := span.From; index < span.Below; index++ {
			if !s.add(index) {
				return nil
			}
		}
	}
	return s
}

// add adds an index; false: it is too far away.
func (s *Indexes) add(index uint64) bool {
	if index < s.below {
		return true
	}
	at := index - s.below
	if at >= indexesSpanMax {
		return false
	}
	for at/64 >= uint64(len(s.words)) {
		s.words = append(s.words, 0)
	}
	s.words[at/64] |= 1 << (at % 64)
	return true
}

// remove removes an index, and of those that are too many to be listed, all above it.
func (s *Indexes) remove(index uint64) {
	switch {
	case index < s.below && s.below > indexesSpanMax:
		s.below, s.words = index, nil
		return
	case index < s.below:
		s.list()
	}
	if at := index - s.below; at/64 < uint64(len(s.words)) {
		s.words[at/64] &^= 1 << (at % 64)
	}
}

// list gives each index a bit.
func (s *Indexes) list() {
	old := *s
	s.below, s.words = 0, make([]uint64, (old.below+63)/64+uint64(len(old.words)))
	for i := range old.below / 64 {
		s.words[i] = ^uint64(0)
	}
	for index := old.below / 64 * 64; index < old.below; index++ {
		s.words[index/64] |= 1 << (index % 64)
	}
	for i, word := range old.words {
		for ; word != 0; word &= word - 1 {
			index := old.below + uint64(i)*64 + uint64(bits.TrailingZeros64(word))
			for index/64 >= uint64(len(s.words)) {
				s.words = append(s.words, 0)
			}
			s.words[index/64] |= 1 << (index % 64)
		}
	}
}

// Has reports whether an index is in the set.
func (s *Indexes) Has(index uint64) bool {
	if index < s.below {
		return true
	}
	at := index - s.below
	return at/64 < uint64(len(s.words)) && s.words[at/64]>>(at%64)&1 == 1
}

// Count returns how many there are.
func (s *Indexes) Count() (n uint64) {
	n = s.below
	for _, word := range s.words {
		n += uint64(bits.OnesCount64(word))
	}
	return n
}

// Each calls visit for each index, ascending.
func (s *Indexes) Each(visit func(index uint64)) {
	for index := range s.below {
		visit(index)
	}
	for i, word := range s.words {
		for ; word != 0; word &= word - 1 {
			visit(s.below + uint64(i)*64 + uint64(bits.TrailingZeros64(word)))
		}
	}
}

// List returns all of them, ascending.
func (s *Indexes) List() []uint64 {
	all := make([]uint64, 0, s.Count())
	s.Each(func(index uint64) { all = append(all, index) })
	return all
}

// Prefix returns below which index all are in the set, and whether no other is.
func (s *Indexes) Prefix() (below uint64, all bool) {
	below, all = s.below, true
	full := true
	for _, word := range s.words {
		if full {
			ones := uint64(bits.TrailingZeros64(^word))
			below += ones
			full = ones == 64
			word &^= 1<<ones - 1
		}
		all = all && word == 0
	}
	return below, all
}

func (s *Indexes) clone() *Indexes {
	return &Indexes{s.below, append([]uint64(nil), s.words...)}
}

// Presence is which records are there at a moment.
type Presence struct {
	Certain  *Indexes // are there without doubt
	Possible *Indexes // may be there; nil: not known. Each of Certain is among them
}

// PresenceAfter returns which records are there after the phases: those are certain that were loaded,
// inserted or upserted, which was acknowledged without doubt, and on which no delete was tried since.
func PresenceAfter(phases []Phase) Presence {
	there := Presence{Certain: &Indexes{}, Possible: &Indexes{}}
	for i := range phases {
		there.add(&phases[i])
	}
	return there
}

func (r *Presence) add(p *Phase) {
	if p.isCompleteLoad() && !p.Trace.Expires() {
		for _, s := range []*Indexes{r.Certain, r.Possible} {
			if s != nil && p.inserts() > s.below {
				kept := *s
				*s = Indexes{below: p.inserts()}
				kept.Each(func(index uint64) { s.add(index) })
			}
		}
		return
	}
	if p.hasUnheard() {
		r.Possible = nil
	}
	r.addBegun(p.Trace, p.Attempted)
	if p.Trace.Expires() { // what is there is a matter of the time
		*r.Certain = Indexes{}
		return
	}
	for i := range p.Trace.Threads {
		t := &p.Trace.Threads[i]
		n, acknowledged := uint64(len(t.Entries)), p.Acknowledged[i]
		p.changes(i, func(c change) {
			for sequence := uint64(c.position); !c.doubtful && !c.entry.Operation().Deletes() &&
				sequence < acknowledged; sequence += n {
				r.Certain.add(c.entry.EffectiveIndex(sequence/n, t.Stride)) // one that is too far away is not certain
				if !c.entry.Grows() {
					break
				}
			}
		})
	}
	// What the same phase put back may have been put before the delete.
	for i := range p.Trace.Threads {
		r.removeDeleted(p.Trace, i, p.mostBegun(i))
	}
}

// Through returns which records are there all through a phase, and which may be there at some moment of
// it, if its threads begin so many entries. r is which are there when it begins.
func (r *Presence) Through(t *trace.File, begun []uint64) Presence {
	through := Presence{Certain: r.Certain.clone()}
	if r.Possible != nil {
		through.Possible = r.Possible.clone()
	}
	through.addBegun(t, begun)
	if t.Expires() {
		through.Certain = &Indexes{}
	}
	for i := range t.Threads {
		through.removeDeleted(t, i, begun[i])
	}
	return through
}

// addBegun adds what threads have begun to put to what may be there.
func (r *Presence) addBegun(t *trace.File, begun []uint64) {
	for i := range t.Threads {
		entries := t.Threads[i].Entries
		n := uint64(len(entries))
		for position, e := range entries {
			if o := e.Operation(); !o.Writes() || r.Possible == nil {
				continue
			}
			for sequence := uint64(position); sequence < begun[i]; sequence += n {
				if !r.Possible.add(e.EffectiveIndex(sequence/n, t.Threads[i].Stride)) {
					r.Possible = nil
					return
				}
				if !e.Grows() {
					break
				}
			}
		}
	}
}

// removeDeleted removes what a thread has begun to delete from what is certain. A delete by query may
// delete any.
func (r *Presence) removeDeleted(t *trace.File, thread int, begun uint64) {
	entries := t.Threads[thread].Entries
	n := uint64(len(entries))
	for position, e := range entries {
		switch {
		case uint64(position) >= begun:
			return
		case e.Operation() == trace.DeleteQuery:
			*r.Certain = Indexes{}
			return
		case e.Operation() != trace.Delete:
			continue
		case e.Grows() && begun/n > deletedLapsMax:
			*r.Certain = Indexes{}
			return
		}
		for sequence := uint64(position); sequence < begun; sequence += n {
			r.Certain.remove(e.EffectiveIndex(sequence/n, t.Threads[thread].Stride))
			if !e.Grows() {
				break
			}
		}
	}
}
