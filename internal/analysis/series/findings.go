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
	missing := map[Kind]finding.Message{}
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
		add(finding.New(finding.SeriesHalf, "early", s.Early.Rate, "late", s.Late.Rate, "at_s", s.Half.Seconds).With(storedPairs(s.Half.Records, s.Half.Bytes)...))
	}
	if s.Rate != nil {
		m := finding.New(finding.SeriesSteady, "rate", s.Rate.Value, "low", s.Rate.Low, "high", s.Rate.High, "drops", s.Has(Drops))
		if s.Warmup > s.From {
			m = m.With("warmup_s", s.Warmup)
		}
		add(m)
	}
	if s.Why != nil {
		add(finding.New(doubtCodes[s.Why.Code], "samples", s.Why.Samples, "needed", s.Why.Needed, "low", s.Why.Low, "high", s.Why.High))
	}
	for _, e := range s.Events {
		code := map[Kind]finding.Code{Gap: finding.SeriesGap, Interruption: finding.SeriesInterruption}[e.Kind]
		if code == "" {
			continue
		}
		m, seen := missing[e.Kind]
		if !seen {
			m = finding.New(code, "at_s", e.From, "seconds", 0.0, "count", 0)
		}
		missing[e.Kind] = m.With("seconds", m.Params["seconds"].(float64)+e.To-e.From, "count", m.Params["count"].(int)+1)
	}
	for _, kind := range []Kind{Interruption, Gap} {
		if m, seen := missing[kind]; seen {
			add(m)
		}
	}
	for _, c := range s.Coincidences {
		if c.Event != nil {
			add(finding.New(finding.SeriesChangedWith, "resource", c.Resource, "at_s", c.Seconds, "up", c.After > c.Before,
				"before", c.Before, "after", c.After, "per_second", c.PerSecond))
		} else {
			add(finding.New(finding.SeriesMovesWith, "resource", c.Resource, "rank", c.Rank, "up", c.Rank > 0))
		}
	}
	return all
}

func storedPairs(records, bytes *float64) (pairs []any) {
	if records != nil {
		pairs = append(pairs, "records", *records)
	}
	if bytes != nil {
		pairs = append(pairs, "bytes", *bytes)
	}
	return pairs
}

// messages states one event.
func (s *Shape) messages(e Event) []finding.Message {
	pairs := append([]any{"at_s", e.From, "before", e.Before, "after", e.After, "change", math.Abs(e.After/max(e.Before, math.SmallestNonzeroFloat64) - 1)},
		storedPairs(e.Records, e.Bytes)...)
	switch e.Kind {
	case Step:
		pairs = append(pairs, "up", e.After > e.Before, "low_s", e.Interval.Low, "high_s", e.Interval.High)
		if e.To > e.From {
			pairs = append(pairs, "to_s", e.To)
		}
		if e.Back != nil {
			pairs = append(pairs, "back_s", e.Back.From, "back", e.Back.Rate)
		}
		if e.Cliff {
			return []finding.Message{finding.New(finding.SeriesCliff, append(pairs, "fall", 1-e.After/e.Before)...)}
		}
		return []finding.Message{finding.New(finding.SeriesStep, pairs...)}
	case Decline:
		return []finding.Message{finding.New(finding.SeriesDecline, append(pairs, "to_s", e.To)...)}
	case Rise:
		return []finding.Message{finding.New(finding.SeriesRise, append(pairs, "to_s", e.To)...)}
	case Oscillation:
		pairs = append(pairs, "to_s", e.To, "high", e.Turns.High, "low", e.Turns.Low, "high_share", e.Turns.HighShare)
		return []finding.Message{finding.New(finding.SeriesOscillation, append(pairs, periodPairs(e.Turns.Period, e.Turns.Switches/2)...)...)}
	}
	return e.Drops.messages(e)
}

func periodPairs(p *Period, events int) []any {
	if p == nil {
		return []any{"tested", events >= periodDropsMin}
	}
	return []any{"period_s", p.Seconds, "period_low_s", p.Interval.Low, "period_high_s", p.Interval.High}
}

// messages states stalls, or dips where there are none, and a drop that the series ends in.
func (g *DropGroup) messages(e Event) (all []finding.Message) {
	last := g.All[len(g.All)-1]
	pairs := append([]any{"at_s", e.From, "longest_s", g.Longest, "seconds", g.Seconds, "left", g.Left, "share", g.Share},
		periodPairs(g.Period, len(g.All))...)
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
				pairs[1] = d.From
				break
			}
		}
		all = append(all, finding.New(finding.SeriesStalls, append(pairs, "count", g.Stalls, "dips", len(g.All)-g.Stalls)...))
	default:
		if len(g.All) == 1 {
			pairs = append(pairs, "back_s", last.To)
		}
		all = append(all, finding.New(finding.SeriesDips, append(pairs, "count", len(g.All))...))
	}
	if endsLow {
		all = append(all, finding.New(finding.SeriesEndsLow, "at_s", last.From, "before", last.Usual, "after", last.Mean))
	}
	return all
}
