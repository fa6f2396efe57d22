package facts_test

import (
	"math"
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
)

// A distribution has each operation in one bin, bins of equal width on a scale of decades, and none where a
// percentile is refused or few operations were timed.
func TestSpread(t *testing.T) {
	t.Parallel()
	phase := func(operations int) *record.Phase {
		h := histogram.New()
		for i := range operations {
			// as many in each part of three decades
			h.Record(uint64(1000 * math.Pow(10, 3*float64(i)/float64(operations))))
		}
		return &record.Phase{Operations: []record.Operation{{Service: h, MaxNS: 1e6}}}
	}
	l := facts.LatenciesOf(facts.Refusal{}, phase(50_000))
	sum := 0.0
	for i, b := range l.Spread {
		sum += b.Share
		if i > 0 && math.Abs(b.NS/l.Spread[i-1].NS-math.Pow(2, 1.0/8)) > 1e-9 {
			t.Errorf("bin %d is from %v to %v", i, l.Spread[i-1].NS, b.NS)
		}
		if i > 0 && i+1 < len(l.Spread) && math.Abs(b.Share*float64(len(l.Spread))-1) > 0.3 {
			t.Errorf("bin %d of %d has %.4f of the operations", i, len(l.Spread), b.Share)
		}
	}
	if math.Abs(sum-1) > 1e-9 || l.Spread[0].NS < 1000 || l.Spread[len(l.Spread)-1].NS < 0.9e6 {
		t.Errorf("%d bins from %v to %v hold %v of the operations", len(l.Spread), l.Spread[0].NS, l.Spread[len(l.Spread)-1].NS, sum)
	}
	if facts.LatenciesOf(facts.Refusal{}, phase(500)).Spread != nil {
		t.Error("500 operations have a distribution")
	}
	if facts.LatenciesOf(facts.Refusal{Refused: []float64{0.99}}, phase(50_000)).Spread != nil {
		t.Error("one of which a percentile is refused has a distribution")
	}
}
