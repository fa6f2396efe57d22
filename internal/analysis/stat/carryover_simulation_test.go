package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"assay/internal/base/carryover"
)

// carryoverSimulated says what a trial that slows the next one does to comparisons.
var carryoverSimulated = simulated{
	"testdata/carryover.json", "testdata/carryover-short.json", 2000,
	[]simulation{{"carryover", simulateCarryover, 1}}}

// Fault (stops): what stays of a trial slows the next one by a tenth
// Assay: the order is balanced over blocks, so that no arm is favoured; a significant slowdown is
// reported: `carry-over`
// With: carryover.TestNeighboursAreBalanced, detect.TestCarryover
func TestCarryoverErrorRates(t *testing.T) { carryoverSimulated.run(t, 16) }

func TestErrorRatesPageHasTheRecordedCarryover(t *testing.T) { carryoverSimulated.checkDocuments(t) }

// sitting is blocks whose trials run one after the other; the first arm's slow the next trial.
type sitting struct {
	arms, blocks int
	helped       bool // a twin of the first arm, and a null driver
	noise, slows float64
	step         float64 // every second arm is so many times faster; 0: all are equal
	balanced     bool
}

// compare compares the arms, and looks at what each leaves.
func (s sitting) compare(r *rand.Rand) (*Comparison, []AfterEffect) {
	all := s.arms
	var o Options
	if s.helped {
		all += 2
		o.References = []int{s.arms, s.arms + 1}
	}
	values := make([][]float64, all)
	var order carryover.Sequence
	var trials []Neighbour
	before := -1
	for block := range s.blocks {
		effect := simulatedBlocks * r.NormFloat64()
		arms := r.Perm(all)
		if s.balanced {
			planned := make([]carryover.Trial, all)
			for i, a := range arms {
				planned[i] = carryover.Trial{Leaves: s.store(a), Meets: a}
			}
			order.Add(planned, func(i, j int) { arms[i], arms[j] = arms[j], arms[i] })
		}
		for _, a := range arms {
			log := effect + s.noise*r.NormFloat64()
			if s.step > 0 && a < s.arms && a%2 == 1 {
				log += math.Log(s.step)
			}
			if before == 0 {
				log += math.Log(1 - s.slows)
			}
			values[a] = append(values[a], simulatedRate*math.Exp(log))
			trials = append(trials, Neighbour{Arm: a, Block: block, Before: before, Value: values[a][block]})
			before = s.store(a)
		}
	}
	return Compare(values, o), AfterEffects(trials, all)
}

func (s sitting) store(arm int) int {
	if arm == s.arms {
		return 0
	}
	return arm
}

// wrong reports whether arms differ that are equal.
func (s sitting) wrong(r *rand.Rand) bool {
	c, _ := s.compare(r)
	for i := range s.arms {
		for j := range i {
			if (s.step == 0 || (i-j)%2 == 0) && c.Pair(i, j).Significant {
				return true
			}
		}
	}
	return false
}

// slower lists what trials come after that are significantly slower for it.
func (s sitting) slower(r *rand.Rand) (after []int) {
	_, effects := s.compare(r)
	for _, e := range effects {
		if e.Ratio.Significant && e.Ratio.Value < 1 {
			after = append(after, e.Before)
		}
	}
	return after
}

func simulateCarryover(t *testing.T, series int) table {
	out := table{Columns: []string{"arms", "blocks", "noise", "a false difference, order random", "order balanced",
		"1.1 times shown where nothing is left, order random", "order balanced",
		"the slowing arm found", "some arm found where nothing is left"}}
	for row, c := range []sitting{
		{arms: 2, blocks: 5}, {arms: 2, blocks: 10}, {arms: 3, blocks: 5}, {arms: 3, blocks: 10},
		{arms: 4, blocks: 5}, {arms: 4, blocks: 10}, {arms: 2, blocks: 5, helped: true}, {arms: 2, blocks: 10,
			helped: true},
	} {
		name := fmt.Sprint(c.arms)
		if c.helped {
			name += ", twin, null driver"
		}
		c.noise = 0.05
		cells := []string{name, fmt.Sprint(c.blocks), percent(c.noise)}
		var shown [2]float64
		for _, slows := range []float64{0.10, 0} {
			for i, balanced := range []bool{false, true} {
				c.slows, c.balanced, c.step = slows, balanced, 0
				if slows > 0 {
					wrong := share("carryover", row, series, c.wrong)
					if balanced {
						within(t, fmt.Sprintf("%s arms, %d blocks: false difference", name, c.blocks), wrong, 0, 0.06, series)
					}
					cells = append(cells, percent(wrong))
					continue
				}
				c.step = 1.1
				shown[i] = share("carryover shown", row, series, func(r *rand.Rand) bool {
					shown, _ := c.compare(r)
					return shown.Pair(1, 0).Significant
				})
				cells = append(cells, percent(shown[i]))
			}
		}
		within(t, fmt.Sprintf("%s arms, %d blocks: shown in balanced order", name, c.blocks),
			shown[1], shown[0]-0.02, 1, series)
		c.balanced, c.step, c.slows = true, 0, 0.10
		found := share("carryover found", row, series, func(r *rand.Rand) bool { return slices.Contains(c.slower(r), 0) })
		c.slows = 0
		invented := share("carryover invented", row, series, func(r *rand.Rand) bool { return len(c.slower(r)) > 0 })
		within(t, fmt.Sprintf("%s arms, %d blocks: found where nothing is", name, c.blocks), invented, 0, 0.05, series)
		out.Rows = append(out.Rows, append(cells, percent(found), percent(invented)))
	}
	return out
}
