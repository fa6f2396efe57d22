package facts

import (
	"slices"

	"assay/internal/analysis/stat"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
)

// Network is what the samples of a phase tell of the network between a worker and its server. 0: that was
// not told.
type Network struct {
	BytesPerS, Capacity float64 // of the link: what it carried in its busier direction, the median, and what it can
	Resent, Segments    float64 // segments that connections sent again, and that the machine sent
	RTTMS               float64 // the longest median round trip
	DelayedACKsPerS     float64
	OperationsPerS      float64
}

// networkOf gathers it; nil: no sample has any of it.
func networkOf(samples []record.Sample) *Network {
	var n Network
	var carried, held []float64
	operations, seconds, told := 0.0, 0.0, false
	for _, s := range samples {
		operations, seconds = operations+float64(s.Operations), seconds+s.Seconds
		read := func(name string, use func(v float64)) {
			if v, is := s.Resource(name); is {
				told = true
				use(v)
			}
		}
		read(host.NetworkCapacity, func(v float64) { n.Capacity = v })
		read(host.NetworkReceived, func(v float64) { carried = append(carried, v) })
		read(host.NetworkSent, func(v float64) {
			if last := len(carried) - 1; last >= 0 {
				carried[last] = max(carried[last], v)
			}
		})
		read(host.NetworkResent, func(v float64) { n.Resent += v * s.Seconds })
		read(host.NetworkSegments, func(v float64) { n.Segments += v * s.Seconds })
		read(host.NetworkRTT, func(v float64) { n.RTTMS = max(n.RTTMS, v) })
		read(host.NetworkDelayedACK, func(v float64) { held = append(held, v) })
	}
	if !told || seconds <= 0 {
		return nil
	}
	n.OperationsPerS = operations / seconds
	if len(carried) > 0 {
		slices.Sort(carried)
		n.BytesPerS = carried[len(carried)/2]
	}
	if len(held) > 0 {
		n.DelayedACKsPerS = stat.Mean(held)
	}
	return &n
}
