package verdict

import (
	"cmp"
	"math"
	"slices"
	"time"

	"assay/internal/analysis/series"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
)

// falls are the kinds of a rate that did not hold, with the code of the finding that each makes.
var falls = map[series.Kind]finding.Code{
	series.Step:        finding.RateFell,
	series.Decline:     finding.RateDeclined,
	series.Rise:        finding.RateRose,
	series.Oscillation: finding.RateOscillates,
}

// detectFalls makes a finding of each arm whose rate, in at least half of its blocks, changed for
// good or oscillates: one of the weightiest kind, with its place and the resources that changed
// with it.
func detectFalls(_ *record.Run, tables []*table) (found []finding.Finding) {
	eachMeasured(tables, func(t *table, r *row) {
		if !r.unsettled() {
			return
		}
		code := falls[series.Kind(r.Course.Kind)]
		if r.Course.BrokeAtS != nil && code != finding.RateOscillates {
			code = finding.RateFell
		}
		if code == "" {
			return // the kinds of its blocks are of all sorts
		}
		var evidence []finding.Evidence
		var high, low []float64
		for _, o := range r.used() {
			if !o.restless() {
				continue
			}
			for _, e := range o.course.shape.Events {
				if falls[e.Kind] == "" {
					continue
				}
				evidence = append(evidence, o.seen(eventMessage(e)))
				if e.Kind == series.Oscillation {
					high, low = append(high, e.Before), append(low, e.After)
				}
			}
		}
		p := finding.RateParams{Code: code, At: t.at(r.Arm), Blocks: r.Course.Blocks, Of: len(r.used()), With: format.ResourceWords(r.Course.With),
			Early: r.Course.Early, Late: r.Course.Late, AtS: r.Course.BrokeAtS, Records: r.Course.BrokeAt, High: medianOf(high), Low: medianOf(low)}
		found = append(found, t.placed(r.Arm, p, evidence...))
	})
	return found
}

// detectDrops makes a finding of each arm that, in at least half of its blocks, stalled or dipped.
func detectDrops(_ *record.Run, tables []*table) (found []finding.Finding) {
	eachMeasured(tables, func(t *table, r *row) {
		var evidence []finding.Evidence
		var periods []float64
		count, stalls, longest, left := 0, 0, 0.0, 1.0
		dropping := r.count(func(o *observation) bool { return o.course != nil && o.course.shape.Has(series.Drops) })
		if dropping == 0 || 2*dropping < len(r.used()) {
			return
		}
		for _, o := range r.used() {
			if o.course == nil {
				continue
			}
			for _, e := range o.course.shape.Of(series.Drops) {
				if e.Drops == nil {
					continue
				}
				evidence = append(evidence, o.seen(eventMessage(e)))
				count, stalls, longest = count+len(e.Drops.All), stalls+e.Drops.Stalls, max(longest, e.Drops.Longest)
				left = min(left, e.Drops.Left)
				if e.Drops.Period != nil {
					periods = append(periods, e.Drops.Period.Seconds)
				}
			}
		}
		p := finding.RateDropsParams{At: t.at(r.Arm), Count: count, Stalls: stalls, LongestS: longest, Left: left, Blocks: dropping, Of: len(r.used()), PeriodS: medianOf(periods)}
		found = append(found, t.placed(r.Arm, p, evidence...))
	})
	return found
}

// workSecondsMin is how long a fixed number of operations takes at least for its rate to be more
// than that of starting and ending.
const workSecondsMin = 0.1

// samplesWanted is how many samples a phase needs to be judged steady, with some to spare, and
// sampleSeconds how long each should last.
const (
	samplesWanted = 20
	sampleSeconds = 0.5
)

// An experiment whose phases are shorter does not ask for a steady state: ten samples of the
// shortest length are judged at all, and noise takes as many long ones as the remedy asks for.
const (
	judgeableMin      = 500 * time.Millisecond
	judgeableNoiseMin = time.Duration(samplesWanted * sampleSeconds * float64(time.Second))
)

// detectInconclusive counts the measurements of which it is open, in at least half of their blocks,
// whether their rate holds: too short, or too noisy for their length. What was disturbed or cut off
// has a finding of its own.
func detectInconclusive(run *record.Run, tables []*table) []finding.Finding {
	m := measuredTooShort(tables)
	if m.short+m.noisy == 0 {
		return nil
	}
	var evidence []finding.Evidence
	for _, shown := range m.phases {
		seen := finding.SeenShortParams{Phase: shown.phase, Seconds: shown.seconds, Count: shown.count, Samples: shown.samples}
		evidence = append(evidence, finding.Evidence{Message: finding.New(seen)})
	}
	var phases []string
	for _, shown := range m.phases {
		phases = append(phases, shown.phase)
	}
	f := finding.Make(finding.Where{Run: run.Header.ID}, finding.New(finding.TooShortParams{Short: m.short, Noisy: m.noisy,
		Of: m.of, Phases: phases, Longer: m.longer, Seconds: m.seconds}), evidence...)
	if !m.asked {
		f.Severity = finding.Notice
	}
	return []finding.Finding{f}
}

