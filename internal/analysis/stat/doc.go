// Package stat is the mathematics behind Assay's comparisons: how much two stores differ, and how
// sure that is. Series are for package series. docs/statistics.md gives each formula's source,
// what it assumes, and how often it is wrong in simulation.
//
// It reads from raw to judged:
//
//  1. layout.go     log values fitted by arm + block
//  2. prior.go      each arm's noise, with what the other arms say of it
//  3. difference.go, ratio.go  one arm, two arms, or two runs: value, interval, p-value
//  4. compare.go    a whole table: order, letters (letters.go), what is undecided
//  5. sequential.go tables that are looked at after every block
//  6. changes.go    a series of runs in the order of time
//  7. scaling.go    rates over load or size, and the law that explains them
//
// Beside it: judge.go (p-values that are looked at together), twins.go (what A/A pairs say of the
// model), between.go (two runs of one store), effects.go (axes), interference.go (groups of clients),
// neighbours.go (what a trial leaves to the next) and mean.go.
//
// Every function is pure and safe for concurrent use. What is not known is nil.
package stat
