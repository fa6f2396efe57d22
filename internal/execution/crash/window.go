package crash

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// LossWindow is what cuts took: the time before the cut in which the first missing write was
// acknowledged, and the records that miss one.
type LossWindow struct {
	Cuts       int           `json:"cuts"` // of which the store opened again
	Median     time.Duration `json:"median_ns"`
	Low        time.Duration `json:"low_ns"`  // the median's 95 % confidence interval, by order statistics
	High       time.Duration `json:"high_ns"` // High is the worst where there are too few cuts for a bound
	Worst      time.Duration `json:"worst_ns"`
	Records    uint64        `json:"records_median"` // that miss their last write, with its interval
	RecordsLow uint64        `json:"records_low"`
	RecordsTop uint64        `json:"records_high"`
	RecordsMax uint64        `json:"records_worst"`
	LostAll    int           `json:"lost_all"` // cuts that left nothing: a longer load would have lost more
}

// Window is the loss window of the cuts; nil: the store opened after none of them.
func (r *Result) Window() *LossWindow {
	var times []time.Duration
	var records []uint64
	w := &LossWindow{}
	for i := range r.Cuts {
		c := &r.Cuts[i]
		if c.Refused != "" || c.NoFileSystem != "" {
			continue
		}
		times, records = append(times, time.Duration(c.LossNS)), append(records, c.Missing())
		if c.LostAll {
			w.LostAll++
		}
	}
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	slices.Sort(records)
	n := len(times)
	low, high := medianRanks(n)
	w.Cuts, w.Median, w.Low, w.High, w.Worst = n, middle(times), times[low], times[high], times[n-1]
	w.Records, w.RecordsLow, w.RecordsTop, w.RecordsMax = middle(records), records[low], records[high], records[n-1]
	return w
}

func middle[T cmp.Ordered](sorted []T) T { return sorted[len(sorted)/2] }

// medianRanks returns the positions of the order statistics that bound the median with at least 95 %
// confidence, by the binomial distribution; the outermost where there are too few for that.
func medianRanks(n int) (low, high int) {
	// The median lies below the k-th smallest with the probability that fewer than k of n are below
	// it: P(Bin(n, ½) < k).
	below, term := 0.0, math.Pow(0.5, float64(n))
	for k := range n / 2 {
		if below += term; below > 0.025 {
			return max(k-1, 0), min(n-k, n-1)
		}
		term *= float64(n-k) / float64(k+1)
	}
	return 0, n - 1
}
