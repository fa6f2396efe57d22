package capacity

import (
	"math"
	"math/rand/v2"
	"time"
)

// Kind is what a step is for.
type Kind string

// The kinds, in the order in which a search has them.
const (
	Closed   Kind = "closed"   // closed load before the search: what a closed-loop tool would tell
	Bracket  Kind = "bracket"  // short: between which rates the objectives break
	Edge     Kind = "edge"     // around that place, in random order: what the capacity is fitted to
	Low      Kind = "low"      // far below a rate that had held, after one that had not
	Overload Kind = "overload" // far above the capacity
	Recovery Kind = "recovery" // after it, below the capacity
	Hold     Kind = "hold"     // the last and longest: confirms
)

// Step is what is to be done next.
type Step struct {
	Kind   Kind
	Rate   float64 // operations a second
	Length time.Duration
}

// Seen is what a step saw.
type Seen struct {
	Kind Kind
	Rate float64
	Used []float64 // of the limit of each objective, and last of what may be left unfinished
	Done float64   // operations a second that ended well
	Due  uint64    // operations that were due in the part that is judged
	// ByClient is how much of what the step used of the limit that is nearest to breaking may be the
	// client's own delay.
	ByClient float64
	// Disturbed says that others took a part of the machine meanwhile, as it tells itself.
	Disturbed bool
	// Again says that the step was disturbed and is done again: it is not judged.
	Again bool
}

// Most returns how much of its limit the step used of the objective that is nearest to breaking, or
// broke most.
func (s *Seen) Most() (most float64) {
	for _, used := range s.Used {
		most = max(most, used)
	}
	return most
}

// byStore is Most without what may be the client's delay.
func (s *Seen) byStore() float64 { return s.Most() - s.ByClient }

// Held reports whether the step kept all objectives.
func (s *Seen) Held() bool { return s.Most() <= 1 }

const (
	bracketShare = 0.5 // of a step's length
	bracketedAt  = 1.2 // hi ÷ lo at which a bracket is narrow enough
	// hopeless is which share of its rate a step does that is not tried again: no hiccup takes so much.
	hopeless = 0.6
	// A step that was disturbed is done again so often at most, and all of a search so often.
	againMost    = 3
	againAllMost = 20
	// reopenMost is how often a bracket that turns out to be none is looked for again.
	reopenMost  = 2
	beside      = 1.05
	firstRates  = 6
	secondRates = 10
	// narrowMin and narrowMax bound how far, relatively, the second rates are from the first fit.
	narrowMin, narrowMax = 0.01, 0.08
	lowShare             = 0.5  // of the highest rate that held, of a Low step
	contradicts          = 0.75 // a fit below this share of a rate that had held asks for a Low step
	overloadShare        = 1.3
	recoveryShare        = 0.8
	// beyondEdge and beyondBracket are how many operations a step should have beyond its highest
	// percentile; lengthMost bounds how many times longer than asked a step gets for them. Errors and
	// misses come all at once where a store gives up, so a fifth as many suffice for their shares.
	beyondEdge, beyondBracket = 100, 30
	beyondShare               = 0.2
	lengthMost                = 4
	// operationsMost bounds a step, whose every operation takes memory.
	operationsMost = 4e6
	lengthLeast    = 200 * time.Millisecond
	stepsMost      = 64
	// belowFrom is how far below the lowest rate that is asked about a search goes where that breaks, and
	// operationsLeast how many operations its longest step has there at least.
	belowFrom       = 1.0 / 64
	operationsLeast = 20
)

// holdShares are at which shares of the capacity the last step is tried, one after the other.
var holdShares = []float64{0.95, 0.9, 0.8}

// topShares are those of the highest rate that is tried, where none broke.
var topShares = []float64{1, 0.9, 0.8}

// StepsMost is how many steps a search has at most.
const StepsMost = stepsMost

// Search finds out which step comes next. Make one with [NewSearch], then do what Next says and tell it
// by Saw, until Next has nothing more.
type Search struct {
	asked  Asked
	random *rand.Rand
	quick  bool

	seen  []Seen
	queue []Step
	stage stage

	rate     float64 // of the bracket
	lo, hi   float64 // held, and did not; 0: none yet
	repeated bool    // the last step of the bracket, of Low or of Recovery
	reopened int
	held     float64 // the highest rate that held before any did not
	holds    int     // that were tried
	atTop    bool    // no rate broke: the highest is what is confirmed

	now      Step // that is being done
	again    int  // times that it was disturbed
	againAll int
}

type stage int

const (
	bracketing stage = iota
	firstRound
	secondRound
	atLow
	overloaded
	holding
	over
)

// NewSearch begins a search of one trial. start is the rate to begin with, 0: not known. A quick one
// ends with its bracket. The seed shuffles the rates around the edge.
func NewSearch(asked Asked, start float64, quick bool, seed uint64) *Search {
	if start == 0 {
		start = asked.From
	}
	return &Search{asked: asked, quick: quick, rate: min(max(start, asked.From), asked.To),
		random: rand.New(rand.NewPCG(seed, 0x6361706163697479))}
}

