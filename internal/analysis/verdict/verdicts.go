package verdict

import "assay/internal/base/finding"

// verdict says who is ahead.
func (t *table) verdict() finding.Message {
	ranked, arms := t.ranked(), t.Best
	rate := 0.0
	if len(ranked) > 0 {
		rate = ranked[0].Rate.Value
	}
	var p finding.Parameters = finding.VerdictNone
	switch t.lead {
	case leadOpen:
		p = finding.VerdictOpenLoad
	case leadOnly:
		p = finding.VerdictOnlyParams{Arm: ranked[0].Arm, Rate: rate}
	case leadFastest:
		faster := inverse(ranked[1].ToBest)
		p = finding.VerdictFastestParams{Arm: ranked[0].Arm, Rate: rate, Next: ranked[1].Arm,
			Factor: faster.Value, Low: *faster.Low, High: *faster.High}
	case leadEqual:
		p = finding.VerdictEqualParams{Arms: arms, Rate: rate, Margin: t.margin}
	case leadTied:
		p = finding.VerdictTiedParams{Arms: arms, Rate: rate, Detectable: t.detectable, Blocks: t.common}
	case leadNoisy:
		p = finding.VerdictNoisyParams{Arms: arms, Blocks: t.common}
	case leadFewBlocks:
		p = finding.VerdictTooFewBlocksParams{Arms: arms, Blocks: t.common}
	}
	return finding.New(p)
}
