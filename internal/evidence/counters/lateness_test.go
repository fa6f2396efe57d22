package counters

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLatenessGoesToTheWordOfTheContract(t *testing.T) {
	for ns, want := range map[uint64]int{0: -1, 127: -1, 128: 0, 255: 0, 256: 1, 511: 1, 512: 2, 1 << 30: 23,
		1<<31 - 1: 23, 1 << 31: 24, 1 << 40: 24, 1<<64 - 1: 24} {
		if got := LatenessWord(ns); got != want {
			t.Errorf("%d ns goes to word %d, want %d", ns, got, want)
		}
	}
}

func TestWordsHoldTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Uint64().Draw(t, "ns")
		word := LatenessWord(ns)
		if word >= 0 && ns < LatenessFromNS(word) || word < LatenessWords-1 && ns >= LatenessFromNS(word+1) {
			t.Fatalf("%d ns is in word %d", ns, word)
		}
	})
}
