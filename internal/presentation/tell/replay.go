package tell

import (
	"math"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/experiment/plan"
)

// differenceMin is the least difference of mixes and of lengths that is reported.
const differenceMin = 0.01

// delayShareMin is the mean delay, as a share of the mean gap, that is reported: it changes the gaps.
const delayShareMin = 0.1

// replaysOf says of each table that replays a recording how far what was sent differs from it: of all
// stores the worst.
func replaysOf(tables []*facts.Table) (messages []finding.Message) {
	for _, t := range tables {
		var p *finding.ReplayedParams
		for _, r := range t.Rows {
			f := r.Replay
			if f == nil || r.Role != plan.Measured {
				continue
			}
			if p == nil {
				p = &finding.ReplayedParams{Place: t.Place(), Sent: f.Sent, Recorded: f.Recorded, Speed: f.Speed,
					Closed: f.Closed, OneIn: f.OneIn}
				for _, left := range f.Left {
					p.Left += left.Count
					p.Why = append(p.Why, left.Why)
				}
			}
			p.Sent, p.Speed = min(p.Sent, f.Sent), min(p.Speed, f.Speed)
			if math.Abs(f.Speed-f.Asked) >= differenceMin*f.Asked && !f.Closed {
				p.Asked = f.Asked
			}
			if f.DelayNS > delayShareMin*f.GapNS {
				p.DelayNS = max(p.DelayNS, f.DelayNS)
			}
			p.Gaps, p.Hits = max(p.Gaps, f.Gaps), max(p.Hits, f.Hits)
			if f.Mix >= differenceMin {
				p.Mix = max(p.Mix, f.Mix)
			}
			if f.TTLs >= differenceMin {
				p.Lives = max(p.Lives, f.TTLs)
			}
			if f.KeyLengths >= differenceMin {
				p.Keys = max(p.Keys, f.KeyLengths)
			}
			if f.Sizes >= differenceMin {
				p.Sizes = max(p.Sizes, f.Sizes)
			}
		}
		if p != nil {
			messages = append(messages, finding.New(*p))
		}
	}
	return messages
}
