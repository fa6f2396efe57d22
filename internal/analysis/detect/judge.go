package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// Judge returns the tables of a run with ranks, and its findings.
func Judge(run *record.Run) ([]*facts.Table, []finding.Finding) {
	tables := facts.TablesOf(run)
	var found []finding.Finding
	for _, detect := range beforeRanks {
		found = append(found, detect(run, tables)...)
	}
	facts.Rank(tables, ranksTaken(tables, found))
	for _, detect := range afterRanks {
		found = append(found, detect(run, tables)...)
	}
	attribute(run, tables, found)
	return tables, found
}

// ranksTaken are, of each row, the grave findings about it: they take its rank.
func ranksTaken(tables []*facts.Table, found []finding.Finding) map[*facts.Row][]finding.Message {
	taken := map[*facts.Row][]finding.Message{}
	for _, f := range found {
		if f.Severity != finding.Grave {
			continue
		}
		for _, t := range tables {
			if f.Where.Cell != nil && *f.Where.Cell != t.Cell || f.Where.Phase != "" && !facts.Within(t.Phase, f.Where.Phase) {
				continue
			}
			for _, r := range t.Rows {
				if f.Where.Arm == r.Arm {
					taken[r] = append(taken[r], f.Message)
				}
			}
		}
	}
	return taken
}
