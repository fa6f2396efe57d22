package stat

import "math"

// Neighbour is the figure of a trial with what ran before it.
type Neighbour struct {
	Table, Arm, Block int
	Before            int // what ran directly before it; below 0: nothing, or not known
	Value             float64
}

// AfterEffect is what one thing leaves to the trial after it, whichever that is.
type AfterEffect struct {
	Before int
	Ratio  Ratio // of trials after it to others; adjusted for all that was looked at
	// Tilt is the most by which shares of an arm's trials after it differ within a table: 0 where all
	// arms came after it equally often.
	Tilt float64
}

// neighboursMin is how many trials must have come after something, and how many not.
const neighboursMin = 3

// AfterEffects tests, of each of so many things, whether trials after it are slower or faster than
// others of the same arm, the same block taken off: the logs are fitted by arm + block + "after it"
// within each table, tables weighted by their noise, and p-values adjusted together (Holm). What came
// before too few trials is left out.
func AfterEffects(trials []Neighbour, things int) []AfterEffect {
	var known []Neighbour
	for _, n := range trials {
		if usable(n.Value) && n.Before >= 0 {
			known = append(known, n)
		}
	}
	logs := make([]float64, len(known))
	for i, n := range known {
		logs[i] = math.Log(n.Value)
	}
	left := withinTables(known, logs)
	weights, freedom := tableWeights(known, left)
	var effects []AfterEffect
	for thing := range things {
		after, n := make([]float64, len(known)), 0
		for i, of := range known {
			if of.Before == thing {
				after[i] = 1
				n++
			}
		}
		if min(n, len(known)-n) < neighboursMin || freedom < 2 {
			continue
		}
		varied := withinTables(known, after)
		var both, own float64
		for i, w := range weights {
			both += w * varied[i] * left[i]
			own += w * square(varied[i])
		}
		if own < 1e-9 {
			continue
		}
		d := difference{log: both / own, n: n, known: true, judged: true, freedom: freedom - 1}
		var rest float64
		for i, w := range weights {
			rest += w * square(left[i]-d.log*varied[i])
		}
		d.standardError = math.Sqrt(rest / d.freedom / own)
		effects = append(effects, AfterEffect{Before: thing, Ratio: d.ratio(Significance), Tilt: tilt(known, after)})
	}
	ratios := make([]*Ratio, len(effects))
	for i := range effects {
		ratios[i] = &effects[i].Ratio
	}
	Correct(ratios, DifferenceMin, Options{})
	return effects
}

// place is a row or a column of a table.
type place struct{ table, at int }

func (n Neighbour) arm() place   { return place{n.Table, n.Arm} }
func (n Neighbour) block() place { return place{n.Table, n.Block} }

// withinTables takes the means of arms and blocks off, until none is left.
func withinTables(of []Neighbour, values []float64) []float64 {
	left := append([]float64(nil), values...)
	for range 200 {
		var most float64
		for _, by := range []func(Neighbour) place{Neighbour.arm, Neighbour.block} {
			sum, n := map[place]float64{}, map[place]float64{}
			for i, v := range left {
				sum[by(of[i])] += v
				n[by(of[i])]++
			}
			for i := range left {
				mean := sum[by(of[i])] / n[by(of[i])]
				left[i] -= mean
				most = max(most, math.Abs(mean))
			}
		}
		if most < 1e-12 {
			break
		}
	}
	return left
}

// tableWeights are one over the noise of each trial's table, and the degrees of freedom of all; tables
// with few of these lean on the others.
func tableWeights(of []Neighbour, left []float64) (weights []float64, freedom float64) {
	const lean = 4
	squares, free := map[int]float64{}, map[int]float64{}
	seen := map[[3]int]bool{}
	for i, n := range of {
		squares[n.Table] += square(left[i])
		free[n.Table]++
		for side, at := range []int{n.Arm, n.Block} {
			if key := [3]int{n.Table, side, at}; !seen[key] {
				seen[key] = true
				free[n.Table]--
			}
		}
	}
	var all float64
	for table := range free {
		free[table] = max(free[table]+1, 0)
		freedom += free[table]
		all += squares[table]
	}
	if freedom == 0 || all == 0 {
		return make([]float64, len(of)), 0
	}
	weights = make([]float64, len(of))
	for i, n := range of {
		weights[i] = (free[n.Table] + lean) / (squares[n.Table] + lean*all/freedom)
	}
	return weights, freedom
}

// tilt is the most by which the shares of arms in a table differ.
func tilt(of []Neighbour, after []float64) (most float64) {
	sum, n := map[place]float64{}, map[place]float64{}
	for i, trial := range of {
		sum[trial.arm()] += after[i]
		n[trial.arm()]++
	}
	for a := range sum {
		for b := range sum {
			if a.table == b.table {
				most = max(most, sum[a]/n[a]-sum[b]/n[b])
			}
		}
	}
	return most
}
