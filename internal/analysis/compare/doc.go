// Package compare turns runs, or two arms of a run, into differences: what is slower, what is not,
// and what is open.
//
//  1. compare.go   pairs tables and arms, compares them metric by metric, and judges all rows together
//  2. work.go      in what the work of two tables differs: then they are not compared
//  3. criteria.go  the thresholds of --fail-if
//  4. limits.go    absolute thresholds of one run
//  5. comparison.go  what comes out
//
// Blocks of two arms of a run are paired; those of two runs are not, and what changed on the machine
// in between is in every ratio.
package compare
