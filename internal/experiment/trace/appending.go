package trace

// AppendSpec is what appends add to a value: parts of so many bytes, at most so many of a thread.
type AppendSpec struct {
	Bytes int
	Parts int
}

// AppendPartsMax bounds the parts that a thread adds to a value: each has a size class of its own.
const AppendPartsMax = 32

// appendPlaces is how many records a thread appends to at a time.
const appendPlaces = 256

// appending are the records that a thread appends to. Each gets an update, with which its value begins
// anew, and then its parts, between those of others. So a value has at most so many parts of each thread,
// in whatever lap and phase, and no worker needs to know how long it is.
type appending struct {
	places []appendPlace
	at     map[uint64]int // where a record stands in places
}

type appendPlace struct {
	index uint64
	parts int
	used  bool
}

// newAppending returns nil where nothing is appended.
func (g *generator) newAppending() *appending {
	if len(g.partClasses) == 0 {
		return nil
	}
	return &appending{places: make([]appendPlace, appendPlaces), at: map[uint64]int{}}
}

// append adds an append, or the update that a record's parts begin with.
func (t *threadGenerator) append() {
	a := t.appending
	at := int(t.keys.below(appendPlaces))
	place := &a.places[at]
	if !place.used || place.parts == t.Append.Parts {
		if place.used {
			delete(a.at, place.index)
		}
		index, _ := t.index(Append)
		other, open := a.at[index]
		if place.used = !open; open {
			place = &a.places[other]
		} else {
			*place, a.at[index] = appendPlace{index, t.Append.Parts, true}, at
		}
	}
	if place.parts == t.Append.Parts {
		place.parts = 0
		t.entries = append(t.entries, MakeEntry(t.renewal(), place.index, t.living.pick(t.amounts), false))
		return
	}
	class := t.partClasses[place.parts]
	place.parts++
	t.entries = append(t.entries, MakeEntry(Append, place.index, class, false))
}

// renewal is the put with which a value begins anew.
func (s *Spec) renewal() Operation {
	if has := s.operations(); s.Deleted || has[Delete] || has[DeleteQuery] {
		return Upsert
	}
	return Update
}

// meets says that the thread does something else to a record. What puts a value for certain begins it anew.
// After what may have put or deleted it, an update comes before the next part.
func (a *appending) meets(o Operation, index uint64) {
	if a == nil || !o.Changes() || o == Touch {
		return
	}
	at, open := a.at[index]
	switch {
	case !open:
	case o == Insert || o == Update || o == Upsert || o == GetAndSet:
		a.places[at].parts = 0
	default:
		delete(a.at, index)
		a.places[at].used = false
	}
}
