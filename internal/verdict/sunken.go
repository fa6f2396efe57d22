package verdict

import (
	"fmt"

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

// Sunken returns how the rate sank; nil: it did not, or a cliff or a decline says where it fell.
func (a *Analysis) Sunken() *Sunken {
	last := len(a.Segments) - 1
	if !a.Has(stat.ShapeWandering) && !a.Has(stat.ShapeTooShort) || last < 1 || a.Segments[last].Rate > sunkenShare*a.Segments[0].Rate {
		return nil
	}
	s := &Sunken{First: a.Segments[0], Last: a.Segments[last]}
	s.Text = fmt.Sprintf("from %s in the first %s to %s from %s on", rate(s.First.Rate), seconds(s.First.To), rate(s.Last.Rate), seconds(s.Last.From))
	if records := a.Segments[last-1].Records; records != nil {
		s.Text += fmt.Sprintf(", at %s records", amount(*records))
	}
	return s
}
