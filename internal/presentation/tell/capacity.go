package tell

import (
	"fmt"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/plan"
)

// capacitiesOf says of each table that searched for capacities what they are, what confirms them, what
// limits them, and what closed load would have shown. Stores without a capacity are findings.
func capacitiesOf(tables []*facts.Table) (messages []finding.Message) {
	add := func(p finding.Parameters) { messages = append(messages, finding.New(p)) }
	for _, t := range tables {
		var found, searched []*facts.Row
		for _, r := range t.Rows {
			if r.Role != plan.Measured || r.Capacity == nil || r.Rate == nil {
				continue
			}
			searched = append(searched, r)
			if r.Capacity.Outcome == capacity.Found {
				found = append(found, r)
			}
		}
		if len(searched) == 0 {
			continue
		}
		slices.SortStableFunc(found, func(a, b *facts.Row) int { return int(facts.RateOrZero(b)*1e3) - int(facts.RateOrZero(a)*1e3) })
		if len(found) > 0 {
			add(foundIn(t, found))
			add(heldIn(t, found))
		}
		if p := limitsIn(t, searched); len(p.Stores) > 0 {
			add(p)
		}
		if p := closedIn(t, found); len(p.Stores) > 0 {
			add(p)
		}
	}
	return messages
}

func foundIn(t *facts.Table, rows []*facts.Row) finding.CapacityFoundParams {
	p := finding.CapacityFoundParams{Place: t.Place(), Objectives: capacity.Texts(t.Work.Capacity.Objectives)}
	for i, r := range rows {
		text := fmt.Sprintf("%s %s", r.Arm, format.Rate(r.Rate.Value))
		if r.Rate.Low != nil {
			name := ""
			if i == 0 {
				name = "95 % interval "
			}
			text += fmt.Sprintf(" (%s%s to %s)", name, format.Rate(*r.Rate.Low), format.Rate(*r.Rate.High))
		}
		p.Stores = append(p.Stores, text)
		if len(t.Work.Capacity.Objectives) == 1 {
			continue
		}
		for k, o := range t.Work.Capacity.Objectives {
			if at := r.Capacity.Each[k]; at != nil {
				p.Breaks = append(p.Breaks, fmt.Sprintf("%s at %s (%s)", o, format.Rate(*at), r.Arm))
			}
		}
	}
	if len(rows) > 1 && rows[1].ToBest != nil && rows[0].Standing == facts.Ranked && t.Ranked()[0] == rows[0] {
		ratio := facts.Inverse(rows[1].ToBest)
		p.Factor, p.Low, p.High = &ratio.Value, ratio.Low, ratio.High
	}
	return p
}

func heldIn(t *facts.Table, rows []*facts.Row) finding.CapacityHeldParams {
	p := finding.CapacityHeldParams{Place: t.Place()}
	for _, r := range rows {
		held := r.Capacity.Held
		if held == nil {
			p.Not = append(p.Not, r.Arm)
			continue
		}
		text := fmt.Sprintf("%s %s for %s", r.Arm, format.Rate(held.Rate), format.Seconds(held.Seconds))
		if held.Blocks < r.Capacity.Of {
			text += fmt.Sprintf(" in %d of %s", held.Blocks, format.Plural(r.Capacity.Of, "block", ""))
		}
		p.Stores = append(p.Stores, text)
	}
	return p
}

var limitWords = map[facts.LimitKind]string{
	facts.LimitClient: "the client", facts.LimitMachine: "the machine's CPUs", facts.LimitServer: "the server's CPU", facts.LimitNone: "none is seen",
}

func limitsIn(t *facts.Table, rows []*facts.Row) finding.CapacityLimitsParams {
	p := finding.CapacityLimitsParams{Place: t.Place()}
	for _, r := range rows {
		l := r.Capacity.Limit
		if l.ClientCPUs == nil {
			continue
		}
		used := fmt.Sprintf("%s CPUs", format.Tenths(*l.ClientCPUs))
		if l.ServerCPUs != nil {
			used = fmt.Sprintf("server %s CPUs, client %s", format.Tenths(*l.ServerCPUs), format.Tenths(*l.ClientCPUs))
		}
		if l.CPUs > 0 {
			used += fmt.Sprintf(", of %d", l.CPUs)
		}
		p.Stores = append(p.Stores, fmt.Sprintf("%s: %s (%s)", r.Arm, limitWords[l.Kind], used))
	}
	return p
}

func closedIn(t *facts.Table, rows []*facts.Row) finding.CapacityClosedParams {
	p := finding.CapacityClosedParams{Place: t.Place()}
	for _, r := range rows {
		c := r.Capacity
		if c.ClosedRate == nil || r.Rate.Value == 0 {
			continue
		}
		text := fmt.Sprintf("%s %s", r.Arm, format.Rate(*c.ClosedRate))
		for k, ns := range c.ClosedNS {
			if ns > 0 {
				text += fmt.Sprintf(", %s %s", format.Quantile(c.Objectives[k].Quantile), format.Latency(ns))
				break
			}
		}
		p.Stores = append(p.Stores, fmt.Sprintf("%s (%s its capacity)", text, format.Factor(*c.ClosedRate/r.Rate.Value)))
	}
	return p
}
