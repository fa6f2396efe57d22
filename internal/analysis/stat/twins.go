package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// twinsLevel is the chance that twins which differ by the residuals' noise alone widen the errors of
	// their run: at 0.05, tables whose arms share a tenth are wrong in more than 5 %; at 0.1, a
	// difference of 1.3 times is shown in 5 % fewer tables of runs where nothing is shared.
	twinsLevel = 0.07
	// twinsFew: with fewer degrees of freedom than this, widened intervals hide nearly everything, and the
	// chance of a false alarm is as much smaller.
	twinsFew = 3
	// twinsPrior is how many degrees of freedom "residuals hold all the noise" counts against twins that
	// differ, were that certain: one odd pair does not cost a run its answers.
	twinsPrior = 12
)

// Twins is what the A/A pairs of several tables say together: whether arms that are the same store
// differ by more than the residuals of their tables explain.
type Twins struct {
	Tables     int
	MeanSquare float64 // of the pairs' differences, over that of their standard errors; 1 is expected
	Freedom    float64 // its degrees of freedom: Tables, or fewer where tables are alike or a noisy one counts most
	P          float64 // chance of such differences, were the residuals all the noise
}

// TwinTable is the A/A pair of a table, with what says how far it is alike to others.
type TwinTable struct {
	Pair Ratio
	// Trials names the trials that the table is of. Tables that are phases of the same trials share
	// their luck: what slows a trial slows all of its phases.
	Trials    string
	Residuals map[string][]float64 // of the logs, by arm and block; see [Comparison.Residuals]
}

// PoolTwins tests the A/A pairs of a run's tables together: the mean square of their differences
// against that of their standard errors, by F with Satterthwaite's degrees of freedom. Phases of the
// same trials count as far as their residuals are not alike. Pairs without an interval take no part.
func PoolTwins(tables []TwinTable) Twins {
	var judged []TwinTable
	for _, t := range tables {
		if t.Pair.found.judged {
			judged = append(judged, t)
		}
	}
	pooled := Twins{Tables: len(judged)}
	alike := likeness(judged)
	var differences, errors, fourth, uncertainty float64
	for i, a := range judged {
		one := square(a.Pair.found.standardError)
		differences, errors = differences+square(a.Pair.found.log), errors+one
		for j, b := range judged {
			both := alike[i][j] * one * square(b.Pair.found.standardError)
			fourth += both
			uncertainty += both / math.Sqrt(a.Pair.found.freedom*b.Pair.found.freedom)
		}
	}
	const most = 1e12 // where nothing scatters, no factor is enough
	switch {
	case pooled.Tables == 0 || differences == 0:
		pooled.P = 1
		return pooled
	case differences/most > errors || fourth == 0:
		pooled.MeanSquare, pooled.Freedom = most, float64(pooled.Tables)
		return pooled
	}
	pooled.MeanSquare, pooled.Freedom = differences/errors, square(errors)/fourth
	pooled.P = distuv.F{D1: pooled.Freedom, D2: square(errors) / uncertainty}.Survival(pooled.MeanSquare)
	return pooled
}

// likeness is the squared correlation of what two tables say of noise: of a table with itself 1, of
// tables of other trials 0. That of phases of the same trials is the mean over their pairs, since a
// few residuals tell little of each.
func likeness(tables []TwinTable) [][]float64 {
	alike := make([][]float64, len(tables))
	sum, pairs := map[string]float64{}, map[string]float64{}
	for i, a := range tables {
		for _, b := range tables[:i] {
			if a.Trials != "" && a.Trials == b.Trials {
				if squared, known := squaredCorrelation(a.Residuals, b.Residuals); known {
					sum[a.Trials], pairs[a.Trials] = sum[a.Trials]+squared, pairs[a.Trials]+1
				}
			}
		}
	}
	for i, a := range tables {
		alike[i] = make([]float64, len(tables))
		for j, b := range tables {
			switch {
			case i == j:
				alike[i][j] = 1
			case a.Trials != "" && a.Trials == b.Trials && pairs[a.Trials] > 0:
				alike[i][j] = min(max(sum[a.Trials]/pairs[a.Trials], 0), 1)
			}
		}
	}
	return alike
}

// squaredCorrelation is that of two tables' residuals, less what chance adds.
func squaredCorrelation(a, b map[string][]float64) (squared float64, known bool) {
	var both, own, other float64
	arms, values := 0, 0
	blocks := map[int]bool{}
	for arm, rest := range a {
		before := values
		for block, x := range rest[:min(len(rest), len(b[arm]))] {
			if y := b[arm][block]; !math.IsNaN(x) && !math.IsNaN(y) {
				both, own, other = both+x*y, own+x*x, other+y*y
				values++
				blocks[block] = true
			}
		}
		if values > before {
			arms++
		}
	}
	freedom := float64(values - arms - len(blocks) + 1)
	if freedom < 2 || own == 0 || other == 0 {
		return 0, false
	}
	return (both*both/(own*other)*freedom - 1) / (freedom - 1), true
}

// Differ reports whether the twins differ significantly.
func (t Twins) Differ() bool {
	return t.MeanSquare > 1 && t.P < twinsLevel*min(t.Freedom/twinsFew, 1)
}

// Widen is how many times larger the variances are than the residuals of the twins' tables say:
// their mean square where they differ significantly, moderated as the arms' variances are (Smyth,
// SAGMB 3, 2004); and otherwise 1, as the residuals hold their difference already.
func (t Twins) Widen() float64 {
	if !t.Differ() {
		return 1
	}
	return (t.prior() + t.Freedom*t.MeanSquare) / t.freedom()
}

// freedom is how well Widen is known.
func (t Twins) freedom() float64 { return t.prior() + t.Freedom }

// prior is how many degrees of freedom count for residuals that hold all the noise: twinsPrior times
// how likely that is beside twins that differ, at most (−e·p·ln p: Sellke, Bayarri and Berger, The
// American Statistician 55, 2001). What chance makes once in a thousand runs is believed as it is.
func (t Twins) prior() float64 {
	if t.P <= 0 {
		return 0
	}
	return twinsPrior * -math.E * t.P * math.Log(min(t.P, 1/math.E))
}
