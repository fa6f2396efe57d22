package report

import (
	"assay/internal/record"
	"assay/internal/verdict"
)

// severities in the order in which findings are shown.
var severities = []Severity{Grave, Warning, Notice}

// findings adds what the verdict found in a run, with the table that each finding speaks of where it is one.
func (b *builder) findings(run *record.Run, s *verdict.Summary, tablesBefore int) {
	for _, f := range s.Findings {
		found := Finding{Severity: Severity(f.Severity), Code: f.Code, Sentence: f.Sentence, Evidence: f.Evidence, Remedy: f.Remedy,
			Arm: f.Where.Arm, Group: string(f.Severity) + "/" + f.Code}
		if f.Where.Phase != "" || f.Where.Cell != nil {
			for i, t := range s.Tables {
				if (f.Where.Cell == nil || *f.Where.Cell == t.Cell) && (f.Where.Phase == "" || f.Where.Phase == t.Phase) &&
					(f.Where.Class == "" || f.Where.Class == t.Class) {
					shown := &b.view.Tables[tablesBefore+i]
					found.Table = shown.ID
					if f.Where.Cell != nil {
						found.Place = shown.Label + " at " + shown.Class
					}
					break
				}
			}
		}
		if found.Place == "" {
			found.Place = f.Where.Phase
		}
		if b.several {
			found.Sentence = run.Header.Name + " " + run.Header.ID + ": " + found.Sentence
		}
		b.view.Findings = append(b.view.Findings, found)
	}
}
