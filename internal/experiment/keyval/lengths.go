package keyval

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Stretch is a run of indexes whose keys have one length. It reaches to the next one.
type Stretch struct {
	From  uint64 `json:"from,omitempty"`  // its first index
	Bytes int    `json:"bytes"`           // of each key, prefix included
	First uint64 `json:"first,omitempty"` // the number that the key of From holds
}

// StretchesMax bounds the stretches of a shape, so that a search among them stays in a processor's
// nearest cache.
const StretchesMax = 1024

const (
	keyBytesMax = 65535
	digitsMax   = 20 // of 2⁶⁴ − 1
)

// checkLengths says what is wrong with keys of several lengths.
func (k *KeyShape) checkLengths() error {
	switch {
	case k.Format != Binary && k.Format != Decimal:
		return fmt.Errorf("%s keys have no lengths", k.Format)
	case k.Bytes != 0 || k.Digits != 0 || k.First != 0 || k.Suffix != "":
		return errors.New("keys of several lengths have no bytes, digits, first and suffix for all")
	case len(k.Lengths) > StretchesMax:
		return fmt.Errorf("keys have at most %d lengths, not %d", StretchesMax, len(k.Lengths))
	case k.Lengths[0].From != 0:
		return fmt.Errorf("the first length of keys begins at index 0, not %d", k.Lengths[0].From)
	}
	for i, s := range k.Lengths {
		n := s.Bytes - len(k.Prefix)
		switch {
		case i > 0 && s.From <= k.Lengths[i-1].From:
			return errors.New("lengths of keys do not ascend by their first index")
		case s.From > IndexMax || s.First > IndexMax:
			return fmt.Errorf("a length of keys from index %d and number %d on: both are at most %d", s.From, s.First, uint64(IndexMax))
		case s.Bytes > keyBytesMax || n < 1:
			return fmt.Errorf("keys of %d bytes with a prefix of %d: expected at least one byte more, and at most %d", s.Bytes, len(k.Prefix), keyBytesMax)
		case k.Scatter && (k.Format != Binary || n < 8):
			return errors.New("scattered keys of several lengths are binary and have at least 8 bytes after the prefix")
		}
		if i+1 == len(k.Lengths) {
			continue
		}
		if keys := k.Lengths[i+1].From - s.From; s.First+keys > k.numbers(n) {
			return fmt.Errorf("keys of %d bytes can't hold the numbers up to %d", s.Bytes, s.First+keys-1)
		}
	}
	return nil
}

// numbers returns how many numbers, from 0 on, fit what follows a key's prefix.
func (k *KeyShape) numbers(bytes int) uint64 {
	switch {
	case bytes < 1:
		return 0
	case k.Format == Binary && bytes < 8:
		return 1 << (8 * bytes)
	case k.Format == Binary || bytes >= digitsMax:
		return math.MaxUint64
	}
	numbers := uint64(1)
	for range bytes {
		numbers *= 10
	}
	return numbers
}

// stretchOf returns the stretch of an index.
func (k *KeyShape) stretchOf(index uint64) *Stretch {
	low, high := 0, len(k.Lengths) // the last one that begins at or before the index is in [low, high)
	for high-low > 1 {
		if middle := int(uint(low+high) >> 1); k.Lengths[middle].From <= index {
			low = middle
		} else {
			high = middle
		}
	}
	return &k.Lengths[low]
}

// BytesOf returns the length of the key of an index.
func (k *KeyShape) BytesOf(index uint64) int {
	if len(k.Lengths) > 0 {
		return k.stretchOf(index).Bytes
	}
	var room [600]byte
	if k.Format == Binary {
		return k.Bytes
	}
	return len(k.Append(room[:0], index))
}

// BytesBetween returns the shortest and the longest key of some indexes, of keys that have lengths.
func (k *KeyShape) BytesBetween(first, last uint64) (shortest, longest int) {
	shortest = math.MaxInt
	for i := range k.Lengths {
		ends := i+1 < len(k.Lengths) && k.Lengths[i+1].From <= first
		if ends || k.Lengths[i].From > last {
			continue
		}
		shortest, longest = min(shortest, k.Lengths[i].Bytes), max(longest, k.Lengths[i].Bytes)
	}
	return shortest, longest
}

