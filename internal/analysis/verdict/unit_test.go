package verdict

import (
	"testing"

	"assay/internal/analysis/model"
	"assay/internal/evidence/record"
)

// A section says once what all of its rates count, and a column what it alone counts.
func TestSectionsSayWhatRatesCount(t *testing.T) {
	run := &record.Run{}
	operations, records, requests := &table{run: run}, &table{run: run}, &table{run: run}
	records.BatchItems, requests.Requests = 20, true
	for _, c := range []struct {
		tables []*table
		unit   string
		titles []string
	}{
		{[]*table{operations, operations}, "operations/s", []string{"p", "p"}},
		{[]*table{requests, requests}, "requests/s", []string{"p", "p"}},
		{[]*table{records}, "records/s", []string{"p"}},
		{[]*table{requests, operations, records}, "operations/s", []string{"p requests/s", "p", "p records/s"}},
		{[]*table{requests, records}, "operations/s", []string{"p requests/s", "p records/s"}},
	} {
		for _, one := range c.tables {
			one.Phase = "p"
		}
		s := rateSection(c.tables, c.tables)
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
