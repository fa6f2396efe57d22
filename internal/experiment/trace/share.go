package trace

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"unsafe"
)

// Digest tells the operations of the threads from one to before another from any others: machines
// that make a trace of one seed each must agree on it, whatever their processors.
func (f *File) Digest(from, to int) string {
	h := sha256.New()
	word := func(w uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, w)) }
	for _, w := range []uint64{uint64(f.Flags), uint64(f.Groups), f.Seed, uint64(len(f.Threads)), uint64(from),
		uint64(to), uint64(len(f.Operations))} {
		word(w)
	}
	for slot, o := range f.Operations {
		word(uint64(o))
		word(uint64(f.Query(slot)))
	}
	for class, amount := range f.Amounts {
		word(uint64(amount) | uint64(f.TTLs[class])<<32)
	}
	for i := from; i < to; i++ {
		t := &f.Threads[i]
		for _, w := range []uint64{t.Stride, t.LapNS, uint64(t.Group), uint64(t.Endpoint), t.Limit, t.FromNS,
			t.UntilNS, uint64(len(t.Entries)), uint64(len(t.times()))} {
			word(w)
		}
		writeWords(h, t.Entries)
		writeWords(h, t.times())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeWords hashes words as they stand in memory: all machines that Assay runs on are little-endian.
func writeWords[T ~uint64](h hash.Hash, words []T) {
	if len(words) > 0 {
		h.Write(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words)))
	}
}
