// Package tell turns facts and findings into a [model.Result]: tables, what each finding is folded
// with, and the one screen. It judges nothing: what is grave, ranked or tied is known before.
//
//  1. result.go, notes.go, conditions.go, stores.go, plots.go, on.go  tables, trials, stores, machines
//     and plots; of what not each run has: capacity.go, choice.go, checked.go, overtime.go,
//     powercuts.go, recoveries.go, replay.go, fills.go
//  2. sections.go, answers.go, verdict.go, effects.go, scaling.go, screen.go  the one screen
//
// The JSON form and every format show what is in the result and nothing else. It writes no sentence,
// but passes messages of package finding.
package tell
