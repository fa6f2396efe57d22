package tell

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
)

// verdictOf says who is ahead.
func verdictOf(t *facts.Table) finding.Message {
	ranked, arms := t.Ranked(), t.Best
	rate := 0.0
	if len(ranked) > 0 {
		rate = ranked[0].Rate.Value
	}
	var p finding.Parameters = finding.VerdictNone
	switch t.Lead {
	case facts.LeadOpen:
		p = finding.VerdictOpenLoad
	case facts.LeadOnly:
		p = finding.VerdictOnlyParams{Arm: ranked[0].Arm, Rate: rate}
	case facts.LeadFastest:
		faster := facts.Inverse(ranked[1].ToBest)
		p = finding.VerdictFastestParams{Arm: ranked[0].Arm, Rate: rate, Next: ranked[1].Arm,
			Factor: faster.Value, Low: *faster.Low, High: *faster.High}
	case facts.LeadEqual:
		p = finding.VerdictEqualParams{Arms: arms, Rate: rate, Margin: t.Margin}
	case facts.LeadTied:
		p = finding.VerdictTiedParams{Arms: arms, Rate: rate, Detectable: t.Detectable, Blocks: t.Common}
	case facts.LeadNoisy:
		p = finding.VerdictNoisyParams{Arms: arms, Blocks: t.Common}
	case facts.LeadFewBlocks:
		p = finding.VerdictTooFewBlocksParams{Arms: arms, Blocks: t.Common}
	}
	return finding.New(p)
}
