package detect

import (
	"math"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// biasMin is the least bias of ratios that is reported.
const biasMin = 0.005

// detectCarryover reports which stores' trials slow the trial after them, whichever that is. What speeds
// the next trial is not told: where one store slows, trials after all others are faster beside it.
func detectCarryover(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	for _, e := range facts.AfterEffects(run, tables) {
		r := e.Ratio
		if !r.Significant || r.Value >= 1 {
			continue
		}
		moved := 1 - math.Pow(r.Value, e.Tilt)
		if moved < biasMin {
			moved = 0
		}
		p := finding.CarryoverParams{Store: e.Store, Phase: e.Phase, Slower: 1 - r.Value,
			Low: 1 - r.Interval.High, High: 1 - r.Interval.Low, Trials: r.N, Moved: moved}
		found = append(found, finding.Make(finding.Where{Run: run.Header.ID, Phase: e.Phase}, finding.New(p)))
	}
	return found
}
