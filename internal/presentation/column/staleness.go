package column

import (
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// stale are how late a store was that may answer with an older value.
var stale = []Column{
	staleness("stale_p50_ns", finding.ColumnStaleMedian, 4, func(s *model.Staleness) *float64 { return s.P50NS }),
	staleness("stale_p99_ns", finding.ColumnStaleP99, 1, func(s *model.Staleness) *float64 { return s.P99NS }),
	staleness("stale_max_ns", finding.ColumnStaleMax, 5, func(s *model.Staleness) *float64 { return s.MaxNS }),
	staleness("current_after_ns", finding.ColumnCurrentAfter, 1,
		func(s *model.Staleness) *float64 { return s.CurrentAfterNS }),
}

func staleness(name string, heading finding.Bare, drop int, figure func(*model.Staleness) *float64) Column {
	return Column{Name: name, Head: finding.HeadOf(heading), In: Speed, Drop: drop, Of: of(func(l *Line) *float64 {
		if l.Staleness == nil {
			return nil
		}
		return figure(l.Staleness)
	}, format.Latency)}
}

// byAge are reads by how long after a write they were answered.
var byAge = []Column{
	{Head: finding.HeadOf(finding.ColumnAgeReads), In: Ages, Of: func(l *Line) Cell {
		if l.Age == nil {
			return Cell{}
		}
		return whole(l.Age.Reads)
	}},
	{Head: finding.HeadOf(finding.ColumnAgeOld), In: Ages, Of: of(func(l *Line) *float64 {
		if l.Age == nil {
			return nil
		}
		share := float64(l.Age.Old) / float64(l.Age.Reads)
		return &share
	}, format.Percent)},
}

// AgeLines are the reads of stores that may answer with an older value, by how long after the newest write
// they were answered: arm by arm.
func AgeLines(t *model.Table) (lines []*Line) {
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Staleness == nil {
			continue
		}
		for n := range r.Staleness.Ages {
			if age := &r.Staleness.Ages[n]; age.Reads > 0 {
				lines = append(lines, &Line{Table: t, Row: r, Age: age})
			}
		}
	}
	return lines
}
