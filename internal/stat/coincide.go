package stat

import (
	"cmp"
	"math"
	"slices"
)

const (
	// nearSeconds is how far from a cliff a resource may change its level and still coincide with it; where samples are longer, one of them.
	nearSeconds = 3.0
	// nearChanceMax: a resource that changes so often that one of its changes lies near the cliff anyway says nothing.
	nearChanceMax = 0.25
	// onsetShareMax is what a resource may have been before its onset, as a share of its mean from then on.
	onsetShareMax = 0.05
	// jumpNoise is how many standard errors of five samples a change at once must be.
	jumpNoise = 3
	// rankSamplesMin and shiftsMax bound the rank correlation: below, it is chance; above, more shifts tell no more.
	rankSamplesMin = 20
	shiftsMax      = 400
)

// Coincidence is something that went with the rate. It never says that the one brought the other.
type Coincidence struct {
	Resource string `json:"resource"`
	Engine   bool   `json:"engine,omitempty"`
	Kind     string `json:"kind"` // one of the With… constants

	// WithCliff and WithStep: the resource changed its level near it.
	Cliff   int     `json:"cliff,omitempty"`   // WithCliff: position in Course.Cliffs
	Decline int     `json:"decline,omitempty"` // WithStep: position in Course.Declines
	Seconds float64 `json:"t,omitempty"`       // when the resource changed
	Before  float64 `json:"before,omitempty"`
	After   float64 `json:"after,omitempty"`
	Changes int     `json:"changes,omitempty"` // of the resource's level in the whole series
	Onset   bool    `json:"onset,omitempty"`   // it was next to nothing until then: there is one onset at most, however restless it is later
	// Chance is how likely one of so many changes lies that near the cliff, if they fell anywhere.
	Chance float64 `json:"chance,omitempty"`

	// WithRate: they rise and fall together (Rank > 0), or one rises as the other falls.
	Rank float64 `json:"rank_correlation,omitempty"` // Spearman's, levels and trends taken out
	P    float64 `json:"p,omitempty"`                // adjusted for all resources (Holm)

	// PerSecond says that the column only ever grew and was looked at as its growth per second.
	PerSecond bool `json:"per_second,omitempty"`
}

const (
	WithCliff = "with-cliff"
	WithStep  = "with-steepest-step" // of a decline from level to level
	WithRate  = "with-rate"
)

// place is a fall that a resource may have changed near.
type place struct {
	kind    string
	number  int // of the cliff or decline
	seconds float64
	until   float64 // later where the fall took some samples
}

// away is how far a moment lies from the fall.
func (p place) away(seconds float64) float64 {
	return max(p.seconds-seconds, seconds-p.until, 0)
}

func placesOf(s Series, c Course) (places []place) {
	for i, cliff := range c.Cliffs {
		places = append(places, place{WithCliff, i, cliff.Seconds, s.begins(cliff.Below)})
	}
	for i, decline := range c.Declines {
		if decline.Steepest != nil {
			places = append(places, place{WithStep, i, s.begins(decline.Steepest.At), s.begins(decline.Steepest.At)})
		}
	}
	return places
}

