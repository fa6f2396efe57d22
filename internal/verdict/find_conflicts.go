package verdict

import (
	"fmt"

	"assay/internal/plan"
	"assay/internal/record"
)

// findConflicts tells of operations that a store refused because of others, such as a deadlock's victims: they were not done, and no rate counts them.
func findConflicts(run *record.Run, s *Summary) (found []Finding) {
	for i := range s.Tables {
		t := &s.Tables[i]
		for j := range t.Rows {
			r := &t.Rows[j]
			if r.Role != plan.Measured || r.Outcomes.NotDone == 0 {
				continue
			}
			done := r.Outcomes.Done()
			found = append(found, Finding{Code: FindConflicts, Severity: Warning, Where: at(t, r.Arm),
				Sentence: fmt.Sprintf("%s refused operations because of others in %s: they were not done, and are in no rate.", r.Arm, in(run, t)),
				Evidence: []string{fmt.Sprintf("%s of %s operations ended in conflict (%s)", amount(float64(r.Outcomes.NotDone)), amount(float64(done)),
					percent(float64(r.Outcomes.NotDone)/float64(done)))},
				Remedy: "a program has to try these again: count that in, or use fewer threads, or an order in which they do not meet"})
		}
	}
	return found
}
