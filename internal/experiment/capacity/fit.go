package capacity

import (
	"cmp"
	"math"
	"slices"
)

// Outcome is what the steps of a trial show.
type Outcome string

// The outcomes. All but Found are no capacity.
const (
	Found      Outcome = "capacity"
	AtLeast    Outcome = "at least"   // it held at the highest rate that was tried
	Client     Outcome = "client"     // the client broke the objectives: the store may do more
	Below      Outcome = "below"      // it held at no rate, the lowest that may be tried among them
	Cliff      Outcome = "cliff"      // above it, the store does much less than at it
	NoRecovery Outcome = "recovery"   // after a rate that was too high, it holds at none any more
	Declines   Outcome = "declines"   // rates that held do not hold later
	Unstable   Outcome = "unstable"   // it holds and breaks at the same rates
	Disagree   Outcome = "disagree"   // of several searches: more than half show none of these
	Unfinished Outcome = "unfinished" // the steps ended before anything could be said
)

// Fitted is what the steps of a trial come to.
type Fitted struct {
	Outcome Outcome
	// Rate is the capacity in operations a second; of other outcomes the rate that their words are about:
	// that of AtLeast and Client is the highest that held. 0: there is none.
	Rate float64
	// Each is the rate at which each objective breaks, and last at which the store falls behind; 0: not
	// seen to.
	Each []float64
	// Width is how far from Rate, relatively, the objectives go from a quarter of their limit to four
	// times it.
	Width float64
	// Held is the rate of the step that confirms; 0: none held, or none was tried.
	Held float64
	// Outliers are steps that broke by far at rates at which later ones held by far. They are so few, or so
	// short, that the objectives hold over all steps below the capacity: it is fitted without them.
	Outliers int
}

// Resolution is how far apart, relatively, capacities of trials must be to be distinguished by a search whose
// steps see few slow operations: by what is seen of noise alone, intervals would be too narrow.
const Resolution = 0.02

const (
	usedLeast = 0.02 // used of a limit, below which nothing more is learnt
	usedMost  = 20.0

	// byFar is how many times the limit, and which part of it, steps must use to contradict each other.
	byFar = 3.0
	// A step that holds contradicts those at rates so many times lower: next to the capacity chance decides.
	lowerBy = 1.03
	// Steps that are contradicted are outliers where they are fewer than outliersMin, or where all steps up
	// to the capacity keep the objectives together.
	outliersMin = 2
	apartAtAll  = 1.1
	// clientMost is how many times the capacity may be higher without the client's delay.
	clientMost = 1.05
	// collapses is which share of its capacity a store does above a cliff.
	collapses = 0.8
	widthUsed = 4
	// A step asked too much of a store that did less than this share of it. So many such steps are needed
	// to say that it does ever less, and to this share of what it did.
	saturated    = 0.97
	muchUsed     = 10.0 // of a limit, by such a step
	saturatedMin = 8
	fallsBelow   = 0.75
)

// Fit reads the steps of one trial.
func Fit(seen []Seen) Fitted {
	seen = slices.DeleteFunc(slices.Clone(seen), func(s Seen) bool { return s.Again })
	f := Fitted{Outcome: Unfinished}
	all := openSteps(seen)
	if len(all) == 0 {
		return f
	}
	open := withoutOutliers(all)
	f.Outliers = len(all) - len(open)
	for k := range open[0].Used {
		at, _ := edge(open, func(s *Seen) float64 { return s.Used[k] })
		f.Each = append(f.Each, at)
	}
	f.Rate, f.Width = edge(open, (*Seen).Most)
	highest, lowest := highestHeld(open), slices.MinFunc(open, byRate)
	levels := isotonic(open, (*Seen).Most)
	tried, confirmed := holdsTried(seen)
	f.Held = heldAt(seen)
	switch {
	case f.Rate > max(0, f.Held): // longer steps are tried below it
	case levels[len(levels)-1].used <= 1, tried > 0:
		f.Outcome, f.Rate = AtLeast, highest
		if tried > 0 && !confirmed && heldByStore(seen) {
			f.Outcome = Client
		} else if unstable(seen) || tried > 0 && !confirmed { // longer steps break where short ones hold
			f.Outcome = Unstable
		} else if confirmed {
			f.Rate = min(f.Rate, f.Held)
		}
		return f
	case clientBroke(open, 0):
		f.Outcome, f.Rate = Client, highest
		return f
	case highest > apartAtAll*lowest.Rate: // it held far above rates at which it did not
		f.Outcome, f.Rate = Unstable, highest
		return f
	default:
		f.Outcome, f.Rate = Below, lowest.Rate
		return f
	}
	if clientBroke(open, f.Rate) {
		f.Outcome, f.Rate = Client, min(f.Rate, highest)
		return f
	}
	f.Outcome = f.judge(seen)
	return f
}

// clientBroke reports whether steps without what may be the client's delay break nowhere, or at a rate well
// above that at which they do with it. Those that broke everywhere with it have a rate of 0.
func clientBroke(open []Seen, rate float64) bool {
	if isotonic(open, (*Seen).byStore)[0].used > 1 {
		return false
	}
	alone, _ := edge(open, (*Seen).byStore)
	return alone == 0 || alone > clientMost*rate
}

