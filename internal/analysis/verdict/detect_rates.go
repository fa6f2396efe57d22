package verdict

import (
	"cmp"
	"math"
	"slices"
	"time"

	"assay/internal/analysis/model"
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
		m := finding.New(code, "blocks", r.Course.Blocks, "of", len(r.used()), "with", model.ResourceWords(r.Course.With))
		for name, value := range map[string]*float64{"early": r.Course.Early, "late": r.Course.Late, "at_s": r.Course.BrokeAtS,
			"records": r.Course.BrokeAt, "high": medianOf(high), "low": medianOf(low)} {
			if value != nil {
				m = m.With(name, *value)
			}
		}
		found = append(found, t.placed(r.Arm, m, evidence...))
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
		m := finding.New(finding.RateDrops, "count", count, "stalls", stalls, "longest_s", longest, "left", left, "blocks", dropping, "of", len(r.used()))
		if period := medianOf(periods); period != nil {
			m = m.With("period_s", *period)
		}
		found = append(found, t.placed(r.Arm, m, evidence...))
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
	var phases, longer []string
	shown := map[string]*finding.Message{}
	measurements, short, noisy, seconds, asked := 0, 0, 0, 0.0, false
	eachMeasured(tables, func(t *table, r *row) {
		ended := r.count(func(o *observation) bool { return o.good() && o.ended() })
		if 2*ended < len(r.used()) || ended == 0 {
			return
		}
		measurements++
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
			short++
		case loud > 0 && 2*loud >= len(r.used()):
			noisy++
			least = judgeableNoiseMin
		default:
			return
		}
		asked = asked || t.work.Duration == 0 || t.work.Duration >= least
		if shown[t.Phase] == nil {
			m := finding.New(finding.SeenShort, "phase", t.Phase, "count", 0, "seconds", math.Inf(1), "samples", 0)
			shown[t.Phase], phases = &m, append(phases, t.Phase)
			if t.work.Duration > 0 {
				longer = append(longer, t.Phase)
			}
		}
		if t.work.Duration > 0 {
			seconds = max(seconds, math.Ceil(max(samplesWanted*max(t.SampleS, sampleSeconds), 2*t.work.Duration.Seconds())))
		}
		shown[t.Phase].Params["count"] = shown[t.Phase].Params["count"].(int) + 1
		for _, o := range r.used() {
			if took := float64(o.phase.ElapsedNS) / 1e9; took < numberOf(*shown[t.Phase], "seconds") {
				shown[t.Phase].Params["seconds"] = took
				if o.course != nil {
					shown[t.Phase].Params["samples"] = len(o.course.samples)
				}
			}
		}
	})
	if short+noisy == 0 {
		return nil
	}
	var evidence []finding.Evidence
	for _, name := range phases {
		evidence = append(evidence, finding.Evidence{Message: *shown[name]})
	}
	f := finding.Make(finding.Where{Run: run.Header.ID}, finding.New(finding.TooShort, "short", short, "noisy", noisy, "of", measurements,
		"phases", phases, "longer", longer, "seconds", seconds), evidence...)
	if !asked {
		f.Severity = finding.Notice
	}
	return []finding.Finding{f}
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

// noiseNoticed is the difference of the baseline from its twin that is told of where it is not
// significant: each table notes what it ignores.
const noiseNoticed = 0.10

// detectNoise counts the tables in which the baseline differs from its own twin.
func detectNoise(run *record.Run, tables []*table) []finding.Finding {
	var noisy []*table
	compared := 0
	for _, t := range tables {
		if t.AA == nil {
			continue
		}
		compared++
		if stat.Distance(t.AA.Value) > noiseNoticed || t.AA.Significant {
			noisy = append(noisy, t)
		}
	}
	if len(noisy) == 0 {
		return nil
	}
	slices.SortStableFunc(noisy, func(a, b *table) int { return cmp.Compare(stat.Distance(b.AA.Value), stat.Distance(a.AA.Value)) })
	var evidence []finding.Evidence
	var arms, each []string
	for _, t := range noisy {
		arms = append(arms, t.Baseline)
		m := finding.New(finding.SeenNoise, "place", t.place(), "ratio", t.AA.Value)
		if t.AA.Low != nil {
			m = m.With("low", *t.AA.Low, "high", *t.AA.High)
		}
		evidence = append(evidence, finding.Evidence{Message: m})
		each = append(each, format.Percent(stat.Distance(t.AA.Value))+" in "+t.place())
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID},
		finding.New(finding.Noisy, "arms", distinctWords(arms), "tables", len(noisy), "of", compared,
			"share", stat.Distance(noisy[0].AA.Value), "by_table", each), evidence...)}
}
