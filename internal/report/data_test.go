package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"assay/internal/record/recordtest"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/perf/benchfmt"
)

func TestJSONReadsBack(t *testing.T) {
	v := exampleView(t)
	var out bytes.Buffer
	if err := JSON(&out, v); err != nil {
		t.Fatal(err)
	}
	var back View
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, v) {
		t.Error("the view that is read back is another one")
	}
}

func TestCSVHasALineForEachArm(t *testing.T) {
	v := exampleView(t)
	var out bytes.Buffer
	if err := CSV(&out, v); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1+6*10 {
		t.Errorf("there are %d lines, want a header and ten arms of six tables", len(lines))
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	for _, line := range lines[1:] {
		if line[column["standing"]] == "refused" && (line[column["ops_per_s"]] != "" || line[column["reasons"]] == "") {
			t.Errorf("a refused arm has a rate, or no reason: %q", line)
		}
		if line[column["store"]] == "tokyo-hash" && line[column["allocs_per_op"]] != "" {
			t.Errorf("allocations that were not measured are %q", line[column["allocs_per_op"]])
		}
		if line[column["run"]] == "" {
			t.Errorf("a line has no run: %q", line)
		}
	}
}

func TestBenchfmtReadsBack(t *testing.T) {
	v := exampleView(t)
	var out bytes.Buffer
	if err := Benchfmt(&out, v); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for _, trial := range v.Trials {
		for _, p := range trial.Phases {
			if trial.State == "ok" && trial.Role != "ceiling" && p.Measured {
				want[trial.Run+" "+trial.Class+" "+strings.ReplaceAll(trial.Arm, "/", "_")+" "+p.Name] += p.Rate
			}
		}
	}
	reader := benchfmt.NewReader(&out, "report")
	read, results := map[string]float64{}, 0
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			t.Fatalf("a line can't be read: %v", reader.Result())
		}
		results++
		base, parts := result.Name.Parts()
		class := strings.TrimPrefix(string(parts[0]), "/class=")
		store := strings.ReplaceAll(strings.TrimPrefix(string(parts[1]), "/store="), "_(", " (")
		rate, ok := result.Value("ops/s")
		if !ok {
			t.Fatalf("%s has no rate", result.Name)
		}
		// The reader turns ns into seconds.
		time, ok := result.Value("sec/op")
		if !ok || math.Abs(time*rate-1) > 1e-6 {
			t.Errorf("%s has %g s/op and %g ops/s", result.Name, time, rate)
		}
		if p99, ok := result.Value("p99-sec"); !ok || p99 <= 0 {
			t.Errorf("%s has a p99 of %g s, %v", result.Name, p99, ok)
		}
		read[result.GetConfig("run")+" "+class+" "+store+" "+strings.ToLower(string(base))] += rate
	}
	if err := reader.Err(); err != nil {
		t.Fatal(err)
	}
	if results == 0 || len(read) != len(want) {
		t.Fatalf("%d results of %d arms are read back, want %d arms", results, len(read), len(want))
	}
	for name, rate := range want {
		if math.Abs(read[name]/rate-1) > 1e-6 {
			t.Errorf("%s: the rates add up to %g, want %g", name, read[name], rate)
		}
	}
}

func TestHLogReadsBack(t *testing.T) {
	shape := recordtest.Example()
	shape.Classes, shape.Blocks, shape.Arms = shape.Classes[:1], 1, shape.Arms[:2]
	run := recordtest.Run(shape)
	var out bytes.Buffer
	if err := HLog(&out, run); err != nil {
		t.Fatal(err)
	}
	reader := hdrhistogram.NewHistogramLogReader(&out)
	seen := 0
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		seen++
		trial, rest, _ := strings.Cut(h.Tag(), "/")
		name, _, _ := strings.Cut(rest, "/")
		phase := phaseOf(run.Trials[trial], name)
		if phase == nil {
			t.Fatalf("the log has %s, which the run has not", h.Tag())
		}
		times := phase.Operations[0].Service
		if uint64(h.TotalCount()) != times.Count() {
			t.Errorf("%s has %d operations, want %d", h.Tag(), h.TotalCount(), times.Count())
		}
		if got, want := float64(h.ValueAtQuantile(99)), times.Quantile(0.99); math.Abs(got/want-1) > 0.005 {
			t.Errorf("%s has a p99 of %g ns, want %g", h.Tag(), got, want)
		}
	}
	if seen != 2*4 {
		t.Errorf("the log has %d histograms, want two phases of four arms", seen)
	}
}
