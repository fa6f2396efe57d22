package verdict

import (
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// detectProcessStarts says how far apart the processes began that an arm's clients are.
func detectProcessStarts(_ *record.Run, tables []*table) (found []finding.Finding) {
	eachMeasured(tables, func(t *table, r *row) {
		processes, apart := 0, int64(0)
		for _, o := range r.used() {
			processes, apart = max(processes, o.phase.Processes), max(apart, o.phase.StartSpreadNS)
		}
		if processes > 1 {
			found = append(found, t.placed(r.Arm, finding.ProcessStartsParams{At: t.at(r.Arm), Processes: processes, ApartNS: apart}))
		}
	})
	return found
}
