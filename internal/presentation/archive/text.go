package archive

import (
	"slices"
	"strings"

	"assay/internal/base/finding"
	"assay/internal/base/format"
)

// Sentence is what changed in one arm's phase at one commit.
type Sentence struct {
	Text   string
	Better bool // the metric that comes first changed for the better
}

// Sentences says the changes of some series, one sentence for all metrics of an arm's phase that changed
// at the same commit.
func Sentences(g *Group, series []Series) (list []Sentence) {
	type place struct {
		class, cell, phase, arm string
		at                      int
	}
	at := map[place]int{}
	var params []finding.ChangedParams
	for i := range series {
		s := &series[i]
		for _, c := range s.Changes {
			p := place{s.Class, s.Cell, s.Phase, s.Arm, c.At}
			n, known := at[p]
			if !known {
				n = len(list)
				at[p], list = n, append(list, Sentence{Better: s.Better(c)})
				params = append(params, finding.ChangedParams{Arm: s.Arm, Phase: s.Phase, Class: s.Class, Cell: s.Cell,
					Last: Short(g.Points[c.Last].Code), At: Short(g.Points[c.At].Code), Assay: c.Assay})
			}
			of := &params[n]
			of.Metrics, of.Before, of.After = append(of.Metrics, s.Metric), append(of.Before,
				c.Before), append(of.After, c.After)
		}
	}
	for i := range list {
		list[i].Text = finding.Text(finding.New(params[i]))
	}
	return list
}

// Short cuts a commit's hash to what people write.
func Short(code string) string {
	if len(code) >= 40 {
		return code[:10] + strings.TrimLeft(code[40:], "0123456789abcdef")
	}
	return format.CleanMax(code, 30)
}

// SpanText says what a group holds: "60 runs, 60 points, 1 Jan to 1 Mar 2026, on …".
func SpanText(g *Group) string {
	days := []string{g.Runs[0].CodeAt.Format("2 Jan 2006"), g.Runs[len(g.Runs)-1].CodeAt.Format("2 Jan 2006")}
	return finding.Text(finding.New(finding.SpanParams{Runs: len(g.Runs), Points: len(g.Points),
		Days: slices.Compact(days), Machine: g.Machine}))
}
