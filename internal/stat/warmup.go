package stat

import "fmt"

const (
	mserBatch = 5
	// mserBatchesMin is how few batches MSER still chooses among: below it the minimum is one of chance.
	mserBatchesMin = 10
	// mserKeep is how many batches at the end are never the whole rest: a handful of batches is alike by accident, and
	// the statistic falls towards zero there.
	mserKeep = 5
	// mserRefuse is how many times smaller the statistic of a cut in the second half must be, for that half to count: a
	// steady series has its minimum there by chance now and then, but then it is hardly below the best of the first half.
	mserRefuse = 1.5
	// warmupPart: a warm-up is at most one part in so many of a series. What changes later is no warm-up: the statistic is smallest where a store is dead.
	warmupPart = 4
	// warmupFast is how much faster than the rest a beginning may be and still pass for a warm-up.
	warmupFast = 0.25
	// warmupSlow is how far below the rest a warm-up may fall once it has reached the rate: of what climbs slowly, noise alone throws some samples back.
	warmupSlow = 0.2
	// warmupWindow is how many samples reach the rate, or are faster.
	warmupWindow = 3
)

// MSER5 finds how many samples at the start of a series to leave out as warm-up: of all cuts at a multiple of five
// samples, the one after which the mean has the smallest standard error (MSER: White, "An effective truncation heuristic
// for bias reduction in simulation output", Simulation 69, 1997; batches of five: Franklin and White, Winter Simulation
// Conference 2008). The statistic of cut d over m batch means is Σ_{i≥d}(y_i − ȳ_d)² / (m−d)².
//
// A series of fewer than 50 samples is cut sample by sample instead, and why says so. ok is false, cut 0 and why the
// reason, if there are fewer than 10 samples, or if the best cut lies in the second half and its statistic is well below
// (1.5 times) the best of the first half: then there is no end of a warm-up in the series, but a series that goes on
// changing. Otherwise the best cut of the first quarter is taken.
func MSER5(series []float64) (cut int, ok bool, why string) {
	batch := mserBatch
	if len(series) < mserBatch*mserBatchesMin {
		batch = 1
		why = fmt.Sprintf("%s for batches of %d: cut sample by sample", tooFew(len(series), ""), mserBatch)
	}
	means := batchMeans(series, batch)
	if len(means) < mserBatchesMin {
		return 0, false, fmt.Sprintf("%s to find a warm-up in: at least %d are needed", tooFew(len(series), ""), mserBatchesMin)
	}
	statistics := mserStatistics(means)
	half := len(means) / 2
	early, late := lowest(statistics[:half+1]), lowest(statistics)
	if late > half && statistics[early] > mserRefuse*statistics[late] {
		return 0, false, fmt.Sprintf("the best cut would be at sample %d of %d, in the second half: the series has not settled", late*batch, len(series))
	}
	return lowest(statistics[:len(means)/warmupPart+1]) * batch, true, why
}

// Warmup is the cut of MSER5, less what is no warm-up: only a beginning that is off throughout is left out. It ends where three samples first
// come within SteadyTolerance of the mean of the rest, or above, if before the cut the median of five falls below it again, by warmupSlow, or three are faster than it by warmupFast.
// (A stall of two samples is told as one, and may be cut off.) So neither an outage after a good beginning is cut off, nor a beginning in which a store was still quick.
func Warmup(series []float64) (cut int, ok bool, why string) {
	cut, ok, why = MSER5(series)
	return offThroughout(series, cut), ok, why
}

func offThroughout(series []float64, cut int) int {
	if cut == 0 {
		return 0
	}
	usual, window, reached := Mean(series[cut:]), min(warmupWindow, cut), -1
	for i := range cut - window + 1 {
		rate := Mean(series[i : i+window])
		if reached < 0 && rate >= (1-SteadyTolerance)*usual {
			reached = i
		}
		if fell := Median(series[i:min(i+mserBatch, len(series))]) < (1-warmupSlow)*usual; reached >= 0 && (fell || rate > (1+warmupFast)*usual) {
			return reached
		}
	}
	return cut
}

// batchMeans leaves out an incomplete batch at the end.
func batchMeans(series []float64, batch int) []float64 {
	means := make([]float64, len(series)/batch)
	for i := range means {
		means[i] = Mean(series[i*batch : (i+1)*batch])
	}
	return means
}

// mserStatistics returns the statistic of each cut that leaves more than mserKeep batches. It walks from the end, so that
// the sums grow by one value a cut (Welford).
func mserStatistics(means []float64) []float64 {
	statistics := make([]float64, len(means))
	var mean, squares, count float64
	for d := len(means) - 1; d >= 0; d-- {
		count++
		delta := means[d] - mean
		mean += delta / count
		squares += delta * (means[d] - mean)
		statistics[d] = squares / (count * count)
	}
	return statistics[:max(len(means)-mserKeep, 0)]
}

// lowest returns the position of the smallest value. The earliest of equal ones wins: without evidence nothing is cut.
func lowest(values []float64) int {
	best := 0
	for i, v := range values {
		if v < values[best] {
			best = i
		}
	}
	return best
}
