package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// DetectLevel is the level to use where blocks are added until their noise would show a difference
// ([Ratio.Blocks]): blocks that happen to be alike end a run early, so that its noise seems smaller
// than it is. Found by simulation: docs/error-rates.md.
const DetectLevel = 0.04

// LookLevel is the level to use at each look if a table is looked at after every block from the
// first to the last, so that the chance of a false difference at any look stays at most
// [Significance] (a constant boundary: Pocock, Biometrika 64, 1977; the recursion is that of
// Armitage, McPherson and Rowe, JRSS A 132, 1969). A block adds the same information.
func LookLevel(first, last int) float64 {
	if last <= first {
		return Significance
	}
	low, high := 1.9, 4.0
	for range 40 {
		if middle := (low + high) / 2; crossing(first, last, middle) > Significance {
			low = middle
		} else {
			high = middle
		}
	}
	return 2 * distuv.UnitNormal.Survival(high)
}

// crossing is the chance that a sum of standard normal steps is, at some step from the first to the
// last, more than z standard deviations from 0.
func crossing(first, last int, z float64) float64 {
	const step = 0.05
	// A cell is a step wide around i·step; the outermost count as far as they lie inside.
	inside := func(look int) (cells int, outermost float64) {
		limit := z * math.Sqrt(float64(look)) / step
		cells = int(limit + 0.5)
		return cells, limit - (float64(cells) - 0.5)
	}
	kernel := make([]float64, int(8/step))
	for i := range kernel {
		kernel[i] = step * distuv.UnitNormal.Prob(float64(i)*step)
	}
	// density[half+i] is that of sums around i·step that were never outside.
	half, edge := inside(first)
	density := make([]float64, 2*half+1)
	scale := math.Sqrt(float64(first))
	for i := range density {
		density[i] = step / scale * distuv.UnitNormal.Prob(float64(i-half)*step/scale)
	}
	for look := first + 1; look <= last; look++ {
		density[0], density[2*half] = edge*density[0], edge*density[2*half]
		next, nextEdge := inside(look)
		moved := make([]float64, 2*next+1)
		for i, d := range density {
			at := i - half + next
			for k := max(0, at-len(kernel)+1); k < min(len(moved), at+len(kernel)); k++ {
				moved[k] += d * kernel[max(k-at, at-k)]
			}
		}
		density, half, edge = moved, next, nextEdge
	}
	never := (edge - 1) * (density[0] + density[2*half])
	for _, d := range density {
		never += d
	}
	return 1 - never
}
