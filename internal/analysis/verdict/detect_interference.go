package verdict

import (
	"math"
	"slices"

	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// detectInterference says what a group of clients did to the rate of another one of its phase, while
// it really ran: from its own counters, not as it was planned. It needs a time without it before and
// after.
func detectInterference(run *record.Run, tables []*table) (found []finding.Finding) {
	for _, t := range tables {
		for _, r := range t.rows {
			if r.role != plan.Measured {
				continue
			}
			var asked []*interference
			for _, other := range tables {
				if other.Cell != t.Cell || !besides(other.Phase, t.Phase) {
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

// influencesOf returns the effects of groups on each other, for the one screen.
func influencesOf(run *record.Run, findings []finding.Finding) (messages []finding.Message) {
	for _, f := range findings {
		if f.Code == finding.GroupEffect && f.Where.Run == run.Header.ID {
			messages = append(messages, f.Message)
		}
	}
	return messages
}

// interference is one arm's rate in a group while another group ran, by block.
type interference struct {
	table    *table
	row      *row
	other    string // the other group's phase
	blocks   []stat.Beside
	seconds  []float64 // that it ran
	sampleS  float64
	evidence []finding.Evidence
}

// interferenceOf gathers the blocks in which another group ran for a part of the time; nil: there is
// none.
func interferenceOf(t *table, r *row, other string) *interference {
	i := &interference{table: t, row: r, other: other}
	for _, o := range r.used() {
		p := phaseIn(o.trial, other)
		if o.course == nil || p == nil || p.Attempted == 0 || p.ElapsedNS <= 0 {
			continue
		}
		ran := workedIn(p)
		b := i.part(o, ran)
		if len(b.Before) == 0 || len(b.After) == 0 {
			continue // it was always there
		}
		i.blocks, i.seconds = append(i.blocks, b), append(i.seconds, ran.to-ran.from)
		i.sampleS = float64(o.phase.SampleNS) / 1e9
		i.evidence = append(i.evidence, o.seen(finding.New(finding.SeenGroupParams{Rate: meanOrZero(b.During), Before: stat.Mean(b.Before), After: stat.Mean(b.After), FromS: ran.from, ToS: ran.to})))
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

// span is a stretch of a phase, in seconds since its start.
type span struct{ from, to float64 }

// workedIn is when a group worked.
func workedIn(p *record.Phase) span {
	return span{float64(p.BeganNS) / 1e9, float64(p.BeganNS+p.ElapsedNS) / 1e9}
}

// spanSlack is by how many seconds a sample may reach over the end of a group: a look at the counters
// takes a moment.
const spanSlack = 2e-3

// holds says how much of another span lies in this one: all, nothing, or a part.
func (s span) holds(o span) (all, nothing bool) {
	return o.from >= s.from-spanSlack && o.to <= s.to+spanSlack, o.to <= s.from+spanSlack || o.from >= s.to-spanSlack
}

// part parts the samples of a rate by the time in which another group ran. What third groups do must
// be the same in all of them: samples in which others of these ran than in most of that time are left
// out, and so are those in which a group came or went.
func (i *interference) part(o *observation, ran span) (b stat.Beside) {
	thirds := i.thirds(o)
	type sample struct {
		rate   float64
		at     span
		during bool
		others uint64
	}
	var samples []sample
	counts := map[uint64]int{}
	for k, rate := range o.course.series.Rates {
		at := span{o.course.samples[k].At - o.course.samples[k].Seconds, o.course.samples[k].At}
		in, out := ran.holds(at)
		if !in && !out || math.IsNaN(rate) || o.course.samples[k].Stopped != "" {
			continue
		}
		s := sample{rate: rate, at: at, during: in}
		mixed := false
		for bit, third := range thirds {
			all, nothing := third.holds(at)
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
		case s.at.to <= ran.from+spanSlack:
			b.Before = append(b.Before, s.rate)
		default:
			b.After = append(b.After, s.rate)
		}
	}
	return b
}

// thirds are the times of the groups of the phase that are neither of the two.
func (i *interference) thirds(o *observation) (spans []span) {
	for k := range o.trial.Phases {
		p := &o.trial.Phases[k]
		if besides(p.Name, i.table.Phase) && p.Name != i.other && p.Attempted > 0 && len(spans) < 64 {
			spans = append(spans, workedIn(p))
		}
	}
	return spans
}

// judge says what the other group did at a level of significance, or that it ran too short to tell.
func (i *interference) judge(run *record.Run, level float64) (f finding.Finding, told bool) {
	t := i.table
	place := placeIn(run, t.Cell, groupedIn(t.Phase))
	beside := finding.GroupBeside{At: finding.At{Arm: i.row.Arm, Place: place}, Group: groupName(t.Phase), Other: groupName(i.other),
		Seconds: stat.Median(i.seconds)}
	effect, known := stat.Interference(i.blocks, level)
	if !known {
		short := slices.ContainsFunc(i.blocks, func(b stat.Beside) bool { return len(b.During) < 3 })
		m := finding.New(finding.GroupUnknownParams{GroupBeside: beside, SampleS: i.sampleS})
		return finding.Make(t.where(i.row.Arm), m, i.evidence...), short
	}
	if !effect.Shown {
		return f, false
	}
	change, low, high := 1-effect.Ratio, 1-effect.Interval.High, 1-effect.Interval.Low
	fell := change > 0
	if !fell {
		change, low, high = -change, -high, -low
	}
	m := finding.New(finding.GroupEffectParams{GroupBeside: beside, Fell: fell, Change: change, Low: max(low, 0), High: high, Blocks: effect.Blocks})
	f = finding.Make(t.where(i.row.Arm), m, i.evidence...)
	if !fell {
		f.Severity = finding.Notice
	}
	return f, true
}

// groupName is what a group is named in the experiment.
func groupName(phase string) string { return phase[len(groupedIn(phase)+experiment.GroupSeparator):] }
