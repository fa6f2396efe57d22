package recording

import "errors"

// KeysMax is how many keys a Numbering holds: its tables then take 600 MB, while they grow.
const KeysMax = 25_000_000

var keysMost = KeysMax // a test has fewer

// ErrKeys says that a recording has more keys than are numbered.
var ErrKeys = errors.New("it has more than 25,000,000 keys")

// Numbering gives keys numbers from 0 on, in the order in which they are first asked for, or by their
// places. It is for one goroutine.
type Numbering struct {
	slots []uint64 // keys; 0: free
	ids   []uint32
	mask  uint64
	n     int
}

// NewNumbering returns one without keys.
func NewNumbering() *Numbering {
	const slots = 1 << 12
	return &Numbering{slots: make([]uint64, slots), ids: make([]uint32, slots), mask: slots - 1}
}

// Len returns how many keys have numbers.
func (t *Numbering) Len() int { return t.n }

// Number returns the number of a key. It returns ErrKeys where a new one would be one too many.
func (t *Numbering) Number(key uint64) (id uint32, isNew bool, err error) {
	return t.number(key, 0, nil)
}

// NumberIn returns the number of a key of a length, of which new ones get the next place of it.
func (t *Numbering) NumberIn(places *Places, key uint64, bytes uint16) (id uint32, isNew bool, err error) {
	return t.number(key, bytes, places)
}

// number is both; nil: keys have no places.
func (t *Numbering) number(key uint64, bytes uint16, places *Places) (id uint32, isNew bool, err error) {
	if key == 0 {
		key = 1
	}
	at := key & t.mask
	for t.slots[at] != key {
		if t.slots[at] == 0 {
			return t.add(key, at, bytes, places)
		}
		at = (at + 1) & t.mask
	}
	return t.ids[at], false, nil
}

func (t *Numbering) add(key, at uint64, bytes uint16, places *Places) (uint32, bool, error) {
	if t.n == keysMost {
		return 0, false, ErrKeys
	}
	if uint64(t.n) >= t.mask/4*3 {
		t.grow()
		at = key & t.mask
		for t.slots[at] != 0 {
			at = (at + 1) & t.mask
		}
	}
	id := uint32(t.n)
	if places != nil {
		id = uint32(places.next(bytes))
	}
	t.slots[at], t.ids[at] = key, id
	t.n++
	return id, true, nil
}

func (t *Numbering) grow() {
	size := 2 * len(t.slots)
	slots, ids, mask := make([]uint64, size), make([]uint32, size), uint64(size-1)
	for i, key := range t.slots {
		if key == 0 {
			continue
		}
		at := key & mask
		for slots[at] != 0 {
			at = (at + 1) & mask
		}
		slots[at], ids[at] = key, t.ids[i]
	}
	t.slots, t.ids, t.mask = slots, ids, mask
}