// withoutOutliers leaves out what later steps contradict. What is slower from some moment on breaks where it
// had held, and never holds there again: it has none.
func withoutOutliers(open []Seen) (kept []Seen) {
	for i := range open {
		if !contradicted(&open[i], open[i+1:], lowerBy) {
			kept = append(kept, open[i])
		}
	}
	return kept
}

// contradicted reports whether a step broke the objectives by far, and one of those after it held them by far
// at a rate so many times as high, or higher.
func contradicted(s *Seen, after []Seen, times float64) bool {
	return s.Most() > byFar && slices.ContainsFunc(after, func(later Seen) bool {
		return later.Kind != Closed && later.Rate >= times*s.Rate && later.Most() < 1/byFar
	})
}

// unstable reports whether later steps contradict several, and what breaks by far below a rate that held by far
// does so to so many operations that this alone breaks the objectives: it is slow too often to be left out.
func unstable(seen []Seen) bool {
	top := 0.0
	for i := range seen {
		if s := &seen[i]; s.Kind != Closed && len(s.Used) > 0 && s.Most() < 1/byFar {
			top = max(top, s.Rate)
		}
	}
	later, broke, due := 0, 0.0, 0.0
	for i := range seen {
		s := &seen[i]
		if s.Kind == Closed || s.Kind == Overload || len(s.Used) == 0 || s.Rate > top {
			continue
		}
		if s.byStore() > byFar && contradicted(s, seen[i+1:], 1) {
			later++
		}
		if due += float64(s.Due); s.byStore() > byFar {
			broke += float64(s.Due) * min(s.Most(), usedMost/2)
		}
	}
	return later >= outliersMin && broke > due
}

// judge says what a rate at which objectives break is.
func (f *Fitted) judge(seen []Seen) Outcome {
	var above []float64
	low, recovered := true, true
	for i := range seen {
		s := &seen[i]
		switch {
		case s.Kind == Low:
			low = s.Held()
		case s.Kind == Recovery:
			recovered = s.Held()
		}
		if s.Kind != Closed && s.Rate >= f.Rate*beside && !s.Held() {
			above = append(above, s.Done/f.Rate)
		}
	}
	tried, confirmed := holdsTried(seen)
	slices.Sort(above)
	switch {
	case saturationFalls(seen):
		return Declines
	case unstable(seen):
		return Unstable
	case !low || !recovered:
		return NoRecovery
	case tried >= 2 && !confirmed, f.declined(seen):
		return Declines
	case len(above) > 0 && above[len(above)/2] < collapses:
		return Cliff
	}
	return Found
}

// declined reports whether a rate far above the capacity had held before any rate had broken.
func (f *Fitted) declined(seen []Seen) bool {
	for i := range seen {
		if seen[i].Kind != Bracket || !seen[i].Held() {
			return false
		}
		if f.Rate < contradicts*seen[i].Rate {
			return true
		}
	}
	return false
}

// saturationFalls reports whether the store did ever less in the steps that asked too much of it. What it
// did in the first two of these may be of before.
func saturationFalls(seen []Seen) bool {
	var done []float64
	for i := range seen {
		if s := &seen[i]; s.Kind != Closed && s.Most() >= muchUsed && s.Done < saturated*s.Rate {
			done = append(done, s.Done)
		}
	}
	if len(done) < saturatedMin {
		return false
	}
	done = done[2:]
	third := len(done) / 3
	early, late := slices.Clone(done[:third]), slices.Clone(done[len(done)-third:])
	slices.Sort(early)
	slices.Sort(late)
	return late[third/2] < fallsBelow*early[third/2]
}

func holdsTried(seen []Seen) (tried int, confirmed bool) {
	for i := range seen {
		if seen[i].Kind == Hold {
			tried++
			confirmed = confirmed || seen[i].Held()
		}
	}
	return tried, confirmed
}

// heldByStore reports whether a longer step would have held without what may be the client's delay.
func heldByStore(seen []Seen) bool {
	return slices.ContainsFunc(seen, func(s Seen) bool { return s.Kind == Hold && s.byStore() <= 1 })
}

func heldAt(seen []Seen) (rate float64) {
	for i := range seen {
		if seen[i].Kind == Hold && seen[i].Held() {
			rate = max(rate, seen[i].Rate)
		}
	}
	return rate
}

// openSteps are those that a capacity is fitted to: those around the edge, and those of the bracket.
func openSteps(seen []Seen) (open []Seen) {
	for _, s := range seen {
		if (s.Kind == Edge || s.Kind == Bracket) && len(s.Used) > 0 {
			open = append(open, s)
		}
	}
	return open
}

func highestHeld(steps []Seen) (rate float64) {
	for i := range steps {
		if steps[i].Held() {
			rate = max(rate, steps[i].Rate)
		}
	}
	return rate
}

func byRate(a, b Seen) int { return cmp.Compare(a.Rate, b.Rate) }

// level is a stretch of rates whose steps used as much, as far as the fit can tell.
type level struct{ from, to, used, weight float64 } // from and to are logarithms of rates

