package series

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/analysis/stat"
)

const (
	// nearSeconds is how far from a step, or how many samples where these are longer, a resource
	// may change and still coincide with it.
	nearSeconds = 3.0
	// contrastSamples before and after a place are compared.
	contrastSamples = 8
	// contrastErrors is how many standard errors a resource changes by at least.
	contrastErrors = 5
	// onsetShare of its mean is what a resource is lifted by before logarithms are taken.
	onsetShare = 0.01
	// counterRises is the share of the samples in which a column that never falls has to rise to be
	// a counter, looked at as its growth per second, and not a gauge that stepped.
	counterRises = 0.5
	// moveSamplesMin, moveShifts and movePMax bound the correlation with the rate.
	moveSamplesMin = 20
	moveShifts     = 400
	movePMax       = 0.05
)

// Coincidence is a resource that changed with the rate. It never says which brought which.
type Coincidence struct {
	Resource string `json:"resource"`
	Engine   bool   `json:"engine,omitempty"`
	// PerSecond says that the column is a counter, looked at as its growth per second.
	PerSecond bool `json:"per_second,omitempty"`

	// Event is the position of the step in Shape.Events near which it changed, from Before to After
	// at Seconds. Nil: it moves with the rate.
	Event   *int    `json:"event,omitempty"`
	Seconds float64 `json:"t_s,omitempty"`
	Before  float64 `json:"before,omitempty"`
	After   float64 `json:"after,omitempty"`

	// Rank is the rank correlation with the rate, levels and trends taken out; P is adjusted for
	// all resources (Bonferroni).
	Rank float64 `json:"rank_correlation,omitempty"`
	P    float64 `json:"p,omitempty"`
}

// coincide looks for resources that change near a step, and for those that move with the rate
// between the steps. The store's own counters come first, then steps, then what rises.
func coincide(s *Series, v view, shape *Shape) (found []Coincidence) {
	var moving []Coincidence
	rest := detrended(v, shape, v.logs)
	for _, r := range s.Resources {
		values, perSecond := v.flow(r.Values)
		if values == nil {
			continue
		}
		about := Coincidence{Resource: r.Name, Engine: r.Engine, PerSecond: perSecond}
		found = append(found, v.nearSteps(shape, about, values)...)
		if rank, p, ok := moves(rest, detrended(v, shape, values)); ok {
			about.Rank, about.P = rank, p
			moving = append(moving, about)
		}
	}
	for _, m := range moving {
		if m.P = min(m.P*float64(len(moving)), 1); m.P < movePMax {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b Coincidence) int {
		return cmp.Or(order(b.Engine, a.Engine), order(b.Event != nil, a.Event != nil),
			order(b.After > b.Before, a.After > a.Before),
			cmp.Compare(math.Abs(b.Rank), math.Abs(a.Rank)))
	})
	return found
}

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// flow returns a column's values for the samples that count, NaN where it was not measured; of a
// counter its growth per second. Nil: it is constant, or hardly measured.
func (v view) flow(column []float64) (values []float64, perSecond bool) {
	if len(column) != len(v.s.Rates) {
		return nil, false
	}
	rises, measured, counter, before := 0, 0, true, math.NaN()
	for _, at := range v.at {
		if math.IsNaN(column[at]) || math.IsInf(column[at], 0) {
			continue
		}
		if counter = counter && !(column[at] < before); column[at] > before {
			rises++
		}
		before = column[at]
		measured++
	}
	counter = counter && float64(rises) >= counterRises*float64(measured)
	last := math.NaN()
	for _, at := range v.at {
		value := column[at]
		if counter && at > 0 {
			value = (column[at] - column[at-1]) / v.s.length(at)
		} else if counter {
			value = math.NaN()
		}
		if math.IsInf(value, 0) || math.IsNaN(value) {
			value = last // the last measured one, so that a column sampled more seldom is seen
		}
		last = value
		values = append(values, value)
	}
	for i := len(values) - 2; i >= 0; i-- {
		if math.IsNaN(values[i]) {
			values[i] = values[i+1]
		}
	}
	low, high := extremes(values)
	if measured < 2*levelSamplesMin || 10*measured < len(v.at) || !(high > low) {
		return nil, false
	}
	return values, counter
}

