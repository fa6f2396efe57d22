package verdict

import (
	"fmt"
	"slices"

	"assay/internal/stat"
)

// Sunken is a rate that ended far below where it began, in a way of which nobody can tell a place: it wandered, or is too short. Only both levels are told.
type Sunken struct {
	First Level
	Last  Level
	Text  string // a sentence without its subject and full stop: "from 122 k/s in the first 13.0 s to 32.3 k/s from 13.0 s on, at 1.58 M records"
}

// sunkenShare is the share of the first level's rate below which a rate that wandered has sunk: less is said of no random walk.
const sunkenShare = 0.5

// quartersMin is how many samples a first and a last quarter have at least, to be held against each other.
const quartersMin = 5

// quarters returns the first and the last quarter of a series, where each sample of the one lies above all of the other; nil: they overlap, or are too short.
func quarters(s stat.Series) []Level {
	n := len(s.Rates)
	k := n / 4
	if k < quartersMin || slices.Min(s.Rates[:k]) <= slices.Max(s.Rates[n-k:]) {
		return nil
	}
	return []Level{
		{From: s.Begin, To: s.Ends[k-1], Rate: stat.Mean(s.Rates[:k]), Records: measured(s.Records, k-1)},
		{From: beginning(s, n-k), To: s.Ends[n-1], Rate: stat.Mean(s.Rates[n-k:]), Records: measured(s.Records, n-1)},
	}
}

// Sunken returns how the rate sank; nil: it did not, or a cliff or a decline says where it fell. Where it has no levels, its first and its last quarter stand for them.
func (a *Analysis) Sunken() *Sunken {
	if !a.Has(stat.ShapeWandering) && !a.Has(stat.ShapeTooShort) {
		return nil
	}
	levels := a.Segments
	if len(levels) < 2 {
		levels = a.quarters
	}
	last := len(levels) - 1
	if last < 1 || levels[last].Rate > sunkenShare*levels[0].Rate {
		return nil
	}
	s := &Sunken{First: levels[0], Last: levels[last]}
	s.Text = fmt.Sprintf("from %s in the first %s to %s from %s on", rate(s.First.Rate), seconds(s.First.To), rate(s.Last.Rate), seconds(s.Last.From))
	if records := levels[last-1].Records; records != nil && len(a.Segments) > 1 {
		s.Text += fmt.Sprintf(", at %s records", amount(*records))
	}
	return s
}
