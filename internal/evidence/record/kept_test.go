package record

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"assay/internal/base/histogram"
)

// A report of a thousand trials must fit into a small machine: what a sample and a histogram keep is
// what that comes to.
func TestWhatATrialKeepsIsSmall(t *testing.T) {
	const samples, names, histograms, trials = 40, 25, 3, 40
	times := histogram.New()
	for i := range 300 { // buckets that a phase's latencies fall into
		times.Record(uint64(1000 * (i + 1)))
	}
	figures := map[string]float64{}
	for i := range names {
		figures[fmt.Sprintf("machine.figure_%d", i)] = float64(i)
	}
	sample, err := json.Marshal(Sample{Phase: "put", Seconds: 1, Resources: ValuesOf(figures)})
	if err != nil {
		t.Fatal(err)
	}
	counted, err := json.Marshal(times)
	if err != nil {
		t.Fatal(err)
	}
	type trial struct {
		series []Sample
		times  []*histogram.Histogram
	}
	all := make([]trial, trials)
	before := heap()
	for i := range all {
		all[i].series = make([]Sample, samples)
		for k := range all[i].series {
			if err := json.Unmarshal(sample, &all[i].series[k]); err != nil {
				t.Fatal(err)
			}
		}
		for range histograms {
			h := &histogram.Histogram{}
			if err := json.Unmarshal(counted, h); err != nil {
				t.Fatal(err)
			}
			all[i].times = append(all[i].times, h)
		}
	}
	each := (heap() - before) / trials
	if most := uint64(40 << 10); each > most { // with maps and whole histograms it was 170 kB
		t.Errorf("a trial of %d samples and %d histograms keeps %d bytes, more than %d", samples, histograms, each, most)
	}
	if v, there := all[0].series[3].Resources.Get("machine.figure_7"); !there || v != 7 {
		t.Errorf("a figure came back as %v, %v", v, there)
	}
	if _, there := all[0].series[3].Resources.Get("machine.other"); there {
		t.Error("a figure that is not there was found")
	}
	runtime.KeepAlive(all)
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