// nearSteps looks for the largest change of a resource near each step, and holds it against its
// changes everywhere else.
func (v view) nearSteps(shape *Shape, about Coincidence, values []float64) (found []Coincidence) {
	if !slices.ContainsFunc(shape.Events, func(e Event) bool { return e.Kind == Step }) {
		return nil
	}
	heights := lifted(values)
	contrasts := contrastsOf(heights)
	for k, e := range shape.Events {
		if e.Kind != Step {
			continue
		}
		reach := max(nearSeconds, v.width)
		best, near := -1, func(i int) bool { return v.begins(i) >= e.From-reach && v.begins(i) <= e.To+reach }
		for i, c := range contrasts {
			if near(i) && (best < 0 || math.Abs(c) > math.Abs(contrasts[best])) {
				best = i
			}
		}
		if best < 0 {
			continue
		}
		var elsewhere float64
		for i, c := range contrasts {
			if !near(min(i+contrastSamples, len(contrasts)-1)) && !near(max(i-contrastSamples, 0)) && !near(i) {
				elsewhere = max(elsewhere, math.Abs(c))
			}
		}
		if by := math.Abs(contrasts[best]); by <= elsewhere || by < contrastErrors*contrastError(heights, best) {
			continue
		}
		at := k
		about.Event, about.Seconds = &at, v.begins(best)
		about.Before = stat.Mean(values[max(best-contrastSamples, 0):best])
		about.After = stat.Mean(values[best:min(best+contrastSamples, len(values))])
		found = append(found, about)
	}
	return found
}

// lifted takes logarithms of values that are never negative, lifted a little, so that what begins
// from nothing counts more than what is restless.
func lifted(values []float64) []float64 {
	low, _ := extremes(values)
	if low < 0 {
		return values
	}
	lift, logs := onsetShare*stat.Mean(values), make([]float64, len(values))
	for i, y := range values {
		logs[i] = math.Log(y + lift)
	}
	return logs
}

// contrastsOf is the difference of the means after and before each place; 0 near the ends.
func contrastsOf(values []float64) []float64 {
	contrasts := make([]float64, len(values))
	for i := levelSamplesMin; i <= len(values)-levelSamplesMin; i++ {
		contrasts[i] = stat.Mean(values[i:min(i+contrastSamples,
			len(values))]) - stat.Mean(values[max(i-contrastSamples, 0):i])
	}
	return contrasts
}

// contrastError is the standard error of the contrast at a place, from the noise on both sides of
// it.
func contrastError(values []float64, at int) float64 {
	away := make([]float64, len(values)-1)
	for i := range away {
		away[i] = values[i+1] - values[i]
	}
	rho := lagOne(residuals(values, []int{at, len(values)}), 2)
	return math.Sqrt(2 * longRunVariance(medianDeviation(away)/(madPerSigma*math.Sqrt2), rho) / contrastSamples)
}

// detrended takes a line out of each stretch between two steps, so that things which merely change
// with time don't count as moving together. Long series are joined.
func detrended(v view, shape *Shape, values []float64) (rest []float64) {
	from := 0
	for i := 0; i <= len(values); i++ {
		end := i == len(values)
		for _, e := range shape.Events {
			if e.Kind == Step && !end && i > from {
				t, before := v.begins(i), v.begins(i-1)
				end = end || before < e.From && t >= e.From || before < e.To && t >= e.To
			}
		}
		if !end || i-from < 2 {
			continue
		}
		slope, _ := slopeOf(positions(i-from), values[from:i])
		middle, mean := float64(i-from-1)/2, stat.Mean(values[from:i])
		for k := from; k < i; k++ {
			rest = append(rest, values[k]-mean-slope*(float64(k-from)-middle))
		}
		from = i
	}
	if join := (len(rest) + levelSamplesMax - 1) / levelSamplesMax; join > 1 {
		return joined(rest, join)
	}
	return rest
}

// moves is Spearman's rank correlation. Its standard error is that of the correlations at circular
// shifts, or that of the effective pairs (Bartlett, JRSS 98, 1935), whichever is larger.
func moves(rates, others []float64) (rank, p float64, ok bool) {
	n := len(rates)
	if n < moveSamplesMin || n != len(others) {
		return 0, 1, false
	}
	a, b := ranks(rates), ranks(others)
	if squares(b) == 0 || squares(a) == 0 {
		return 0, 1, false
	}
	norm := math.Sqrt(squares(a) * squares(b))
	correlation := func(shift int) (z float64) {
		var sum float64
		for i := range a {
			sum += a[i] * b[(i+shift)%n]
		}
		return math.Atanh(min(max(sum/norm, -0.999), 0.999))
	}
	var square, shifts float64
	for shift := max(n/moveShifts, 1); shift < n; shift += max(n/moveShifts, 1) {
		z := correlation(shift)
		square, shifts = square+z*z, shifts+1
	}
	pairs := max(effective(n, lagOne(a, 1)*lagOne(b, 1)), 4)
	z := correlation(0)
	standardError := max(math.Sqrt(square/shifts), 1/math.Sqrt(pairs))
	return math.Tanh(z), 2 * students(pairs-3).Survival(math.Abs(z)/standardError), true
}

// ranks gives equal values their mean rank, and takes the mean out.
func ranks(values []float64) []float64 {
	at := make([]int, len(values))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	out := make([]float64, len(values))
	for i := 0; i < len(at); {
		j := i
		for j < len(at) && values[at[j]] == values[at[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[at[k]] = float64(i+j-1)/2 - float64(len(at)-1)/2
		}
		i = j
	}
	return out
}
