package recording

// SizesLRU are the caches whose hit rates are reported, as shares of all keys.
var SizesLRU = [...]float64{0.001, 0.01, 0.05, 0.2, 0.5}

// lru has all keys that were asked for in the order in which they last were, cut into stretches: those
// that the smallest cache holds, those that only the next one holds, and so on. One list so simulates
// all sizes. A key moves to the front, and one key over each boundary.
type lru struct {
	next, prev []uint32 // of each key, by number; none: the list's end
	stretch    []uint8  // of each key; len(SizesLRU): in no cache
	head       uint32
	tails      [len(SizesLRU)]uint32
	sizes      [len(SizesLRU)]uint64
	widths     [len(SizesLRU)]uint64

	asked uint64
	hits  [len(SizesLRU)]uint64 // in the stretch, not in those before
}

const (
	none    = 1<<32 - 1
	outside = uint8(len(SizesLRU))
)

// newLRU returns one of caches for shares of so many keys.
func newLRU(keys float64) *lru {
	l := &lru{head: none}
	held := uint64(0)
	for i, share := range SizesLRU {
		size := max(uint64(share*keys+0.5), held+1)
		l.widths[i], held = size-held, size
		l.tails[i] = none
	}
	return l
}

func (l *lru) room(id uint32) {
	for uint32(len(l.stretch)) <= id {
		l.next, l.prev, l.stretch = append(l.next, none), append(l.prev, none), append(l.stretch, outside)
	}
}

// ask counts a request for a key, and brings it to the front.
func (l *lru) ask(id uint32) {
	l.room(id)
	l.asked++
	was := l.stretch[id]
	if was < outside {
		l.hits[was]++
		if l.head == id {
			return
		}
		l.unlink(id)
	}
	l.next[id], l.prev[id] = l.head, none
	if l.head != none {
		l.prev[l.head] = id
	}
	l.head, l.stretch[id] = id, 0
	if l.tails[0] == none {
		l.tails[0] = id
	}
	l.sizes[0]++
	for s := range l.sizes {
		if l.sizes[s] <= l.widths[s] {
			return
		}
		l.pass(s)
	}
}

// pass moves the last key of a stretch to the next one, or out of all caches.
func (l *lru) pass(s int) {
	id := l.tails[s]
	l.sizes[s]--
	l.tails[s] = l.prev[id]
	if l.sizes[s] == 0 {
		l.tails[s] = none
	}
	if s == len(l.sizes)-1 {
		if before := l.prev[id]; before != none {
			l.next[before] = none
		} else {
			l.head = none
		}
		l.stretch[id] = outside
		return
	}
	l.stretch[id] = uint8(s + 1)
	if l.sizes[s+1]++; l.sizes[s+1] == 1 {
		l.tails[s+1] = id
	}
}

// forget takes a key that was deleted out of the caches.
func (l *lru) forget(id uint32) {
	l.room(id)
	if l.stretch[id] < outside {
		l.unlink(id)
		l.stretch[id] = outside
	}
}

func (l *lru) unlink(id uint32) {
	s, before, after := l.stretch[id], l.prev[id], l.next[id]
	if before != none {
		l.next[before] = after
	} else {
		l.head = after
	}
	if after != none {
		l.prev[after] = before
	}
	l.sizes[s]--
	switch {
	case l.sizes[s] == 0:
		l.tails[s] = none
	case l.tails[s] == id:
		l.tails[s] = before
	}
}

// rates returns the share of requests that each cache would have answered.
func (l *lru) rates() (rates [len(SizesLRU)]float64) {
	hits := uint64(0)
	for i, n := range l.hits {
		hits += n
		rates[i] = float64(hits) / float64(max(l.asked, 1))
	}
	return rates
}
