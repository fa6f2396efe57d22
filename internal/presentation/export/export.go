// Package export writes a result for programs: JSON with its schema, CSV, the Go benchmark format,
// github-action-benchmark's JSON and HdrHistogram's log. It formats and judges nothing.
package export

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/column"
	"assay/internal/presentation/model"
)

// JSON writes the whole result, indented. docs/result.schema.json describes it.
func JSON(w io.Writer, r *model.Result) error {
	r = format.Shown(r) // JSON escapes line breaks and ESC, but not U+009B, which terminals obey too
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("writing the report as JSON: %w", err)
	}
	return nil
}

// placeColumns say what a line of CSV is of; those of its figures are column.All's.
var placeColumns = []string{"run", "class", "cell", "phase", "operation", "store", "role", "standing", "rank", "letters", "reasons",
	"server_product", "server_version", "server_sha256", "server_commit"}

func csvHeader() []string {
	header := slices.Clone(placeColumns)
	for _, c := range column.All(&model.Table{}) {
		if c.Name == "" {
			continue
		}
		header = append(header, c.Name)
		if c.Ranged > 0 {
			header = append(header, c.Name+"_low", c.Name+"_high")
		}
	}
	return header
}

// AllOperations stands in the column "operation" of an arm's operations together.
const AllOperations = "all"

// CSV writes a line for each arm of each table, those without figures too, and after it a line for
// each kind of operation where there are several, with counts and latencies alone; then each segment of
// a rate that changes over time, and each band of rates that were asked for. An empty field
// was not measured, or must not be shown: latency_refused and latency_too_few name such
// percentiles. CPU time is empty under open load, where it is mostly the worker's waiting.
func CSV(w io.Writer, r *model.Result) error {
	r = format.Shown(r)
	out := csv.NewWriter(w)
	lines := [][]string{csvHeader()}
	programs := map[[2]string]model.Program{} // by run and arm
	for _, s := range r.Stores {
		if s.Program != nil {
			programs[[2]string{s.Run, s.Arm}] = *s.Program
		}
	}
	for i := range r.Tables {
		for k := range r.Tables[i].Rows {
			row := &r.Tables[i].Rows[k]
			lines = append(lines, csvLines(&r.Tables[i], row, programs[[2]string{r.Tables[i].Run, row.Arm}])...)
		}
	}
	for _, line := range lines {
		for i, field := range line {
			if _, err := strconv.ParseFloat(field, 64); err != nil {
				line[i] = format.CSVSafe(field)
			}
		}
	}
	if err := out.WriteAll(lines); err != nil {
		return fmt.Errorf("writing the report as CSV: %w", err)
	}
	return nil
}

func csvLines(t *model.Table, r *model.Row, program model.Program) [][]string {
	var reasons []string
	for _, m := range r.Reasons {
		reasons = append(reasons, finding.Text(m))
	}
	rank := ""
	if r.Rank > 0 {
		rank = strconv.Itoa(r.Rank)
	}
	line := func(operation string, of *column.Line) []string {
		fields := []string{t.Run, t.Class, t.Label, t.Phase, operation, r.Arm, r.Role, string(r.Standing),
			rank, r.Letters, strings.Join(reasons, "; "), program.Product, program.Version, program.SHA256, program.Commit}
		for _, c := range column.All(t) {
			if c.Name == "" {
				continue
			}
			cell := c.Of(of)
			fields = append(fields, cmp.Or(cell.Raw, csvNumber(cell.Value)))
			if c.Ranged > 0 {
				fields = append(fields, csvNumber(cell.Low), csvNumber(cell.High))
			}
		}
		return fields
	}
	lines := [][]string{line(AllOperations, &column.Line{Table: t, Row: r})}
	kinds := r.Apart()
	for i := range kinds {
		lines = append(lines, line(kinds[i].Operation, column.OfKind(t, r, &kinds[i])))
	}
	for _, of := range column.PartsOverTime(t, r) {
		lines = append(lines, line(of.PartName(), of))
	}
	return lines
}

func csvNumber(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
