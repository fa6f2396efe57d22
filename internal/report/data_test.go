package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"assay/internal/record/recordtest"

	"github.com/HdrHistogram/hdrhistogram-go"
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
		began, ended := run.Trials[trial].Started, run.Trials[trial].Started
		for _, p := range run.Trials[trial].Phases {
			if ended = began.Add(time.Duration(p.ElapsedNS)); p.Name == name {
				break
			}
			began = ended
		}
		if math.Abs(float64(h.StartTimeMs()-began.UnixMilli())) > 2 || math.Abs(float64(h.EndTimeMs()-ended.UnixMilli())) > 2 {
			t.Errorf("%s is from %d to %d ms since 1970, want %d to %d", h.Tag(), h.StartTimeMs(), h.EndTimeMs(), began.UnixMilli(), ended.UnixMilli())
		}
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
