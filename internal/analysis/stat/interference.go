package stat

import "math"

// Bounds of what says anything about one group of clients beside another.
const (
	besideSamplesMin = 3  // of the time in which it ran
	sideSamplesMin   = 5  // before it, and after it
	sideSamples      = 20 // of each side, at least, where there are so many
	// effectMin is the smallest relative change that is reported.
	effectMin = 0.05
	// provisionalRho is the autocorrelation that is supposed where the samples are too few to tell,
	// rhoMax the largest that is believed.
	provisionalRho = 0.6
	rhoMax         = 0.9
	relativeFloor  = 0.001 // the least noise that is believed
)

// Beside is the rate of one group of clients in one block: samples of the same length from before
// another group ran, from the time in which it ran, and from after it.
type Beside struct {
	Before, During, After []float64
}

// enough says whether the block can say anything.
func (b Beside) enough() bool {
	return len(b.During) >= besideSamplesMin && len(b.Before) >= sideSamplesMin && len(b.After) >= sideSamplesMin
}

// near cuts both sides to the samples that are the nearest, as many of each: so a rate that declines
// all the time is the same on average in and around the time between.
func (b Beside) near() Beside {
	n := min(len(b.Before), len(b.After), max(sideSamples, len(b.During)))
	return Beside{b.Before[len(b.Before)-n:], b.During, b.After[:n]}
}

// Influence is what one group did to another's rate.
type Influence struct {
	Ratio    float64  `json:"ratio"` // of the rate while it ran to the mean of before and after
	Interval Interval `json:"interval"`
	Blocks   int      `json:"blocks"`
	// Shown: the rate was significantly lower than both before and after, or higher than both.
	Shown bool `json:"shown"`
}

// Interference returns what one group of clients did to another's rate, over blocks, each of which
// has its own noise and its own effect. known is false where no block has enough samples. Several
// questions at once are for the caller to correct: level is the chance of a false effect.
//
// A rate that falls by itself while the other group runs lies below what was before, and not below
// what comes after: so it must differ from both, and the chance of a false effect is at most that
// of the one that is harder to show (an intersection-union test: Berger, Technometrics 24, 1982).
func Interference(blocks []Beside, level float64) (e Influence, known bool) {
	var used []Beside
	for _, b := range blocks {
		if b.enough() && Mean(b.Before) > 0 && Mean(b.After) > 0 {
			used = append(used, b.near())
		}
	}
	if len(used) == 0 {
		return e, false
	}
	n := noiseBeside(used)
	var all, before, after besideRatio
	for _, b := range used {
		left, during, right := Mean(b.Before), Mean(b.During), Mean(b.After)
		base, side := (left+right)/2, len(b.Before)
		own := deviation(b.During) / base
		add := func(into *besideRatio, reference float64, samples int) {
			ratio := during / reference
			spread := max(n.sigma*ratio, own*base/reference)
			into.add(ratio, square(spread)*n.ofMean(len(b.During))+square(ratio*n.sigma)*n.ofMean(samples))
		}
		add(&all, base, 2*side)
		add(&before, left, side)
		add(&after, right, side)
	}
	e.Blocks = len(used)
	e.Ratio, e.Interval = all.interval(level, n.freedom)
	_, l := before.interval(level, n.freedom)
	_, r := after.interval(level, n.freedom)
	lower := l.High < 1 && r.High < 1 && e.Ratio <= 1-effectMin
	higher := l.Low > 1 && r.Low > 1 && e.Ratio >= 1+effectMin
	e.Shown = lower || higher
	return e, true
}

// besideNoise is the noise of rates relative to their level, as a first-order autoregressive series.
type besideNoise struct {
	sigma, rho float64
	freedom    float64
}

// noiseBeside estimates it from the sides of all blocks, each side around a line of its own.
func noiseBeside(blocks []Beside) besideNoise {
	var products, squares, differences float64
	samples, pairs, sides := 0, 0, 0
	for _, b := range blocks {
		for _, side := range [][]float64{b.Before, b.After} {
			rest := aroundLine(side)
			for i, e := range rest {
				squares += e * e
				if i > 0 {
					products += e * rest[i-1]
					differences += square(e - rest[i-1])
					pairs++
				}
			}
			samples += len(side)
			sides++
		}
	}
	n := besideNoise{rho: provisionalRho}
	// Of each side a level and a slope were taken, which lowers the autocorrelation (Kendall,
	// Biometrika 41, 1954).
	count, fitted := float64(samples), float64(2*sides)
	if squares > 0 && count > 4*fitted {
		n.rho = min(max((products/squares*count+fitted)/(count-3*fitted), 0), rhoMax)
	}
	// Differences of neighbours know no level and no slope; squares around the line see slower noise.
	byNeighbours := differences / (2 * float64(pairs)) / (1 - n.rho)
	n.sigma = max(math.Sqrt(max(byNeighbours, squares/max(count-fitted, 1))), relativeFloor)
	n.freedom = max(count*(1-n.rho)/(1+n.rho)-float64(sides), 2)
	return n
}

// ofMean is the variance of the mean of so many samples, in variances of one.
func (n besideNoise) ofMean(samples int) float64 {
	count := float64(samples)
	return ((1+n.rho)/(1-n.rho) - 2*n.rho*(1-math.Pow(n.rho, count))/(count*square(1-n.rho))) / count
}

// aroundLine returns how far values lie from a straight line through them, relative to their mean.
func aroundLine(values []float64) []float64 {
	mean, middle := Mean(values), float64(len(values)-1)/2
	var xx, xy float64
	for i, v := range values {
		x := float64(i) - middle
		xx, xy = xx+x*x, xy+x*(v-mean)
	}
	rest := make([]float64, len(values))
	for i, v := range values {
		rest[i] = (v - mean - xy/xx*(float64(i)-middle)) / mean
	}
	return rest
}

// besideRatio gathers the ratios of blocks with their variances.
type besideRatio struct{ ratios, variances []float64 }

func (b *besideRatio) add(ratio, variance float64) {
	b.ratios, b.variances = append(b.ratios, ratio), append(b.variances, variance)
}

// interval returns the mean over blocks. What ratios differ by beyond their own noise is the
// blocks' (DerSimonian and Laird, Controlled Clinical Trials 7, 1986), and has the freedom of their
// number.
func (b *besideRatio) interval(level, freedom float64) (float64, Interval) {
	blocks := float64(len(b.ratios))
	mean, within := Mean(b.ratios), Mean(b.variances)/blocks
	between := max(square(deviation(b.ratios))-Mean(b.variances), 0) / blocks
	variance := within + between
	weight := square(within) / freedom
	if between > 0 {
		weight += square(between) / (blocks - 1)
	}
	if weight == 0 {
		return mean, Interval{mean, mean}
	}
	half := students(square(variance)/weight).Quantile(1-level/2) * math.Sqrt(variance)
	return mean, Interval{max(mean-half, 0), mean + half}
}
