package export_test

import (
	"bytes"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/experiment/trace"
	"assay/internal/presentation/export"
	"assay/internal/testkit/recordtest"
	"assay/internal/testkit/resulttest"
)

// A rate that changes over time is in CSV by segment and by the rate that was asked for, and in HDR's log
// interval by interval.
func TestLoadOverTimeIsExported(t *testing.T) {
	shape := resulttest.Clean()
	shape.Blocks = 2
	run := resulttest.Built(shape)
	recordtest.OverTime(run, "put", []trace.Segment{{Form: trace.FormRamp, From: 1000, To: 5000, Duration: 5 * time.Second}, {Form: trace.FormStep, To: 1000, Duration: time.Second}},
		func(string) recordtest.Queue {
			return recordtest.Queue{Threads: 4, Service: func(time.Duration, float64) time.Duration {
				return 100 * time.Microsecond
			}}
		})
	var out bytes.Buffer
	if err := export.CSV(&out, resulttest.ResultOf(t, run)); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) int { return slices.Index(lines[0], name) }
	found := 0
	for _, l := range lines[1:] {
		if l[at("operation")] == "2: 1.00 k/s" && l[at("store")] == "oak" {
			found++
			if asked, err := strconv.ParseFloat(l[at("asked_per_s")], 64); err != nil || math.Abs(asked-1000) > 0.1 || l[at("backlog")] == "" || l[at("p99_ns")] == "" || l[at("ok")] != "0" {
				t.Errorf("the segment's line: %v", l)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d lines of the second segment", found)
	}
	out.Reset()
	if err := export.HLog(&out, run); err != nil {
		t.Fatal(err)
	}
	oak := 0
	for l := range strings.Lines(out.String()) {
		if strings.HasPrefix(l, "Tag=b1-") && strings.Contains(l, "oak-D1/put/"+export.OverTimeTag+",") {
			oak++
		}
	}
	if want := 120; oak < want-20 || oak > want+1 {
		t.Errorf("%d intervals of a trial, expected about %d", oak, want)
	}
}
