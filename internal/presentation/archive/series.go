package archive

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/analysis/stat"
)

// Group is the runs that are alike, and their series.
type Group struct {
	Name       string   `json:"name"` // of the experiment
	About      string   `json:"about,omitempty"`
	Experiment string   `json:"experiment_sha256"`
	Machine    string   `json:"machine"`
	Runs       []Entry  `json:"runs"`   // in the order of their code
	Points     []Point  `json:"points"` // a code each
	Series     []Series `json:"series"`
}

// Point is one place on the axis of all series of a group: one code, with its runs.
type Point struct {
	Code string `json:"code"`
	Runs []int  `json:"runs"` // positions in Group.Runs
}

// Series is one figure over time.
type Series struct {
	Class    string   `json:"class"`
	Cell     string   `json:"cell,omitempty"`
	Phase    string   `json:"phase"`
	Arm      string   `json:"arm"`
	Metric   string   `json:"metric"`
	Values   []*Value `json:"values"` // one a point; nil: no ranked figure
	Changes  []Change `json:"changes,omitempty"`
	TooShort bool     `json:"too_short,omitempty"` // fewer values than a change can be found in
}

// Value is a figure of one code: the geometric mean of its runs, with the interval of the only one.
type Value struct {
	Value   float64  `json:"value"`
	Low     *float64 `json:"low,omitempty"`
	High    *float64 `json:"high,omitempty"`
	Version string   `json:"version,omitempty"`
	Runs    int      `json:"runs"`
}

// Change is a change of level between two codes that follow each other among those measured.
type Change struct {
	At     int     `json:"at"`   // the first point of the new level
	Last   int     `json:"last"` // the last point before it that has a value
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	P      float64 `json:"p"` // before correction
	// Assay are its own versions on both sides, where they differ: the change may be the harness's.
	Assay []string `json:"assay,omitempty"`
}

// Better reports whether a change is for the better.
func (s *Series) Better(c Change) bool { return (c.After > c.Before) == (s.Metric == "rate") }

// Groups returns all series. Changes of rates are one family, those of all other metrics of a group
// another: the chance of a false change in either is at most 5 %, whatever number of series it has.
func (a *Archive) Groups() ([]Group, error) {
	runs, err := a.Runs()
	if err != nil {
		return nil, err
	}
	var groups []Group
	for _, run := range runs {
		last := len(groups) - 1
		if last < 0 || groups[last].Experiment != run.Experiment || groups[last].Machine != run.Machine ||
			groups[last].Name != run.Name {
			groups = append(groups, Group{Name: run.Name, About: run.About, Experiment: run.Experiment,
				Machine: run.Machine})
			last++
		}
		groups[last].Runs = append(groups[last].Runs, run)
	}
	for i := range groups {
		if err := a.fill(&groups[i]); err != nil {
			return nil, err
		}
		groups[i].findChanges()
		groups[i].noteHarness()
	}
	return groups, nil
}

// fill makes the points of a group and its series without changes.
func (a *Archive) fill(g *Group) error {
	type key struct{ class, cell, phase, arm, metric string }
	kept := map[key][][]Figure{} // [point]
	at := map[string]int{}
	for i, run := range g.Runs {
		point, known := at[run.Code]
		if !known {
			point = len(g.Points)
			at[run.Code], g.Points = point, append(g.Points, Point{Code: run.Code})
		}
		g.Points[point].Runs = append(g.Points[point].Runs, i)
		figures, err := a.figures(run.ID)
		if err != nil {
			return err
		}
		sealed := run
		sealed.Figures = figures
		if err := a.check(&sealed); err != nil {
			return err
		}
		for _, f := range figures {
			if f.Metric == "rate" {
				g.Runs[i].rates = append(g.Runs[i].rates, f)
			}
			k := key{f.Class, f.Cell, f.Phase, f.Arm, f.Metric}
			for len(kept[k]) <= point {
				kept[k] = append(kept[k], nil)
			}
			kept[k][point] = append(kept[k][point], f)
		}
	}
	for k, points := range kept {
		s := Series{Class: k.class, Cell: k.cell, Phase: k.phase, Arm: k.arm, Metric: k.metric,
			Values: make([]*Value, len(g.Points))}
		for i, figures := range points {
			s.Values[i] = valueOf(figures)
		}
		g.Series = append(g.Series, s)
	}
	metrics := []string{"rate", "p50", "p99", "p99.9", "memory", "disk"}
	slices.SortFunc(g.Series, func(a, b Series) int {
		return cmp.Or(cmp.Compare(slices.Index(metrics, a.Metric), slices.Index(metrics, b.Metric)),
			-cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Arm, b.Arm))
	})
	return nil
}

func valueOf(figures []Figure) *Value {
	switch len(figures) {
	case 0:
		return nil
	case 1:
		f := figures[0]
		return &Value{f.Value, f.Low, f.High, f.Version, 1}
	}
	var logs []float64
	for _, f := range figures {
		logs = append(logs, math.Log(f.Value))
	}
	return &Value{Value: math.Exp(stat.Mean(logs)), Version: figures[len(figures)-1].Version, Runs: len(figures)}
}

// findChanges finds the changes of all series of a group, family by family.
func (g *Group) findChanges() {
	families := map[bool]int{}
	for i := range g.Series {
		s := &g.Series[i]
		s.TooShort = len(known(s.Values)) < stat.RunsMin
		if !s.TooShort {
			families[s.Metric == "rate"]++
		}
	}
	for i := range g.Series {
		if s := &g.Series[i]; !s.TooShort {
			s.findChanges(stat.Significance / float64(families[s.Metric == "rate"]))
		}
	}
}

// noteHarness notes at which changes Assay itself is another one than before.
func (g *Group) noteHarness() {
	versions := func(point int) (all []string) {
		for _, run := range g.Points[point].Runs {
			if v := g.Runs[run].Assay; v != "" && !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
		return all
	}
	for i := range g.Series {
		for j := range g.Series[i].Changes {
			c := &g.Series[i].Changes[j]
			before, after := versions(c.Last), versions(c.At)
			common := slices.ContainsFunc(before, func(v string) bool { return slices.Contains(after, v) })
			if len(before) > 0 && len(after) > 0 && !common {
				c.Assay = []string{before[len(before)-1], after[0]}
			}
		}
	}
}

func (s *Series) findChanges(level float64) {
	points := known(s.Values)
	values := make([]float64, len(points))
	for i, p := range points {
		values[i] = s.Values[p].Value
	}
	changes := stat.ChangesAt(values, stat.DifferenceMin, level)
	for i, c := range changes {
		from, to := 0, len(values)
		if i > 0 {
			from = changes[i-1].At
		}
		if i+1 < len(changes) {
			to = changes[i+1].At
		}
		s.Changes = append(s.Changes, Change{At: points[c.At], Last: points[c.At-1], P: c.P,
			Before: geometricMean(values[from:c.At]), After: geometricMean(values[c.At:to])})
	}
}

// known returns the points that have a value.
func known(values []*Value) (at []int) {
	for i, v := range values {
		if v != nil && v.Value > 0 {
			at = append(at, i)
		}
	}
	return at
}

func geometricMean(values []float64) float64 {
	var logs []float64
	for _, v := range values {
		logs = append(logs, math.Log(v))
	}
	return math.Exp(stat.Mean(logs))
}
