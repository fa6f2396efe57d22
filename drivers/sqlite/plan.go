package sqlite

import (
	"fmt"
	"strings"

	"assay/drivers/internal/sqlkv"
)

// readPlan reads EXPLAIN QUERY PLAN (https://www.sqlite.org/eqp.html): a line begins with SEARCH
// where an index or the primary key finds rows by a condition, and with SCAN where all are walked.
func readPlan(rows [][]string) (accesses []sqlkv.Access, text string, err error) {
	var lines []string
	for _, row := range rows {
		if len(row) != 4 {
			return nil, "", fmt.Errorf("a row of %d columns, expected 4", len(row))
		}
		line := row[3]
		lines = append(lines, line)
		search, scan := strings.HasPrefix(line, "SEARCH "), strings.HasPrefix(line, "SCAN ")
		if search || scan {
			accesses = append(accesses, sqlkv.Access{Index: indexIn(line), Finds: search})
		}
	}
	return accesses, strings.Join(lines, "; "), nil
}

// indexIn returns the name of the index in a line such as "SEARCH t USING COVERING INDEX name (a=?)".
func indexIn(line string) string {
	_, name, used := strings.Cut(line, " USING ")
	if !used {
		return ""
	}
	if at := strings.LastIndex(name, " ("); at >= 0 {
		name = name[:at]
	}
	for _, word := range []string{"COVERING ", "INDEX "} {
		name = strings.TrimPrefix(name, word)
	}
	return name
}
