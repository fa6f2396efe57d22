package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// JSON writes the whole view, indented.
func JSON(w io.Writer, v View) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing the report as JSON: %w", err)
	}
	return nil
}

var csvHeader = []string{"run", "class", "cell", "phase", "rank", "store", "role", "standing", "reasons",
	"ops_per_s", "ops_per_s_low", "ops_per_s_high", "ratio_to_best", "ratio_low", "ratio_high", "no_difference_shown", "worst_sample_ops_per_s",
	"p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "max_ns", "attempted", "bad", "misses",
	"logical_bytes", "disk_bytes", "host_write_bytes", "memory_bytes", "cpu_ns_per_op", "alloc_bytes_per_op", "allocs_per_op", "host_write_source",
	"operation", "records_per_s", "records_per_s_low", "records_per_s_high", "items_per_op", "handle_wait_ns_per_op", "latency_refused", "latency_too_few"}

// AllOperations stands in the column "operation" of a line of CSV that is of an arm's operations together.
const AllOperations = "all"

// CSV writes one line for each arm of each table, refused and failed ones too: its operation is [AllOperations]. In a phase with several
// kinds of operation, a line for each kind follows it, with counts and latencies alone. An empty field: not measured. The CPU time of an operation
// is also empty under open load, where it is mostly the worker's waiting. A percentile is also
// empty where it is refused (latency_refused: "p99 p99.9; dispatch late") and where there are too few operations for it (latency_too_few:
// "p99.9 p99.99"). operation, records_per_s and what follows are the last columns, so that those before keep their places.
func CSV(w io.Writer, v View) error {
	out := csv.NewWriter(w)
	write := func(fields []string) error {
		if err := out.Write(fields); err != nil {
			return fmt.Errorf("writing the report as CSV: %w", err)
		}
		return nil
	}
	if err := write(csvHeader); err != nil {
		return err
	}
	runOf := map[string]string{}
	for _, t := range v.Trials {
		runOf[t.Key] = t.Run
	}
	for _, t := range v.Tables {
		for _, r := range t.Rows {
			for _, line := range csvLines(t, r, runOf) {
				if err := write(line); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing the report as CSV: %w", err)
	}
	return nil
}

// csvLines are of one arm: of all its operations, and where there are several kinds, of each.
func csvLines(t Table, r Row, runOf map[string]string) [][]string {
	run, rank := "", ""
	if len(r.Trials) > 0 {
		run = runOf[r.Trials[0]]
	}
	if r.Rank > 0 {
		rank = strconv.Itoa(r.Rank)
	}
	begin := []string{run, t.Class, t.Cell, t.Phase, rank, r.Arm, r.Role, string(r.Standing), strings.Join(r.Reasons, "; ")}

	line := slices.Concat(begin, csvEstimate(r.Rate), csvEstimate(r.Ratio), []string{strconv.FormatBool(r.NoneShown), csvNumber(r.WorstSecond)},
		csvLatencies(r.Latencies), csvCounts(r.Attempted, r.Bad, r.Misses))
	for _, v := range []*float64{r.LogicalBytes, r.DiskBytes, r.HostWriteBytes, r.MemoryBytes, t.cpuOf(r), r.AllocBytes, r.Allocs} {
		line = append(line, csvNumber(v))
	}
	line = append(line, r.HostWriteSource, AllOperations)
	line = append(line, csvEstimate(r.Records)...)
	lines := [][]string{append(line, "", csvNumber(r.WaitNS), csvRefused(r.Latencies), csvNames(r.TooFew))}

	if len(r.Kinds) < 2 {
		return lines
	}
	for _, k := range r.Kinds {
		line := slices.Concat(begin, make([]string, 8), csvLatencies(k.Latencies), csvCounts(k.Done, k.Bad, k.Misses), make([]string, 8),
			[]string{k.Operation, "", "", "", csvNumber(k.Items), "", csvRefused(k.Latencies), csvNames(k.TooFew)})
		lines = append(lines, line)
	}
	return lines
}

func csvLatencies(l Latencies) (fields []string) {
	for _, q := range quantiles {
		fields = append(fields, csvNumber(l.At(q)))
	}
	return fields
}

func csvCounts(counts ...uint64) (fields []string) {
	for _, n := range counts {
		fields = append(fields, strconv.FormatUint(n, 10))
	}
	return fields
}

// csvNames writes quantiles with blanks between them: "p99.9 p99.99".
func csvNames(quantiles []float64) string {
	return strings.ReplaceAll(percentileNames(quantiles), ",", "")
}

func csvRefused(l Latencies) string {
	if len(l.Refused) == 0 {
		return ""
	}
	return csvNames(l.Refused) + "; " + l.RefusedFor
}

func csvEstimate(e *Estimate) []string {
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
