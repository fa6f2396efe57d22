package report

import (
	"math"
	"testing"

	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/verdict"
)

func TestBesideGathersBySort(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	bytes := func(v uint64) *uint64 { return &v }
	samples := []record.Sample{
		{Phase: "put", At: 1, Seconds: 1, CPUSeconds: number(0.5), RSSBytes: bytes(10), P99NS: number(9e9), Stats: map[string]float64{"flushes": 1}},
		{Phase: "put", At: 4, Seconds: 3, CPUSeconds: number(4.5), RSSBytes: bytes(20), P99NS: number(1e9), Stats: map[string]float64{"flushes": 7}, Resources: map[string]float64{"machine.iowait": 0.25}},
		{Phase: "get", At: 1, Seconds: 1, RSSBytes: bytes(99)},
	}
	for name, want := range map[string]float64{"worker.cpu": 1.25, "worker.rss": 20, "latency.p99": 9, "store.flushes": 7, "machine.iowait": 0.25} {
		if got := gathered(samples[:2])[name]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s of both samples is %g, want %g", name, got, want)
		}
	}
	b := builder{beside: map[string]bool{}, samples: 1}
	beside := b.besideOf(samples, "put")
	if beside == nil || len(beside.At) != 2 || *beside.Values["worker.rss"][1] != 20 {
		t.Fatalf("what stands beside the rate is %+v", beside)
	}
	if beside.Values["machine.iowait"][0] != nil {
		t.Error("what was not measured in a step has a value there")
	}
	for _, r := range b.offered() {
		if r.Missing == b.beside[r.Name] {
			t.Errorf("%s: missing is %v", r.Name, r.Missing)
		}
		if r.Name == "machine.iowait" && (r.Unit != "share" || r.Meaning == "" || r.Shown) {
			t.Errorf("the catalogue's series is offered as %+v", r)
		}
	}
	if b.besideOf(samples, "scan") != nil {
		t.Error("a phase without samples has series")
	}
}

// A run of many long trials keeps its numbers within their bound.
func TestBesideIsThinned(t *testing.T) {
	var samples []record.Sample
	for i := range 5000 {
		rss := uint64(i)
		samples = append(samples, record.Sample{Phase: "put", At: float64(i + 1), Seconds: 1, RSSBytes: &rss})
	}
	for _, trials := range []int{1, 100, 5000} {
		b := builder{beside: map[string]bool{}, samples: trials}
		steps := len(b.besideOf(samples, "put").At)
		if steps > besideStepsMax || steps < besideStepsMin {
			t.Errorf("with %d trials there are %d steps", trials, steps)
		}
	}
}

func TestRecordsAreDrawnOnlyWhereTheyChange(t *testing.T) {
	for _, c := range []struct {
		step uint64
		want bool
	}{{0, false}, {1000, true}} {
		var samples []record.Sample
		for i := range 20 {
			n := 10_000 + uint64(i)*c.step
			samples = append(samples, record.Sample{Phase: "put", At: float64(i + 1), Seconds: 1, Operations: 5, Records: &n})
		}
		s := seriesOf(verdict.Sampled(&record.Run{Experiment: spec.Experiment{Phases: []spec.Phase{{Name: "put"}}}, Series: map[string][]record.Sample{"b1": samples}}, "b1", "put"), 800)
		if (s.Records != nil) != c.want || c.want && len(s.Records) != len(s.At) {
			t.Errorf("with %d more records a sample, %d of %d points have records", c.step, len(s.Records), len(s.At))
		}
	}
}

func TestFinalChecksAreSummed(t *testing.T) {
	var s sum
	if s.text() != "" {
		t.Errorf("no check at all reads %q", s.text())
	}
	s.add(nil)
	s.add(&Final{Records: 10_000, Right: 10_000})
	if got := s.text(); got != "10,000 read back, all right" || s.bad() {
		t.Errorf("a good check reads %q", got)
	}
	s.add(&Final{Records: 10_000, Right: 9_990, Lost: 7, Stale: 3})
	if got := s.text(); got != "20,000 read back: 19,990 right, 7 lost, 3 stale" || !s.bad() {
		t.Errorf("a bad check reads %q", got)
	}
}
