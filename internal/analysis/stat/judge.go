package stat

import (
	"cmp"
	"math"
	"slices"
)

const (
	// Significance is the chance of a false "difference" among all comparisons of a table.
	Significance = 0.05
	// DifferenceMin is the smallest difference that gets a sentence, however many blocks were run:
	// below it, layout in memory, file placement and the like decide.
	DifferenceMin = 0.03
)

// Holm returns the p-values adjusted for being looked at together: if those below 0.05 are
// believed, the chance that any of these is false is at most 5 % (Holm, Scandinavian Journal of
// Statistics 6, 1979). The order stays.
func Holm(p []float64) []float64 { return stepDown(p, func(left int) int { return left }) }

// stepDown adjusts p-values from the smallest on, each by the number that its step asks for, given
// how many are left.
func stepDown(p []float64, factor func(left int) int) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted := make([]float64, len(p))
	var largest float64
	for rank, i := range order {
		largest = max(largest, min(p[i]*float64(factor(len(p)-rank)), 1))
		adjusted[i] = largest
	}
	return adjusted
}

// HolmPairs is Holm for the p-values of all pairs among some arms. Equal is equal: if some pairs
// differ, not all the others can be equal whichever they are, and the factor is the largest number
// of them that can (Shaffer, JASA 81, 1986, his S1).
func HolmPairs(p []float64, arms int) []float64 {
	possible := equalPairs(arms)
	return stepDown(p, func(left int) int {
		for !possible[left] {
			left--
		}
		return left
	})
}

// equalPairs says of each number whether so many pairs among some arms can be equal and all others
// not: those within groups of any sizes.
func equalPairs(arms int) []bool {
	sets := make([][]bool, arms+1)
	for n := range sets {
		sets[n] = make([]bool, n*(n-1)/2+1)
		sets[n][0] = true
		for group := 2; group <= n; group++ {
			for rest, can := range sets[n-group] {
				if can {
					sets[n][group*(group-1)/2+rest] = true
				}
			}
		}
	}
	return sets[arms]
}

// Distance is how far a ratio is from 1, whichever way: 0.25 for 1.25 and for 0.8.
func Distance(ratio float64) float64 { return math.Expm1(math.Abs(math.Log(ratio))) }
