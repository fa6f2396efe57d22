package series

import (
	"slices"

	"assay/internal/analysis/stat"
)

const (
	steadySamplesMin = 10
	mserBatch        = 5
	// mserBatchesMin: with fewer batches than this, single samples are the batches.
	mserBatchesMin = 10
	// mserKeep batches at the end are never the whole rest: a handful is alike by accident.
	mserKeep = 5
	// mserRefuse is how many times smaller the statistic of a cut in the second half must be for
	// the series to count as one that never settles.
	mserRefuse = 1.5
	// warmupPart: a warm-up is at most one part in so many of a series.
	warmupPart = 4
	// warmupFast and warmupSlow: a beginning that is faster than the rest by the one, or falls by
	// the other once it was as fast, is no warm-up.
	warmupFast   = 0.25
	warmupSlow   = 0.2
	warmupWindow = 3
)

// warmup returns how many samples of the view to leave out. Drops count as usual: a stall early on
// is part of no warm-up, and the sample before it is kept so that it is seen to come from
// somewhere.
func (v view) warmup(rates []float64) int {
	drops := shortDrops(v)
	for _, d := range drops {
		for i, _ := slices.BinarySearch(v.at, d.from); i < len(v.at) && v.at[i] < d.to; i++ {
			rates[i] = d.Usual
		}
	}
	cut := warmup(rates)
	if len(drops) > 0 {
		first, _ := slices.BinarySearch(v.at, drops[0].from)
		cut = min(cut, max(first-levelSamplesMin, 0))
	}
	return cut
}

// warmup returns how many samples at the start to leave out: the cut after which the mean has the
// smallest standard error (MSER-5: White, Simulation 69, 1997; Franklin and White, WSC 2008), among
// those in the first quarter. Only a beginning that is slow throughout is left out, so that neither
// an outage after a good beginning nor a quick beginning is cut off.
func warmup(rates []float64) int {
	batch := mserBatch
	if len(rates) < mserBatch*mserBatchesMin {
		batch = 1
	}
	means := make([]float64, len(rates)/batch)
	for i := range means {
		means[i] = stat.Mean(rates[i*batch : (i+1)*batch])
	}
	if len(means) < mserBatchesMin {
		return 0
	}
	mser := mserOf(means)
	half := len(means) / 2
	early, late := lowest(mser[:min(half+1, len(mser))]), lowest(mser)
	if late > half && mser[early] > mserRefuse*mser[late] {
		return 0
	}
	cut := lowest(mser[:min(len(means)/warmupPart+1, len(mser))]) * batch
	if cut == 0 {
		return 0
	}
	usual, window, reached := stat.Mean(rates[cut:]), min(warmupWindow, cut), -1
	for i := range cut - window + 1 {
		rate := stat.Mean(rates[i : i+window])
		if reached < 0 && rate >= (1-SteadyChange)*usual {
			reached = i
		}
		fell := stat.Median(rates[i:min(i+mserBatch, len(rates))]) < (1-warmupSlow)*usual
		if reached >= 0 && (fell || rate > (1+warmupFast)*usual) {
			return reached
		}
	}
	return cut
}

// mserOf returns Σ (y_i − ȳ)² / (m − d)² of each cut d that leaves more than mserKeep batches.
func mserOf(means []float64) []float64 {
	mser := make([]float64, len(means))
	var mean, square, count float64
	for d := len(means) - 1; d >= 0; d-- {
		count++
		delta := means[d] - mean
		mean += delta / count
		square += delta * (means[d] - mean)
		mser[d] = square / (count * count)
	}
	return mser[:len(means)-mserKeep]
}

// lowest returns the position of the smallest value, the earliest of equal ones.
func lowest(values []float64) int {
	best := 0
	for i, v := range values {
		if v < values[best] {
			best = i
		}
	}
	return best
}
