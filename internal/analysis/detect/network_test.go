package detect_test

import (
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// TestNetwork has elm be a server whose samples tell of the network, and whose operations take so long.
//
// Fault (physics): a full link, segments that are sent again, acknowledgements held back for 40 ms
// (Nagle's algorithm)
// Assay: `link-full`, `retransmits`, `delayed-acks`
// With: host.TestNetworkSeries
func TestNetwork(t *testing.T) {
	seen := func(resources map[string]float64, change func(*record.Phase)) func(run *record.Run) {
		return func(run *record.Run) {
			run.Experiment.Stores[1].Description.Kind = store.Server
			run.Experiment.KeyNamespace = true
			for _, trial := range resulttest.Trials(run, "elm") {
				trial.Server = &record.Server{}
				samples := run.InMemory[trial.Plan.ID]
				for i := range samples {
					samples[i].Resources = record.ValuesOf(resources)
				}
				if change != nil {
					change(resulttest.PhaseOf(trial, "put"))
				}
			}
		}
	}
	link := func(share float64) map[string]float64 {
		return map[string]float64{host.NetworkCapacity: 12.5e6, host.NetworkReceived: 12.5e6 * share,
			host.NetworkSent: 1e5}
	}
	lost := func(share float64) map[string]float64 {
		return map[string]float64{host.NetworkSegments: 1e5, host.NetworkResent: 1e5 * share}
	}
	held := func(perS float64) map[string]float64 { return map[string]float64{host.NetworkDelayedACK: perS} }
	slow := func(ns uint64) func(*record.Phase) { // one operation in 9
		return func(p *record.Phase) {
			p.Operations[0].MaxNS = max(p.Operations[0].MaxNS, ns)
			for range p.Operations[0].Service.Count() / 8 {
				p.Operations[0].Service.Record(ns)
			}
		}
	}
	// one operation in 4, of a server that works for 30 to 60 ms on it
	working := func(p *record.Phase) {
		for i := range p.Operations[0].Service.Count() / 3 {
			ns := 30e6 + i%31*1e6
			p.Operations[0].MaxNS = max(p.Operations[0].MaxNS, ns)
			p.Operations[0].Service.Record(ns)
		}
	}
	elm := finding.Params{"arm": "elm"}
	expect(t, resulttest.CleanRun, []planted{
		{"a full link", seen(link(0.94), nil), []finding.Code{finding.LinkFull}, elm},
		{"half a link", seen(link(0.5), nil), nil, nil},
		{"a link that does not tell", seen(map[string]float64{host.NetworkReceived: 12e6, host.NetworkSent: 1e5}, nil), nil, nil},
		{"3 % lost", seen(lost(0.03), nil), []finding.Code{finding.Retransmits}, elm},
		{"a thousandth lost", seen(lost(0.001), nil), nil, nil},
		{"40 ms, and as many held back", seen(held(1e6), slow(41e6)), []finding.Code{finding.DelayedACKs}, elm},
		{"40 ms, and none held back", seen(held(1), slow(41e6)), nil, nil},
		{"10 ms, and as many held back", seen(held(1e6), slow(10e6)), nil, nil},
		{"30 to 60 ms of work, and as many held back", seen(held(1e6), working), []finding.Code{finding.Pauses}, elm},
		{"nothing slow", seen(held(1e6), nil), nil, nil},
	})
}
