// Package verdict turns recorded runs into what can be said of them: a model.Result with tables,
// ranks, findings and the one screen, or a compare.Comparison. It works on record.Run alone, so that
// all of it can be done again years later, without a store. Nothing after it judges; it writes no
// sentence, but passes messages of package finding.
//
//  1. trials.go, course.go  one phase of one trial: its rate, and what that did over time
//  2. tables.go, latencies.go  trials → rows → tables, one for each cell and measured phase
//  3. ranks.go  who may be ranked, who is ahead, who is tied: one comparison a table
//  4. detectors.go, detect_….go  findings: those before ranks can take them
//  5. notes.go, conditions.go, stores.go, plots.go  what else a table, a store and a plot say
//  6. screen.go, sections.go, answers.go  the one screen
//  7. result.go  puts it together
//  8. compare.go, compare_work.go, criteria.go  runs and arms against each other
//
// A rate is operations a second that ended well (docs/statistics.md). What was not measured is nil,
// never zero.
package verdict
