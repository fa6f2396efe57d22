package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/format"
)

// ReasonMessage states why a row has no rank.
func ReasonMessage(r facts.Reason) finding.Message {
	var p finding.Parameters
	switch r.Kind {
	case facts.ReasonTold:
		return r.Told
	case facts.ReasonLeftOut:
		p = finding.PhaseLeftOutParams{Why: format.Clean(r.Why)}
	case facts.ReasonNoTrialEnded:
		p = finding.ReasonNoTrialEnded
	case facts.ReasonInterrupted:
		p = finding.ReasonInterrupted
	case facts.ReasonMachine:
		p = finding.ReasonMachine
	case facts.ReasonNothingDone:
		p = finding.ReasonNothingDone
	case facts.ReasonIdle:
		p = finding.ReasonIdleParams{Blocks: r.Blocks, Of: r.Of}
	case facts.ReasonQuota:
		p = finding.ReasonQuotaParams{Blocks: r.Blocks, Of: r.Of, Samples: facts.QuotaSamplesMin}
	case facts.ReasonUnsteady:
		p = finding.ReasonUnsteadyParams{Blocks: r.Blocks, Of: r.Of, Kind: string(r.Course)}
	case facts.ReasonHarness:
		p = finding.ReasonHarnessParams{Share: r.Share}
	case facts.ReasonOpenLoad:
		p = finding.ReasonOpenLoad
	}
	return finding.New(p)
}

// ReasonMessages states why a row has no rank, each sentence once.
func ReasonMessages(r *facts.Row) (distinct []finding.Message) {
	seen := map[string]bool{}
	for _, why := range r.Reasons {
		m := ReasonMessage(why)
		if text := finding.Text(m); !seen[text] {
			seen[text] = true
			distinct = append(distinct, m)
		}
	}
	return distinct
}
