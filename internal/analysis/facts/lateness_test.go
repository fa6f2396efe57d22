package facts_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/testkit/resulttest"
)

// openLoad makes a phase of open load: each response time is of so many operations, and so many began
// by so many ns.
func openLoad(responses, late map[uint64]uint64, latestNS uint64) *record.Phase {
	h, operations := histogram.New(), uint64(0)
	for ns, n := range responses {
		h.Counts[histogram.Bucket(ns)] += n
		operations += n
	}
	words := make([]uint64, counters.LatenessWords)
	for ns, n := range late {
		words[counters.LatenessWord(ns)] = n
	}
	return &record.Phase{Name: "put", Open: true, LatenessMaxNS: latestNS, Late: words, Attempted: operations,
		Operations: []record.Operation{{Name: "update", OK: operations, Service: h, Response: h}}}
}

func TestPercentileWithATenthOfLatenessIsRefused(t *testing.T) {
	const ms = 1_000_000
	for _, c := range []struct {
		name  string
		phase *record.Phase
		want  []float64
	}{
		{"on time", openLoad(map[uint64]uint64{ms: 100_000}, nil, 90), nil},
		{"late by little", openLoad(map[uint64]uint64{ms: 100_000}, map[uint64]uint64{30_000: 100_000}, 30_000), nil},
		{"all late by more", openLoad(map[uint64]uint64{ms: 100_000}, map[uint64]uint64{150_000: 100_000}, 400_000), facts.Quantiles},
		{"a hundredth late", openLoad(map[uint64]uint64{ms: 100_000}, map[uint64]uint64{150_000: 1_100}, 400_000), []float64{0.99, 0.999, 0.9999}},
		{"a hundredth late, whose responses are longer still", openLoad(map[uint64]uint64{ms: 98_000, 50 * ms: 2_000}, map[uint64]uint64{150_000: 1_100}, 400_000), nil},
		{"one operation very late refuses nothing", openLoad(map[uint64]uint64{ms: 100_000}, map[uint64]uint64{5_000 * ms: 1}, 5_000*ms), nil},
		{"the median alone", openLoad(map[uint64]uint64{10_000: 60_000, 500 * ms: 40_000}, map[uint64]uint64{4_000: 90_000}, 4_000), []float64{0.5}},
		{"the last word reaches to the largest", openLoad(map[uint64]uint64{40_000 * ms: 100_000}, map[uint64]uint64{3_000 * ms: 100_000}, 1_000_000*ms), facts.Quantiles},
		{"not counted by its worker", &record.Phase{Open: true, LatenessMaxNS: 5_000 * ms, Operations: openLoad(map[uint64]uint64{ms: 1000}, nil, 0).Operations}, nil},
	} {
		if got := facts.Refuse(c.phase).Refused; !slices.Equal(got, c.want) {
			t.Errorf("%s: refused %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPercentileThatUnstartedOperationsCouldChangeIsRefused(t *testing.T) {
	const ms = 1_000_000
	// A stall at the end: 1.1 ‰ of what was seen waited for half a second, and p99 stands well
	// below.
	stalled := map[uint64]uint64{ms / 10: 98_500, ms: 1_390, 500 * ms: 110}
	for _, c := range []struct {
		name      string
		responses map[uint64]uint64
		notBegun  uint64
		want      []float64
	}{
		{"all begun", stalled, 0, nil},
		{"0.9 % never begun: p99 of all is in the stall", stalled, 908, []float64{0.99, 0.999, 0.9999}},
		{"0.5 % never begun: p99 of all is not in the stall", stalled, 503, []float64{0.999, 0.9999}},
		{"0.9 % never begun, but they could change little", map[uint64]uint64{100 * ms: 99_000, 105 * ms: 1_000}, 908, []float64{0.999, 0.9999}},
		{"more never begun than lies above a quantile", map[uint64]uint64{ms: 100_000}, 11, []float64{0.9999}},
		{"too many never begun", stalled, 1_100, append(slices.Clone(facts.Quantiles), 1)},
	} {
		p := openLoad(c.responses, nil, 0)
		p.NotBegun = c.notBegun
		r := facts.Refuse(p)
		if !slices.Equal(r.Refused, c.want) || (r.Why == facts.RefusedBacklog) != (c.want != nil) {
			t.Errorf("%s: refused %v for %q, want %v", c.name, r.Refused, r.Why, c.want)
		}
	}
}

// What began late and what never began is not counted by kind: whole phases say it.
func TestKindIsRefusedForFieldsOfWholePhases(t *testing.T) {
	const ms = 1_000_000
	mix := func(late map[uint64]uint64, change func(p *record.Phase)) *record.Phase {
		p := openLoad(map[uint64]uint64{2 * ms: 95_000}, late, 0)
		scans := openLoad(map[uint64]uint64{3 * ms: 4_999, 800 * ms: 1}, nil, 0).Operations[0]
		p.Operations[0].Name, scans.Name = "read", "scan"
		p.Operations[0].MaxNS, scans.MaxNS = 2*ms, 800*ms
		p.Operations, p.Attempted, p.ElapsedNS = append(p.Operations, scans), 100_000, 60_000*ms
		change(p)
		return p
	}
	quick := func(p *record.Phase) { // reads of which a lateness of 131 µs is more than a tenth
		p.Operations[0].Response, p.LatenessMaxNS = openLoad(map[uint64]uint64{ms: 95_000}, nil,
			0).Operations[0].Response, 180_000
	}
	for _, c := range []struct {
		name            string
		phase           *record.Phase
		row, read, scan []float64
	}{
		// The reads alone would say that nothing took so long as the phase is behind.
		{"behind by one scan", mix(nil, func(p *record.Phase) { p.BehindNS = 700 * ms }), nil, nil, nil},
		// The scans are 5 % of the operations: if all that was late were scans, it would be two
		// thirds of them.
		{"3.3 % late", mix(map[uint64]uint64{1_000_000: 3_300}, func(p *record.Phase) { p.LatenessMaxNS = 1_900_000 }), []float64{0.99, 0.999, 0.9999}, []float64{0.99, 0.999, 0.9999}, []float64{0.99, 0.999}},
		{"all late, by much for reads alone", mix(map[uint64]uint64{150_000: 100_000}, quick), []float64{0.5, 0.9}, facts.Quantiles, nil},
		{"0.1 ‰ never begun", mix(nil, func(p *record.Phase) { p.NotBegun = 11 }), []float64{0.9999}, []float64{0.9999}, []float64{0.9999}},
		{"far behind", mix(nil, func(p *record.Phase) { p.BehindNS = 900 * ms }), append(slices.Clone(facts.Quantiles), 1), append(slices.Clone(facts.Quantiles), 1), append(slices.Clone(facts.Quantiles), 1)},
	} {
		for name, got := range map[string][2][]float64{
			"row": {facts.Refuse(c.phase).Refused, c.row}, "read": {facts.RefuseKind("read", c.phase).Refused, c.read}, "scan": {facts.RefuseKind("scan", c.phase).Refused, c.scan},
		} {
			if !slices.Equal(got[0], got[1]) {
				t.Errorf("%s: of %s %v are refused, want %v", c.name, name, got[0], got[1])
			}
		}
	}
}

func TestLatenessIsKnownToAFactorOfTwo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		latest := rapid.SliceOfN(rapid.Uint64Range(0, 1<<34), 1, 300).Draw(t, "lateness")
		p := &record.Phase{Open: true, Late: make([]uint64, counters.LatenessWords),
			Operations: []record.Operation{{OK: uint64(len(latest))}}}
		for _, ns := range latest {
			if word := counters.LatenessWord(ns); word >= 0 {
				p.Late[word]++
			}
			p.LatenessMaxNS = max(p.LatenessMaxNS, ns)
		}
		l, ok := facts.LatenessOf(p)
		if !ok {
			t.Fatal("it was measured")
		}
		slices.Sort(latest)
		rank := rapid.IntRange(1, len(latest)).Draw(t, "rank")
		exact, got := latest[rank-1], l.At(float64(rank)/float64(len(latest)))
		word := counters.LatenessWord(exact)
		if word < 0 {
			if got != 0 {
				t.Fatalf("%d ns is on time, told as %g", exact, got)
			}
			return
		}
		low, high := float64(counters.LatenessFromNS(word)), float64(counters.LatenessFromNS(word+1))
		if word == counters.LatenessWords-1 {
			high = float64(p.LatenessMaxNS)
		}
		if got < low*0.999 || got > high*1.001 {
			t.Fatalf("rank %d of %d is %d ns, told as %g, outside %g to %g", rank, len(latest), exact, got, low, high)
		}
	})
}