// Next returns the next step; false: the search is over.
func (s *Search) Next() (Step, bool) {
	if s.again > 0 {
		return s.now, true
	}
	if len(s.seen)+s.againAll >= stepsMost {
		s.stage = over
	}
	for s.stage != over {
		switch {
		case s.stage == bracketing:
			s.now = s.step(Bracket, s.rate)
			return s.now, true
		case len(s.queue) > 0:
			s.now, s.queue = s.queue[0], s.queue[1:]
			return s.now, true
		}
		s.advance()
	}
	return Step{}, false
}

// Saw tells what the last step saw. It reports whether the step is done again, and this one not judged:
// others took a part of the machine. Around the edge that goes for steps that held too, as the capacity
// would come out too high where only those that broke are done again.
func (s *Search) Saw(seen Seen) (again bool) {
	if seen.Disturbed && (seen.Kind == Edge || !seen.Held()) && s.again < againMost && s.againAll < againAllMost {
		s.again, s.againAll = s.again+1, s.againAll+1
		return true
	}
	s.again = 0
	s.seen = append(s.seen, seen)
	switch s.stage {
	case bracketing:
		s.bracket(seen)
	case firstRound, secondRound:
		if s.doubtful(seen) {
			s.queue = append(s.queue, s.step(Edge, seen.Rate))
		}
	case atLow, overloaded:
		if seen.Kind != Overload && !seen.Held() && !s.repeated {
			s.repeated = true
			s.queue = append([]Step{s.now}, s.queue...)
			return false
		}
		s.repeated = false
	case holding:
		if !seen.Held() && s.holds < len(holdShares) {
			s.hold()
		}
	}
	return false
}

// Seen are all steps so far that are judged.
func (s *Search) Seen() []Seen { return s.seen }

// doubtful reports whether a step broke by far at a rate at which, or above which, one held by far before:
// it is tried once more, at the end of its round.
func (s *Search) doubtful(seen Seen) bool {
	held := false
	for i := range s.seen[:len(s.seen)-1] {
		before := &s.seen[i]
		if before.Kind == Edge && before.Rate == seen.Rate {
			return false
		}
		held = held || before.Rate >= seen.Rate && before.Most() < 1/byFar
	}
	return held && seen.Most() > byFar
}

// least is the lowest rate that is tried.
func (s *Search) least() float64 {
	longest := lengthMost * s.asked.Step.Seconds()
	return min(max(belowFrom*s.asked.From, operationsLeast/longest), s.asked.From)
}

// bracket takes a step of the bracket, and sets the next rate. A rate is broken where two steps at it
// are: one hiccup would lead the search away.
func (s *Search) bracket(seen Seen) {
	if !seen.Held() && !s.repeated && seen.Done > hopeless*seen.Rate {
		s.repeated = true
		return
	}
	s.repeated = false
	if seen.Held() {
		if s.lo = max(s.lo, s.rate); s.hi == 0 {
			s.held = s.lo
		}
	} else {
		s.hi = s.rate
	}
	switch {
	case s.lo == 0 && s.rate <= s.least(), s.quick && s.hi == 0 && s.rate >= s.asked.To:
		s.stage = over // it holds at no rate, or at all
	case s.hi == 0 && s.rate >= s.asked.To: // in short steps, which see no stall that comes every few seconds
		s.stage, s.atTop = holding, true
		s.hold()
	case s.hi == 0:
		s.rate = min(2*s.rate, s.asked.To)
	case s.lo == 0:
		s.rate = s.below()
	case s.hi/s.lo > bracketedAt:
		s.rate = math.Sqrt(s.lo * s.hi)
	case s.quick:
		s.stage = over
	default:
		s.stage = firstRound
		s.spread(firstRates, s.lo/beside, s.hi*beside)
	}
}

// below is the rate after one that broke, where none has held yet. The lowest that is asked about is tried
// before lower ones.
func (s *Search) below() float64 {
	if s.rate > s.asked.From {
		return max(s.rate/2, s.asked.From)
	}
	return max(s.rate/2, s.least())
}

// reopen looks for a bracket again where the steps around the edge all held, or all broke.
func (s *Search) reopen(found Outcome) bool {
	if s.reopened >= reopenMost {
		return false
	}
	switch {
	case found == AtLeast && s.hi*beside < s.asked.To:
		s.lo, s.hi, s.rate = s.hi, 0, min(bracketedAt*bracketedAt*s.hi, s.asked.To)
	case found == Below && s.lo > s.least():
		s.hi, s.lo, s.rate = s.lo, 0, max(s.lo/bracketedAt/bracketedAt, s.least())
	default:
		return false
	}
	s.reopened++
	s.stage = bracketing
	return true
}

