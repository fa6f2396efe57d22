package facts

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/analysis/stat"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// Scaling is how the rate of a store grows with load or size, where a law explains it.
type Scaling struct {
	Class string    `json:"class"`
	Phase string    `json:"phase"`
	Case  string    `json:"case,omitempty"` // what else tells the cells from others: "10,000 records"; "": nothing
	Arm   string    `json:"arm"`            // of an option the name without it
	Axis  string    `json:"axis"`           // "threads", "agents", "cpus", or the option: "server.count"
	Sizes []float64 `json:"sizes"`
	Rates []float64 `json:"rates"` // operations a second: geometric means over blocks
	stat.Scaling
}

// AxisName is the axis as sentences have it: "threads", "nodes".
func (s *Scaling) AxisName() string {
	switch s.Axis {
	case serversOption:
		return "nodes"
	case cpusAxis:
		return "CPUs"
	}
	return s.Axis
}

// loadAxes are the axes whose values are a load or a size of the system. Records and values are none: what
// a store does with more data follows no law of these.
var loadAxes = map[string]func(experiment.Cell, experiment.Store) float64{
	"threads": func(c experiment.Cell, _ experiment.Store) float64 { return float64(c.Threads) },
	"agents":  func(c experiment.Cell, _ experiment.Store) float64 { return float64(c.Agents) },
	cpusAxis:  func(c experiment.Cell, s experiment.Store) float64 { return float64(len(c.CPUs.Of(s))) },
}

const (
	cpusAxis      = "cpus"
	serversOption = "server.count"
)

// isSize reports whether an option of a store is a size of the system: its nodes, or its own threads.
func isSize(option string) bool { return option == serversOption || strings.Contains(option, "thread") }

// point is a rate at a size.
type point struct {
	size float64
	row  *Row
	t    *Table
}

// ScalingOf fits the laws of scaling to each store over each axis of load or size, and returns those that
// explain the points.
func ScalingOf(tables []*Table) (all []Scaling) {
	type key struct{ class, phase, rest, arm, axis string }
	points := map[key][]point{}
	var order []key
	add := func(k key, p point) {
		if p.size <= 0 || p.row.Standing != Ranked {
			return
		}
		if points[k] == nil {
			order = append(order, k)
		}
		points[k] = append(points[k], p)
	}
	varying := slices.DeleteFunc(experiment.Axes(), func(a experiment.Axis) bool {
		return a.Path == "durability" || !slices.ContainsFunc(tables, func(t *Table) bool { return !a.Same(t.Parameters, tables[0].Parameters) })
	})
	restOf := func(t *Table, but string) string {
		var rest []string
		for _, axis := range varying {
			if axis.Path != but {
				rest = append(rest, axis.Text(t.Parameters))
			}
		}
		return strings.Join(rest, ", ")
	}
	for _, t := range tables {
		if t.Open {
			continue // the experiment set its rate
		}
		for _, r := range t.Rows {
			if r.Role != plan.Measured {
				continue
			}
			for path, size := range loadAxes {
				add(key{t.Class, t.Phase, restOf(t, path), r.Arm, path}, point{size(t.Parameters, storeOf(t, r)), r, t})
			}
			for option, of := range sizeOptions(t, r) {
				add(key{t.Class, t.Phase, restOf(t, ""), of.store, option}, point{of.size, r, t})
			}
		}
	}
	for _, k := range order {
		if s, explained := scale(points[k]); explained {
			s.Class, s.Phase, s.Case, s.Arm, s.Axis = k.class, k.phase, k.rest, k.arm, k.axis
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b Scaling) int {
		return cmp.Or(strings.Compare(a.Class, b.Class), strings.Compare(a.Phase, b.Phase), strings.Compare(a.Case,
			b.Case),
			strings.Compare(a.Axis, b.Axis), strings.Compare(a.Arm, b.Arm))
	})
	return all
}

// storeOf is a row's store; the zero one where the run does not have it.
func storeOf(t *Table, r *Row) (s experiment.Store) {
	if t.Run != nil && r.Store >= 0 && r.Store < len(t.Run.Experiment.Stores) {
		s = t.Run.Experiment.Stores[r.Store]
	}
	return s
}

// sizeOption is a store without an option that is a size, and its value.
type sizeOption struct {
	store string
	size  float64
}

// sizeOptions are those of a row's store that other arms of the table have with other values.
func sizeOptions(t *Table, r *Row) map[string]sizeOption {
	if t.Run == nil {
		return nil
	}
	stores := t.Run.Experiment.Stores
	if r.Store < 0 || r.Store >= len(stores) {
		return nil
	}
	found := map[string]sizeOption{}
	own := stores[r.Store].AllOptions()
	for i := range stores {
		other := &stores[i]
		if i == r.Store || other.Driver != stores[r.Store].Driver || !slices.Equal(other.Worker,
			stores[r.Store].Worker) {
			continue
		}
		option, one := differsIn(own, other.AllOptions())
		if !one || !isSize(option) {
			continue
		}
		text := own[option]
		if text == "" && option == serversOption {
			text = "1"
		}
		size, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		rest := maps.Clone(own)
		delete(rest, option)
		name := stores[r.Store].Driver
		for _, k := range slices.Sorted(maps.Keys(rest)) {
			name += " " + k + "=" + rest[k]
		}
		found[option] = sizeOption{name, size}
	}
	return found
}

// differsIn returns the option in which two sets differ, if that is one.
func differsIn(a, b map[string]string) (option string, one bool) {
	n := 0
	for _, all := range []map[string]string{a, b} {
		for k := range all {
			if a[k] != b[k] && k != option {
				option, n = k, n+1
			}
		}
	}
	return option, n == 1
}

// scale fits the laws to points, in the order of their sizes; false: none is shown to explain them.
func scale(points []point) (s Scaling, explained bool) {
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.size, b.size) })
	var values [][]float64
	for i, p := range points {
		if i > 0 && points[i-1].size == p.size {
			return s, false // of arms that differ in something else
		}
		of := p.t.Values([]*Row{p.row}, RateOfTrial)[0]
		sum, n := 0.0, 0.0
		for _, v := range of {
			if v > 0 {
				sum, n = sum+math.Log(v), n+1
			}
		}
		if n == 0 {
			return s, false
		}
		s.Sizes, s.Rates = append(s.Sizes, p.size), append(s.Rates, math.Exp(sum/n))
		values = append(values, of)
	}
	s.Scaling, explained = stat.Scale(s.Sizes, values)
	return s, explained
}
