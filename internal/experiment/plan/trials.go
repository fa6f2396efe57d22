package plan

import (
	"fmt"
	"math/bits"
	"strings"

	"assay/internal/base/carryover"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/store"
)

const twinSuffix = " (A/A)"

// Plan returns the trials of an experiment, in the order in which they run.
//
// A block has, for each cell, one trial of every store that can run there, one of the baseline's
// A/A arm, one of Assay's null driver, and one of the null driver of each other worker whose stores
// run there; all cells of a block are shuffled together, so that drift of the machine falls on all
// alike, and then put in the order that lets each arm come after each store about as often, so that
// what a trial leaves to the next one does too (package carryover). If the baseline can't run in a
// cell, the A/A arm there is the first store that can. With HelpersOnce, the A/A arms and null drivers
// are in the first block alone.
//
// A store that can't run in a cell is planned there exactly once, at the end of block 1, with the
// reason: it costs no time, its cell is shown, and the order of what runs does not depend on it.
//
// The same experiment gives the same plan: see [shuffle] for the generator.
func Plan(e *experiment.Experiment) []Trial {
	var trials []Trial
	var order carryover.Sequence
	for block := 1; block <= e.Blocks; block++ {
		trials = append(trials, blockOf(e, block, &order)...)
	}
	return trials
}

// Block returns the trials of one block, which may be one that [Plan] does not have: blocks are
// added to a run while it goes on.
func Block(e *experiment.Experiment, block int) []Trial {
	var order carryover.Sequence
	for before := 1; before < block; before++ {
		blockOf(e, before, &order)
	}
	return blockOf(e, block, &order)
}