// advance goes on to the next stage once the steps of one are done.
func (s *Search) advance() {
	found := Fit(s.seen)
	switch s.stage {
	case firstRound:
		if s.reopen(found.Outcome) {
			return
		}
		s.stage = secondRound
		if found.Rate > 0 {
			half := min(max(found.Width, narrowMin), narrowMax)
			s.spread(secondRates, found.Rate/(1+half), found.Rate*(1+half))
		}
	case secondRound:
		s.stage = atLow
		if s.held > 0 && found.Rate < contradicts*s.held {
			s.queue = []Step{s.step(Low, max(lowShare*s.held, s.least()))}
		}
	case atLow:
		s.stage = overloaded
		if found.Rate > 0 {
			s.queue = []Step{s.step(Overload, min(overloadShare*found.Rate, s.asked.To)), s.step(Recovery,
				recoveryShare*found.Rate)}
		}
	case overloaded:
		if s.stage = over; found.Rate > 0 {
			s.stage = holding
			s.hold()
		}
	default:
		s.stage = over
	}
}

// hold asks for the next step that confirms.
func (s *Search) hold() {
	rate := holdShares[s.holds] * Fit(s.seen).Rate
	if s.atTop {
		rate = topShares[s.holds] * s.asked.To
	}
	rate = RoundDown(rate)
	s.holds++
	step := s.step(Hold, rate)
	step.Length = s.bounded(max(s.asked.Hold, step.Length), rate)
	s.queue = []Step{step}
}

// spread asks for so many rates, evenly by their logarithm, in random order.
func (s *Search) spread(n int, low, high float64) {
	for i := range n {
		rate := low * math.Pow(high/low, float64(i)/float64(n-1))
		s.queue = append(s.queue, s.step(Edge, min(max(rate, s.least()), s.asked.To)))
	}
	s.random.Shuffle(n, func(i, j int) { s.queue[i], s.queue[j] = s.queue[j], s.queue[i] })
}

func (s *Search) step(kind Kind, rate float64) Step {
	return Step{kind, rate, s.asked.Length(kind, rate)}
}

// Length is how long a step takes at a rate: as asked, and longer where its percentile needs it.
func (a Asked) Length(kind Kind, rate float64) time.Duration {
	length, beyond := float64(a.Step), float64(beyondEdge)
	if kind == Bracket || kind == Closed || kind == Overload {
		length, beyond = bracketShare*length, beyondBracket
	}
	needs := length
	for _, o := range a.Objectives {
		share := o.Limit / beyondShare
		switch o.Metric {
		case Percentile:
			share = 1 - o.Quantile
		case Mean:
			share = 1
		}
		needs = max(needs, beyond/share/rate*1e9)
	}
	search := Search{asked: a}
	return search.bounded(time.Duration(min(needs, lengthMost*length)), rate)
}

func (s *Search) bounded(length time.Duration, rate float64) time.Duration {
	return max(min(length, time.Duration(operationsMost/rate*1e9)), lengthLeast)
}

// Seconds is about how long the steps of a search take on a store of which nothing is slow.
func (a Asked) Seconds() float64 {
	_, seconds := a.on(fastStore)
	return seconds
}

// QuickSeconds is about how long those of a quick one take.
func (a Asked) QuickSeconds() float64 { return bracketSteps * bracketShare * a.Step.Seconds() }

const (
	fastStore    = 1e5 // operations a second, at which no step needs more than its length
	bracketSteps = 10  // closed load among them
)

// Takes is about how many steps a search has, and how long they take together, on a store that does so many
// operations a second: slow ones get longer steps, and one that does more than is tried has few.
func (a Asked) Takes(rate float64, quick bool) (steps int, seconds float64) {
	switch {
	case rate >= a.To:
		doublings := math.Ceil(math.Log2(a.To / min(max(StartShare*rate, a.From), a.To)))
		steps = 2 + int(doublings)
		seconds = float64(steps) * a.Length(Bracket, a.To).Seconds()
		if !quick { // the highest is confirmed
			steps, seconds = steps+1, seconds+max(a.Hold.Seconds(), a.Length(Edge, a.To).Seconds())
		}
		return steps, seconds
	case quick:
		return bracketSteps, bracketSteps * a.Length(Bracket, rate).Seconds()
	}
	return a.on(max(rate, a.From))
}

// StartShare is the share of what closed load did at which a search begins.
const StartShare = 0.25

// on is of a store whose capacity is a rate.
func (a Asked) on(rate float64) (steps int, seconds float64) {
	const edges = firstRates + secondRates + 1 // and that after the overload
	step := a.Length(Edge, rate).Seconds()
	return bracketSteps + edges + 2, bracketSteps*a.Length(Bracket, rate).Seconds() + edges*step +
		a.Length(Overload, overloadShare*rate).Seconds() + max(a.Hold.Seconds(), step)
}

// RoundDown returns a rate in three significant digits, no higher.
func RoundDown(rate float64) float64 {
	if rate <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(rate))-2)
	return math.Floor(rate/unit) * unit
}
