package archive

import (
	"fmt"
	"math"
	"strings"

	"assay/internal/base/format"
)

// Told is what changed in one arm's phase at one commit.
type Told struct {
	Text   string
	Better bool // the metric that comes first changed for the better
}

// Tell says the changes of some series, one sentence for all metrics of an arm's phase that changed
// at the same commit.
func Tell(g *Group, series []Series) (list []Told) {
	type place struct {
		class, cell, phase, arm string
		at                      int
	}
	at := map[place]int{}
	for i := range series {
		s := &series[i]
		for _, c := range s.Changes {
			p := place{s.Class, s.Cell, s.Phase, s.Arm, c.At}
			n, known := at[p]
			if !known {
				n = len(list)
				at[p], list = n, append(list, Told{placeText(g, s, c), s.Better(c)})
			} else {
				list[n].Text += "; "
			}
			list[n].Text += changeText(s, c)
		}
	}
	for i := range list {
		list[i].Text += "."
	}
	return list
}

func placeText(g *Group, s *Series, c Change) string {
	where := s.Phase + " (" + s.Class + ")"
	if s.Cell != "" {
		where += ", " + s.Cell
	}
	return fmt.Sprintf("%s in %s, between %s and %s: ", s.Arm, where, Short(g.Points[c.Last].Code), Short(g.Points[c.At].Code))
}

func changeText(s *Series, c Change) string {
	verb := "rose"
	if c.After < c.Before {
		verb = "fell"
	}
	return fmt.Sprintf("%s %s by %s, from %s to %s", s.Metric, verb, format.Percent(math.Abs(c.After/c.Before-1)),
		FigureText(s.Metric, c.Before), FigureText(s.Metric, c.After))
}

// FigureText writes a value of a metric with its unit.
func FigureText(metric string, v float64) string {
	switch {
	case metric == "rate":
		return format.Rate(v)
	case strings.HasPrefix(metric, "p"):
		return format.Latency(v)
	}
	return format.Bytes(v)
}

// Short cuts a commit's hash to what people write.
func Short(code string) string {
	if len(code) >= 40 {
		return code[:10] + strings.TrimLeft(code[40:], "0123456789abcdef")
	}
	return format.CleanMax(code, 30)
}

// SpanText says what a group holds: "60 runs of 60 commits or releases, 1 Jan to 1 Mar 2026, on …".
func SpanText(g *Group) string {
	first, last := g.Runs[0].CodeAt.Format("2 Jan 2006"), g.Runs[len(g.Runs)-1].CodeAt.Format("2 Jan 2006")
	days := first
	if last != first {
		days += " to " + last
	}
	return fmt.Sprintf("%s of %s, %s, on %s.", format.Plural(len(g.Runs), "run", ""),
		format.Plural(len(g.Points), "commit or release", "commits or releases"), days, g.Machine)
}
