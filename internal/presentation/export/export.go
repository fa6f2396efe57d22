// Package export writes a result for programs: JSON with its schema, CSV, the Go benchmark format
// and HdrHistogram's log. It formats and judges nothing.
package export

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// JSON writes the whole result, indented. [Schema] describes it.
func JSON(w io.Writer, r *model.Result) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("writing the report as JSON: %w", err)
	}
	return nil
}

// quantiles that CSV has columns for.
var quantiles = []float64{0.5, 0.9, 0.99, 0.999, 0.9999, 1}

var csvHeader = []string{"run", "class", "cell", "phase", "operation", "store", "role", "standing",
	"rank", "letters", "reasons",
	"ops_per_s", "ops_per_s_low", "ops_per_s_high", "records_per_s", "records_per_s_low", "records_per_s_high",
	"ratio_to_best", "ratio_low", "ratio_high", "significant", "worst_sample_ops_per_s",
	"p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "max_ns", "latency_refused", "latency_too_few",
	"attempted", "ok", "misses", "conflicts", "lost", "wrong", "errors", "timeouts", "unfinished",
	"logical_bytes", "disk_bytes", "host_write_bytes", "host_write_source", "memory_bytes",
	"cpu_ns_per_op", "alloc_bytes_per_op", "allocs_per_op", "handle_wait_ns_per_op", "items_per_op"}

// AllOperations stands in the column "operation" of an arm's operations together.
const AllOperations = "all"

// CSV writes a line for each arm of each table, those without figures too, and after it a line for
// each kind of operation where there are several, with counts and latencies alone. An empty field
// was not measured, or must not be shown: latency_refused and latency_too_few name such
// percentiles. CPU time is empty under open load, where it is mostly the worker's waiting.
func CSV(w io.Writer, r *model.Result) error {
	out := csv.NewWriter(w)
	lines := [][]string{csvHeader}
	for i := range r.Tables {
		for k := range r.Tables[i].Rows {
			lines = append(lines, csvLines(&r.Tables[i], &r.Tables[i].Rows[k])...)
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

func csvLines(t *model.Table, r *model.Row) [][]string {
	var reasons []string
	for _, m := range r.Reasons {
		reasons = append(reasons, finding.Text(m))
	}
	rank := ""
	if r.Rank > 0 {
		rank = strconv.Itoa(r.Rank)
	}
	place := func(operation string) []string {
		return []string{t.Run, t.Class, t.Label, t.Phase, operation, r.Arm, r.Role, string(r.Standing),
			rank, r.Letters, strings.Join(reasons, "; ")}
	}
	var ratio *model.Estimate
	significant := ""
	if r.ToBest != nil {
		ratio, significant = &r.ToBest.Estimate, strconv.FormatBool(r.ToBest.Significant)
	}
	cpu := r.CPUNS
	if t.Open {
		cpu = nil
	}
	all := slices.Concat(place(AllOperations), csvEstimate(r.Rate), csvEstimate(r.Records), csvEstimate(ratio),
		[]string{significant, csvNumber(r.WorstSample)}, csvLatencies(r.Latencies), csvOutcomes(r.Outcomes),
		[]string{csvNumber(r.LogicalBytes), csvNumber(r.DiskBytes), csvNumber(r.HostWriteBytes), r.HostWriteSource,
			csvNumber(r.MemoryBytes), csvNumber(cpu), csvNumber(r.AllocBytes), csvNumber(r.Allocs), csvNumber(r.WaitNS), ""})
	lines := [][]string{all}
	for _, k := range r.Apart() {
		lines = append(lines, slices.Concat(place(k.Operation), make([]string, 11), csvLatencies(k.Latencies), csvOutcomes(k.Outcomes),
			make([]string, 9), []string{csvNumber(k.Items)}))
	}
	return lines
}

func csvLatencies(l model.Latencies) (fields []string) {
	for _, q := range quantiles {
		if slices.Contains(l.Refused, q) {
			fields = append(fields, "")
			continue
		}
		fields = append(fields, csvNumber(l.At(q)))
	}
	return append(fields, csvQuantiles(l.Refused), csvQuantiles(l.TooFew))
}

func csvQuantiles(list []float64) string {
	names := make([]string, len(list))
	for i, q := range list {
		names[i] = format.Quantile(q)
	}
	return strings.Join(names, " ")
}

func csvOutcomes(o model.Outcomes) (fields []string) {
	for _, n := range []uint64{o.Attempted, o.OK, o.Miss, o.Conflict, o.Lost, o.Wrong, o.Errors, o.Timeout, o.Unfinished} {
		fields = append(fields, strconv.FormatUint(n, 10))
	}
	return fields
}

func csvEstimate(e *model.Estimate) []string {
	if e == nil {
		return []string{"", "", ""}
	}
	return []string{csvNumber(&e.Value), csvNumber(e.Low), csvNumber(e.High)}
}

func csvNumber(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
