package tell

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/experiment/plan"
)

// fillsOf says of each store how many clients at a time filled one key of the sample: a stampede is many.
func fillsOf(tables []*facts.Table) (messages []finding.Message) {
	for _, t := range tables {
		for _, r := range t.Stores() {
			of := finding.FillsParams{Arm: r.Arm, Place: t.Place()}
			for _, o := range r.Used() {
				if h := o.Phase.History; h != nil && h.Fills != nil {
					of.Fills, of.Beside = of.Fills+h.Fills.Fills, of.Beside+h.Fills.Beside
					of.Most = max(of.Most, h.Fills.Most)
				}
			}
			if r.Role == plan.Measured && of.Fills > 0 {
				messages = append(messages, finding.New(of))
			}
		}
	}
	return messages
}
