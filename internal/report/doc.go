// Package report shows what runs found. It works from run directories alone.
//
//  1. Build turns runs and what the package verdict says of them into a [View]: everything that is shown, and nothing
//     that is not.
//  2. [Text], [HTML], [JSON], [CSV] and [Benchfmt] each write a View. None of them computes a statistic.
//
// What stands at the head of a report is in headline.go (the answers), glance.go (every rate in one grid) and group.go
// (findings of a kind together); beneath are the tables (table.go), what was measured beside the rates (series.go, beside.go)
// and what was read back at the end (check.go).
//
// A pointer that is nil in a View means "not measured", and is shown so: never as zero.
package report
