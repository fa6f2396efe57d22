package history

import (
	"slices"
	"testing"

	"assay/internal/base/histogram"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// follower writes each 100 ms, and reads at the ages that are given, in µs, a replica which is so many µs
// late. Reads take 10 µs.
func follower(writes int, lateUS int64, agesUS ...int64) *audit.History {
	const us, apart = 1000, 100_000
	h := &audit.History{Number: phase, Keys: []uint64{0}, UntilNS: []int64{never, never}}
	version := func(n int) uint64 { return phase<<56 | uint64(n+1) }
	for n := range writes {
		at := int64(n) * apart * us
		h.Events = append(h.Events, audit.HistoryEvent{Operation: trace.Update, BeginNS: at, EndNS: at + us,
			Outcome: counters.OK, Written: version(n), Read: audit.NothingRead})
		for _, age := range agesUS {
			seen := n
			if age < lateUS {
				seen--
			}
			if seen < 0 {
				continue
			}
			end := at + us + age*us
			h.Events = append(h.Events, audit.HistoryEvent{Thread: 1, Operation: trace.Read, BeginNS: end - 10*us,
				EndNS: end, Outcome: counters.OK, Read: version(seen), Written: audit.NothingWritten})
		}
	}
	return h
}

// Fault (values): a replica shows writes 3 ms late
// Assay: `staleness` of the phase: the time after which 99 % of the reads were current
func TestStalenessIsTheReplicasLag(t *testing.T) {
	t.Parallel()
	reads := []int64{500, 1500, 2500, 4000, 30_000}
	c := Check(follower(200, 3000, reads...))
	s := c.Staleness
	if c.Stale != 3*199 || s.LateNS.Count() != c.Stale {
		t.Fatalf("%d old reads, %d in the histogram", c.Stale, s.LateNS.Count())
	}
	low, high := s.LateNS.Quantile(0), s.LateNS.Quantile(1)
	if low < 0.47e6 || low > 0.51e6 || high < 2.45e6 || high > 2.55e6 {
		t.Errorf("old reads were %v to %v ns late, expected 0.49 to 2.49 ms", low, high)
	}
	told := map[int64][2]uint64{}
	for _, a := range s.Ages {
		if a.Reads > 0 {
			told[a.NS] = [2]uint64{a.Reads, a.Old}
		}
	}
	for ns, want := range map[int64][2]uint64{5e5: {199, 199}, 2e6: {199, 199}, 5e6: {399, 199}, 5e7: {200, 0}} {
		if told[ns] != want {
			t.Errorf("at most %d ns after the write: %v reads and old ones, expected %v", ns, told[ns], want)
		}
	}
	if after, known := s.CurrentAfter(); !known || after != 2e7 {
		t.Errorf("current after %d ns, %v, expected 20 ms, the end of the line before", after, known)
	}

	honest := Check(follower(200, 0, reads...)).Staleness
	after, known := honest.CurrentAfter()
	old := slices.ContainsFunc(honest.Ages, func(a Age) bool { return a.Old > 0 })
	if honest.LateNS != nil || !known || after != 0 || old {
		t.Errorf("a replica that is never late: %+v, current after %d ns, %v", honest, after, known)
	}
}

func TestStalenessWithoutCurrentReadsIsNotReported(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*Staleness{
		"nothing":          nil,
		"old to the end":   {Ages: []Age{{1000, 500, 0}, {2000, 500, 50}}},
		"too few reads":    {Ages: []Age{{1000, 50, 0}, {2000, 49, 0}}},
		"one old of a few": {Ages: []Age{{1000, 99, 1}, {2000, 1, 1}}},
	} {
		if after, known := s.CurrentAfter(); known {
			t.Errorf("%s: current after %d ns", name, after)
		}
	}
	few := &Staleness{Ages: []Age{{1000, 500, 400}, {2000, 60, 0}, {5000, 60, 1}, {10000, 1000, 3}}}
	if after, known := few.CurrentAfter(); !known || after != 1000 {
		t.Errorf("few reads are judged with the next ones: %d ns, %v", after, known)
	}
}

func TestStalenessAddsUp(t *testing.T) {
	t.Parallel()
	late := histogram.New()
	late.Record(5000)
	a := &Staleness{LateNS: late, Ages: []Age{{1000, 5, 2}, {2000, 1, 0}}}
	b := &Staleness{Ages: []Age{{2000, 3, 1}, {5000, 7, 0}}}
	sum := a.With(b)
	want := []Age{{1000, 5, 2}, {2000, 4, 1}, {5000, 7, 0}}
	if !slices.Equal(sum.Ages, want) || sum.LateNS.Count() != 1 {
		t.Errorf("%+v, expected %v", sum, want)
	}
	if (*Staleness)(nil).With(b) != b || b.With(nil) != b {
		t.Error("nothing adds something")
	}
}
