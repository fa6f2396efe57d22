// Package facts turns a recorded run into tables: numbers and states, and no messages. It works on
// record.Run alone, so that all of it can be done again years later, without a store.
//
//  1. trials.go, course.go, rates.go  one phase of one trial: its rate, and what that did over time
//  2. latencies.go, lateness.go, backlog.go  percentiles, and which of them must not be shown
//  3. tables.go, table.go, figures.go, names.go  trials → rows → tables, one a cell and measured phase
//  4. ranks.go, undecided.go  who may be ranked, who is ahead, who is tied: one comparison a table
//
// 5. effects.go, scaling.go, short.go, groups.go  what axes do, the law of one of load or size,
// what was too short, when groups worked
//  6. left.go  which commands undo what a run left on a server
//
// Of a row, where its trials have it:
//
//	shares.go, work.go, vain.go, questions.go  hits, work done, work that had nothing to do, by query
//	latency_means.go, neighbours.go            means over blocks, and which store ran before
//	capacity.go, choice.go, overtime.go, replay.go        searches, rates over time, recorded traffic
//	nodes.go, network.go                       several servers, and the way to them
//	staleness.go                               how late a store was that may answer with an older value
//	server_faults.go, plans.go                 their faults, how queries are answered
//	checked.go, to_detect.go                   what was verified, and how many blocks a difference needs
//
// A table has figures from [TablesOf] on, and ranks after [Rank]; in between, detectors see it that
// may take a rank. A rate is operations a second that ended well (docs/statistics.md). What was not
// measured is nil, never zero. Messages are passed on where the run directory has them: marks.
package facts
