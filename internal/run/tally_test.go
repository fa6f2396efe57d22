package run

import (
	"strings"
	"testing"

	"assay/internal/histogram"
	"assay/internal/record"
)

// timed is a phase of one thread and one second, in which so many writes took so long each.
func timed(operation string, operations int, each uint64) *record.Phase {
	h := histogram.New()
	h.Counts[histogram.Bucket(each)] = uint64(operations)
	return &record.Phase{Name: "p", Threads: 1, ElapsedNS: 1e9, EndedBy: record.EndedDuration,
		Operations: []record.Operation{{Name: operation, OK: uint64(operations), Service: h}}}
}

func TestServiceTimesMustFitTheTimeThatThreadsHad(t *testing.T) {
	for _, c := range []struct {
		name  string
		phase *record.Phase
		want  string
	}{
		{"all of it", timed("update", 1_000_000, 990), ""},
		{"more than there was", timed("update", 1_000_000, 1_200), "had 1 s"},
		{"a hundredth", timed("update", 1_000_000, 10), "what became of the rest"},
		{"reads, whose values are checked between", timed("read", 1_000_000, 10), ""},
		{"too few to tell", timed("update", 500, 10), ""},
	} {
		got := timeKept(c.phase)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		marked := len(marksOf(c.phase, nil)) > 0
		if marked != (c.want != "") {
			t.Errorf("%s: marked %v", c.name, marked)
		}
	}
	open := timed("update", 1_000_000, 10)
	open.Open = true
	if got := timeKept(open); got != "" {
		t.Errorf("open load: %q", got)
	}
}