// tooShort are the measurements of which it is open whether their rate holds.
type tooShort struct {
	of, short, noisy int
	phases           []*shortPhase // in the order of the first of each
	longer           []string      // phases whose time can be set
	seconds          float64       // that they need
	asked            bool          // the experiment asks for a steady state
}

// shortPhase is a phase that is too short in some tables: in how many, and the shortest of its trials.
type shortPhase struct {
	phase          string
	seconds        float64
	count, samples int
}

// asksForLonger reports whether phases were too short, though not by design.
func (s *tooShort) asksForLonger() bool { return s.asked && len(s.longer) > 0 }

func measuredTooShort(tables []*table) (m tooShort) {
	shown := map[string]*shortPhase{}
	eachMeasured(tables, func(t *table, r *row) {
		ended := r.count(func(o *observation) bool { return o.good() && o.ended() })
		if 2*ended < len(r.used()) || ended == 0 {
			return
		}
		m.of++
		few := r.count(func(o *observation) bool {
			if r.wholeWork {
				return float64(o.phase.ElapsedNS)/1e9 < workSecondsMin
			}
			return o.doubt() == series.TooFew || o.doubt() == series.TooEmpty
		})
		loud := r.count(func(o *observation) bool { return !r.wholeWork && o.doubt() != "" }) - few
		least := judgeableMin
		switch {
		case 2*few >= len(r.used()):
			m.short++
		case loud > 0 && 2*loud >= len(r.used()):
			m.noisy++
			least = judgeableNoiseMin
		default:
			return
		}
		m.asked = m.asked || t.work.Duration == 0 || t.work.Duration >= least
		if shown[t.Phase] == nil {
			shown[t.Phase] = &shortPhase{phase: t.Phase, seconds: math.Inf(1)}
			m.phases = append(m.phases, shown[t.Phase])
			if t.work.Duration > 0 {
				m.longer = append(m.longer, t.Phase)
			}
		}
		if t.work.Duration > 0 {
			m.seconds = max(m.seconds, math.Ceil(max(samplesWanted*max(t.SampleS, sampleSeconds), 2*t.work.Duration.Seconds())))
		}
		shown[t.Phase].count++
		for _, o := range r.used() {
			if took := float64(o.phase.ElapsedNS) / 1e9; took < shown[t.Phase].seconds {
				shown[t.Phase].seconds = took
				if o.course != nil {
					shown[t.Phase].samples = len(o.course.samples)
				}
			}
		}
	})
	return m
}

// ended reports whether the phase went on as long as it was asked to.
func (o *observation) ended() bool {
	return o.phase.EndedBy == "" || o.phase.EndedBy == record.EndedDuration || o.phase.EndedBy == record.EndedOperations
}

// doubt is why it is open whether the rate of an observation holds; "": it is not.
func (o *observation) doubt() string {
	if o.course == nil || o.course.shape.Why == nil {
		return ""
	}
	return o.course.shape.Why.Code
}

// detectNoise tells what the baseline differs by from its own twin: as noise, which the intervals
// hold already, or, where it is significant over all tables together, as a difference from itself,
// which has widened the errors.
func detectNoise(run *record.Run, tables []*table) []finding.Finding {
	var pairs, apart []*table
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
	bySize := func(a, b *table) int { return cmp.Compare(stat.Distance(a.AA.Value), stat.Distance(b.AA.Value)) }
	least, most := slices.MinFunc(pairs, bySize), slices.MaxFunc(pairs, bySize)
	pooled := pairs[0].twins
	if !pooled.Differ() && stat.Distance(most.AA.Value) <= stat.DifferenceMin {
		return nil
	}
	var evidence []finding.Evidence
	var arms, each []string
	for _, t := range pairs {
		arms = append(arms, t.Baseline)
		evidence = append(evidence, finding.Evidence{Message: finding.New(finding.SeenNoiseParams{Place: t.place(), Ratio: t.AA.Value,
			Low: t.AA.Low, High: t.AA.High})})
	}
	for _, t := range apart {
		each = append(each, format.Percent(stat.Distance(t.AA.Value))+" in "+t.place())
	}
	m := finding.New(finding.NoiseParams{Arms: distinctWords(arms), Least: stat.Distance(least.AA.Value),
		Most: stat.Distance(most.AA.Value), Judged: pooled.Tables > 0})
	if pooled.Differ() {
		m = finding.New(finding.NoisyParams{Arms: distinctWords(arms), Tables: len(apart), Of: len(pairs), ByTable: each,
			Widen: math.Sqrt(pooled.Widen())})
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID}, m, evidence...)}
}
