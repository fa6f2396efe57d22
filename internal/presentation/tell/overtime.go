package tell

import (
	"cmp"
	"fmt"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/experiment/plan"
)

// overTimeOf says of rates that change over time, for each table, above which rate each store answers
// later, and how soon after a higher rate it answers as before.
func overTimeOf(tables []*facts.Table) (messages []finding.Message) {
	for _, t := range tables {
		var rows []*facts.Row
		for _, r := range t.Rows {
			if r.Role == plan.Measured && r.OverTime != nil && r.Capacity == nil {
				rows = append(rows, r)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if p := byRate(t, rows); len(p.Rise)+len(p.Flat) > 0 {
			messages = append(messages, finding.New(p))
		}
		for i := range rows[0].OverTime.Stretches {
			if p := recoveredFrom(t, rows, i); len(p.Back)+len(p.Not) > 0 {
				messages = append(messages, finding.New(p))
			}
		}
	}
	return messages
}

// byRate tells nothing of a store of which some rate has no percentile.
func byRate(t *facts.Table, rows []*facts.Row) finding.ByRateParams {
	p := finding.ByRateParams{Place: t.Place()}
	var rising []*facts.Row
	for _, r := range rows {
		bands := r.OverTime.ByRate
		if r.OverTime.Rises != nil {
			rising = append(rising, r)
			continue
		}
		longest := 0.0
		for _, b := range bands {
			p99 := b.At(0.99)
			if p99 == nil {
				longest = 0
				break
			}
			longest = max(longest, *p99)
		}
		if longest > 0 && len(bands) > 1 {
			p.Most = bands[len(bands)-1].ToRate
			p.Flat = append(p.Flat, fmt.Sprintf("%s (at most %s)", r.Arm, format.Latency(longest)))
		}
	}
	slices.SortStableFunc(rising, func(a, b *facts.Row) int {
		return cmp.Compare(a.OverTime.Rises.Rate, b.OverTime.Rises.Rate)
	})
	for _, r := range rising {
		rise := r.OverTime.Rises
		p.Rise = append(p.Rise, fmt.Sprintf("%s %s (%s to %s)", r.Arm, format.Rate(rise.Rate), format.Latency(rise.BelowNS), format.Latency(rise.AboveNS)))
	}
	return p
}

// recoveredFrom is of the stretch at a position.
func recoveredFrom(t *facts.Table, rows []*facts.Row, at int) finding.LoadRecoveredParams {
	p := finding.LoadRecoveredParams{Place: t.Place()}
	type back struct {
		arm     string
		seconds float64
	}
	var all []back
	for _, r := range rows {
		if at >= len(r.OverTime.Stretches) || !r.OverTime.Stretches[at].Recovers {
			continue
		}
		s := &r.OverTime.Stretches[at]
		p.Rate, p.Burst = s.ToRate, s.Burst
		if s.RecoveryS == nil {
			p.Not = append(p.Not, r.Arm)
		} else {
			all = append(all, back{r.Arm, *s.RecoveryS})
		}
	}
	slices.SortStableFunc(all, func(a, b back) int { return cmp.Compare(a.seconds, b.seconds) })
	for _, b := range all {
		text := "after " + format.Seconds(b.seconds)
		if b.seconds == 0 {
			text = "at once"
		}
		p.Back = append(p.Back, b.arm+" "+text)
	}
	return p
}
