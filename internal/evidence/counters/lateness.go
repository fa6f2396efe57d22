package counters

import "math/bits"

// LatenessWords is how many words of a thread count operations by how late they began:
// docs/worker-contract.md, 3.2.
const LatenessWords = 25

// latenessBits: word 0 begins at 2^7 ns, since less is the wait's own looks at the clock. Each word
// is twice as wide as the one before.
const latenessBits = 7

// LatenessWord returns the word that counts an operation which began so many ns late; −1: none, it
// was on time.
func LatenessWord(ns uint64) int {
	if ns < 1<<latenessBits {
		return -1
	}
	return min(bits.Len64(ns)-1-latenessBits, LatenessWords-1)
}

// LatenessFromNS returns the least lateness that a word counts. Word [LatenessWords] would begin
// where the last one, which has no end, would if it were like the others.
func LatenessFromNS(word int) uint64 { return 1 << (latenessBits + word) }
