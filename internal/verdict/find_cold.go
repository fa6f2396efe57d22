package verdict

import (
	"fmt"

	"assay/internal/record"
)

// warmShareMax is how much of a store's files may be in the page cache when a cold phase begins: opening a store reads some.
const warmShareMax = 0.05

// findNotCold names the arms of a cold experiment that began with pages in memory, because a process has them mapped or the
// filesystem keeps them.
func findNotCold(run *record.Run, s *Summary) (found []Finding) {
	eachRow(s, func(t *Table, r *Row) {
		var evidence []string
		for _, o := range r.Trials {
			if o.phase == nil || o.phase.Cold == nil {
				continue
			}
			if c := o.phase.Cold; float64(c.ResidentBytes) > warmShareMax*float64(c.FileBytes) {
				evidence = append(evidence, fmt.Sprintf("%s: %s of %s in files", o.Trial, size(float64(c.ResidentBytes)), size(float64(c.FileBytes))))
			}
		}
		if len(evidence) > 0 {
			found = append(found, Finding{Code: FindNotCold, Severity: Warning,
				Sentence: fmt.Sprintf("%s in %s did not begin cold: part of its files stayed in the page cache.", r.Arm, in(run, t)),
				Evidence: evidence, Remedy: "use a filesystem on a disk; what a store maps into memory stays until it is closed", Where: at(t, r.Arm)})
		}
	})
	return found
}
