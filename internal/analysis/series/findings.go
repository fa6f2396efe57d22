package series

import (
	"math"
	"slices"

	"assay/internal/base/finding"
)

// doubts are the words of the doubts.
var doubts = map[string]string{TooFew: finding.TooFewSamples, TooEmpty: finding.TooEmpty,
	TooNoisy: finding.TooNoisy, TooUneven: finding.TooUneven, TooErratic: finding.Wanders}

// Findings states the shape as findings about a place, what matters most first.
func (s *Shape) Findings(where finding.Where) (all []finding.Finding) {
	add := func(p finding.Parameters, severity finding.Severity) {
		f := finding.Make(where, finding.New(p))
		f.Severity = severity
		all = append(all, f)
	}
	for _, kind := range weights {
		for _, e := range s.Events {
			if e.Kind == kind {
				s.state(e, add)
			}
		}
	}
	if s.Half != nil {
		add(finding.RateParams{Code: finding.RateHalved, RateChange: finding.RateChange{AtS: &s.Half.Seconds,
			Before: &s.Early.Rate, After: &s.Late.Rate, Records: s.Half.Records, Bytes: s.Half.Bytes}}, finding.Notice)
	}
	if s.Rate != nil {
		p := finding.RateSteadyParams{Rate: s.Rate.Value, Low: s.Rate.Low, High: s.Rate.High, Drops: s.Has(Drops)}
		if s.Warmup > s.From {
			p.WarmupS = &s.Warmup
		}
		add(p, finding.Notice)
	}
	if s.Why != nil {
		severity := finding.Notice
		if s.Why.Code == TooErratic {
			severity = finding.Warning
		}
		p := finding.RateUnknownParams{Why: doubts[s.Why.Code], Samples: s.Why.Samples, Needed: s.Why.Needed,
			Low: s.Why.Low, High: s.Why.High, Wide: s.Why.Low == 0 && s.Why.High == 0, Before: s.Why.Before}
		if p.Before > 0 {
			p.First, p.Rest = &s.Why.First, &s.Why.Rest
		}
		add(p, severity)
	}
	if p := s.missing(Interruption); p.Count > 0 {
		add(p, finding.Warning)
	}
	if p := s.missing(Gap); p.Count > 0 {
		add(p, finding.Notice)
	}
	for _, c := range s.Coincidences {
		p := finding.RateChangedWithParams{Resource: c.Resource, Up: c.Rank > 0, Rank: c.Rank}
		if c.Event != nil {
			p = finding.RateChangedWithParams{Resource: c.Resource, AtS: &c.Seconds, Up: c.After > c.Before,
				Before: c.Before, After: c.After, PerSecond: c.PerSecond}
		}
		add(p, finding.Notice)
	}
	return all
}

// missing adds up the time of a kind of which the series knows nothing.
func (s *Shape) missing(kind Kind) (p finding.RateNotSampledParams) {
	p.Stopped = kind == Interruption
	for _, e := range s.Events {
		if e.Kind != kind {
			continue
		}
		if p.Count == 0 {
			p.AtS = e.From
		}
		p.Seconds += e.To - e.From
		p.Count++
	}
	return p
}

// codes are those of the kinds of changes.
var codes = map[Kind]finding.Code{Step: finding.RateStep, Decline: finding.RateDeclined, Rise: finding.RateRose,
	Oscillation: finding.RateOscillates}

// Label is an event in a few words, for its place in a plot.
func (e *Event) Label() finding.Parameters {
	switch e.Kind {
	case Drops:
		p := finding.RateDropsParams{Brief: true, AtS: &e.From, After: &e.After}
		if e.Drops != nil {
			p.Count, p.LongestS = len(e.Drops.All), e.Drops.Longest
		}
		return p
	case Gap, Interruption:
		return finding.RateNotSampledParams{Brief: true, Stopped: e.Kind == Interruption, AtS: e.From,
			Seconds: e.To - e.From, Count: 1}
	}
	return finding.RateParams{Code: codes[e.Kind], Brief: true,
		RateChange: finding.RateChange{AtS: &e.From, ToS: &e.To, Before: &e.Before, After: &e.After}}
}

// state states one event.
func (s *Shape) state(e Event, add func(finding.Parameters, finding.Severity)) {
	if e.Kind == Drops {
		e.Drops.state(e, add)
		return
	}
	change := math.Abs(e.After/max(e.Before, math.SmallestNonzeroFloat64) - 1)
	p := finding.RateParams{Code: codes[e.Kind], P: e.P, RateChange: finding.RateChange{AtS: &e.From, ToS: &e.To,
		Before: &e.Before, After: &e.After, Change: &change, Records: e.Records, Bytes: e.Bytes}}
	switch e.Kind {
	case Step:
		p.Up, p.Cliff, p.LowS, p.HighS = e.After > e.Before, e.Cliff, &e.Interval.Low, &e.Interval.High
		if e.To <= e.From {
			p.ToS = nil
		}
		if e.Back != nil {
			p.BackS, p.Back = &e.Back.From, &e.Back.Rate
		}
	case Oscillation:
		p.Before, p.After, p.HighShare = &e.Turns.High, &e.Turns.Low, &e.Turns.HighShare
		p.RatePeriod = told(e.Turns.Period, e.Turns.Switches/2)
	}
	add(p, finding.Warning)
}

func told(p *Period, events int) finding.RatePeriod {
	if p == nil {
		return finding.RatePeriod{Tested: finding.Known(events >= periodDropsMin)}
	}
	return finding.RatePeriod{PeriodS: &p.Seconds, PeriodLowS: &p.Interval.Low, PeriodHighS: &p.Interval.High}
}

// state states stalls, or dips where there are none, and a drop that the series ends in.
func (g *DropGroup) state(e Event, add func(finding.Parameters, finding.Severity)) {
	last := g.All[len(g.All)-1]
	// One that is no longer than the others is one of them.
	endsLow := last.Open
	for _, d := range g.All[:len(g.All)-1] {
		endsLow = endsLow && d.seconds < last.seconds
	}
	if len(g.All) > 1 || !endsLow {
		p := finding.RateDropsParams{RatePeriod: told(g.Period, len(g.All)), Count: len(g.All),
			Stalls: g.Stalls, AtS: &e.From,
			LongestS: g.Longest, Left: g.Left, Seconds: &g.Seconds, Share: &g.Share}
		severity := finding.Notice
		if g.Stalls > 0 {
			severity = finding.Warning
			first := slices.IndexFunc(g.All, func(d Drop) bool { return d.Stall })
			p.AtS = &g.All[first].From
		} else if len(g.All) == 1 {
			p.BackS = &last.To
		}
		add(p, severity)
	}
	if endsLow {
		add(finding.RateParams{Code: finding.RateEndsLow, RateChange: finding.RateChange{AtS: &last.From,
			Before: &last.Usual, After: &last.Mean}}, finding.Warning)
	}
}
