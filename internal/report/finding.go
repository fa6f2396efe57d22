package report

import (
	"regexp"
	"slices"
	"strings"

	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/verdict"
)

// severities in the order in which findings are shown.
var severities = []Severity{Grave, Warning, Notice}

// findings adds what the verdict found in a run, with the table that each finding speaks of where it is one.
func (b *builder) findings(run *record.Run, s *verdict.Summary, tablesBefore int) {
	for _, f := range s.Findings {
		found := Finding{Severity: Severity(f.Severity), Code: f.Code, Sentence: f.Sentence, Evidence: f.Evidence, More: f.More, Remedy: f.Remedy,
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
		if f.Where.Cell != nil {
			found.Faulty = faulty(s, *f.Where.Cell, f.Where.Arm)
		}
		if words := blockWords[f.Code]; words != "" && found.Faulty {
			found.Sentence = withPlaces(words+keptWords, []Finding{found})
		}
		found.Sentence = begun(found.Sentence, run.Plan)
		if b.several {
			found.Sentence = run.Header.Name + " " + run.Header.ID + ": " + found.Sentence
		}
		b.view.Findings = append(b.view.Findings, found)
	}
}

// faulty says if an arm's figures in a cell are of trials that forbid a rank.
func faulty(s *verdict.Summary, cell int, arm string) bool {
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			if t.Cell == cell && r.Arm == arm && slices.ContainsFunc(r.Trials, func(o verdict.Observation) bool { return o.Used && o.State != record.OK }) {
				return true
			}
		}
	}
	return false
}

var percentileFirst = regexp.MustCompile(`^p[0-9]`)

// begun begins a sentence with a capital, unless it begins with an arm's name or a percentile's, which keep their letters.
func begun(sentence string, trials []plan.Trial) string {
	named := slices.ContainsFunc(trials, func(t plan.Trial) bool { return strings.HasPrefix(sentence, t.Arm) })
	if named || percentileFirst.MatchString(sentence) {
		return sentence
	}
	return capital(sentence)
}
