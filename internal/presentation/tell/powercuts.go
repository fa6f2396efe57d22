package tell

import (
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/model"
)

// powerCutsOf are what power cuts have shown of what ran: of a run's arms, each class of an arm once.
func powerCutsOf(run *record.Run) (all []model.PowerCuts) {
	seen := map[[2]string]bool{}
	for _, planned := range run.Plan {
		t, class := run.Trials[planned.ID], planned.CellOf(&run.Experiment).ClassText()
		if t == nil || t.Proof == nil || len(t.Proof.Differs) > 0 || planned.Role != plan.Measured ||
			seen[[2]string{planned.Arm, class}] {
			continue
		}
		seen[[2]string{planned.Arm, class}] = true
		all = append(all, model.PowerCuts{Run: run.Header.ID, Arm: planned.Arm, Class: class, Proof: *t.Proof})
	}
	return all
}
