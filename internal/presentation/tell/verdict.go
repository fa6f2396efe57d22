package tell

import (
	"cmp"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
)

var verdicts = map[facts.Lead]finding.Code{
	facts.LeadOpen: finding.VerdictOpenLoad, facts.LeadOnly: finding.VerdictOne,
	facts.LeadFastest: finding.VerdictFastest, facts.LeadEqual: finding.VerdictEqual,
	facts.LeadTied: finding.VerdictTied, facts.LeadNoisy: finding.VerdictNoisy,
	facts.LeadFewBlocks: finding.VerdictFew,
}

// nearly is the part of the best rate from which on others are near it.
const nearly = 0.95

// verdictOf says who is ahead.
func verdictOf(t *facts.Table) finding.Message {
	ranked, p := t.Ranked(), finding.VerdictParams{Code: verdicts[t.Lead], Arms: t.Best}
	if p.Code == "" {
		return finding.New(finding.VerdictParams{Code: finding.VerdictNone})
	}
	if len(ranked) > 0 {
		p.Rate = ranked[0].Rate.Value
	}
	switch t.Lead {
	case facts.LeadOpen:
		p.Arms, p.Rate = nil, 0
	case facts.LeadOnly:
		p.Arms = []string{ranked[0].Arm}
	case facts.LeadFastest:
		faster := facts.Inverse(ranked[1].ToBest)
		p.Next, p.Factor, p.Low, p.High = ranked[1].Arm, faster.Value, faster.Low, faster.High
	case facts.LeadEqual:
		p.Margin = t.Margin
	case facts.LeadTied:
		for _, r := range ranked {
			if slices.Contains(t.Best, r.Arm) && r.Rate.Value < nearly*p.Rate {
				p.Least = min(cmp.Or(p.Least, r.Rate.Value), r.Rate.Value)
			}
		}
		fallthrough
	default:
		p.Detectable, p.Blocks = t.Detectable, t.Common
	}
	return finding.New(p)
}
