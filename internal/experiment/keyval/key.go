// Package keyval makes the bytes of keys and values from their index, version and length, and
// checks them again, as sections 1.1 to 1.4 of docs/worker-contract.md say. Everything here is
// integer arithmetic, so that each language gets the same bytes; vectors/ pins them.
//
// # Decisions
//
//   - Values carry the trial's tag, which is drawn anew each time a trial is run and not derived
//     from the seed: the default seed is 1, so a run that is repeated would take what the run
//     before it left in a server for its own. The pool's seed is the experiment's, so that a value
//     of any other trial of the run is recognised as such.
//   - Versions name the write (phase, thread, sequence). A read is proven by looking the write up
//     in the trace: no table of versions, so nothing is shared between threads and nothing grows
//     with the data. The final check, which knows each thread's last acknowledged write, tells old
//     values from new ones.
//   - Values shorter than 24 bytes prove their key but not their version; the report says so.
//   - A record with columns has one encoded form, and that is its value everywhere in the
//     contract. So reads, writes, batches, scans and checks are the same for a table store and for
//     a key-value store beside it; only the driver of a table store takes it apart. Records
//     without a proof column are allowed, since S1's has none: the report then says that a stale
//     record would not be seen.
package keyval

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
)

// IndexMax is the largest index of a key: 48 bits of a trace entry.
const IndexMax = 1<<48 - 1

