package carryover

import (
	"math/rand/v2"
	"testing"
)

// Of a few arms, each comes after each store as often as after any other, or once more or less: the
// first of which an arm can't come after within a block is itself.
func TestNeighboursAreBalanced(t *testing.T) {
	for _, c := range []struct{ arms, twins, blocks, most int }{
		{2, 0, 10, 1}, {2, 0, 5, 1}, {3, 0, 12, 4}, {4, 0, 12, 5},
	} {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 1))
			after := arrange(r, c.arms, c.twins, c.blocks)
			for store := range c.arms {
				least, most := c.blocks, 0
				for arm := range after {
					least, most = min(least, after[arm][store]), max(most, after[arm][store])
				}
				if most-least > c.most {
					t.Errorf("%+v, seed %d: arms came after store %d between %d and %d times", c, seed, store, least, most)
				}
			}
		}
	}
}

// arrange returns how often each arm came after each store. Twins are of the first store.
func arrange(r *rand.Rand, arms, twins, blocks int) [][]int {
	after := make([][]int, arms+twins)
	for arm := range after {
		after[arm] = make([]int, arms)
	}
	var s Sequence
	last := -1
	for range blocks {
		var block []Trial
		for _, arm := range r.Perm(arms + twins) {
			store := arm
			if arm >= arms {
				store = 0
			}
			block = append(block, Trial{Leaves: store, Meets: arm})
		}
		swaps := append([]Trial(nil), block...)
		s.Add(block, func(i, j int) { swaps[i], swaps[j] = swaps[j], swaps[i] })
		for i, trial := range block {
			if swaps[i] != trial {
				panic("the caller's order is another one")
			}
			if last >= 0 {
				after[trial.Meets][last]++
			}
			last = trial.Leaves
		}
	}
	return after
}

func TestLargeBlocksStayAsTheyAre(t *testing.T) {
	var s Sequence
	block := make([]Trial, blockMost+1)
	for i := range block {
		block[i] = Trial{Leaves: i % 3, Meets: i}
	}
	for range 2 {
		s.Add(block, func(i, j int) { t.Errorf("%d and %d were exchanged", i, j) })
	}
}