func TestRefusedPercentilesAreAFinding(t *testing.T) {
	run := resulttest.CleanRun()
	run.Experiment.Phases[1].Rate = 50e3
	for _, arm := range []string{"oak", "elm", "ash", "oak (A/A)"} {
		for _, trial := range resulttest.Trials(run, arm) {
			p := resulttest.PhaseOf(trial, "put")
			p.Open, p.Operations[0].Response, p.Late = true, p.Operations[0].Service, make([]uint64,
				counters.LatenessWords)
		}
	}
	for _, trial := range resulttest.Trials(run, "elm") {
		p := resulttest.PhaseOf(trial, "put")
		p.LatenessMaxNS, p.Late[counters.LatenessWord(2_500_000)] = 8_000_000, p.Operations[0].Done()
	}
	r := resulttest.ResultOf(t, run)
	f := resulttest.Find(r, finding.DispatchLate)
	if f == nil || f.Where.Arm != "elm" || len(f.Params["quantiles"].([]string)) < 4 || f.Params["counted"] != true {
		t.Fatalf("%+v", r.Findings)
	}
	if len(resulttest.RowOf(t, r, "put", "elm").Refused) < 4 || len(resulttest.RowOf(t, r, "put", "oak").Refused) > 0 {
		t.Error("the percentiles of elm are refused, and those of oak are not")
	}
}

