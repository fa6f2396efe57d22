// Package series finds out what a rate does over time: where its level changed, whether it
// declines, drops for moments or oscillates, and whether it has one rate at all. It returns data;
// the sentences are in package finding.
//
// It reads from raw to judged:
//
//  1. series.go       samples that count; gaps and interruptions
//  2. levels.go       noise, and where the level changed (PELT)
//  3. warmup.go       what to leave out at the start (MSER-5)
//  4. drops.go        stalls and dips, and whether they are periodic
//  5. oscillation.go  two levels in turn
//  6. step.go         which changes of level are steps and which are slopes
//  7. short.go        exact tests for 8 to 20 samples
//  8. coincide.go     which resources changed with it
//
// lines.go fits lines and trend.go tells a direction from a walk; shape.go is what comes out, and
// findings.go says it.
//
// docs/analyze.md defines each kind; docs/error-rates.md has their error rates in simulation.
//
// # Decisions
//
//   - Series are judged on levels, lines and one jump, not on special shapes: what the finder has
//     no word for is *inconclusive*. Nothing is thinned: long series are joined for the levels
//     alone.
package series

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/analysis/stat"
)

// Kind is what a series, or an event in it, is.
type Kind string

const (
	Steady       Kind = "steady"       // one level
	Step         Kind = "step"         // the level changed within ten seconds; see Event.Cliff
	Decline      Kind = "decline"      // it falls over more than ten seconds
	Rise         Kind = "rise"         // it rises over more than ten seconds
	Drops        Kind = "drops"        // it falls for moments and comes back: stalls and dips
	Oscillation  Kind = "oscillation"  // two levels in turn
	Inconclusive Kind = "inconclusive" // see Shape.Why

	Gap          Kind = "gap"          // events only: nothing was sampled
	Interruption Kind = "interruption" // events only: the process was stopped from outside
)

// Shape is what a rate does over time.
type Shape struct {
	Kind  Kind   `json:"kind"`          // the weightiest that holds
	Kinds []Kind `json:"kinds"`         // all that hold, Kind first
	Why   *Doubt `json:"why,omitempty"` // of inconclusive

	Samples  int     `json:"samples"`  // in the series
	Measured int     `json:"measured"` // that count: neither gaps nor interruptions
	From     float64 `json:"from_s"`
	To       float64 `json:"to_s"`
	Mean     float64 `json:"mean"` // of all that count, warm-up included

	Warmup float64 `json:"warmup_s"` // when the warm-up ended; From if there is none
	// Rate is the one rate that stands for the series. Nil: it has none, for its level changes, or
	// that can't be decided.
	Rate *Rate `json:"rate,omitempty"`

	Early Level  `json:"early"`          // the first level after the warm-up
	Late  Level  `json:"late"`           // the last level
	Half  *Place `json:"half,omitempty"` // from here on less than half of Early is left; nil: never

	Events       []Event       `json:"events,omitempty"` // in order of time
	Coincidences []Coincidence `json:"coincidences,omitempty"`

	Autocorrelation float64 `json:"autocorrelation"`
}

// Doubt says why a series is inconclusive.
type Doubt struct {
	Code    string `json:"code"` // one of the Too… constants
	Samples int    `json:"samples"`
	Needed  int    `json:"needed,omitempty"`
	// Low and High bound the relative change from the first to the last sample that fits the data.
	// Both are 0 where they would say nothing.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// Of TooUneven: the mean rate of the first Before samples, and of those after them.
	Before int     `json:"before,omitempty"`
	First  float64 `json:"first,omitempty"`
	Rest   float64 `json:"rest,omitempty"`
}

const (
	TooFew     = "too-few-samples"
	TooEmpty   = "too-empty"  // nothing was done; or so little that chance empties half of the samples
	TooNoisy   = "too-noisy"  // a change of 30 % could hide in the noise
	TooUneven  = "too-uneven" // a short series whose first samples lie far from the others, by chance or not
	TooErratic = "wanders"    // it moves like a random walk: levels and slopes mean little
)

