package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
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
	"logical_bytes", "disk_bytes", "host_write_bytes", "memory_bytes", "cpu_ns_per_op", "alloc_bytes_per_op", "allocs_per_op"}

// CSV writes one line for each arm of each table, refused and failed ones too. An empty field: not measured.
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
			if err := write(csvLine(t, r, runOf)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("writing the report as CSV: %w", err)
	}
	return nil
}

func csvLine(t Table, r Row, runOf map[string]string) []string {
	run, rank, reasons := "", "", ""
	if len(r.Trials) > 0 {
		run = runOf[r.Trials[0]]
	}
	if r.Rank > 0 {
		rank = strconv.Itoa(r.Rank)
	}
	for i, reason := range r.Reasons {
		if i > 0 {
			reasons += "; "
		}
		reasons += reason
	}
	line := []string{run, t.Class, t.Cell, t.Phase, rank, r.Arm, r.Role, string(r.Standing), reasons}
	line = append(line, csvEstimate(r.Rate)...)
	line = append(line, csvEstimate(r.Ratio)...)
	line = append(line, strconv.FormatBool(r.NoneShown), csvNumber(r.WorstSecond))
	for _, q := range quantiles {
		line = append(line, csvNumber(r.At(q)))
	}
	line = append(line, strconv.FormatUint(r.Attempted, 10), strconv.FormatUint(r.Bad, 10), strconv.FormatUint(r.Misses, 10))
	for _, v := range []*float64{r.LogicalBytes, r.DiskBytes, r.HostWriteBytes, r.MemoryBytes, r.CPUNS, r.AllocBytes, r.Allocs} {
		line = append(line, csvNumber(v))
	}
	return line
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