// coincide looks for level changes of resources near cliffs and the steepest steps of declines, and for resources that move with the rate within its stretches.
// Counters of the store come first, then the nearest and the closest.
func coincide(s Series, c Course) (found []Coincidence) {
	var ranked []Coincidence
	places := placesOf(s, c)
	for _, r := range s.Resources {
		if len(r.Values) != len(s.Rates) {
			continue
		}
		values, perSecond := s.flow(r.Values)
		whole, enough := filled(values)
		if !enough || constantValues(whole) {
			continue
		}
		about := Coincidence{Resource: r.Name, Engine: r.Engine, PerSecond: perSecond}
		found = append(found, nearFalls(s, c, places, about, whole)...)
		if rank, p, ok := rankWithRate(s, c, whole); ok {
			about.Kind, about.Rank, about.P = WithRate, rank, p
			ranked = append(ranked, about)
		}
	}
	p := make([]float64, len(ranked))
	for i, r := range ranked {
		p[i] = r.P
	}
	for i, adjusted := range Holm(p) {
		if ranked[i].P = adjusted; adjusted < Significance {
			found = append(found, ranked[i])
		}
	}
	slices.SortStableFunc(found, func(a, b Coincidence) int {
		if a.Engine != b.Engine {
			if a.Engine {
				return -1
			}
			return 1
		}
		if a.Kind != b.Kind {
			return cmp.Compare(a.Kind, b.Kind) // with-cliff stands before with-rate
		}
		if a.Kind != WithRate {
			// What rises as the rate falls tells more than what falls because less is done.
			if rises := a.After > a.Before; a.Cliff == b.Cliff && a.Decline == b.Decline && rises != (b.After > b.Before) {
				if rises {
					return -1
				}
				return 1
			}
			return cmp.Or(cmp.Compare(a.Cliff, b.Cliff), cmp.Compare(a.Decline, b.Decline), cmp.Compare(a.Chance, b.Chance))
		}
		return cmp.Compare(math.Abs(b.Rank), math.Abs(a.Rank))
	})
	return found
}

// flow turns a column that only ever grows (a counter, or data that piles up) into its growth per second.
func (s Series) flow(values []float64) (flow []float64, perSecond bool) {
	last := math.NaN()
	for _, v := range values {
		if v < last {
			return values, false
		}
		if !math.IsNaN(v) {
			last = v
		}
	}
	flow = make([]float64, len(values))
	flow[0] = math.NaN()
	for i := 1; i < len(values); i++ {
		flow[i] = (values[i] - values[i-1]) / s.length(i)
	}
	return flow, true
}

// filled repeats the last measured value where one is missing; enough is false if fewer than ten, or one in ten, are there.
func filled(values []float64) (whole []float64, enough bool) {
	whole = slices.Clone(values)
	missing, last := 0, math.NaN()
	for _, v := range values {
		if !math.IsNaN(v) {
			last = v
			break
		}
	}
	for i, v := range whole {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			missing++
			whole[i] = last
			continue
		}
		last = v
	}
	there := len(values) - missing
	return whole, there >= 10 && 10*there >= len(values)
}

func constantValues(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return true
}

// nearFalls looks for changes of a resource's level (PELT, on values scaled to their spread) within nearSeconds of a fall.
func nearFalls(s Series, c Course, places []place, about Coincidence, values []float64) (found []Coincidence) {
	if len(places) == 0 {
		return nil
	}
	l := split(scaled(values))
	changes := len(l.ends) - 1
	if changes == 0 {
		return nil
	}
	onset := Mean(values[:l.ends[0]]) >= 0 && Mean(values[:l.ends[0]]) <= onsetShareMax*Mean(values[l.ends[0]:])
	if wandering(l, nil) && !onset {
		return nil
	}
	for _, fall := range places {
		best, distance := -1, math.Inf(1)
		for i := range changes {
			if away := fall.away(s.begins(l.ends[i])); away < distance {
				best, distance = i, away
			}
		}
		width := c.Seconds / float64(c.Samples)
		of := changes
		if onset && best == 0 {
			of = 1
		}
		chance := 1 - math.Pow(1-min((2*distance+width+fall.until-fall.seconds)/c.Seconds, 1), float64(of))
		at, from := l.ends[best], 0
		if best > 0 {
			from = l.ends[best-1]
		}
		if distance > max(nearSeconds, width) || chance > nearChanceMax || !jumps(l, from, at, l.ends[best+1]) {
			continue
		}
		about.Kind, about.Seconds, about.Changes, about.Onset, about.Chance = fall.kind, s.begins(at), changes, onset && best == 0, chance
		about.Cliff, about.Decline = 0, 0
		if fall.kind == WithCliff {
			about.Cliff = fall.number
		} else {
			about.Decline = fall.number
		}
		about.Before, about.After = Mean(values[from:at]), Mean(values[at:l.ends[best+1]])
		found = append(found, about)
	}
	return found
}

