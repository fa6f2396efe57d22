package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// detectProcessStarts says how far apart the processes began that an arm's clients are.
func detectProcessStarts(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		processes, apart := 0, int64(0)
		for _, o := range r.Used() {
			processes, apart = max(processes, o.Phase.Processes), max(apart, o.Phase.StartSpreadNS)
		}
		if processes > 1 {
			found = append(found, placed(t, r.Arm, finding.ProcessStartsParams{At: atOf(t, r.Arm),
				Processes: processes, ApartNS: apart}))
		}
	})
	return found
}
