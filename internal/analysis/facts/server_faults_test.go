package facts_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/evidence/record"
)

// secondly are samples of a second each: good operations, and failed ones where a number is below 0.
func secondly(rates ...int) (samples []record.Sample) {
	for i, n := range rates {
		s := record.Sample{At: float64(i + 1), Seconds: 1, Operations: uint64(max(n, 0))}
		if n < 0 {
			s.Operations, s.Bad = uint64(-n), uint64(-n)
		}
		samples = append(samples, s)
	}
	return samples
}

func TestRecoveries(t *testing.T) {
	kill := record.ServerFault{At: 3, Does: "kill", Node: 1}
	start := record.ServerFault{At: 5, Does: "start", Node: 1, Undoes: "kill", Seconds: 0.5}
	after := start
	after.After = true
	for _, c := range []struct {
		name      string
		faults    []record.ServerFault
		samples   []record.Sample
		recovered []float64 // of each fault, seconds since the phase began; 0: never
		bad       []uint64
	}{
		{"it comes back", []record.ServerFault{kill, start}, secondly(100, 100, 100, -9, -9, 20, 90, 95, 100), []float64{7}, []uint64{18}},
		{"it is never felt", []record.ServerFault{kill, start}, secondly(100, 100, 100, 100, 99, 98, 97), []float64{4}, []uint64{0}},
		{"it does not come back", []record.ServerFault{kill, after}, secondly(100, 100, 100, -9, -9, -9, -9), []float64{0}, []uint64{36}},
		{"one good second between is no recovery", []record.ServerFault{kill, start}, secondly(100, 100, 100, -9, 90, 10, 90, 90), []float64{7}, []uint64{9}},
		{"a recovery that does not last is none", []record.ServerFault{kill, start}, secondly(100, 100, 100, 90, 90, 10, 0), []float64{0}, []uint64{0}},
		{"two faults", []record.ServerFault{kill, start, {At: 7, Does: "freeze", Node: 1}, {At: 8, Does: "start", Node: 1}},
			secondly(100, 100, 100, -5, -5, 90, 90, 0, 90, 90), []float64{6, 9}, []uint64{10, 0}},
		{"a sample in which the next one happened is of that", []record.ServerFault{kill, start, {At: 6.005, Does: "freeze", Node: 1}},
			secondly(100, 100, 100, -5, 90, 90, -1, 0, 90, 90), []float64{5, 9}, []uint64{5, 1}},
		{"nothing is known of before", []record.ServerFault{{At: 1, Does: "kill", Node: 1}}, secondly(100, 0, 0), nil, nil},
		{"one that did not work", []record.ServerFault{{At: 3, Does: "kill", Node: 1, Error: "no"}}, secondly(100, 100, 100, 100), nil, nil},
	} {
		p := &record.Phase{Faults: c.faults, ElapsedNS: int64(len(c.samples)) * 1e9}
		got := facts.Recoveries(p, c.samples)
		if len(got) != len(c.recovered) {
			t.Errorf("%s: %d faults, want %d", c.name, len(got), len(c.recovered))
			continue
		}
		for i, r := range got {
			at := 0.0
			if r.RecoveredAt != nil {
				at = *r.RecoveredAt
			}
			if at != c.recovered[i] || r.Bad != c.bad[i] || r.Before != 100 {
				t.Errorf("%s: fault %d recovered at %v after %d failures from %v/s, want %v and %d", c.name, i, at, r.Bad, r.Before, c.recovered[i], c.bad[i])
			}
		}
	}
}

// The rate while a fault lasts is that of the samples in that time: what was put in comes out.
func TestRateDuringAFault(t *testing.T) {
	delay := record.ServerFault{At: 3, Does: "delay", Node: 1, Amount: "20ms"}
	undone := record.ServerFault{At: 7, Does: "start", Node: 1, Undoes: "delay"}
	reset := record.ServerFault{At: 3, Does: "reset", Node: 1}
	for _, c := range []struct {
		name    string
		faults  []record.ServerFault
		samples []record.Sample
		during  float64 // -1: not known
	}{
		{"it is what lies between", []record.ServerFault{delay, undone}, secondly(1000, 1000, 1000, 48, 47, 49, 48, 1000, 1000), 48},
		{"samples over its ends are left out", []record.ServerFault{{At: 2.5, Does: "delay", Node: 1}, {At: 6.5, Does: "start", Node: 1}},
			secondly(1000, 1000, 500, 48, 48, 48, 600, 1000), 48},
		{"it lasts to the end", []record.ServerFault{delay}, secondly(1000, 1000, 1000, 50, 50), 50},
		{"failures are no rate", []record.ServerFault{delay, undone}, secondly(1000, 1000, 1000, 50, -50, 50, -50, 1000), 25},
		{"it was over at once", []record.ServerFault{reset}, secondly(1000, 1000, 1000, 900, 1000), -1},
		{"no sample lies in it", []record.ServerFault{delay, {At: 3.4, Does: "start", Node: 1}}, secondly(1000, 1000, 1000, 900, 1000), -1},
	} {
		p := &record.Phase{Faults: c.faults, ElapsedNS: int64(len(c.samples)) * 1e9}
		got := facts.Recoveries(p, c.samples)
		switch {
		case len(got) != 1:
			t.Errorf("%s: %d faults", c.name, len(got))
		case (got[0].During == nil) != (c.during < 0) || got[0].During != nil && *got[0].During != c.during:
			t.Errorf("%s: %v, want %v", c.name, got[0].During, c.during)
		}
	}
	if none := facts.Recoveries(&record.Phase{ElapsedNS: 5e9}, secondly(1000, 900, 10, 1000, 900)); len(none) > 0 {
		t.Errorf("a phase without a fault has recoveries: %+v", none)
	}
}

// A limit that takes a share of the rate away is found as that share, within 5 %, in 500 simulated runs with
// noise of 3 %; runs without one have no recovery.
func TestInjectedLimitsAreFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 500 {
		left := 0.02 + 0.9*random.Float64()
		var rates, calm []int
		for i := range 60 {
			rate := 100_000 * (1 + 0.03*random.NormFloat64())
			calm = append(calm, int(rate))
			if i >= 20 && i < 40 {
				rate *= left
			}
			rates = append(rates, int(rate))
		}
		p := &record.Phase{ElapsedNS: 60e9, Faults: []record.ServerFault{{At: 20, Does: "cpu", Node: 1, Amount: "50 %"},
			{At: 40, Does: "start", Node: 1, Undoes: "cpu"}}}
		got := facts.Recoveries(p, secondly(rates...))
		if len(got) != 1 || got[0].During == nil || math.Abs(*got[0].During/got[0].Before/left-1) > 0.05 {
			t.Errorf("run %d: %+v, %v of the rate was left", n, got, left)
		} else if back := got[0].RecoveredAt; back == nil || left < 0.4 && (*back < 40 || *back > 42) {
			t.Errorf("run %d: recovered at %v, the limit was lifted at 40 s", n, back)
		}
		if none := facts.Recoveries(&record.Phase{ElapsedNS: 60e9}, secondly(calm...)); len(none) > 0 {
			t.Errorf("run %d: a phase without a fault has recoveries: %+v", n, none)
		}
	}
}