// jumps says whether most of a change of level happened at once: a trend, cut into levels, looks like stairs.
func jumps(l levelSplit, from, at, to int) bool {
	before, after := l.bounded[from:at], l.bounded[at:to]
	change := math.Abs(Mean(after) - Mean(before))
	edge := math.Abs(Mean(after[:min(len(after), edgeSamples)]) - Mean(before[max(len(before)-edgeSamples, 0):]))
	return edge >= cliffSharpness*change && edge >= jumpNoise*math.Sqrt(2*l.levels.LongRunVariance/edgeSamples)
}

// scaled brings values to a spread that the noise floor of split, made for logarithms, does not hide.
func scaled(values []float64) []float64 {
	middle, spread := Mean(values), deviation(values)
	z := make([]float64, len(values))
	for i, v := range values {
		z[i] = (v - middle) / spread
	}
	return z
}

// rankWithRate is Spearman's rank correlation (American Journal of Psychology 15, 1904) of rate and resource, with the
// line of each stretch between cliffs taken out of both, so that two things that merely change with time do not count.
//
// Its significance is from circular shifts: the resource against the rate at other times keeps the autocorrelation of both
// and breaks what they have in common. The spread of the shifted correlations is the standard error. The tail is Student's
// with the degrees of freedom of the effective pairs (Bartlett, JRSS 98, 1935), for a few hundred shifts can't give a p
// small enough to survive Holm's correction.
func rankWithRate(s Series, c Course, values []float64) (rank, p float64, ok bool) {
	n := len(values)
	if n < rankSamplesMin {
		return 0, 1, false
	}
	var rates, others []float64
	for _, stretch := range stretches(c.Cliffs, n) {
		rates = append(rates, lineResiduals(s.Rates[stretch[0]:stretch[1]])...)
		others = append(others, lineResiduals(values[stretch[0]:stretch[1]])...)
	}
	n = len(rates) // less than all, where falls took some samples
	a, b := scaled(ranks(rates)), scaled(ranks(others))
	if math.IsNaN(a[0]) || math.IsNaN(b[0]) {
		return 0, 1, false
	}
	correlation := func(shift int) (sum float64) {
		for i := range a {
			j := i + shift
			if j >= n {
				j -= n
			}
			sum += a[i] * b[j]
		}
		return sum / float64(n-1)
	}
	rank = correlation(0)
	step := max(n/shiftsMax, 1)
	var squares, shifts float64
	for shift := step; shift < n; shift += step {
		r := math.Atanh(min(max(correlation(shift), -0.999), 0.999))
		squares += r * r
		shifts++
	}
	rho := Autocorrelation(a) * Autocorrelation(b)
	pairs := max(EffectiveSamples(n, rho), 4)
	standardError := max(math.Sqrt(squares/shifts), 1/math.Sqrt(pairs))
	z := math.Atanh(min(max(rank, -0.999), 0.999)) / standardError
	return rank, 2 * students(max(pairs-3, 1)).Survival(math.Abs(z)), true
}

// lineResiduals takes the least-squares line out of values.
func lineResiduals(values []float64) []float64 {
	middle, mean, slope := float64(len(values)-1)/2, Mean(values), slopeASample(values)
	rest := make([]float64, len(values))
	for i, v := range values {
		rest[i] = v - mean - slope*(float64(i)-middle)
	}
	return rest
}

// slopeASample is that of the least-squares line.
func slopeASample(values []float64) float64 {
	middle, mean := float64(len(values)-1)/2, Mean(values)
	var sxx, sxy float64
	for i, v := range values {
		x := float64(i) - middle
		sxx += x * x
		sxy += x * (v - mean)
	}
	if sxx == 0 {
		return 0
	}
	return sxy / sxx
}

// ranks gives equal values their mean rank.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	out := make([]float64, len(values))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[order[k]] = float64(i+j-1) / 2
		}
		i = j
	}
	return out
}
