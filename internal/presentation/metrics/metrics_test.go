package metrics

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/execution/event"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/trace"
)

// measured is a phase with reads of some service times, in ns.
func measured(trial, phase string, over bool, service ...uint64) *event.Measured {
	t := counters.Total{Operation: trace.Read, Service: histogram.New()}
	for _, ns := range service {
		t.Service.Record(ns)
	}
	t.Outcomes[counters.OK] = uint64(len(service))
	return &event.Measured{Trial: plan.Trial{ID: trial, Arm: "bbolt"}, Cell: "D3", Phase: phase, Totals: []counters.Total{t},
		Sample: &record.Sample{At: 1, Seconds: 1}, Over: over}
}

// gathered returns the series of a metric.
func gathered(t *testing.T, m *Meter, name string) []*dto.Metric {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()
		}
	}
	return nil
}

func TestCountsAreExactAndPercentilesToTheBucket(t *testing.T) {
	m := New("run")
	var service []uint64
	for v := uint64(0); v < 1<<40; v = v*5/4 + 1 {
		service = append(service, v)
	}
	m.Measured(measured("b1-001", "read", false, service[:3]...))
	m.Measured(measured("b1-001", "read", true, service...))

	counts := gathered(t, m, "assay_operations_total")
	if len(counts) != 1 || counts[0].GetCounter().GetValue() != float64(len(service)) {
		t.Errorf("%v, not %d reads once", counts, len(service))
	}
	h := gathered(t, m, "assay_service_seconds")[0].GetHistogram()
	if h.GetSampleCount() != uint64(len(service)) || h.GetZeroCount() != 1 {
		t.Errorf("%d values, %d of them zero; not %d and 1", h.GetSampleCount(), h.GetZeroCount(), len(service))
	}
	// Each value lies within its bucket: an attacker that is off by one bucket fails for all.
	bucket, count, at := int32(0), int64(0), 0
	rest := service[1:]
	for _, span := range h.GetPositiveSpan() {
		bucket += span.GetOffset()
		for range span.GetLength() {
			count += h.GetPositiveDelta()[at]
			at++
			for range count {
				seconds := histogram.Middle(histogram.Bucket(rest[0])) / 1e9
				upper := math.Pow(2, float64(bucket)/(1<<schema))
				lower := math.Pow(2, float64(bucket-1)/(1<<schema))
				if seconds > upper*(1+1e-9) || seconds <= lower*(1-1e-9) {
					t.Fatalf("%v s counted in (%v, %v]", seconds, lower, upper)
				}
				rest = rest[1:]
			}
			bucket++
		}
	}
	if len(rest) > 0 {
		t.Errorf("%d values are in no bucket", len(rest))
	}
}

func TestHistogramsThatWereNotReadStay(t *testing.T) {
	m := New("run")
	m.Measured(measured("b1-001", "read", false, 1, 2, 3))
	later := measured("b1-001", "read", false, 1, 2, 3, 4)
	later.Totals[0].Service = nil
	m.Measured(later)
	if h := gathered(t, m, "assay_service_seconds")[0].GetHistogram(); h.GetSampleCount() != 3 {
		t.Errorf("%d values", h.GetSampleCount())
	}
	if n := gathered(t, m, "assay_operations_total")[0].GetCounter().GetValue(); n != 4 {
		t.Errorf("%v operations", n)
	}
}

func TestPhasesThatEndedAreShownForAWhile(t *testing.T) {
	now := time.Unix(1e9, 0)
	m := New("run")
	m.now = func() time.Time { return now }
	m.Measured(measured("b1-001", "load", true, 1))
	m.Measured(measured("b1-001", "read", false, 1)) // of a trial that fails: its end is not told
	m.Measured(measured("b1-002", "load", false, 1))
	if n := len(gathered(t, m, "assay_operations_total")); n != 3 {
		t.Errorf("%d phases at once", n)
	}
	now = now.Add(kept)
	if n := len(gathered(t, m, "assay_operations_total")); n != 1 {
		t.Errorf("%d phases after %v, of which one goes on", n, kept)
	}
}

// The end of a run waits to be scraped, and Ctrl-C ends that.
func TestLastScrapeIsWaitedFor(t *testing.T) {
	m := New("run")
	s, err := Serve("127.0.0.1:0", m)
	if err != nil {
		t.Fatal(err)
	}
	scrape := func() {
		answer, err := http.Get(s.URL())
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%v, %v", answer, err)
			return
		}
		_ = answer.Body.Close() // was not read
	}
	m.Measured(measured("b1-001", "read", true, 1))
	if !s.Last(context.Background(), func(time.Duration) { go scrape() }) {
		t.Error("it did not wait")
	}
	if !s.Last(context.Background(), func(d time.Duration) { t.Errorf("all was scraped, and it waits %v", d) }) {
		t.Error("all was scraped")
	}
	m.Measured(measured("b1-003", "read", true, 1))
	ended, end := context.WithCancel(context.Background())
	if s.Last(ended, func(time.Duration) { end() }) {
		t.Error("Ctrl-C did not end the wait")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(s.URL()); err == nil {
		t.Error("it still answers")
	}
}

func TestAddresses(t *testing.T) {
	for given, want := range map[string]string{":9464": "127.0.0.1:9464", "0.0.0.0:1": "0.0.0.0:1", "[::1]:2": "[::1]:2", "9464": "", "host": "", "host:": ""} {
		if got, err := Address(given); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
}

// The dashboard asks for nothing that there isn't.
func TestDashboardNamesWhatIsShown(t *testing.T) {
	text, err := os.ReadFile("../../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(text) {
		t.Fatal("not JSON")
	}
	known := make(chan *prometheus.Desc, 100)
	New("").Describe(known)
	close(known)
	var names []string
	for d := range known {
		names = append(names, regexp.MustCompile(`fqName: "([a-z_]+)"`).FindStringSubmatch(d.String())[1])
	}
	asked := regexp.MustCompile(`\bassay_[a-z_]+`).FindAllString(string(text), -1)
	for _, name := range asked {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not shown; there are %s", name, strings.Join(names, ", "))
		}
	}
	if len(asked) < 5 {
		t.Errorf("the dashboard asks for %d series", len(asked))
	}
}

// A page of somebody else's, whose name was made to lead to this machine, gets no figure.
//
// Fault (watchers): a page of somebody else's leads a browser to the figures of a run
// (`--metrics`), or to `assay serve`
// Assay: a server on the loopback answers only to the loopback's names
// With: serve.TestOnlyRunsAreServed
func TestOnlyNamesOfTheLoopbackAreAnswered(t *testing.T) {
	s, err := Serve("127.0.0.1:0", New("run"))
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{"": 200, "localhost:1": 200, "[::1]": 200, "evil.example": 403, "10.0.0.1:9464": 403, "localhost.evil.example": 403} {
		r, err := http.NewRequest(http.MethodGet, s.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = answer.Body.Close(); answer.StatusCode != want { // was not read
			t.Errorf("Host %q gets %d, want %d", host, answer.StatusCode, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
