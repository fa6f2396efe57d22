package tell

import (
	"fmt"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/series"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/model"
)

// breaksApart is how far apart two breaks must lie to differ: their own intervals are seldom
// narrower.
const breaksApart = 1.25

// fates are those that a rate may have, in the order in which they are listed, and where each was met.
var fates = []struct {
	name  string
	where func(*facts.Row) *float64
}{
	{finding.FateBroke, func(r *facts.Row) *float64 { return r.Course.BrokeAt }},
	{finding.FateFell, func(r *facts.Row) *float64 { return r.Course.BrokeAtS }},
	{finding.FateHeld, func(r *facts.Row) *float64 { return r.Course.Reached }},
	{finding.FateVaried, nil},
	{finding.FateUnknown, nil},
}

// fateOf is what became of a store's rate as its data grew.
func fateOf(r *facts.Row) string {
	c := r.Course
	switch {
	case c.BrokeAt != nil:
		return finding.FateBroke
	case c.BrokeAtS != nil:
		return finding.FateFell
	case c.Kind == "" || c.Kind == string(series.Inconclusive):
		return finding.FateUnknown
	case r.Unsettled() && c.Kind != string(series.Rise):
		return finding.FateVaried
	}
	return finding.FateHeld
}

// baselineAnswers say how the arms of the baseline's own driver stand to it: versions, options or clients
// of one store, of which the experiment asks.
func baselineAnswers(run *record.Run, tables []*facts.Table) (messages []finding.Message) {
	e := &run.Experiment
	at := slices.IndexFunc(e.Stores, func(s experiment.Store) bool { return s.Name == e.Baseline })
	if at < 0 || !e.BaselineNamed {
		return nil
	}
	for i, s := range e.Stores {
		if i == at || s.Driver != e.Stores[at].Driver {
			continue
		}
		p := finding.BaselineParams{Arm: s.Name, Baseline: e.Baseline}
		for _, t := range tables {
			r := t.Row(plan.Measured, s.Name)
			if r == nil || r.ToBaseline == nil {
				continue
			}
			ratio := r.ToBaseline.Value
			if p.Tables++; p.Tables == 1 {
				p.Least, p.Most = ratio, ratio
			}
			p.Least, p.Most = min(p.Least, ratio), max(p.Most, ratio)
			switch {
			case r.ToBaseline.Significant && ratio > 1:
				p.Faster = append(p.Faster, t.Place())
			case r.ToBaseline.Significant:
				p.Slower = append(p.Slower, t.Place())
			}
		}
		if p.Tables > 0 {
			messages = append(messages, finding.New(p))
		}
	}
	return messages
}

// answersOf says of the tables that are about where stores break, of each store once, whether it
// broke, where, with what, and what tuning did to that.
func answersOf(run *record.Run, tables []*facts.Table, found []finding.Finding) (messages []finding.Message) {
	for _, t := range tables {
		messages = append(messages, fatesIn(t, run, tooSmall(found, run))...)
	}
	return messages
}

// tooSmall are the settings of each arm that are too small for its data, as findings say.
func tooSmall(found []finding.Finding, run *record.Run) map[string][]string {
	small := map[string][]string{}
	for _, f := range found {
		if p := f.Params; f.Code == finding.SettingsTooSmall && f.Where.Run == run.Header.ID {
			value, _ := p["value"].(float64)
			text := format.Count(uint64(value))
			if inBytes, _ := p["in_bytes"].(bool); inBytes {
				text = format.Limit(uint64(value))
			}
			small[f.Where.Arm] = append(small[f.Where.Arm], fmt.Sprintf("%s (%s)", p["option"], text))
		}
	}
	return small
}

func fatesIn(t *facts.Table, run *record.Run, small map[string][]string) (messages []finding.Message) {
	var rows []*facts.Row
	for _, r := range t.ByRate() {
		if r.Role == plan.Measured && r.Rate != nil {
			rows = append(rows, r)
		}
	}
	told := map[*facts.Row]bool{}
	for _, r := range rows {
		if fateOf(r) != finding.FateBroke || len(run.Experiment.Stores[r.Store].AllOptions()) > 0 {
			continue
		}
		tuned := slices.DeleteFunc(slices.Clone(rows), func(other *facts.Row) bool {
			return other == r || run.Experiment.Stores[other.Store].Driver != run.Experiment.Stores[r.Store].Driver
		})
		if len(tuned) > 0 {
			messages = append(messages, tunedBy(r, tuned, small[r.Arm]))
			told[r] = true
			for _, other := range tuned {
				told[other] = true
			}
		}
	}
	others := map[string][]*facts.Row{}
	for _, r := range rows {
		if !told[r] {
			others[fateOf(r)] = append(others[fateOf(r)], r)
		}
	}
	for _, fate := range fates {
		list := others[fate.name]
		if len(list) == 0 {
			continue
		}
		p := finding.RateFateParams{Fate: fate.name, Arms: armsOfRows(list)}
		p.With, p.More = commonWith(list)
		if fate.where != nil {
			p.Low, p.High = spanOf(list, fate.where)
		}
		if len(list) == 1 && fate.name == finding.FateBroke {
			p.Small = small[list[0].Arm]
		}
		if p.Low != nil && *p.High > breaksApart**p.Low && fate.name != finding.FateFell {
			p.Each = eachAt(list, fate.where)
		}
		messages = append(messages, finding.New(p))
	}
	return messages
}

