package verdict

import (
	"assay/internal/base/finding"
	"assay/internal/base/format"
)

// reasonMessage states why a row has no rank.
func reasonMessage(r reason) finding.Message {
	var p finding.Parameters
	switch r.kind {
	case reasonTold:
		return r.told
	case reasonLeftOut:
		p = finding.PhaseLeftOutParams{Why: format.Clean(r.why)}
	case reasonNoTrialEnded:
		p = finding.ReasonNoTrialEnded
	case reasonInterrupted:
		p = finding.ReasonInterrupted
	case reasonMachine:
		p = finding.ReasonMachine
	case reasonNothingDone:
		p = finding.ReasonNothingDone
	case reasonIdle:
		p = finding.ReasonIdleParams{Blocks: r.blocks, Of: r.of}
	case reasonQuota:
		p = finding.ReasonQuotaParams{Blocks: r.blocks, Of: r.of, Samples: quotaSamplesMin}
	case reasonUnsteady:
		p = finding.ReasonUnsteadyParams{Blocks: r.blocks, Of: r.of, Kind: string(r.course)}
	case reasonHarness:
		p = finding.ReasonHarnessParams{Share: r.share}
	case reasonOpenLoad:
		p = finding.ReasonOpenLoad
	}
	return finding.New(p)
}

// reasonMessages states why a row has no rank, each sentence once.
func reasonMessages(r *row) (distinct []finding.Message) {
	seen := map[string]bool{}
	for _, why := range r.Reasons {
		m := reasonMessage(why)
		if text := finding.Text(m); !seen[text] {
			seen[text] = true
			distinct = append(distinct, m)
		}
	}
	return distinct
}
