package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Benchfmt writes one line for each measured phase of each trial that ended in order, in the Go benchmark format that
// benchstat reads (golang.org/design/14313-benchmark-format):
//
//	BenchmarkPut/class=D1/store=pebble/cell=2 24720000 2427 ns/op 412e3 ops/s 15800 p50-ns …
//
// A rate is of the whole phase here, warm-up included: one value a trial, as benchstat expects. Marked trials are left
// out, as nothing in the format could say what is wrong with them; so are the null driver's.
func Benchfmt(w io.Writer, v View) error {
	out := benchfmt.NewWriter(w)
	cells := map[string]int{}
	for _, t := range v.Trials {
		place := t.Run + "\x00" + t.Class + "\x00" + t.Cell
		if _, seen := cells[place]; !seen {
			cells[place] = len(cells) + 1
		}
		if t.State != "ok" || t.Role == "ceiling" {
			continue
		}
		for _, p := range t.Phases {
			if !p.Measured || p.Rate <= 0 {
				continue
			}
			result := &benchfmt.Result{Iters: int(p.Attempted), Name: benchfmt.Name(fmt.Sprintf("%s/class=%s/store=%s/cell=%d",
				benchWord(capital(p.Name)), benchWord(t.Class), benchWord(t.Arm), cells[place])), Values: benchValues(p)}
			for _, c := range [][2]string{{"run", t.Run}, {"block", strconv.Itoa(t.Block)}, {"conditions", oneLine(t.Cell)}} {
				result.Config = append(result.Config, benchfmt.Config{Key: c[0], Value: []byte(c[1]), File: true})
			}
			if err := out.Write(result); err != nil {
				return fmt.Errorf("writing the report in Go's benchmark format: %w", err)
			}
		}
	}
	return nil
}

func benchValues(p Phase) []benchfmt.Value {
	values := []benchfmt.Value{{Value: 1e9 / p.Rate, Unit: "ns/op"}, {Value: p.Rate, Unit: "ops/s"}}
	names := map[float64]string{0.5: "p50-ns", 0.9: "p90-ns", 0.99: "p99-ns", 0.999: "p99.9-ns", 0.9999: "p99.99-ns", 1: "max-ns"}
	for _, point := range p.Latency {
		values = append(values, benchfmt.Value{Value: point.NS, Unit: names[point.Quantile]})
	}
	for _, known := range []struct {
		value *float64
		unit  string
	}{{p.DiskBytes, "disk-bytes"}, {p.HostWriteBytes, "host-write-bytes"}, {p.MemoryBytes, "rss-bytes"}, {p.AllocBytes, "B/op"}, {p.Allocs, "allocs/op"}} {
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
