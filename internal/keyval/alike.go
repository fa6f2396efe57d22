package keyval

import "math/bits"

// Alike returns how many of the records 0 … below−1 have, in a column that is not the proof, the
// bytes that the record of an index has there. Where it is not exact, there may be more, never
// fewer: numbers that are cut to a word may meet.
func (r *RecordShape) Alike(column int, index, below uint64) (records uint64, exact bool) {
	c := &r.columns[column]
	if c.sequence == nil {
		return below, true
	}
	q := c.sequence
	quotient, cycles := index/q.Divide, uint64(0)
	if q.Modulo > 0 {
		quotient %= q.Modulo
		if over, cycle := bits.Mul64(q.Divide, q.Modulo); over == 0 {
			cycles = below / cycle
			below %= cycle
		}
	}
	first := quotient * q.Divide
	_, exact = q.largest()
	return cycles*q.Divide + min(q.Divide, below-min(first, below)), exact
}

// BytesMin returns a length, in the encoded form, that no record is below.
func (r *RecordShape) BytesMin() int {
	n := 0
	for i := range r.columns {
		c := &r.columns[i]
		n += 2 + len(c.constant) + c.proof
		if c.sequence != nil {
			n += len(c.sequence.Prefix) + 1 + len(c.sequence.Suffix)
		}
	}
	return n
}
