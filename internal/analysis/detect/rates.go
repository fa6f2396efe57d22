package detect

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/series"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
)

// falls are the kinds of a rate that did not hold, with the code of the finding that each makes.
var falls = map[series.Kind]finding.Code{
	series.Step:        finding.RateStep,
	series.Decline:     finding.RateDeclined,
	series.Rise:        finding.RateRose,
	series.Oscillation: finding.RateOscillates,
}

// detectFalls makes a finding of each arm whose rate, in at least half of its blocks, changed for
// good or oscillates: one of the weightiest kind, with its place and the resources that changed
// with it.
func detectFalls(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		if !r.Unsettled() {
			return
		}
		code := falls[series.Kind(r.Course.Kind)]
		if r.Course.BrokeAtS != nil && code != finding.RateOscillates {
			code = finding.RateStep
		}
		if code == "" {
			return // the kinds of its blocks are of all sorts
		}
		var evidence []finding.Evidence
		var high, low []float64
		for _, o := range r.Used() {
			if !o.Restless() {
				continue
			}
			for _, e := range o.Course.Shape.Events {
				if falls[e.Kind] == "" {
					continue
				}
				evidence = append(evidence, seenIn(o, finding.New(e.Label())))
				if e.Kind == series.Oscillation || e.After < e.Before {
					high, low = append(high, e.Before), append(low, e.After)
				}
			}
		}
		p := finding.RateParams{Code: code, Of: ofBlocks(t, r, r.Course.Blocks),
			With: format.ResourceWords(r.Course.With),
			RateChange: finding.RateChange{AtS: r.Course.BrokeAtS, Records: r.Course.BrokeAt,
				Before: r.Course.Early, After: r.Course.Late}}
		// What fell and came back ends as it began: its levels are those of the falls.
		if code == finding.RateOscillates || cameBack(p.Before, p.After) && len(high) > 0 {
			p.Before, p.After = facts.MedianOf(high), facts.MedianOf(low)
		}
		p.Up = code == finding.RateStep && p.Before != nil && p.After != nil && *p.After > *p.Before
		found = append(found, placed(t, r.Arm, p, evidence...))
	})
	return found
}

// cameBack reports whether a rate is at its end what it was at its beginning.
func cameBack(early, late *float64) bool {
	return early != nil && late != nil && math.Abs(*late / *early - 1) < unchanged
}

// unchanged is a change of a rate that no reader takes for one.
const unchanged = 0.05

// detectDrops makes a finding of each arm that, in at least half of its blocks, stalled or dipped.
func detectDrops(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		var evidence []finding.Evidence
		var periods []float64
		count, stalls, collected, longest, left := 0, 0, 0, 0.0, 1.0
		dropping := r.Count(func(o *facts.Observation) bool {
			return o.Course != nil && !o.Directed() && o.Course.Shape.Has(series.Drops)
		})
		if dropping == 0 || 2*dropping < len(r.Used()) {
			return
		}
		for _, o := range r.Used() {
			if o.Course == nil || o.Directed() {
				continue
			}
			var samples []record.Sample
			for _, e := range o.Course.Shape.Of(series.Drops) {
				if e.Drops == nil {
					continue
				}
				if samples == nil {
					samples = o.Course.Samples()
				}
				evidence = append(evidence, seenIn(o, finding.New(e.Label())))
				count, stalls, longest = count+len(e.Drops.All), stalls+e.Drops.Stalls, max(longest, e.Drops.Longest)
				left = min(left, e.Drops.Left)
				for _, d := range e.Drops.All {
					if byCollection(samples, d) {
						collected++
					}
				}
				if e.Drops.Period != nil {
					periods = append(periods, e.Drops.Period.Seconds)
				}
			}
		}
		p := finding.RateDropsParams{Of: ofBlocks(t, r, dropping), Count: count, Stalls: stalls, Collected: collected,
			LongestS: longest, Left: left,
			RatePeriod: finding.RatePeriod{PeriodS: facts.MedianOf(periods)}}
		found = append(found, placed(t, r.Arm, p, evidence...))
	})
	return found
}

