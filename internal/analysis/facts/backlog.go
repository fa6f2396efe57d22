package facts

import (
	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
)

// BacklogShareMax is the share of open load that may be due and not begun, and how far behind its
// schedule it may end, as a share of its phase. Beyond that all of its percentiles are refused:
// they hang on how long the phase is. Below, those are that so many more operations could have
// changed: see BacklogChangeMax.
const BacklogShareMax = 0.01

// BacklogChangeMax is by how much of itself a percentile may grow if what was never begun took
// longer than all else.
const BacklogChangeMax = 0.1

// notBegun is the share of the operations that were due in open load and are in no percentile.
func notBegun(phases ...*record.Phase) float64 {
	var left, due uint64
	for _, p := range phases {
		left, due = left+p.NotBegun, due+p.Attempted+p.NotBegun
	}
	return float64(left) / float64(max(due, 1))
}

// hangsOnBacklog says whether a quantile would be too much larger with the share of operations that
// were never begun. Were they the longest of all, that quantile of all would stand at q / (1 −
// left) of those that were seen.
func hangsOnBacklog(response *histogram.Histogram, q, left float64) bool {
	ofAll := q / (1 - left)
	return ofAll >= 1 || response.Quantile(ofAll) > (1+BacklogChangeMax)*response.Quantile(q)
}

// FellBehind says whether open load that was due was not done. One that is behind by its longest
// operation alone began all in time but what waited for that one.
func FellBehind(p *record.Phase) bool {
	var longest uint64
	for _, op := range p.Operations {
		longest = max(longest, op.MaxNS)
	}
	late := p.BehindNS > longest && float64(p.BehindNS) > BacklogShareMax*float64(p.ElapsedNS)
	return p.Open && (late || notBegun(p) > BacklogShareMax)
}
