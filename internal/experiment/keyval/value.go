package keyval

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// StampBytes is the length of the proof that a value begins with.
const StampBytes = 24

// ValueShape says what values are cut from. Its JSON is part of the control message "prepare".
type ValueShape struct {
	PoolBytes        int    `json:"pool_bytes"`        // a power of two, at least 4096
	PoolSeed         uint64 `json:"pool_seed"`         // a word, of which the pool's bytes follow
	RepeatedPermille int    `json:"repeated_permille"` // of each 64 bytes, how many thousandths are the same everywhere
	LengthMax        int    `json:"length_max"`        // the longest value of the trial
	ShortLengths     uint32 `json:"short_lengths"`     // bit n: the trial has values of n bytes, for n below 24
	TrialTag         uint32 `json:"trial_tag"`         // in the check of every value; not 0, and another one in each trial
}

// Check says what is wrong with the shape; nil if nothing.
func (s ValueShape) Check() error {
	if s.PoolBytes < 4096 || s.PoolBytes&(s.PoolBytes-1) != 0 || s.PoolBytes > 1<<30 {
		return fmt.Errorf("pool_bytes must be a power of two from 4096 to 2^30, not %d", s.PoolBytes)
	}
	if s.RepeatedPermille < 0 || s.RepeatedPermille > 1000 {
		return fmt.Errorf("repeated_permille must be 0 to 1000, not %d", s.RepeatedPermille)
	}
	if s.LengthMax < 0 || s.LengthMax > 1<<31-1 {
		return fmt.Errorf("length_max must be 0 to 2^31-1, not %d", s.LengthMax)
	}
	if s.ShortLengths >= 1<<StampBytes {
		return fmt.Errorf("short_lengths has bits of lengths below %d alone, not %#x", StampBytes, s.ShortLengths)
	}
	if s.TrialTag == 0 {
		return errors.New("trial_tag must be 1 to 2^32-1")
	}
	return nil
}

// ShortLength returns the bit of ShortLengths that a value's length has; 0: it is long enough for a stamp.
func ShortLength(bytes int) uint32 {
	if bytes >= StampBytes {
		return 0
	}
	return 1 << bytes
}

// Pool holds the bytes that values are cut from. It is read-only once made, and shared by all
// threads.
type Pool struct {
	bytes []byte
	mask  uint64
	tag   uint32
	short uint32 // lengths below StampBytes that values have, as bits
}

// NewPool expects a shape that passed Check.
func NewPool(s ValueShape) *Pool {
	blocks := (s.PoolBytes + s.LengthMax + 63) / 64
	fresh := 64 - 64*s.RepeatedPermille/1000
	same := words64(s.PoolSeed ^ 0x5045415445440000)
	all := make([]byte, 0, blocks*64)
	for b := range uint64(blocks) {
		block := words64(s.PoolSeed ^ b<<8)
		all = append(append(all, block[:fresh]...), same[fresh:]...)
	}
	return &Pool{bytes: all, mask: uint64(s.PoolBytes-1) &^ 63, tag: s.TrialTag, short: s.ShortLengths}
}

// words64 returns M(x), M(M(x)) … as 64 bytes.
func words64(x uint64) (block [64]byte) {
	for i := range 8 {
		x = Mix(x)
		binary.LittleEndian.PutUint64(block[8*i:], x)
	}
	return block
}

// versionFactor spreads versions over words.
const versionFactor = 0xff51afd7ed558ccd

func hash(index, version uint64) uint64 { return Mix(index ^ version*versionFactor) }

// Put writes the value of index and version over the whole of dst, whose length is the value's.
func (p *Pool) Put(dst []byte, index, version uint64) {
	if len(dst) < StampBytes {
		p.putShort(dst, index)
		return
	}
	h := hash(index, version)
	binary.LittleEndian.PutUint64(dst, index)
	binary.LittleEndian.PutUint64(dst[8:], version)
	binary.LittleEndian.PutUint32(dst[16:], uint32(len(dst)))
	binary.LittleEndian.PutUint32(dst[20:], uint32(h>>32)^uint32(len(dst))^p.tag)
	body := dst[StampBytes:]
	copy(body, p.bytes[h&p.mask:])
}

func (p *Pool) putShort(dst []byte, index uint64) {
	var word [8]byte
	w := index ^ uint64(p.tag) ^ uint64(len(dst))<<56 // a part of a longer value is none
	for len(dst) > 0 {
		w = Mix(w)
		binary.LittleEndian.PutUint64(word[:], w)
		dst = dst[copy(dst, word[:]):]
	}
}

// Check returns the version that value proves for index, and whether it is a value of that index
// and trial at all. A value shorter than a stamp proves no version: 0 is returned for it. It must have a
// length that the trial's values have.
func (p *Pool) Check(value []byte, index uint64) (version uint64, right bool) {
	if len(value) < StampBytes {
		if p.short>>len(value)&1 == 0 {
			return 0, false
		}
		var short [StampBytes]byte
		p.putShort(short[:len(value)], index)
		return 0, bytes.Equal(value, short[:len(value)])
	}
	if len(value)+int(p.mask) > len(p.bytes)+StampBytes { // longer than any value of the trial: the pool ends before it
		return 0, false
	}
	version = binary.LittleEndian.Uint64(value[8:])
	h := hash(index, version)
	right = binary.LittleEndian.Uint64(value) == index &&
		binary.LittleEndian.Uint32(value[16:]) == uint32(len(value)) &&
		binary.LittleEndian.Uint32(value[20:]) == uint32(h>>32)^uint32(len(value))^p.tag &&
		bytes.Equal(value[StampBytes:], p.bytes[h&p.mask:][:len(value)-StampBytes])
	return version, right
}

// OtherTrial reports whether value is right for index but for its trial's tag. A value shorter than
// a stamp does not tell.
func (p *Pool) OtherTrial(value []byte, index uint64) bool {
	if len(value) < StampBytes {
		return false
	}
	h := hash(index, binary.LittleEndian.Uint64(value[8:]))
	other := *p
	other.tag = binary.LittleEndian.Uint32(value[20:]) ^ uint32(h>>32) ^ uint32(len(value))
	_, right := other.Check(value, index)
	return right && other.tag != p.tag
}

// IndexOf returns the index that a value's stamp claims, for a scan that does not know which key
// comes next. Values shorter than a stamp claim nothing.
func IndexOf(value []byte) (index uint64, claimed bool) {
	if len(value) < StampBytes {
		return 0, false
	}
	return binary.LittleEndian.Uint64(value), true
}

// FirstBytes returns the length of the value that a longer one begins with: one to which parts were appended,
// each a value of its own. 0: it begins with none.
func FirstBytes(value []byte) int {
	if len(value) < StampBytes {
		return 0
	}
	length := binary.LittleEndian.Uint32(value[16:])
	if length < StampBytes || uint64(length) > uint64(len(value)) {
		return 0
	}
	return int(length)
}

// VersionOf returns the version that a value's stamp claims.
func VersionOf(value []byte) (version uint64, claimed bool) {
	if len(value) < StampBytes {
		return 0, false
	}
	return binary.LittleEndian.Uint64(value[8:]), true
}