// Mix is M of the contract: the output of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), a
// bijection.
func Mix(x uint64) uint64 {
	z := x + 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// KeyFormat is how an index becomes bytes.
type KeyFormat string

const (
	Binary  KeyFormat = "binary"
	Decimal KeyFormat = "decimal"
	YCSB    KeyFormat = "ycsb"
)

// KeyShape says what keys look like. Its JSON is part of the control message "prepare".
type KeyShape struct {
	Format  KeyFormat `json:"format"`
	Bytes   int       `json:"bytes,omitempty"`
	Prefix  string    `json:"prefix,omitempty"`
	Suffix  string    `json:"suffix,omitempty"`
	Digits  int       `json:"digits,omitempty"`
	First   uint64    `json:"first,omitempty"` // of decimal keys: the number of index 0
	Scatter bool      `json:"scatter,omitempty"`
	// Lengths are those of keys that are not all of one length: stretches that ascend by their first index,
	// which is 0 in the first. None: all have the above.
	Lengths []Stretch `json:"lengths,omitempty"`
}

// Check says what is wrong with the shape; nil if nothing.
func (k KeyShape) Check() error {
	if len(k.Prefix) > 255 || len(k.Suffix) > 255 {
		return fmt.Errorf("prefix and suffix have at most 255 bytes each")
	}
	if k.First > 0 && (k.Format != Decimal || k.Scatter || k.First > IndexMax) {
		return fmt.Errorf("first is 0 to %d, and of decimal keys without scatter alone", uint64(IndexMax))
	}
	if len(k.Lengths) > 0 {
		return k.checkLengths()
	}
	switch k.Format {
	case Binary:
		if k.Bytes < 1 || k.Bytes > 65535 {
			return fmt.Errorf("binary keys have 1 to 65535 bytes, not %d", k.Bytes)
		}
		if k.numberBytes() < 8 && k.Scatter {
			return fmt.Errorf("scattered keys need at least 8 bytes: below that two indexes could meet")
		}
		if k.Suffix != "" || k.Digits != 0 {
			return fmt.Errorf("binary keys have no suffix or digits")
		}
		if n := k.numberBytes(); n < 1 {
			return fmt.Errorf("a prefix of %d bytes leaves nothing of binary keys of %d bytes", len(k.Prefix), k.Bytes)
		}
	case Decimal, YCSB:
		if k.Bytes != 0 {
			return fmt.Errorf("%s keys take digits, not bytes", k.Format)
		}
		if k.Digits < 0 || k.Digits > 20 || k.Format == YCSB && k.Digits != 0 {
			return fmt.Errorf("decimal keys have 0 to 20 digits, ycsb keys take none")
		}
	default:
		return fmt.Errorf("unknown key format %q: expected binary, decimal or ycsb", k.Format)
	}
	return nil
}

// numberBytes returns how many bytes of a binary key come after its prefix.
func (k KeyShape) numberBytes() int { return k.Bytes - len(k.Prefix) }

// BytesMax returns the length of the longest key.
func (k KeyShape) BytesMax() int {
	if len(k.Lengths) > 0 {
		return slices.MaxFunc(k.Lengths, byBytes).Bytes
	}
	if k.Format == Binary {
		return k.Bytes
	}
	return len(k.Prefix) + max(20, k.Digits) + len(k.Suffix)
}

// BytesMin returns a length that every key has at least.
func (k KeyShape) BytesMin() int {
	switch {
	case len(k.Lengths) > 0:
		return slices.MinFunc(k.Lengths, byBytes).Bytes
	case k.Format == Binary:
		return k.Bytes
	}
	return len(k.Prefix) + max(1, k.Digits) + len(k.Suffix)
}

func byBytes(a, b Stretch) int { return a.Bytes - b.Bytes }

// IndexLimit returns the number of different keys that the shape can make.
func (k KeyShape) IndexLimit() uint64 {
	if n := len(k.Lengths); n > 0 {
		last := k.Lengths[n-1]
		return last.From + min(k.numbers(last.Bytes-len(k.Prefix))-last.First, IndexMax+1-last.From)
	}
	if n := k.numberBytes(); k.Format == Binary && n < 6 {
		return 1 << (8 * n)
	}
	return IndexMax + 1
}

// KeyMaker makes keys. Each thread has its own.
type KeyMaker struct {
	shape    KeyShape
	binary16 bool // the commonest shape has a way of its own: 3 ns less
	buffer   []byte
}

// NewKeyMaker expects a shape that passed Check.
func NewKeyMaker(shape KeyShape) *KeyMaker {
	return &KeyMaker{shape: shape, binary16: shape.Format == Binary && shape.Bytes == 16 && shape.Prefix == "", buffer: make([]byte, 16, shape.BytesMax()+16)}
}

// Key returns the key of an index. It is valid until the next call.
func (m *KeyMaker) Key(index uint64) []byte {
	if !m.binary16 {
		m.buffer = m.shape.Append(m.buffer[:0], index)
		return m.buffer
	}
	if m.shape.Scatter {
		index = Mix(index)
	}
	key := m.buffer[:16]
	binary.BigEndian.PutUint64(key, index)
	binary.LittleEndian.PutUint64(key[8:], Mix(index))
	return key
}

// Append appends the key of an index to dst.
func (k *KeyShape) Append(dst []byte, index uint64) []byte {
	if len(k.Lengths) > 0 {
		return k.appendOfLength(dst, index)
	}
	n := index
	if k.Scatter {
		n = Mix(index)
	}
	switch k.Format {
	case Binary:
		return appendBinary(append(dst, k.Prefix...), n, k.numberBytes())
	case Decimal:
		dst = appendDigits(append(dst, k.Prefix...), n+k.First, k.Digits)
		return append(dst, k.Suffix...)
	default:
		dst = append(dst, k.Prefix...)
		dst = strconv.AppendUint(dst, YCSBHash(n), 10)
		return append(dst, k.Suffix...)
	}
}

// appendDigits appends a number with zeros in front up to so many digits.
func appendDigits(dst []byte, n uint64, digits int) []byte {
	start := len(dst)
	dst = strconv.AppendUint(dst, n, 10)
	if missing := digits - (len(dst) - start); missing > 0 {
		const zeros = "00000000000000000000"
		written := string(dst[start:])
		dst = append(append(dst[:start], zeros[:missing]...), written...)
	}
	return dst
}

func appendBinary(dst []byte, n uint64, length int) []byte {
	if length < 8 {
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], n)
		return append(dst, word[8-length:]...)
	}
	end := len(dst) + length
	dst = binary.BigEndian.AppendUint64(dst, n)
	for w := Mix(n); len(dst) < end; w = Mix(w) {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst[:end]
}

// YCSBHash is fnvhash64 of site.ycsb.Utils, which builds YCSB's keys and scrambles its zipfian: FNV
// over the eight bytes, low one first, and the sign thrown away.
func YCSBHash(n uint64) uint64 {
	h := uint64(0xCBF29CE484222325)
	for range 8 {
		h = (h ^ n&0xff) * 1099511628211
		n >>= 8
	}
	if int64(h) < 0 {
		h = -h
	}
	return h
}

// version is phase << 56 | thread << 40 | sequence.
const (
	PhaseMax    = 1<<8 - 1
	ThreadMax   = 1<<16 - 1
	SequenceMax = 1<<40 - 1
)

// Version returns the version of the write that a thread does in a phase at a sequence number.
func Version(phase, thread int, sequence uint64) uint64 {
	return uint64(phase)<<56 | uint64(thread)<<40 | sequence
}

// SplitVersion is the inverse of Version.
func SplitVersion(version uint64) (phase, thread int, sequence uint64) {
	return int(version >> 56), int(version >> 40 & ThreadMax), version & SequenceMax
}