// A percentile that holds the harness's delay is known to be at most what was measured; one that hangs on what
// never began is not.
func TestLatePercentileIsAnUpperBound(t *testing.T) {
	const ms = 1_000_000
	late := openLoad(map[uint64]uint64{ms: 100_000}, map[uint64]uint64{ms / 2: 100_000}, 0)
	l := facts.LatenciesOf(facts.Refuse(late), late)
	for _, q := range []float64{0.5, 0.99, 0.9999} {
		if at := l.AtMostAt(q); l.At(q) != nil || at == nil || *at < 0.98*ms || *at > 1.02*ms {
			t.Errorf("quantile %g: %v, at most %v, want at most 1 ms", q, l.At(q), at)
		}
	}
	late.NotBegun = 900
	if l := facts.LatenciesOf(facts.Refuse(late), late); l.AtMostAt(0.9999) != nil || l.AtMostAt(0.5) == nil {
		t.Errorf("of operations that never began: %+v", l.AtMost)
	}
	onTime := openLoad(map[uint64]uint64{ms: 100_000}, nil, 0)
	if l := facts.LatenciesOf(facts.Refuse(onTime), onTime); l.AtMost != nil || l.At(0.99) == nil {
		t.Errorf("on time: %+v", l)
	}
}

func TestBacklogIsAFindingAndRefusesPercentiles(t *testing.T) {
	run := resulttest.CleanRun()
	run.Experiment.Phases[1].Rate = 50e3
	for _, arm := range []string{"oak", "elm", "ash", "oak (A/A)"} {
		for _, trial := range resulttest.Trials(run, arm) {
			p := resulttest.PhaseOf(trial, "put")
			p.Open, p.Operations[0].Response = true, p.Operations[0].Service
			p.Operations[0].MaxNS = uint64(p.ElapsedNS / 20)
			switch arm {
			case "elm":
				p.BehindNS = uint64(p.ElapsedNS / 2)
			case "ash": // its longest operation may have been under way
				p.BehindNS = uint64(p.ElapsedNS / 21)
			}
		}
	}
	r := resulttest.ResultOf(t, run)
	f := resulttest.Find(r, finding.FellBehind)
	if f == nil || f.Where.Arm != "elm" || f.Params["offered"] != 50e3 || len(f.Evidence) == 0 {
		t.Fatalf("%+v", f)
	}
	if elm := resulttest.RowOf(t, r, "put", "elm"); !slices.Contains(elm.Refused, 1) {
		t.Errorf("elm's percentiles: %+v", elm.Refused)
	}
	if ash := resulttest.RowOf(t, r, "put", "ash"); len(ash.Refused) > 0 {
		t.Errorf("ash's percentiles: %+v", ash.Refused)
	}
}

// A bucket's middle may lie above its values.
func TestNoPercentileIsAboveTheMaximum(t *testing.T) {
	run := resulttest.CleanRun()
	const ns = 1_003_520 // the lowest value of its bucket
	for _, trial := range resulttest.Trials(run, "elm") {
		op := &resulttest.PhaseOf(trial, "put").Operations[0]
		op.Service, op.MaxNS = histogram.New(), ns
		op.Service.Counts[histogram.Bucket(ns)] = op.Done()
	}
	if middle := histogram.Middle(histogram.Bucket(ns)); middle <= ns {
		t.Fatalf("the bucket's middle is %g", middle)
	}
	for _, p := range resulttest.RowOf(t, resulttest.ResultOf(t, run), "put", "elm").Points {
		if math.Abs(p.NS-ns) > 1e-9*ns { // a mean of logs is rounded
			t.Errorf("quantile %g is %g ns, and all operations took %d", p.Quantile, p.NS, ns)
		}
	}
}
