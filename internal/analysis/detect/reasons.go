package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
)

var noRank = map[facts.ReasonKind]finding.Code{
	facts.ReasonLeftOut: "no-rank phase-left-out", facts.ReasonNoTrialEnded: finding.NoTrialEnded,
	facts.ReasonInterrupted: "no-rank interrupted", facts.ReasonMachine: "no-rank machine",
	facts.ReasonNothingDone: "no-rank nothing-done", facts.ReasonIdle: "no-rank nothing-done",
	facts.ReasonQuota: "no-rank quota", facts.ReasonUnsteady: "no-rank unsteady",
	facts.ReasonFaults: "no-rank server-faults", facts.ReasonVain: "no-rank vain",
	facts.ReasonHarness: "no-rank harness", facts.ReasonOpenLoad: "no-rank open-load",
	facts.ReasonCapacity: "no-rank no-capacity",
}

// ReasonMessage states why a row has no rank.
func ReasonMessage(r facts.Reason) finding.Message {
	if r.Message.Code != "" {
		return r.Message
	}
	p := finding.NoRankParams{Code: noRank[r.Kind], Why: r.Why, Blocks: r.Blocks, Of: r.Of,
		Course: string(r.Course), Found: string(r.Found), Share: r.Share}
	if r.Kind == facts.ReasonQuota {
		p.Samples = facts.QuotaSamplesMin
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
