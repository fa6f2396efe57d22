package stat

import "gonum.org/v1/gonum/stat/distuv"

// twinsLevel is the chance that twins which differ by the residuals' noise alone widen the errors of
// their run: at 0.05, tables whose arms share a tenth are wrong in more than 5 %; at 0.1, a
// difference of 1.3 times is shown in 5 % fewer tables of runs where nothing is shared.
const twinsLevel = 0.07

// Twins is what the A/A pairs of several tables say together: whether arms that are the same store
// differ by more than the residuals of their tables explain.
type Twins struct {
	Tables     int
	MeanSquare float64 // of the pairs' differences, over that of their standard errors; 1 is expected
	Freedom    float64 // its degrees of freedom: Tables, or fewer where a noisy table counts most
	P          float64 // chance of such differences, were the residuals all the noise
}

// PoolTwins tests the A/A pairs of independent tables together: the mean square of their differences
// against that of their standard errors, by F with Satterthwaite's degrees of freedom. Pairs without
// an interval take no part.
func PoolTwins(pairs []Ratio) Twins {
	var pooled Twins
	var differences, errors, fourth, uncertainty float64
	for _, r := range pairs {
		if !r.found.judged {
			continue
		}
		pooled.Tables++
		variance := square(r.found.standardError)
		differences, errors = differences+square(r.found.log), errors+variance
		fourth, uncertainty = fourth+square(variance), uncertainty+square(variance)/r.found.freedom
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

// Differ reports whether the twins differ significantly.
func (t Twins) Differ() bool { return t.MeanSquare > 1 && t.P < twinsLevel }

// Widen is how many times larger the variances are than the residuals of the twins' tables say:
// their mean square where they differ significantly, and otherwise 1, as the residuals hold their
// difference already.
func (t Twins) Widen() float64 {
	if !t.Differ() {
		return 1
	}
	return t.MeanSquare
}
