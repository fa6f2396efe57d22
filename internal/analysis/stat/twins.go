package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Twins is what the A/A pairs of several tables say together: whether arms that are the same store
// differ by more than the residuals of their tables explain.
type Twins struct {
	Tables     int
	MeanSquare float64 // of the pairs' differences, over that of their standard errors; 1 is expected
	P          float64 // chance of such differences, were the residuals all the noise
}

// PoolTwins tests the A/A pairs of independent tables together. Each pair's t is taken to the normal
// score of the same probability, so that tables with different degrees of freedom can be added: the
// sum of squares is then chi-squared with one degree a table. Pairs without an interval take no
// part.
func PoolTwins(pairs []Ratio) Twins {
	var pooled Twins
	var scores, differences, errors float64
	for _, r := range pairs {
		if !r.found.judged {
			continue
		}
		pooled.Tables++
		const least = 1e-300 // smaller ones have no quantile
		scores += square(distuv.UnitNormal.Quantile(max(r.found.p(), least) / 2))
		differences, errors = differences+square(r.found.log), errors+square(r.found.standardError)
	}
	if pooled.Tables == 0 {
		return Twins{P: 1}
	}
	const most = 1e12 // where nothing scatters, no factor is enough
	pooled.MeanSquare = min(differences/max(errors, differences/most, math.SmallestNonzeroFloat64), most)
	pooled.P = distuv.ChiSquared{K: float64(pooled.Tables)}.Survival(scores)
	return pooled
}

// Differ reports whether the twins differ significantly.
func (t Twins) Differ() bool { return t.Tables > 0 && t.P < Significance }

// Widen is [Options.Widen] for the tables of the twins: their mean square where they differ
// significantly, and otherwise 1, as the residuals hold their difference already.
func (t Twins) Widen() float64 {
	if !t.Differ() {
		return 1
	}
	return max(t.MeanSquare, 1)
}
