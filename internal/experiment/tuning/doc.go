// Package tuning searches a store's options for the setting that does a workload fastest, by successive
// halving. docs/statistics.md gives the method, docs/error-rates.md how often it is wrong.
//
//	search.go  which settings are tried next, in which round, and which of them is best so far
//
// Everything is pure: who measures, or simulates it, is no matter here. A Search is for one goroutine.
//
// # Decisions
//
//   - Each round is an experiment of its own, with the defaults as an arm, so that a setting is only ever
//     compared with the defaults in the same blocks. What is kept of a round is that ratio.
//   - The best of many noisy settings looks better than it is. So no round of the search is an answer: the
//     winner is measured again, beside the defaults alone, on fresh seeds.
package tuning