// isotonic fits what steps used by a function that does not fall with the rate (pool adjacent
// violators: Ayer and others, Annals of Mathematical Statistics 26, 1955). Means are of what was used,
// and not of its logarithm: a mean of shares is the share of all.
func isotonic(steps []Seen, used func(*Seen) float64) (levels []level) {
	sorted := slices.Clone(steps)
	slices.SortStableFunc(sorted, byRate)
	for i := range sorted {
		u := min(max(used(&sorted[i]), usedLeast), usedMost)
		at := math.Log(sorted[i].Rate)
		levels = append(levels, level{at, at, u, 1})
		for n := len(levels); n > 1 && levels[n-2].used >= levels[n-1].used; n = len(levels) {
			a, b := levels[n-2], levels[n-1]
			w := a.weight + b.weight
			levels = append(levels[:n-2], level{a.from, b.to, (a.used*a.weight + b.used*b.weight) / w, w})
		}
	}
	return levels
}

// edge returns the rate at which what steps used passes the limit, and how far from it, relatively, they
// use a quarter of it; 0: they do not pass it. The isotonic fit finds the place, whatever the curve. It is
// drawn towards where few slow operations happened to come, so what lies next to it is then fitted by a
// curve.
func edge(steps []Seen, used func(*Seen) float64) (rate, width float64) {
	levels := isotonic(steps, used)
	if rate = passes(levels, 1); rate == 0 {
		return 0, 0
	}
	width = widthAt(levels, rate)
	if fitted := logLinear(steps, rate, min(besideWidths*width, besideMost), used); fitted > 0 &&
		!passedElsewhere(levels, fitted) {
		rate = fitted
	}
	return rate, width
}

// passedElsewhere reports whether levels are far below the limit at a rate or above it, or far above it
// at the rate or below: a curve that jumps has no such place on a smooth one.
func passedElsewhere(levels []level, rate float64) bool {
	at := math.Log(rate)
	return slices.ContainsFunc(levels, func(l level) bool {
		return l.used <= 1.0/widthUsed && l.to >= at || l.used >= widthUsed && l.from <= at
	})
}

// Passes returns the rate at which what steps used most of passes the limit, by a function that does not fall
// with the rate; nil: it does not.
func Passes(steps []Seen) *float64 {
	if at := passes(isotonic(steps, (*Seen).Most), 1); at > 0 {
		return &at
	}
	return nil
}

// passes returns the rate at which levels pass a part of the limit, on a straight line of logarithms
// between the two that are next to it; 0: they do not.
func passes(levels []level, limit float64) float64 {
	for i := 1; i < len(levels); i++ {
		a, b := levels[i-1], levels[i]
		if a.used <= limit && b.used > limit {
			share := math.Log(limit/a.used) / math.Log(b.used/a.used)
			return math.Exp(a.to + share*(b.from-a.to))
		}
	}
	return 0
}

func widthAt(levels []level, rate float64) float64 {
	if low := passes(levels, 1.0/widthUsed); low > 0 {
		return rate/low - 1
	}
	if high := passes(levels, widthUsed); high > 0 {
		return high/rate - 1
	}
	return narrowMax
}

const (
	besideWidths  = 2.2 // of the fit by a curve, in widths of the edge
	besideMost    = 0.15
	logLinearMin  = 5 // steps
	newtonSteps   = 50
	newtonAlmost  = 1e-9
	exponentMost  = 5
	slopeAtFirst  = 2.0
	newtonLongest = 1.0
)

// logLinear fits what steps within a relative distance of a rate used by exp(a + b·log(rate)), as the
// tail of a queue's response times is, by quasi-Poisson regression, and returns the rate at which it
// passes the limit; 0: too few steps, or it passes it elsewhere.
func logLinear(steps []Seen, centre, within float64, used func(*Seen) float64) float64 {
	var x, y []float64
	for i := range steps {
		if d := math.Log(steps[i].Rate / centre); math.Abs(d) <= within {
			x, y = append(x, d), append(y, min(used(&steps[i]), usedMost))
		}
	}
	if len(x) < logLinearMin {
		return 0
	}
	a, b := 0.0, slopeAtFirst/within
	for range newtonSteps {
		var s0, s1, h00, h01, h11 float64
		for i := range x {
			mean := math.Exp(min(a+b*x[i], exponentMost))
			s0, s1 = s0+y[i]-mean, s1+(y[i]-mean)*x[i]
			h00, h01, h11 = h00+mean, h01+mean*x[i], h11+mean*x[i]*x[i]
		}
		determinant := h00*h11 - h01*h01
		if determinant <= 0 {
			return 0
		}
		da, db := (h11*s0-h01*s1)/determinant, (h00*s1-h01*s0)/determinant
		size := math.Abs(da) + math.Abs(db*within)
		shorter := max(size/newtonLongest, 1)
		a, b = a+da/shorter, b+db/shorter
		if size < newtonAlmost {
			break
		}
	}
	if at := -a / b; b > 0 && math.Abs(at) <= within {
		return centre * math.Exp(at)
	}
	return 0
}
