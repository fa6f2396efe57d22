package tell_test

import (
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/evidence/record"
	"assay/internal/presentation/model"
	"assay/internal/presentation/tell"
)

// A section says once what all of its rates count, and a column what it alone counts.
func TestSectionsSayWhatRatesCount(t *testing.T) {
	run := &record.Run{}
	operations, records, requests := &facts.Table{Run: run}, &facts.Table{Run: run}, &facts.Table{Run: run}
	records.BatchItems, requests.Requests = 20, true
	for _, c := range []struct {
		tables []*facts.Table
		unit   string
		titles []string
	}{
		{[]*facts.Table{operations, operations}, "operations/s", []string{"p", "p"}},
		{[]*facts.Table{requests, requests}, "requests/s", []string{"p", "p"}},
		{[]*facts.Table{records}, "records/s", []string{"p"}},
		{[]*facts.Table{requests, operations, records}, "operations/s", []string{"p requests/s", "p", "p records/s"}},
		{[]*facts.Table{requests, records}, "operations/s", []string{"p requests/s", "p records/s"}},
	} {
		for _, one := range c.tables {
			one.Phase = "p"
		}
		s := tell.RateSection(c.tables, c.tables, true)
		titles := columnTitles(s)
		if s.Unit != c.unit || len(titles) != len(c.titles) {
			t.Fatalf("%q with %q, want %q with %q", s.Unit, titles, c.unit, c.titles)
		}
		for i := range titles {
			if titles[i] != c.titles[i] {
				t.Errorf("column %d is %q, want %q", i, titles[i], c.titles[i])
			}
		}
	}
}

func columnTitles(s model.Section) (titles []string) {
	for _, c := range s.Columns {
		titles = append(titles, c.Title)
	}
	return titles
}
