// Package carryover orders the trials of blocks so that what a trial leaves to the next one (dirty
// pages, a device that collects garbage) falls on all arms alike.
//
// Within a block an arm can't come after itself: of two arms in random order, the one that slows the
// trial after it slows the other one three times as often as itself, and any number of blocks leaves
// that difference. So pairs of neighbours are counted over all blocks, the border between blocks
// included, and each block is put in the order, near a random one, that makes the counts most alike
// (serially balanced sequences: Finney and Outhwaite, Biometrika 43, 1956; Williams's squares,
// Australian J. of Scientific Research A 2, 1949, balance neighbours within blocks alone).
package carryover

// Trial is one place of a block.
type Trial struct {
	Leaves int // whose traces it leaves: its store; from 0 on, below the number of trials
	Meets  int // which arm of which table meets what was left: from 0 on, each once in a block
}

// Sequence is the order of all blocks so far, which have the same trials. The zero value is an empty
// one.
type Sequence struct {
	trials int   // of a block
	pairs  []int // how often a Meets came after a Leaves: see pair
	places []int // how often a Meets stood at a place of a block: see place
	last   int   // Leaves of the last trial, from 1 on; 0: there is none
}

// roundsMost bounds the rounds of exchanges, and blockMost the trials of a block that is rearranged:
// in a larger one each trial has so many possible neighbours that none comes after another often.
const (
	roundsMost = 20
	blockMost  = 100
	// placeWeight is how much more it counts that each arm stands at each place of a block as
	// often: a drift within blocks is seen by no factor.
	placeWeight = 2
)

// Add puts the trials of the next block in order, given a random one: it exchanges two trials as long
// as that makes the counts of neighbours more alike. swap exchanges trials i and j of the caller.
func (s *Sequence) Add(block []Trial, swap func(i, j int)) {
	if len(block) > blockMost {
		return
	}
	if s.pairs == nil {
		s.trials = len(block)
		s.pairs, s.places = make([]int, (s.trials+1)*s.trials), make([]int, s.trials*s.trials)
	}
	for round := 0; round < roundsMost && s.exchange(block, swap); round++ {
	}
	for i := range block {
		s.pairs[s.pair(block, i)]++
		s.places[s.place(block, i)]++
	}
	if len(block) > 0 {
		s.last = block[len(block)-1].Leaves + 1
	}
}

// exchange tries each pair of trials once, and reports whether some exchange was made.
func (s *Sequence) exchange(block []Trial, swap func(i, j int)) (better bool) {
	for i := range block {
		for j := i + 1; j < len(block); j++ {
			before := s.around(block, i, j)
			block[i], block[j] = block[j], block[i]
			if s.around(block, i, j) < before {
				swap(i, j)
				better = true
				continue
			}
			block[i], block[j] = block[j], block[i]
		}
	}
	return better
}

// around is how often the trials at i and j were where they are now: after the same stores, and as far
// into the block. Row and column sums of these counts are given, so that the least sum makes them most
// alike.
func (s *Sequence) around(block []Trial, i, j int) (times int) {
	for _, at := range [...]int{i, i + 1, j, j + 1} {
		if at < len(block) && !(at == j && j == i+1) {
			times += s.pairs[s.pair(block, at)]
		}
	}
	return times + placeWeight*(s.places[s.place(block, i)]+s.places[s.place(block, j)])
}

// pair is the index of what a trial comes after, 0 for nothing, and which it is.
func (s *Sequence) pair(block []Trial, at int) int {
	before := s.last
	if at > 0 {
		before = block[at-1].Leaves + 1
	}
	return before*s.trials + block[at].Meets
}

func (s *Sequence) place(block []Trial, at int) int { return at*s.trials + block[at].Meets }
