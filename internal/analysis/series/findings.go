package series

import (
	"math"

	"assay/internal/base/finding"
)

// doubtCodes are the findings of the doubts.
var doubtCodes = map[string]finding.Code{TooFew: finding.SeriesTooFew, TooEmpty: finding.SeriesTooEmpty,
	TooNoisy: finding.SeriesTooNoisy, TooErratic: finding.SeriesWanders}

// Findings states the shape as findings about a place, what matters most first.
func (s *Shape) Findings(where finding.Where) (all []finding.Finding) {
	add := func(m finding.Message) { all = append(all, finding.Make(where, m)) }
	missing := map[Kind]*finding.MissingParams{}
	for _, kind := range weights {
		for _, e := range s.Events {
			if e.Kind == kind {
				for _, m := range s.messages(e) {
					add(m)
				}
			}
		}
	}
	if s.Half != nil {
		add(finding.New(finding.SeriesHalfParams{Early: s.Early.Rate, Late: s.Late.Rate, AtS: s.Half.Seconds,
			Records: s.Half.Records, Bytes: s.Half.Bytes}))
	}
	if s.Rate != nil {
		p := finding.SeriesSteadyParams{Rate: s.Rate.Value, Low: s.Rate.Low, High: s.Rate.High, Drops: s.Has(Drops)}
		if s.Warmup > s.From {
			p.WarmupS = &s.Warmup
		}
		add(finding.New(p))
	}
	if s.Why != nil {
		add(finding.New(finding.DoubtParams{Code: doubtCodes[s.Why.Code], Samples: s.Why.Samples, Needed: s.Why.Needed,
			Low: s.Why.Low, High: s.Why.High, Wide: s.Why.Low == 0 && s.Why.High == 0}))
	}
	for _, e := range s.Events {
		code := map[Kind]finding.Code{Gap: finding.SeriesGap, Interruption: finding.SeriesInterruption}[e.Kind]
		if code == "" {
			continue
		}
		if missing[e.Kind] == nil {
			missing[e.Kind] = &finding.MissingParams{Code: code, AtS: e.From}
		}
		missing[e.Kind].Seconds += e.To - e.From
		missing[e.Kind].Count++
	}
	for _, kind := range []Kind{Interruption, Gap} {
		if p := missing[kind]; p != nil {
			add(finding.New(*p))
		}
	}
	for _, c := range s.Coincidences {
		if c.Event != nil {
			add(finding.New(finding.SeriesChangedWithParams{Resource: c.Resource, AtS: c.Seconds, Up: c.After > c.Before, Before: c.Before, After: c.After, PerSecond: c.PerSecond}))
		} else {
			add(finding.New(finding.SeriesMovesWithParams{Resource: c.Resource, Rank: c.Rank, Up: c.Rank > 0}))
		}
	}
	return all
}

// messages states one event.
func (s *Shape) messages(e Event) []finding.Message {
	change := finding.SeriesChange{AtS: e.From, Before: e.Before, After: e.After,
		Change: math.Abs(e.After/max(e.Before, math.SmallestNonzeroFloat64) - 1), Records: e.Records, Bytes: e.Bytes, P: e.P}
	var p finding.Parameters
	switch e.Kind {
	case Step:
		step := finding.SeriesStepParams{SeriesChange: change, Up: e.After > e.Before, LowS: e.Interval.Low, HighS: e.Interval.High}
		if e.To > e.From {
			step.ToS = &e.To
		}
		if e.Back != nil {
			step.BackS, step.Back = &e.Back.From, &e.Back.Rate
		}
		p = step
		if e.Cliff {
			p = finding.SeriesCliffParams{SeriesStepParams: step, Fall: 1 - e.After/e.Before}
		}
	case Decline:
		p = finding.SeriesDeclineParams{SeriesChange: change, ToS: e.To}
	case Rise:
		p = finding.SeriesRiseParams{SeriesChange: change, ToS: e.To}
	case Oscillation:
		p = finding.SeriesOscillationParams{SeriesChange: change, SeriesPeriod: told(e.Turns.Period, e.Turns.Switches/2),
			ToS: e.To, High: e.Turns.High, Low: e.Turns.Low, HighShare: e.Turns.HighShare}
	default:
		return e.Drops.messages(e)
	}
	return []finding.Message{finding.New(p)}
}

func told(p *Period, events int) finding.SeriesPeriod {
	if p == nil {
		return finding.SeriesPeriod{Tested: finding.Known(events >= periodDropsMin)}
	}
	return finding.SeriesPeriod{PeriodS: &p.Seconds, PeriodLowS: &p.Interval.Low, PeriodHighS: &p.Interval.High}
}

// messages states stalls, or dips where there are none, and a drop that the series ends in.
func (g *DropGroup) messages(e Event) (all []finding.Message) {
	last := g.All[len(g.All)-1]
	drops := finding.SeriesDrops{AtS: e.From, LongestS: g.Longest, Seconds: g.Seconds, Left: g.Left, Share: g.Share,
		SeriesPeriod: told(g.Period, len(g.All)), Count: len(g.All)}
	// One that is no longer than the others is one of them.
	endsLow := last.Open
	for _, d := range g.All[:len(g.All)-1] {
		endsLow = endsLow && d.seconds < last.seconds
	}
	switch {
	case len(g.All) == 1 && endsLow:
	case g.Stalls > 0:
		for _, d := range g.All {
			if d.Stall {
				drops.AtS = d.From
				break
			}
		}
		drops.Count = g.Stalls
		all = append(all, finding.New(finding.SeriesStallsParams{SeriesDrops: drops, Dips: len(g.All) - g.Stalls}))
	default:
		dips := finding.SeriesDipsParams{SeriesDrops: drops}
		if len(g.All) == 1 {
			dips.BackS = &last.To
		}
		all = append(all, finding.New(dips))
	}
	if endsLow {
		all = append(all, finding.New(finding.SeriesEndsLowParams{AtS: last.From, Before: last.Usual, After: last.Mean}))
	}
	return all
}
