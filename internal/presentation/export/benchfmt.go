package export

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/model"
)

// Benchfmt writes one line for each measured phase of each trial that ended in order, in the Go
// benchmark format that benchstat reads (golang.org/design/14313-benchmark-format):
//
//	conditions: 1 M records of 1,000 B, 8 threads, one shared handle, no memory limit
//
//	BenchmarkPut/store=pebble/class=D1 24720000 2427 ns/op 412e3 ops/s 15800 p50-ns …
//
// benchstat makes a table for each value of what stands on lines of its own, so that only what is
// the same in two runs to be compared stands there: the conditions. Where the view has several
// runs, "run" stands there too, their directories: benchstat -col run compares them.
//
// A rate is of the whole phase here, warm-up included: one value a trial, as benchstat expects.
// Marked trials are left out, as nothing in the format could say what is wrong with them
// ([BenchfmtLeftOut] counts them); so are the null drivers'.
func Benchfmt(w io.Writer, v *model.Result) error {
	v = format.Shown(v)
	out := benchfmt.NewWriter(w)
	directories := map[string]string{}
	for _, run := range v.Runs {
		directories[run.ID] = run.Directory
	}
	cellOf := cellWords(v)
	for _, t := range v.Trials {
		if !inBenchfmt(t) {
			continue
		}
		config := []benchfmt.Config{{Key: "conditions", Value: []byte(oneLine(t.Cell)), File: true}}
		if len(v.Runs) > 1 {
			config = append(config, benchfmt.Config{Key: "run", Value: []byte(oneLine(directories[t.Run])), File: true})
		}
		for _, p := range t.Phases {
			if !p.Measured || p.Rate <= 0 {
				continue
			}
			of := config
			if p.LatencyOneIn > 0 {
				sample := fmt.Sprintf("one operation in %d", p.LatencyOneIn)
				of = append(slices.Clip(config), benchfmt.Config{Key: "latency", Value: []byte(sample), File: true})
			}
			// The store is not last: benchstat takes a number behind a hyphen there for GOMAXPROCS.
			name := fmt.Sprintf("%s/store=%s/class=%s%s", benchWord(format.Capital(p.Name)),
				benchWord(t.Arm), benchWord(t.Class), cellOf[t.Key])
			result := &benchfmt.Result{Config: of, Iters: int(p.Attempted),
				Name: benchfmt.Name(name), Values: benchValues(p)}
			if err := out.Write(result); err != nil {
				return fmt.Errorf("writing the report in Go's benchmark format: %w", err)
			}
		}
	}
	return nil
}

func inBenchfmt(t model.Trial) bool {
	return t.State == string(record.OK) && t.Role != string(plan.Ceiling)
}

// BenchfmtLeftOut says which trials of stores [Benchfmt] leaves out, and why; "" if none.
func BenchfmtLeftOut(v *model.Result) string {
	var states []string // in the order in which they come
	count, reason := map[string]int{}, map[string]string{}
	stores, left := 0, 0
	for _, t := range v.Trials {
		if t.Role == string(plan.Ceiling) {
			continue
		}
		stores++
		if inBenchfmt(t) {
			continue
		}
		left++
		if count[t.State]++; count[t.State] == 1 {
			states = append(states, t.State)
		}
		if reason[t.State] == "" && len(t.Reasons) > 0 {
			reason[t.State] = finding.Text(t.Reasons[0])
		}
	}
	if left == 0 {
		return ""
	}
	parts := make([]string, len(states))
	for i, state := range states {
		parts[i] = fmt.Sprintf("%d %s", count[state], state)
		switch why := oneLine(reason[state]); {
		case why != "" && count[state] > 1:
			parts[i] += " (the first: " + why + ")"
		case why != "":
			parts[i] += " (" + why + ")"
		}
	}
	return format.Clean(fmt.Sprintf("benchfmt has only trials without faults: %d of %d are left out: %s", left,
		stores, strings.Join(parts, "; ")))
}

// cellWords gives the trials of cells that class and conditions don't tell apart, as of numbers of
// records that round to the same text, their cell's place in the experiment, from 1. By Trial.Key;
// "" for all others.
func cellWords(v *model.Result) map[string]string {
	first, cell := map[string]int{}, map[string]int{} // of a run; of a trial: columns of the matrix
	run := map[string]string{}
	for _, t := range v.Trials {
		run[t.Key] = t.Run
	}
	for _, row := range v.Matrix.Rows {
		for column, square := range row.Squares {
			for _, key := range square {
				cell[key] = column
				if at, seen := first[run[key]]; !seen || column < at {
					first[run[key]] = column
				}
			}
		}
	}
	cells := map[[3]string]map[int]bool{}
	same := func(t model.Trial) [3]string { return [3]string{t.Run, t.Class, t.Cell} }
	for _, t := range v.Trials {
		if cells[same(t)] == nil {
			cells[same(t)] = map[int]bool{}
		}
		cells[same(t)][cell[t.Key]] = true
	}
	words := map[string]string{}
	for _, t := range v.Trials {
		if len(cells[same(t)]) > 1 {
			words[t.Key] = fmt.Sprintf("/cell=%d", cell[t.Key]-first[t.Run]+1)
		}
	}
	return words
}

func benchValues(p model.Phase) []benchfmt.Value {
	values := []benchfmt.Value{{Value: 1e9 / p.Rate, Unit: "ns/op"}, {Value: p.Rate, Unit: "ops/s"}}
	names := map[float64]string{0.5: "p50-ns", 0.9: "p90-ns", 0.99: "p99-ns", 0.999: "p99.9-ns",
		0.9999: "p99.99-ns", 1: "max-ns"}
	for _, point := range p.Latency {
		values = append(values, benchfmt.Value{Value: point.NS, Unit: names[point.Quantile]})
	}
	hostWrites := "host-write-bytes"
	if p.HostWriteSource == record.WritesOfDisk {
		hostWrites = "own-disk-write-bytes" // journal and metadata included: not to be compared with the other
	}
	for _, known := range []struct {
		value *float64
		unit  string
	}{{p.DiskBytes, "disk-bytes"}, {p.HostWriteBytes, hostWrites}, {p.MemoryBytes, "rss-bytes"}, {p.AllocBytes, "B/op"}, {p.Allocs, "allocs/op"}} {
		if known.value != nil {
			values = append(values, benchfmt.Value{Value: *known.value, Unit: known.unit})
		}
	}
	return values
}

// benchWord makes one word of a name: the format parts names at spaces, "/" and "=".
func benchWord(name string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '/' || r == '=' {
			return '_'
		}
		return r
	}, name)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// capital makes a phase's name a benchmark's, which begins with an upper-case letter.
