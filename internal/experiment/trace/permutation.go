package trace

import (
	"math/bits"

	"assay/internal/experiment/keyval"
)

// permutation is a pseudo-random bijection on [0, n). It spreads popular ranks over the keys and
// shuffles records. Above tableMax it takes no memory: an alternating Feistel network over the next
// power of two, walked until it is inside (Black and Rogaway, "Ciphers with arbitrary finite
// domains", 2002). On a few items such a network is measurably uneven (5 % for ten items), so small
// ones are shuffled in a table.
type permutation struct {
	n                 uint64
	table             []uint32
	lowBits           uint
	lowMask, highMask uint64
	keys              [permutationRounds]uint64
}

const tableMax = 1 << 16

const permutationRounds = 6

// newPermutation expects n > 0. Different (seed, pass) give different bijections.
func newPermutation(n, seed, pass uint64) permutation {
	if n <= tableMax {
		return permutation{n: n, table: shuffledTable(int(n), newRandom(seed, int(pass), purposePermutation))}
	}
	width := uint(bits.Len64(n - 1))
	p := permutation{n: n, lowBits: width / 2}
	p.lowMask = 1<<p.lowBits - 1
	p.highMask = 1<<(width-p.lowBits) - 1
	key := keyval.Mix(seed^purposePermutation<<56) ^ keyval.Mix(pass)
	for i := range p.keys {
		key = keyval.Mix(key)
		p.keys[i] = key
	}
	return p
}

// shuffledTable is Fisher and Yates's.
func shuffledTable(n int, r random) []uint32 {
	table := make([]uint32, n)
	for i := range table {
		j := r.below(uint64(i) + 1)
		table[i] = table[j]
		table[j] = uint32(i)
	}
	return table
}

func (p *permutation) at(x uint64) uint64 {
	if p.table != nil {
		return uint64(p.table[x])
	}
	for {
		low, high := x&p.lowMask, x>>p.lowBits
		for round := 0; round < permutationRounds; round += 2 {
			high ^= keyval.Mix(low^p.keys[round]) & p.highMask
			low ^= keyval.Mix(high^p.keys[round+1]) & p.lowMask
		}
		if x = high<<p.lowBits | low; x < p.n {
			return x
		}
	}
}
