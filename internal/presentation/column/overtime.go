package column

import (
	"fmt"
	"slices"
	"strconv"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// underWay are what became of a segment, or of a rate that was asked for.
var underWay = []Column{
	ofLoad("asked_per_s", finding.ColumnAsked, Stretches, 3, func(s *model.Stretch) *float64 { return &s.Asked }, nil, format.Number),
	ofLoad("begun_per_s", finding.ColumnBegun, Stretches, 4, func(s *model.Stretch) *float64 { return &s.Begun }, nil, format.Number),
	ofLoad("ended_per_s", finding.ColumnEnded, Stretches|Bands, 1, func(s *model.Stretch) *float64 { return &s.Ended },
		func(b *model.Band) *float64 { return &b.Ended }, format.Number),
	ofLoad("backlog", finding.ColumnBacklog, Stretches|Bands, 2, func(s *model.Stretch) *float64 { return &s.Backlog },
		func(b *model.Band) *float64 { return &b.Backlog }, wholeNumber),
	ofLoad("behind_s", finding.ColumnBehind, Stretches, 2, func(s *model.Stretch) *float64 { return &s.BehindS }, nil, format.Seconds),
}

// afterwards stand behind the latencies.
var afterwards = []Column{
	{Name: "recovery_s", Head: finding.HeadOf(finding.ColumnRecovery), In: Stretches, Drop: 1, Of: func(l *Line) Cell {
		switch {
		case l.Stretch == nil || !l.Stretch.Recovers:
			return Cell{}
		case l.Stretch.RecoveryS == nil:
			return Cell{Text: "no", Bad: true}
		}
		return figure(l.Stretch.RecoveryS, format.Seconds)
	}},
	ofLoad("late_p99_ns", finding.ColumnLateness, Stretches, 5, func(s *model.Stretch) *float64 { return &s.LateNS }, nil, format.Latency),
}

func wholeNumber(n float64) string { return format.Count(uint64(max(n, 0) + 0.5)) }

// ofLoad is a column of segments, and where band is not nil of rates too.
func ofLoad(name string, heading finding.Bare, in Grid, drop int, stretch func(*model.Stretch) *float64,
	band func(*model.Band) *float64,
	write func(float64) string) Column {
	return Column{Name: name, Head: finding.HeadOf(heading), In: in, Drop: drop, Of: func(l *Line) Cell {
		switch {
		case l.Stretch != nil && l.Stretch.Threads > 0 && name != "ended_per_s":
			return Cell{} // closed load asks for no rate
		case l.Stretch != nil:
			return figure(stretch(l.Stretch), write)
		case l.Band != nil && band != nil:
			return figure(band(l.Band), write)
		}
		return Cell{}
	}}
}

// StretchLines are the segments of a rate that changes over time, each by itself: arm by arm.
func StretchLines(t *model.Table) (lines []*Line) {
	eachOverTime(t, func(r *model.Row, o *model.OverTime) {
		for i := range o.Stretches {
			l := partLine(t, r, model.Latencies{Latencies: o.Stretches[i].Latencies})
			l.Stretch = &o.Stretches[i]
			lines = append(lines, l)
		}
	})
	return lines
}

// BandLines are what became of the rates that were asked for, where they are several: arm by arm.
func BandLines(t *model.Table) (lines []*Line) {
	eachOverTime(t, func(r *model.Row, o *model.OverTime) {
		for i := range o.ByRate {
			if len(o.ByRate) < 2 {
				return
			}
			l := partLine(t, r, model.Latencies{Latencies: o.ByRate[i].Latencies})
			l.Band = &o.ByRate[i]
			lines = append(lines, l)
		}
	})
	return lines
}

// PartsOverTime are both of one row.
func PartsOverTime(t *model.Table, r *model.Row) (lines []*Line) {
	for _, l := range slices.Concat(StretchLines(t), BandLines(t)) {
		if l.Arm == r.Arm && l.Role == r.Role {
			lines = append(lines, l)
		}
	}
	return lines
}

func eachOverTime(t *model.Table, do func(r *model.Row, o *model.OverTime)) {
	for i := range t.Rows {
		if r := &t.Rows[i]; r.OverTime != nil && r.Standing != model.Reference {
			do(r, r.OverTime)
		}
	}
}

// partLine is a part of a row: of the row's figures it has latencies alone.
func partLine(t *model.Table, r *model.Row, l model.Latencies) *Line {
	return &Line{Table: t, Row: &model.Row{Arm: r.Arm, Role: r.Role, How: r.How, Latencies: l,
		Ranking: model.Ranking{Standing: r.Standing, Rank: r.Rank, Letters: r.Letters}, Reasons: r.Reasons}}
}

// PartName names what a line is of: a kind of operation, a server, an age of reads, a segment, or the rates
// that were asked for.
func (l *Line) PartName() string {
	switch {
	case l.Kind != nil:
		return l.Kind.Operation
	case l.Node != nil:
		return strconv.Itoa(l.Node.Number)
	case l.Age != nil:
		return format.AtMost(format.Latency(float64(l.Age.NS)))
	case l.Stretch != nil:
		return stretchName(l.Stretch)
	case l.Band != nil:
		return spanOf(l.Band.FromRate, l.Band.ToRate)
	}
	return ""
}

func stretchName(s *model.Stretch) string {
	if s.Threads > 0 {
		return fmt.Sprintf("%d: %s", s.Segment+1, format.Plural(s.Threads, "thread", ""))
	}
	name := fmt.Sprintf("%d: %s", s.Segment+1, spanOf(s.FromRate, s.ToRate))
	switch {
	case s.Burst:
		return fmt.Sprintf("%s, %s", name, format.Plural(s.Times, "burst", ""))
	case s.Times > 1:
		return name + ", between bursts"
	}
	return name
}

func spanOf(from, to float64) string {
	if from == to {
		return format.Rate(from)
	}
	return format.Rate(from) + " to " + format.Rate(to)
}
