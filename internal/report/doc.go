// Package report shows what runs found. It works from run directories alone.
//
//  1. Build turns runs and what the package verdict says of them into a [View]: everything that is shown, and nothing
//     that is not.
//  2. [Text], [HTML], [JSON], [CSV] and [Benchfmt] each write a View. None of them computes a statistic.
//
// A pointer that is nil in a View means "not measured", and is shown so: never as zero.
package report
