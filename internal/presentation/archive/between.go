package archive

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"assay/internal/analysis/stat"
)

// earlierMax is how many pairs of earlier runs are looked at, the newest.
const earlierMax = 20

// Earlier is what pairs of like runs, one after the other, say of how far two runs of a machine differ
// although nothing but time has changed: the square of the log of what the rates of each moved by, less
// their noise. The program of Assay and those of the stores are the same in both, and so is the code; or no
// change was found between them in a series that is long enough to find one. Runs without are those whose
// ids are not looked at: the ones that are to be compared.
func Earlier(groups []Group, machine string, without ...string) (squares []float64) {
	for i := range groups {
		if g := &groups[i]; g.Machine == machine {
			squares = append(squares, g.earlier(without)...)
		}
	}
	if n := len(squares); n > earlierMax {
		squares = squares[n-earlierMax:]
	}
	return squares
}

func (g *Group) earlier(without []string) (squares []float64) {
	level := g.levels()
	point := make([]int, len(g.Runs))
	for p := range g.Points {
		for _, run := range g.Points[p].Runs {
			point[run] = p
		}
	}
	order := make([]int, len(g.Runs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return g.Runs[a].Created.Compare(g.Runs[b].Created) })
	for i, run := range order[min(1, len(order)):] {
		a, b := &g.Runs[order[i]], &g.Runs[run]
		switch {
		case slices.Contains(without, a.ID), slices.Contains(without, b.ID), a.Assay == "", a.Assay != b.Assay:
			continue
		case a.Code == b.Code && !strings.HasSuffix(a.Code, Changed):
		case level == nil || level[point[order[i]]] != level[point[run]]:
			continue
		}
		if moved, known := movedBetween(a.rates, b.rates); known {
			squares = append(squares, moved)
		}
	}
	return squares
}

// levels numbers the stretches between changes of any rate, by point; nil: the series are too short for one.
func (g *Group) levels() []int {
	level := make([]int, len(g.Points))
	known := false
	for i := range g.Series {
		s := &g.Series[i]
		if s.Metric != "rate" || s.TooShort {
			continue
		}
		known = true
		for _, c := range s.Changes {
			for p := c.Last + 1; p < len(level); p++ {
				level[p]++
			}
		}
	}
	if !known {
		return nil
	}
	return level
}

// movedBetween is the mean, over the rates that both runs have of the same programs, of the square of what each
// moved by, less its noise.
func movedBetween(a, b []Figure) (moved float64, known bool) {
	var sum float64
	n := 0
	for _, f := range a {
		at := slices.IndexFunc(b, func(o Figure) bool {
			return o.Class == f.Class && o.Cell == f.Cell && o.Phase == f.Phase && o.Arm == f.Arm &&
				o.Version == f.Version
		})
		if at < 0 || f.Value <= 0 || b[at].Value <= 0 {
			continue
		}
		first, firstKnown := noiseOf(f)
		second, secondKnown := noiseOf(b[at])
		if firstKnown && secondKnown {
			d := math.Log(b[at].Value / f.Value)
			sum += d*d - first - second
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return max(sum/float64(n), 0), true
}

// noiseOf is the variance of the log of a figure, by its interval, taken for one of the fewest blocks that have
// one that is of use: of more it is larger, so that too little is taken off, and never too much.
func noiseOf(f Figure) (variance float64, known bool) {
	const fewest = 3
	if f.Low == nil || f.High == nil || *f.Low <= 0 || *f.High <= 0 {
		return 0, false
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: fewest - 1}.Quantile(1 - stat.Significance/2)
	half := math.Log(*f.High / *f.Low) / 2 / t
	return half * half, true
}
