package tell

import (
	"cmp"
	"fmt"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/plan"
)

// whyWords say why a store does not do what is asked for, or why that is unclear.
var whyWords = map[string]string{
	facts.WhyRate: "its capacity is lower", facts.WhyInterval: "one run may find it lower",
	facts.WhyMemory: "it uses more memory", facts.WhyDisk: "it takes more disk",
	facts.WhyUnseen: "memory or disk was not measured", facts.WhyFaults: "it has faults, see the findings",
	facts.WhyDoubt:              "its trials were disturbed, or did not end",
	string(capacity.Client):     "the client is too slow to tell",
	string(capacity.Below):      "no rate held",
	string(capacity.Cliff):      "above that it collapses",
	string(capacity.NoRecovery): "it does not recover from overload",
	string(capacity.Declines):   "it gets slower over time",
	string(capacity.Unstable):   "it holds and breaks at the same rates",
	string(capacity.Disagree):   "blocks do not agree",
	string(capacity.Unfinished): "the search did not end",
}

// choicesOf says of each table of assay choose which stores do the wanted rate.
func choicesOf(tables []*facts.Table) (messages []finding.Message) {
	for _, t := range tables {
		if t.Work.Capacity != nil && t.Work.Capacity.Wanted != nil {
			messages = append(messages, chosenIn(t)...)
		}
	}
	return messages
}

// chosenIn says which stores of a table do what is asked for, those with most to spare first, and then what
// each of them costs.
func chosenIn(t *facts.Table) (messages []finding.Message) {
	asked := t.Work.Capacity.Wanted
	p := finding.ChoiceParams{Place: t.Place(), Rate: asked.Rate,
		Objectives: capacity.Texts(t.Work.Capacity.Objectives)}
	for _, limit := range []struct {
		bytes int64
		of    string
	}{{asked.MemoryBytes, "memory"}, {asked.DiskBytes, "disk"}} {
		if limit.bytes > 0 {
			p.Within = append(p.Within, fmt.Sprintf("%s of %s", format.Limit(uint64(limit.bytes)), limit.of))
		}
	}
	var judged []*facts.Row
	var without []string
	for _, r := range t.Rows {
		switch {
		case r.Role != plan.Measured:
		case r.Capacity != nil && r.Capacity.Choice != nil:
			judged = append(judged, r)
		default:
			without = append(without, fmt.Sprintf("%s (%s)", r.Arm, noFigures(r)))
		}
	}
	slices.SortStableFunc(judged, func(a, b *facts.Row) int {
		return cmp.Compare(b.Capacity.Choice.Spare, a.Capacity.Choice.Spare)
	})
	for _, r := range judged {
		c := r.Capacity.Choice
		lists := map[facts.Verdict]*[]string{facts.Does: &p.Does, facts.Unclear: &p.Unclear, facts.DoesNot: &p.Not}
		of := lists[c.Verdict]
		*of = append(*of, choiceText(r.Arm, c))
	}
	p.Not = append(p.Not, without...)
	messages = append(messages, finding.New(p))
	for _, r := range judged {
		messages = append(messages, finding.New(costOf(t, r)))
	}
	return messages
}

// noFigures says why a row has none.
func noFigures(r *facts.Row) string {
	switch r.Standing {
	case facts.Refused, facts.LeftOut:
		return "not supported"
	case facts.Failed:
		return "it failed"
	}
	return "no trial of it ended"
}

// choiceText is a store with its capacity over the rate that is asked for.
func choiceText(arm string, c *facts.Choice) string {
	text := arm + " ("
	if c.AtLeast {
		text += "at least "
	}
	text += format.Factor(c.Spare) + " the rate"
	if c.Why != "" {
		text += ": " + whyWords[c.Why]
	}
	return text + ")"
}

// costOf is what a store uses, what a million operations cost, and what a power cut may take.
func costOf(t *facts.Table, r *facts.Row) finding.ChoiceCostParams {
	c := r.Capacity.Choice
	p := finding.ChoiceCostParams{Arm: r.Arm, Place: t.Place(), Loss: finding.LossAny, Cuts: c.MayLose.Cuts,
		Proved: c.MayLose.Proved}
	add := func(to *[]string, v *float64, text func(float64) string) {
		if v != nil {
			*to = append(*to, text(*v))
		}
	}
	add(&p.Uses, c.MemoryBytes, func(v float64) string { return "memory " + format.Bytes(v) })
	add(&p.Uses, c.DiskBytes, func(v float64) string { return "disk " + format.Bytes(v) })
	add(&p.Million, c.CPUSeconds, func(v float64) string { return "CPU " + format.SI(v, "s") })
	add(&p.Million, c.WrittenBytes, func(v float64) string { return format.Bytes(v) + " written" })
	add(&p.Million, c.Joules, func(v float64) string { return format.SI(v, "J") })
	add(&p.Million, c.Price, func(v float64) string { return fmt.Sprintf("price %.3g", v) })
	if window := c.MayLose.WindowNS; window != nil {
		if p.Loss = finding.LossNone; *window > 0 {
			p.Loss, p.WindowNS = finding.LossWindow, float64(*window)
		}
	}
	if worst := c.MayLose.WorstNS; worst != nil && *worst > 0 {
		ns := float64(*worst)
		p.WorstNS = &ns
	}
	return p
}
