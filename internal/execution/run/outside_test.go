package run

import (
	"slices"
	"testing"

	"assay/internal/base/finding"
)

// Fault (physics): a phase of 2 s says 4 s
// Assay: `machine-disturbed` (`clock-began-early`, `clock-ended-late`, `clock-began-late`,
// `clock-ended-early`), by the conductor's clock
func TestPhaseTimesAreHeldAgainstObservations(t *testing.T) {
	const second = int64(1e9)
	for _, c := range []struct {
		name       string
		start, end int64
		held       int64
		want       finding.Code // of the mark, which is by one second; "": none
	}{
		{"true", 10 * second, 14 * second, 0, ""},
		{"as short as what was seen allows", 11*second + 10, 13 * second, 0, ""},
		{"the clocks differ a little", 11*second + 1e6, 13*second - 1e6, 0, ""},
		{"longer than what was seen", 5 * second, 20 * second, 0, ""},
		{"too late a start", 12 * second, 14 * second, 0, finding.MarkBeganLate},
		{"too early an end", 10 * second, 12 * second, 0, finding.MarkEndedSoon},
		{"an end that a busy machine explains", 10 * second, 12 * second, 1500e6, ""},
		{"an end that a busy machine does not explain", 10 * second, 12 * second, 500e6, finding.MarkEndedSoon},
		{"a start that is reported too late, which no load explains", 12 * second, 14 * second, 9 * second, finding.MarkBeganLate},
		{"no end: the worker died", 10 * second, 0, 0, ""},
	} {
		var s outside
		for _, at := range []struct {
			seconds int64
			threads []uint64
		}{{9, []uint64{0, 0}}, {11, []uint64{5, 0}}, {12, []uint64{5, 7}}, {13, []uint64{5, 7}}, {15, []uint64{6,
			7}}, {16, []uint64{6, 7}}} {
			s.look(at.seconds*second, at.seconds*second+10, at.threads)
		}
		marks := s.against("mixed", c.start, c.end, c.held)
		if (len(marks) > 0) != (c.want != "") {
			t.Errorf("%s: marks %+v", c.name, marks)
			continue
		}
		if len(marks) > 0 && (marks[0].Code != c.want || marks[0].Phase != "mixed" || !slices.Contains([]any{second, second - 10}, marks[0].Params["by_ns"])) {
			t.Errorf("%s: %+v, want %q", c.name, marks[0], c.want)
		}
	}
	for _, c := range []struct {
		name       string
		start, end int64
		want       finding.Code
	}{
		{"as asked", 10 * second, 12 * second, ""},
		{"two seconds are reported as four, back", 8 * second, 12 * second, finding.MarkBeganEarly},
		{"two seconds are reported as four, on", 10 * second, 14 * second, finding.MarkEndedLate},
	} {
		s := outside{asked: 10*second - 1e5, replied: 12*second + 1e5}
		if marks := s.against("mixed", c.start, c.end, 9*second); (len(marks) > 0) != (c.want != "") || len(marks) > 0 && marks[0].Code != c.want {
			t.Errorf("%s: marks %+v", c.name, marks)
		}
	}
	if marks := new(outside).against("short", 1, 2, 0); len(marks) > 0 {
		t.Errorf("a phase that was not watched is marked: %+v", marks)
	}
}

// A worker whose clock is slow says that it worked for 3.0 s, and was seen at work for 4.29: no excuse makes
// its rate higher than what was seen. One that is late by what clocks differ in keeps its own time.
//
// Fault (physics): a worker's clock runs at 0.7 of the speed while others use the CPU, which
// excuses its late end
// Assay: the conductor's clock bounds the rate from above
func TestRateIsBoundedFromOutside(t *testing.T) {
	t.Parallel()
	const second = int64(1e9)
	for name, c := range map[string]struct{ workingAfter, end, want int64 }{
		"a slow clock":           {workingAfter: second + 4_290_000_000, end: 4 * second, want: 4_290_000_000},
		"an honest one":          {workingAfter: second + 2_950_000_000, end: 4 * second, want: 3 * second},
		"within the clocks' own": {workingAfter: 4*second + 1000, end: 4 * second, want: 3 * second},
		"never seen at work":     {end: 4 * second, want: 3 * second},
	} {
		s := outside{workingAfter: c.workingAfter}
		if got := s.elapsedNS(second, c.end); got != c.want {
			t.Errorf("%s: %d ns, expected %d", name, got, c.want)
		}
	}
}
