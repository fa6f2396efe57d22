// Package stat is the mathematics behind Assay's results: where a rate settled, where it broke, how much two stores
// differ and how sure that is. docs/statistics.md gives each formula's source, what it assumes, and how often it is wrong
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
//  11. layout.go     log values fitted by arm + block
//  12. prior.go      each arm's noise, with what the other arms say of it
//  13. difference.go one arm, two arms, or two runs: value, interval, p-value, correction
//  14. compare.go    a whole table: order, letters (letters.go), what is undecided
//  15. sequential.go tables that are looked at after every block
//  16. changes.go    a series of runs in the order of time
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