// Rate is a rate that stands for a series.
type Rate struct {
	Value            float64 `json:"value"` // median after the warm-up, drops included
	From             int     `json:"from"`  // first sample after the warm-up
	Samples          int     `json:"samples"`
	Low              float64 `json:"low"`  // one sample in twenty lies below
	High             float64 `json:"high"` // one sample in twenty lies above
	EffectiveSamples float64 `json:"effective_samples"`
}

// Level is a stretch of time at one level.
type Level struct {
	From float64 `json:"from_s"`
	To   float64 `json:"to_s"`
	Rate float64 `json:"rate"`
}

// Place is a moment of a series, with what was stored then.
type Place struct {
	Seconds float64  `json:"t_s"`
	Records *float64 `json:"records,omitempty"` // nil: not measured
	Bytes   *float64 `json:"bytes,omitempty"`
}

// Event is something that happened. Times are those of the series, rates those of its samples.
type Event struct {
	Kind Kind    `json:"kind"`
	From float64 `json:"from_s"`
	To   float64 `json:"to_s"` // of a step at once: From
	// Before and After are the mean rates on either side; of drops the usual and the lowest rate;
	// of an oscillation the upper and the lower level.
	Before float64 `json:"before,omitempty"`
	After  float64 `json:"after,omitempty"`

	Cliff    bool           `json:"cliff,omitempty"`      // a step down by CliffFall or more, within its interval
	Left     *stat.Interval `json:"left,omitempty"`       // of a step: After ÷ Before, 95 %
	Interval *stat.Interval `json:"interval_s,omitempty"` // of a step: when it happened, 95 %
	// P is the chance of such a change in a steady series if its samples are independent. Nil: the
	// change holds for samples that resemble their neighbours, too.
	P *float64 `json:"p_if_independent,omitempty"`
	// Records and Bytes were stored at From.
	Records *float64 `json:"records,omitempty"`
	Bytes   *float64 `json:"bytes,omitempty"`
	// RecordsInterval is what was stored at the ends of Interval.
	RecordsInterval *stat.Interval `json:"records_interval,omitempty"`
	// Back is when, after a step, half of what was lost had come back permanently. Nil: never.
	Back *Level `json:"back,omitempty"`

	Drops *DropGroup `json:"drops,omitempty"`
	Turns *Turns     `json:"turns,omitempty"` // of an oscillation

	at int // first sample after the event began, in the series
}

// CliffFall is the share of the rate that a cliff takes at least: it lies in the interval of what
// the step took, or below it. cliffLeftMax bounds what is left, however wide the interval.
const (
	CliffFall    = 0.4
	cliffLeftMax = 0.7
)

// SteadyChange is the relative change that a steady rate may have.
const SteadyChange = 0.1

// Has reports whether a kind is among those that hold.
func (s *Shape) Has(kind Kind) bool { return slices.Contains(s.Kinds, kind) }

// Cliff returns the first cliff. Nil: there is none.
func (s *Shape) Cliff() *Event {
	for i := range s.Events {
		if s.Events[i].Cliff {
			return &s.Events[i]
		}
	}
	return nil
}

// Of returns the events of a kind.
func (s *Shape) Of(kind Kind) (events []Event) {
	for _, e := range s.Events {
		if e.Kind == kind {
			events = append(events, e)
		}
	}
	return events
}

// weights orders the kinds: the first that holds names the shape.
var weights = []Kind{Step, Oscillation, Decline, Rise, Drops, Inconclusive, Steady}