// appendOfLength appends the key of an index to dst, of keys that have lengths.
func (k *KeyShape) appendOfLength(dst []byte, index uint64) []byte {
	s := k.stretchOf(index)
	n := index - s.From + s.First
	if k.Scatter {
		n = Mix(n)
	}
	end := len(dst) + s.Bytes
	dst = append(dst, k.Prefix...)
	if k.Format == Binary {
		return appendBinary(dst, n, end-len(dst))
	}
	dst = appendDigits(dst, n, min(end-len(dst), digitsMax))
	for w := Mix(n); len(dst) < end; w = Mix(w) {
		dst = appendLetters(dst, w, end)
	}
	return dst
}

// appendLetters appends a letter for each byte of a word, up to a length.
func appendLetters(dst []byte, word uint64, end int) []byte {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], word)
	for _, b := range bytes[:min(8, end-len(dst))] {
		dst = append(dst, 'a'+b&15)
	}
	return dst
}

// LengthOf is a length of keys, prefix included, and how many keys have it, in each part of all.
type LengthOf struct {
	Bytes int
	Keys  []uint64
}

// Lay gives the shape stretches for keys of some lengths, which ascend. Of each part all keys come before
// those of the next one. floor is the shortest length, at least least, that can tell all keys apart that are
// as long or shorter: these have it, and more says how many of them are shorter. Keys of indexes beyond all have a
// length of their own, or a longer one that tells many apart.
func (k *KeyShape) Lay(lengths []LengthOf, least, beyond int) (floor int, more uint64) {
	all := uint64(0)
	beyond = max(beyond, least)
	for _, l := range lengths {
		all += l.total()
	}
	for k.numbers(beyond-len(k.Prefix)) < all+beyondLeast || k.Scatter && beyond-len(k.Prefix) < 8 {
		beyond++
	}
	for floor = max(len(k.Prefix)+1, least); !k.tellsApart(lengths, floor); floor++ {
	}
	var merged []LengthOf
	for _, l := range lengths {
		if l.Bytes < floor {
			more += l.total()
		}
		bytes := max(l.Bytes, floor)
		if n := len(merged); n > 0 && merged[n-1].Bytes == bytes {
			for part, keys := range l.Keys {
				merged[n-1].Keys[part] += keys
			}
			continue
		}
		merged = append(merged, LengthOf{bytes, slices.Clone(l.Keys)})
	}
	k.Bytes, k.Digits, k.Suffix, k.Lengths = 0, 0, "", nil
	at, given := uint64(0), map[int]uint64{}
	for part := range lengths[0].Keys {
		for _, l := range merged {
			if keys := l.Keys[part]; keys > 0 {
				k.Lengths = append(k.Lengths, Stretch{From: at, Bytes: l.Bytes, First: given[l.Bytes]})
				at, given[l.Bytes] = at+keys, given[l.Bytes]+keys
			}
		}
	}
	k.Lengths = append(k.Lengths, Stretch{From: at, Bytes: beyond, First: given[beyond]})
	return floor, more
}

// beyondLeast is how many keys beyond all others a shape has at least.
const beyondLeast = 100_000_000

// tellsApart reports whether keys can be distinguished if none is shorter than a floor.
func (k *KeyShape) tellsApart(lengths []LengthOf, floor int) bool {
	if k.Scatter && floor-len(k.Prefix) < 8 {
		return false
	}
	below := uint64(0)
	for _, l := range lengths {
		bytes, keys := l.Bytes, l.total()
		if bytes <= floor {
			below += keys
			bytes, keys = floor, below
		}
		if keys > k.numbers(bytes-len(k.Prefix)) {
			return false
		}
	}
	return true
}

func (l LengthOf) total() (keys uint64) {
	for _, n := range l.Keys {
		keys += n
	}
	return keys
}
