package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"time"

	"assay/internal/execution/crash"
)

// cutColumns are those of the CSV form: a row is a store in a class, on a file system. Times are in ms.
var cutColumns = []string{"store", "version", "class", "servers", "cut off by", "file system", "seed", "result", "cuts", "broken", "records read back",
	"first loss before the cut median ms", "first loss before the cut worst ms", "most records lost", "nothing left after", "why"}

// writeCutRows writes the results as CSV, for tables that are made of several commands' results.
func writeCutRows(w io.Writer, r *crash.Report) error {
	rows := [][]string{cutColumns}
	for i := range r.Results {
		result := &r.Results[i]
		median, worst, most, nothing := "", "", "", ""
		if loss := result.Loss; loss != nil {
			median, worst, most, nothing = inMS(loss.Median), inMS(loss.Worst), fmt.Sprint(loss.RecordsMax),
				fmt.Sprint(loss.LostAll)
		}
		rows = append(rows, []string{result.Store, result.Version, result.ClassText(),
			fmt.Sprint(max(result.Servers, 1)), string(r.Kind), result.FileSystem,
			fmt.Sprint(r.Seed), string(result.State), fmt.Sprint(result.Looked()), fmt.Sprint(result.Broken),
			fmt.Sprint(result.ReadBack()),
			median, worst, most, nothing, result.Why})
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func inMS(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
