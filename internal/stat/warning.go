// Package stat is the mathematics behind Assay's comparisons: how much two stores differ, and how sure that is. Series
// are for package analyze. docs/statistics.md gives each formula's source, what it assumes, and how often it is wrong
// in simulation.
//
// It reads from raw to judged:
//
//  1. layout.go     log values fitted by arm + block
//  2. prior.go      each arm's noise, with what the other arms say of it
//  3. difference.go one arm, two arms, or two runs: value, interval, p-value, correction
//  4. compare.go    a whole table: order, letters (letters.go), what is undecided
//  5. sequential.go tables that are looked at after every block
//  6. changes.go    a series of runs in the order of time
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
	WarnOneBlock  = "one-block"  // a single value: no interval
	WarnTwoBlocks = "two-blocks" // an interval from one degree of freedom
	WarnZeroRate  = "zero-rate"  // values left out because they have no logarithm
	WarnNoRun     = "no-values"  // nothing to estimate from
	WarnUnpaired  = "unpaired"   // the two sides did not run side by side
)