// blockOf is a block after those that are in the order already.
func blockOf(e *experiment.Experiment, block int, order *carryover.Sequence) []Trial {
	var trials, refused []Trial
	for cell := range e.Cells {
		can, cannot := armsOf(e, cell)
		trials = append(trials, can...)
		refused = append(refused, cannot...)
	}
	neighbours := neighboursOf(trials)
	if e.HelpersOnce && block > 1 {
		trials, neighbours = withoutHelpers(trials, neighbours)
	}
	shuffle(len(trials), e.Seed, block, func(i, j int) {
		trials[i], trials[j] = trials[j], trials[i]
		neighbours[i], neighbours[j] = neighbours[j], neighbours[i]
	})
	order.Add(neighbours, func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
	if block == 1 {
		trials = append(trials, refused...)
	}
	for position := range trials {
		t := &trials[position]
		t.Block = block
		t.Seed = traceSeed(e.Seed, block, t.Cell)
		t.ID = id(e, *t, position+1)
	}
	return trials
}

// Repeat returns the next try of a trial that the machine spoilt: the same operations, at the end
// of the block, which has so many trials by then.
func Repeat(e *experiment.Experiment, t Trial, trialsOfBlock int) Trial {
	t.Again++
	t.ID = fmt.Sprintf("%s-again%d", id(e, t, trialsOfBlock+1), t.Again)
	return t
}

// RepeatsMax is how many repeats a plan may have in all: a quarter of the trials that can run,
// rounded up, so that a machine that is always busy does not double the time.
func RepeatsMax(trials []Trial) int {
	first := 0
	for _, t := range trials {
		if t.Refuse == "" && t.Again == 0 {
			first++
		}
	}
	return (first + 3) / 4
}

// armsOf returns the arms of a cell: those that can run, the ceilings last, and the refused ones.
func armsOf(e *experiment.Experiment, cell int) (can, cannot []Trial) {
	again := -1 // the store of the A/A arm
	bounded := map[string]bool{}
	for i, s := range e.Stores {
		t := Trial{Arm: s.Name, Role: Measured, Store: i, Cell: cell}
		if s.Description.Kind == store.None {
			t.Role = Ceiling // a null driver that the file lists is no store either
		}
		if refusal := e.Refusal(i, cell); refusal != nil {
			t.Refuse, t.RefusedBy = refusal.Reason, refusal.Field
			cannot = append(cannot, t)
			continue
		}
		t.Skip = e.Skips(i, cell)
		can = append(can, t)
		if t.Role == Ceiling {
			continue
		}
		bounded[s.Ceiling] = true
		if again < 0 || s.Name == e.Baseline {
			again = i
		}
	}
	if again >= 0 {
		can = append(can, Trial{Arm: e.Stores[again].Name + twinSuffix, Role: AA, Store: again, Cell: cell,
			Skip: e.Skips(again, cell)})
	}
	can = append(can, Trial{Arm: experiment.NullDriver, Role: Ceiling, Store: -1, Cell: cell})
	for _, null := range e.Ceilings {
		if !bounded[null.Name] {
			continue
		}
		t := Trial{Arm: null.Name, Role: Ceiling, Store: -1, Cell: cell}
		if refusal := e.RefusalOf(null, cell); refusal != nil {
			t.Refuse, t.RefusedBy = refusal.Reason, refusal.Field
			cannot = append(cannot, t)
			continue
		}
		t.Skip = e.SkipsOf(null, cell)
		can = append(can, t)
	}
	return can, cannot
}

// neighboursOf says of the trials of a block, each arm of each cell once and always in the same order,
// what they leave and who they are. The A/A arm leaves what its store does.
func neighboursOf(trials []Trial) []carryover.Trial {
	stores := map[string]int{}
	neighbours := make([]carryover.Trial, len(trials))
	for i, t := range trials {
		name := t.Leaves()
		if _, known := stores[name]; !known {
			stores[name] = len(stores)
		}
		neighbours[i] = carryover.Trial{Leaves: stores[name], Meets: i}
	}
	return neighbours
}

// withoutHelpers are the trials of the stores themselves, each with its neighbour.
func withoutHelpers(trials []Trial, neighbours []carryover.Trial) (left []Trial, their []carryover.Trial) {
	for i, t := range trials {
		if t.Role == Measured {
			left, their = append(left, t), append(their, neighbours[i])
		}
	}
	return left, their
}

// Leaves names what may slow the next trial: the store, whichever arm it is.
func (t Trial) Leaves() string { return strings.TrimSuffix(t.Arm, twinSuffix) }

// shuffle is Fisher and Yates's, from the last place down: place i takes the trial at floor(w·(i+1)
// / 2⁶⁴), where the words w are M(x₀), M(x₁) … with x₀ = M(seed ⊕ M(block)) and xₖ₊₁ = xₖ +
// 0x9e3779b97f4a7c15: SplitMix64, with M of docs/worker-contract.md. Its bias is below 2⁻⁴⁰ for any
// plan that fits in memory.
func shuffle(trials int, seed uint64, block int, swap func(i, j int)) {
	x := keyval.Mix(seed ^ keyval.Mix(uint64(block)))
	for i := trials - 1; i > 0; i-- {
		j, _ := bits.Mul64(keyval.Mix(x), uint64(i+1))
		x += 0x9e3779b97f4a7c15
		swap(i, int(j))
	}
}

// traceSeed is the same for all arms of a cell in a block, so that they do the same operations.
func traceSeed(seed uint64, block, cell int) uint64 {
	return keyval.Mix(keyval.Mix(seed) ^ uint64(block)<<32 ^ uint64(cell))
}

// id names a trial so that names sort as the trials run: block and position have as many digits as
// the largest needs. Store names were checked to be plain, so an ID does for a directory.
func id(e *experiment.Experiment, t Trial, position int) string {
	arm := t.Arm
	if t.Store >= 0 {
		arm = e.Stores[t.Store].Name
	}
	if t.Role == AA {
		arm += "-aa"
	}
	blockDigits := len(fmt.Sprint(max(e.Blocks, e.BlocksMax)))
	positionMax := len(e.Cells) * (len(e.Stores) + len(e.Ceilings) + 2) * (1 + e.Repeats)
	positionDigits := max(3, len(fmt.Sprint(positionMax)))
	return fmt.Sprintf("b%0*d-%0*d-%s-%s", blockDigits, t.Block, positionDigits, position, arm, e.Cells[t.Cell].Durability)
}