// Analyze finds what a rate does over time. It is pure and safe for concurrent use.
func Analyze(s Series) Shape {
	shape := Shape{Samples: len(s.Rates), From: s.Begin, To: s.Begin}
	if len(s.Ends) > 0 {
		shape.To = s.Ends[len(s.Ends)-1]
	}
	v, events := viewOf(&s)
	n := v.samples()
	shape.Measured, shape.Warmup = n, shape.From
	var found finder
	switch rates := v.rates(); {
	case n < shortSamplesMin:
		found.why = &Doubt{Code: TooFew, Samples: n, Needed: steadySamplesMin}
	case slices.Max(rates) == 0 || v.sparse && stat.Median(rates) == 0:
		found.why = &Doubt{Code: TooEmpty, Samples: n}
	default:
		cut := v.warmup(rates)
		if n-cut < steadySamplesMin { // a beginning of so few can't be told from the rest
			cut = 0
		}
		shape.Warmup = v.begins(cut)
		found = finder{view: v.part(cut, n)}
		found.find()
		shape.rate(&found, cut)
	}
	if n > 0 {
		shape.Mean = v.mean(0, n)
		shape.ends(&found, v)
	}
	shape.Why, shape.Autocorrelation = found.why, found.rho
	shape.Events = append(events, found.events...)
	slices.SortStableFunc(shape.Events, func(a, b Event) int { return cmp.Compare(a.From, b.From) })
	shape.name(found.why != nil)
	shape.Coincidences = coincide(&s, v, &shape)
	return shape
}

// rate sets the one rate of a series of which neither level nor slope changes.
func (s *Shape) rate(f *finder, cut int) {
	n := f.samples()
	if f.why != nil || f.changed() {
		return
	}
	sorted := slices.Sorted(slices.Values(f.rates()))
	s.Rate = &Rate{Value: stat.Median(sorted), From: f.at[0], Samples: n, Low: sorted[n/20], High: sorted[n-1-n/20],
		EffectiveSamples: float64(n) * (1 - f.rho) / (1 + f.rho)}
}

// ends sets the first and the last level, and where half of the first was lost permanently.
func (s *Shape) ends(f *finder, v view) {
	if len(f.levels) == 0 {
		all := Level{s.From, s.To, s.Mean}
		s.Early, s.Late = all, all
		return
	}
	s.Early, s.Late = f.levels[0], f.levels[len(f.levels)-1]
	if s.Late.Rate > s.Early.Rate/2 {
		return
	}
	if e := s.halving(f); e != nil {
		s.Half = &Place{e.From, e.Records, e.Bytes}
		return
	}
	smooth := boundOutliers(v.logs, 0)
	below := func(log float64) bool { return log < math.Log(s.Early.Rate/2) }
	last := len(smooth) - 1
	for last >= 0 && below(smooth[last]) {
		last--
	}
	// Where a rate falls fast, bounding takes it down a sample too early.
	last = max(last, slices.IndexFunc(v.logs, below)-1)
	s.Half = &Place{v.begins(last + 1), v.stored(v.s.Records, last+1), v.stored(v.s.Bytes, last+1)}
}

// halving returns the step with which half of the first level was lost permanently: the same event has
// one time. Nil: it was lost along a slope, or in an oscillation.
func (s *Shape) halving(f *finder) *Event {
	last := len(f.levels) - 1
	for last > 0 && f.levels[last-1].Rate <= s.Early.Rate/2 {
		last--
	}
	for i := range f.events {
		if e := &f.events[i]; e.Kind == Step && e.After < e.Before && last > 0 &&
			e.From >= f.levels[last-1].To && e.To <= f.levels[last].From {
			return e
		}
	}
	return nil
}

func (s *Shape) name(inconclusive bool) {
	for _, kind := range weights {
		is := slices.ContainsFunc(s.Events, func(e Event) bool { return e.Kind == kind })
		if kind == Inconclusive {
			is = inconclusive
		}
		if kind == Steady {
			is = s.Rate != nil
		}
		if is {
			s.Kinds = append(s.Kinds, kind)
		}
	}
	s.Kind = s.Kinds[0]
}
