// Package capacity finds the highest rate at which a store keeps its objectives, from steps of
// constant rate. docs/statistics.md gives the method, docs/error-rates.md how often it is wrong.
//
// It reads from asked to found:
//
//  1. objective.go what is to hold: "p99 < 5ms", and how much of its limit a step used
//  2. search.go    which step comes next, of one trial
//  3. fit.go       the capacity that the steps of a trial show, or what they show in its place
//
// Everything is pure: who runs the steps, or simulates them, is no matter here. A Search is for one
// goroutine; all else is safe for concurrent use.
//
// # Decisions
//
//   - A capacity is a figure of a trial, as its rate is: each trial searches by itself, in steps
//     that are phases with traces of their own, and blocks then make the interval. So arms,
//     presets, A/A, ranks and compare need nothing of their own, and an arm that a trial before it
//     slowed is a block's noise.
package capacity