// detectInconclusive counts the measurements of which it is open, in at least half of their blocks,
// whether their rate holds: too short, or too noisy for their length. What was disturbed or cut off
// has a finding of its own.
func detectInconclusive(run *record.Run, tables []*facts.Table) []finding.Finding {
	m := facts.MeasuredTooShort(tables)
	if m.Short+m.Noisy == 0 {
		return nil
	}
	var evidence []finding.Evidence
	for _, shown := range m.Phases {
		seen := finding.SeenUnknownParams{Phase: shown.Phase, Seconds: shown.Seconds, Count: shown.Count,
			Samples: shown.Samples}
		evidence = append(evidence, finding.Evidence{Message: finding.New(seen)})
	}
	f := finding.Make(finding.Where{Run: run.Header.ID},
		finding.New(finding.RateUnknownInParams{Short: m.Short, Noisy: m.Noisy,
			Of: m.Of, Longer: m.Longer, Seconds: m.Seconds}), evidence...)
	if !m.Asked {
		f.Severity = finding.Notice
	}
	return []finding.Finding{f}
}

// detectNoise tells what the baseline differs by from its own twin: as noise, which the intervals
// hold already, or, where it is significant over all tables together, as a difference from itself,
// which has widened the errors.
func detectNoise(run *record.Run, tables []*facts.Table) []finding.Finding {
	var pairs, apart []*facts.Table
	for _, t := range tables {
		if t.AA == nil {
			continue
		}
		pairs = append(pairs, t)
		if t.AA.Low != nil && (*t.AA.Low > 1 || *t.AA.High < 1) {
			apart = append(apart, t)
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	bySize := func(a, b *facts.Table) int { return cmp.Compare(stat.Distance(a.AA.Value), stat.Distance(b.AA.Value)) }
	least, most := slices.MinFunc(pairs, bySize), slices.MaxFunc(pairs, bySize)
	pooled := pairs[0].Twins
	if !pooled.Differ() && stat.Distance(most.AA.Value) <= stat.DifferenceMin {
		return nil
	}
	var evidence []finding.Evidence
	var arms, each []string
	for _, t := range pairs {
		arms = append(arms, t.Baseline)
		evidence = append(evidence, finding.Evidence{Message: finding.New(finding.SeenNoiseParams{Place: t.Place(),
			Ratio: t.AA.Value,
			Low:   t.AA.Low, High: t.AA.High})})
	}
	for _, t := range apart {
		each = append(each, format.Percent(stat.Distance(t.AA.Value))+" in "+t.Place())
	}
	m := finding.New(finding.NoiseParams{Arms: facts.DistinctWords(arms), Least: stat.Distance(least.AA.Value),
		Most: stat.Distance(most.AA.Value), Judged: pooled.Tables > 0})
	if pooled.Differ() {
		noisy := finding.NoisyParams{Arms: facts.DistinctWords(arms), Tables: len(apart), Of: len(pairs), ByTable: each,
			Widen: math.Sqrt(pooled.Widen())}
		for _, t := range pairs {
			if t.Detectable <= 1 {
				continue
			}
			if noisy.Hidden == nil || t.Detectable > *noisy.Hidden {
				noisy.Hidden = &t.Detectable
			}
			if noisy.HiddenLeast == nil || t.Detectable < *noisy.HiddenLeast {
				noisy.HiddenLeast = &t.Detectable
			}
		}
		if noisy.Hidden != nil && format.Factor(*noisy.Hidden) == format.Factor(*noisy.HiddenLeast) {
			noisy.HiddenLeast = nil
		}
		m = finding.New(noisy)
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID}, m, evidence...)}
}

// ofBlocks says that a message is of so many of a row's blocks.
func ofBlocks(t *facts.Table, r *facts.Row, blocks int) *finding.OfBlocks {
	return &finding.OfBlocks{At: atOf(t, r.Arm), Blocks: blocks, Of: len(r.Used())}
}