// eachAt is where each row met its fate; nil where that is not known of all.
func eachAt(rows []*facts.Row, where func(*facts.Row) *float64) (each []float64) {
	for _, r := range rows {
		at := where(r)
		if at == nil {
			return nil
		}
		each = append(each, *at)
	}
	return each
}

// tunedBy says where a store broke and what the settings of other arms of its driver did to that.
func tunedBy(r *facts.Row, tuned []*facts.Row, small []string) finding.Message {
	at := *r.Course.BrokeAt
	p := finding.RateFateParams{Fate: finding.FateBroke, Arms: []string{r.Arm}, Low: &at, High: &at, Small: small}
	p.With, p.More = commonWith([]*facts.Row{r})
	effects := map[string][]string{}
	to := 0.0
	for _, other := range tuned {
		effect := "unknown"
		switch c := other.Course; fateOf(other) {
		case finding.FateBroke:
			effect = "same"
			if *c.BrokeAt > breaksApart*at {
				effect = "postponed"
				if to == 0 || *c.BrokeAt < to {
					to = *c.BrokeAt
				}
			}
			if at > breaksApart**c.BrokeAt {
				effect = "sooner"
			}
		case finding.FateHeld:
			if c.Reached != nil && *c.Reached > breaksApart*at {
				effect = "cured"
			}
		}
		effects[effect] = append(effects[effect], other.Arm)
	}
	p.Cured, p.Postponed, p.Same, p.Sooner, p.Unknown =
		effects["cured"], effects["postponed"], effects["same"], effects["sooner"], effects["unknown"]
	p.To = to
	return finding.New(p)
}

func armsOfRows(rows []*facts.Row) (arms []string) {
	for _, r := range rows {
		arms = append(arms, r.Arm)
	}
	return arms
}

// spanOf returns the least and the greatest of what is known; nil: nothing is.
func spanOf(rows []*facts.Row, value func(*facts.Row) *float64) (low, high *float64) {
	var known []float64
	for _, r := range rows {
		known = facts.AppendKnown(known, value(r))
	}
	if len(known) == 0 {
		return nil, nil
	}
	return finding.Known(slices.Min(known)), finding.Known(slices.Max(known))
}

// effectShare is the share of its level below which a resource that fell with a rate is taken for what
// came of the fall: a store that does nothing reads and writes nothing.
const effectShare = 0.1

// causesOf are the resources that changed with a row's fall and may be its cause.
func causesOf(r *facts.Row) []string {
	return slices.DeleteFunc(slices.Clone(r.Course.With), func(name string) bool {
		at := slices.IndexFunc(r.Course.Moved, func(m facts.Moved) bool { return m.Resource == name })
		return at >= 0 && r.Course.Moved[at].After < effectShare*r.Course.Moved[at].Before
	})
}

// commonWith names the resources that changed with the fall of each of some stores and may be its cause,
// what moved first and most of one store with its figures, and counts the rest.
func commonWith(rows []*facts.Row) (words []string, more int) {
	common := causesOf(rows[0])
	for _, r := range rows[1:] {
		causes := causesOf(r)
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(causes, name) })
	}
	shown := common[:min(len(common), withMax)]
	words = format.ResourceWords(shown)
	for i, name := range shown {
		moved := rows[0].Course.Moved
		at := slices.IndexFunc(moved, func(m facts.Moved) bool { return m.Resource == name })
		if len(rows) > 1 || at < 0 {
			continue
		}
		words[i] += " (" + levels(moved[at]) + ")"
	}
	return words, len(common) - len(shown)
}

// levels writes what a resource changed from and to: counters by the second, others as a factor,
// which needs no unit.
func levels(m facts.Moved) string {
	switch {
	case m.PerSecond:
		return format.Number(m.Before) + " to " + format.Rate(m.After)
	case m.Before > 0 && m.After >= 0:
		return format.Factor(m.After / m.Before)
	}
	return format.Number(m.Before) + " to " + format.Number(m.After)
}

// answeredBy are the findings that the one screen tells as a part of the answer: each by itself, or
// folded where their sentence can.
func answeredBy(r *model.Result, all []string) (messages []finding.Message) {
	for _, g := range r.Groups {
		switch entry, _ := finding.Lookup(g.Code); {
		case !entry.InAnswer:
		case entry.Many != "":
			messages = append(messages, together(r, g, all))
		default:
			for _, at := range g.Of {
				messages = append(messages, r.Findings[at].Message)
			}
		}
	}
	return messages
}
