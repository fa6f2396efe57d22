package detect_test

import (
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/resulttest"
)

// TestPauses has elm wait in operations of 300 ms, so many in each thread for each 3 s.
//
// Fault (servers): a store pauses for 300 ms in each 3 s
// Assay: reported: how long it paused, how often, and the share of its time
func TestPauses(t *testing.T) {
	paused := func(ns uint64, share float64, change func(*record.Phase)) func(run *record.Run) {
		return func(run *record.Run) {
			for _, trial := range resulttest.Trials(run, "elm") {
				p := resulttest.PhaseOf(trial, "put")
				p.ElapsedNS = 60e9
				for range uint64(share * float64(p.Threads) * float64(p.ElapsedNS) / float64(ns)) {
					p.Operations[0].Service.Record(ns)
				}
				if change != nil {
					change(p)
				}
			}
		}
	}
	found := []finding.Code{finding.Pauses}
	expect(t, resulttest.CleanRun, []planted{
		{"a tenth of the time", paused(300e6, 0.1, nil), found, finding.Params{"arm": "elm"}},
		{"a hundredth of it", paused(300e6, 0.01, nil), nil, nil},
		{"short ones", paused(20e6, 0.1, nil), nil, nil},
		{"behind a pipeline", paused(300e6, 0.1, func(p *record.Phase) { p.Pipeline = 16 }), nil, nil},
		{"a store that is slow each time", paused(300e6, 0.1, func(p *record.Phase) {
			for range 3 * p.Operations[0].Service.Count() {
				p.Operations[0].Service.Record(10e6)
			}
		}), nil, nil},
	})
}

// Fault (servers): a store takes long to open
// Assay: reported, and recorded: `open_seconds`
func TestSlowOpen(t *testing.T) {
	opened := func(seconds ...float64) func(run *record.Run) {
		return func(run *record.Run) {
			for _, trial := range resulttest.Trials(run, "elm") {
				trial.OpenSeconds = seconds
			}
		}
	}
	expect(t, resulttest.CleanRun, []planted{
		{"in milliseconds", opened(0.004, 0.2), nil, nil},
		{"in four seconds", opened(0.01, 4.1), []finding.Code{finding.SlowOpen}, finding.Params{"arm": "elm", "seconds": 4.1}},
	})
}
