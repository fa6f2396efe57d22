package detect

import (
	"testing"

	"assay/internal/analysis/series"
	"assay/internal/evidence/record"
)

func TestByCollection(t *testing.T) {
	t.Parallel()
	// of samples one a second; a collector's time grows from second 10 on by so much
	samples := func(name string, growing func(second int) float64) (all []record.Sample) {
		sum := 0.0
		for second := 1; second <= 20; second++ {
			sum += growing(second)
			all = append(all, record.Sample{At: float64(second), Stats: record.ValuesOf(map[string]float64{name: sum * 1e9, "jvm_heap_used_bytes": 1e12})})
		}
		return all
	}
	at := func(from, to int, share float64) func(int) float64 {
		return func(second int) float64 {
			if second > from && second <= to {
				return share
			}
			return 0
		}
	}
	stall := series.Drop{From: 10, To: 12, Silent: 1.8}
	const young = "jvm_gc_g1_young_generation_ns"
	for _, c := range []struct {
		name    string
		samples []record.Sample
		want    bool
	}{
		{"all of the stall", samples(young, at(10, 12, 0.9)), true},
		{"told a second later", samples(young, at(11, 13, 0.9)), true},
		{"a third of it", samples(young, at(10, 12, 0.3)), false},
		{"before it", samples(young, at(5, 8, 0.9)), false},
		{"long after it", samples(young, at(14, 18, 0.9)), false},
		{"cycles beside the threads", samples("jvm_gc_zgc_cycles_ns", at(10, 12, 0.9)), false},
		{"pauses of cycles", samples("jvm_gc_zgc_pauses_ns", at(10, 12, 0.9)), true},
		{"another counter", samples("flush_ns", at(10, 12, 0.9)), false},
		{"no counters", []record.Sample{{At: 10}, {At: 12}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := byCollection(c.samples, stall); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
