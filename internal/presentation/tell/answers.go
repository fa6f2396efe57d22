package tell

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/series"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// breaksApart is how far apart two breaks must lie to differ: their own intervals are seldom
// narrower.
const breaksApart = 1.25

// fates are those that a rate may have, in the order in which they are told, and where each was met.
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

// answersOf says of the tables that are about where stores break, of each store once, whether it
// broke, where, with what, and what tuning did to that.
func answersOf(run *record.Run, tables []*facts.Table) (messages []finding.Message) {
	for _, t := range tables {
		messages = append(messages, fatesIn(t, run)...)
	}
	return messages
}

func fatesIn(t *facts.Table, run *record.Run) (messages []finding.Message) {
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
			messages = append(messages, tunedBy(r, tuned))
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
		p := finding.RateFateParams{Fate: fate.name, Arms: armsOfRows(list), With: commonWith(list)}
		if fate.where != nil {
			p.Low, p.High = spanOf(list, fate.where)
		}
		messages = append(messages, finding.New(p))
	}
	return messages
}

// tunedBy says where a store broke and what the settings of other arms of its driver did to that.
func tunedBy(r *facts.Row, tuned []*facts.Row) finding.Message {
	at := *r.Course.BrokeAt
	p := finding.RateFateParams{Fate: finding.FateBroke, Arms: []string{r.Arm}, Low: &at, High: &at,
		With: format.ResourceWords(r.Course.With)}
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

// commonWith names the resources that changed with the fall of each of some stores.
func commonWith(rows []*facts.Row) (common []string) {
	for i, r := range rows {
		if i == 0 {
			common = slices.Clone(r.Course.With)
		}
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(r.Course.With, name) })
	}
	return format.ResourceWords(common)
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
