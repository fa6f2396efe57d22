package detect

import (
	"assay/internal/analysis/series"
	"assay/internal/evidence/record"
)

const (
	// tellS is how much later than a pause its counter may be read: a worker reports its counters once a second.
	tellS = 1.5
	// pausedShare is the share of a drop's time from which garbage collection makes it.
	pausedShare = 0.5
)

// byCollection reports whether the JVM collected garbage for at least half of a drop's time.
func byCollection(samples []record.Sample, d series.Drop) bool {
	before, after := map[string]float64{}, map[string]float64{}
	for _, s := range samples {
		for name, value := range s.Stats.All() {
			if !record.IsCollection(name) {
				continue
			}
			if _, known := before[name]; !known || s.At <= d.From {
				before[name] = value
			}
			if s.At <= d.To+tellS {
				after[name] = value
			}
		}
	}
	paused := 0.0
	for name, value := range after {
		paused += (value - before[name]) / 1e9
	}
	length := d.To - d.From
	if d.Silent > 0 {
		length = min(length, d.Silent)
	}
	return paused > 0 && paused >= pausedShare*length
}
