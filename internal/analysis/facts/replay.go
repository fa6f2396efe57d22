package facts

import (
	"assay/internal/evidence/record"
	"assay/internal/experiment/recording"
)

// replayOf sums up how far phases differ from the recording that they replay: of each measure the worst.
// nil: they replay none.
func replayOf(phases []*record.Phase) *recording.Fidelity {
	var worst *recording.Fidelity
	for _, p := range phases {
		f := p.Fidelity
		if f == nil {
			continue
		}
		if worst == nil {
			copied := *f
			worst = &copied
			continue
		}
		if f.Hits > worst.Hits {
			worst.HitRates = f.HitRates
		}
		if f.Gaps > worst.Gaps {
			worst.GapsAt = f.GapsAt
		}
		worst.Sent, worst.Speed = min(worst.Sent, f.Sent), min(worst.Speed, f.Speed)
		if f.DelayNS > worst.DelayNS {
			worst.DelayNS, worst.GapNS = f.DelayNS, f.GapNS
		}
		worst.Mix, worst.Sizes = max(worst.Mix, f.Mix), max(worst.Sizes, f.Sizes)
		worst.KeyLengths = max(worst.KeyLengths, f.KeyLengths)
		worst.TTLs = max(worst.TTLs, f.TTLs)
		worst.Gaps, worst.Hits = max(worst.Gaps, f.Gaps), max(worst.Hits, f.Hits)
	}
	return worst
}
