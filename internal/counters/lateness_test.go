package counters

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLatenessGoesToTheWordOfTheContract(t *testing.T) {
	for ns, want := range map[uint64]int{0: -1, 127: -1, 128: 0, 511: 0, 512: 1, 2047: 1, 2048: 2, 1 << 22: 7, 1<<23 - 1: 7, 1 << 23: 8, 1 << 40: 8, 1<<64 - 1: 8} {
		if got := LatenessWord(ns); got != want {
			t.Errorf("%d ns goes to word %d, want %d", ns, got, want)
		}
	}
}

func TestAWordHoldsWhatItsBoundsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Uint64().Draw(t, "ns")
		word := LatenessWord(ns)
		if word >= 0 && ns < LatenessFromNS(word) || word < LatenessWords-1 && ns >= LatenessFromNS(word+1) {
			t.Fatalf("%d ns is in word %d", ns, word)
		}
	})
}
