// Package stat is the mathematics behind Assay's sentences: where a rate settled, where it broke, how far two stores are
// apart and how sure that is. docs/statistics.md gives each formula's source, what it assumes, and how often it is wrong
// in simulation.
//
// It reads from raw to judged:
//
//  1. warmup.go       what to leave out at the start of a phase (MSER-5)
//  2. noise.go        how much a second tells about the next (autocorrelation, long-run variance)
//  3. changepoint.go  where the level of a series changed (PELT)
//  4. steady.go       whether a phase has a rate at all
//  5. collapse.go     what a rate does over time, put together from the next five
//  6. fall.go         falls that came at once and lasted
//  7. alternation.go  two levels, to and fro
//  8. decline.go      rates that fall as data grows
//  9. stall.go        seconds in which nothing went on, and what comes back regularly
//  10. coincide.go    what went with it
//  11. ratio.go       one arm over blocks, and two arms against each other
//  12. judge.go       many comparisons at once, and which difference is worth a sentence
//
// Every function is pure and safe for concurrent use. Doubt is returned beside the number, as a [Warning].
package stat

// Warning is a reason to doubt a number.
type Warning struct {
	Code     string `json:"code"`     // one of the Warn… constants
	Evidence string `json:"evidence"` // a sentence with the figures
	Remedy   string `json:"remedy"`   // what would remove the doubt
}

// The codes of warnings.
const (
	WarnOneBlock     = "one-block"     // a single value: no interval
	WarnTwoBlocks    = "two-blocks"    // an interval from one degree of freedom
	WarnZeroRate     = "zero-rate"     // values left out because they have no logarithm
	WarnNoRun        = "no-values"     // nothing to estimate from
	WarnUnpaired     = "unpaired"      // the two sides did not run side by side
	WarnNoWarmupCut  = "no-warm-up"    // the warm-up could not be told from the rest
	WarnTrendUnclear = "trend-unclear" // a drift as large as the tolerance could hide in the noise
)
