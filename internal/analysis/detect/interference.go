package detect

import (
	"math"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// detectInterference says what a group of clients did to the rate of another one of its phase, while
// it really ran: from its own counters, not as it was planned. It needs a time without it before and
// after.
func detectInterference(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	for _, t := range tables {
		for _, r := range t.Rows {
			if r.Role != plan.Measured {
				continue
			}
			var asked []*interference
			for _, other := range tables {
				if other.Cell != t.Cell || !facts.Besides(other.Phase, t.Phase) {
					continue
				}
				if i := interferenceOf(t, r, other.Phase); i != nil {
					asked = append(asked, i)
				}
			}
			for _, i := range asked {
				if f, told := i.judge(run, stat.Significance/float64(len(asked))); told {
					found = append(found, f)
				}
			}
		}
	}
	return found
}

// interference is one arm's rate in a group while another group ran, by block.
type interference struct {
	table    *facts.Table
	row      *facts.Row
	other    string // the other group's phase
	blocks   []stat.Beside
	seconds  []float64 // that it ran
	sampleS  float64
	evidence []finding.Evidence
}

// interferenceOf gathers the blocks in which another group ran for a part of the time; nil: there is
// none.
func interferenceOf(t *facts.Table, r *facts.Row, other string) *interference {
	i := &interference{table: t, row: r, other: other}
	for _, o := range r.Used() {
		p := facts.PhaseIn(o.Trial, other)
		if o.Course == nil || p == nil || p.Attempted == 0 || p.ElapsedNS <= 0 {
			continue
		}
		ran := facts.WorkedIn(p)
		b := i.part(o, ran)
		if len(b.Before) == 0 || len(b.After) == 0 {
			continue // it was always there
		}
		i.blocks, i.seconds = append(i.blocks, b), append(i.seconds, ran.To-ran.From)
		i.sampleS = float64(o.Phase.SampleNS) / 1e9
		i.evidence = append(i.evidence, seenIn(o, finding.New(finding.SeenGroupParams{Rate: meanOrZero(b.During),
			Before: stat.Mean(b.Before), After: stat.Mean(b.After), FromS: ran.From, ToS: ran.To})))
	}
	if len(i.blocks) == 0 {
		return nil
	}
	return i
}

// meanOrZero is the mean of rates; 0 where there is none.
func meanOrZero(rates []float64) float64 {
	if len(rates) == 0 {
		return 0
	}
	return stat.Mean(rates)
}

// part parts the samples of a rate by the time in which another group ran. What third groups do must
// be the same in all of them: samples in which others of these ran than in most of that time are left
// out, and so are those in which a group came or went.
func (i *interference) part(o *facts.Observation, ran facts.Span) (b stat.Beside) {
	thirds := i.thirds(o)
	type sample struct {
		rate   float64
		at     facts.Span
		during bool
		others uint64
	}
	var samples []sample
	counts := map[uint64]int{}
	for k, rate := range o.Course.Series.Rates {
		at := facts.Span{From: o.Course.Series.Ends[k] - o.Course.Seconds[k], To: o.Course.Series.Ends[k]}
		in, out := ran.Holds(at)
		if !in && !out || math.IsNaN(rate) || o.Course.Series.Interrupted != nil && o.Course.Series.Interrupted[k] {
			continue
		}
		s := sample{rate: rate, at: at, during: in}
		mixed := false
		for bit, third := range thirds {
			all, nothing := third.Holds(at)
			mixed = mixed || !all && !nothing
			if all {
				s.others |= 1 << bit
			}
		}
		if mixed {
			continue
		}
		samples = append(samples, s)
		if in {
			counts[s.others]++
		}
	}
	var usual uint64
	for others, n := range counts {
		if n > counts[usual] || n == counts[usual] && others < usual {
			usual = others
		}
	}
	for _, s := range samples {
		switch {
		case s.others != usual:
		case s.during:
			b.During = append(b.During, s.rate)
		case s.at.To <= ran.From+facts.SpanSlack:
			b.Before = append(b.Before, s.rate)
		default:
			b.After = append(b.After, s.rate)
		}
	}
	return b
}

// thirds are the times of the groups of the phase that are neither of the two.
func (i *interference) thirds(o *facts.Observation) (spans []facts.Span) {
	for k := range o.Trial.Phases {
		p := &o.Trial.Phases[k]
		if facts.Besides(p.Name, i.table.Phase) && p.Name != i.other && p.Attempted > 0 && len(spans) < 64 {
			spans = append(spans, facts.WorkedIn(p))
		}
	}
	return spans
}

// judge says what the other group did at a level of significance, or that it ran too short to tell.
func (i *interference) judge(run *record.Run, level float64) (f finding.Finding, told bool) {
	t := i.table
	place := facts.PlaceIn(run, t.Cell, facts.GroupedIn(t.Phase))
	beside := finding.GroupBeside{At: finding.At{Arm: i.row.Arm, Place: place},
		Group: facts.GroupName(t.Phase), Other: facts.GroupName(i.other),
		Seconds: stat.Median(i.seconds)}
	effect, known := stat.Interference(i.blocks, level)
	if !known {
		short := slices.ContainsFunc(i.blocks, func(b stat.Beside) bool { return len(b.During) < 3 })
		m := finding.New(finding.GroupUnknownParams{GroupBeside: beside, SampleS: i.sampleS})
		return finding.Make(whereIn(t, i.row.Arm), m, i.evidence...), short
	}
	if !effect.Shown {
		return f, false
	}
	change, low, high := 1-effect.Ratio, 1-effect.Interval.High, 1-effect.Interval.Low
	fell := change > 0
	if !fell {
		change, low, high = -change, -high, -low
	}
	m := finding.New(finding.GroupEffectParams{GroupBeside: beside, Fell: fell, Change: change,
		Low: max(low, 0), High: high})
	f = finding.Make(whereIn(t, i.row.Arm), m, i.evidence...)
	if !fell {
		f.Severity = finding.Notice
	}
	return f, true
}
