package verdict

import (
	"slices"

	"assay/internal/analysis/series"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// breaksApart is how far apart two breaks must lie to differ: their own intervals are seldom
// narrower.
const breaksApart = 1.25

// fate is what became of a store's rate as its data grew.
type fate int

const (
	didHold fate = iota
	didBreak
	didFall // for good, at a number of records that was not measured
	didVary
	tooShortToTell
)

func (r *row) fate() fate {
	c := r.Course
	switch {
	case c.BrokeAt != nil:
		return didBreak
	case c.BrokeAtS != nil:
		return didFall
	case c.Kind == "" || c.Kind == string(series.Inconclusive):
		return tooShortToTell
	case r.unsettled() && c.Kind != string(series.Rise):
		return didVary
	}
	return didHold
}

// answersOf says of the tables that are about where stores break, of each store once, whether it
// broke, where, with what, and what tuning did to that.
func answersOf(run *record.Run, tables []*table) (messages []finding.Message) {
	for _, t := range tables {
		messages = append(messages, t.fates(run)...)
	}
	return messages
}

func (t *table) fates(run *record.Run) (messages []finding.Message) {
	var rows []*row
	for _, r := range t.byRate() {
		if r.role == plan.Measured && r.Rate != nil {
			rows = append(rows, r)
		}
	}
	told := map[*row]bool{}
	for _, r := range rows {
		if r.fate() != didBreak || len(run.Experiment.Stores[r.store].AllOptions()) > 0 {
			continue
		}
		tuned := slices.DeleteFunc(slices.Clone(rows), func(other *row) bool {
			return other == r || run.Experiment.Stores[other.store].Driver != run.Experiment.Stores[r.store].Driver
		})
		if len(tuned) > 0 {
			messages = append(messages, r.tunedBy(tuned))
			told[r] = true
			for _, other := range tuned {
				told[other] = true
			}
		}
	}
	var others [tooShortToTell + 1][]*row
	for _, r := range rows {
		if !told[r] {
			others[r.fate()] = append(others[r.fate()], r)
		}
	}
	if list := others[didBreak]; len(list) > 0 {
		low, high := spanOf(list, func(r *row) *float64 { return r.Course.BrokeAt })
		messages = append(messages, finding.New(finding.AnswerBrokeParams{Arms: armsOfRows(list), Low: low, High: high, With: commonWith(list)}))
	}
	if list := others[didFall]; len(list) > 0 {
		low, high := spanOf(list, func(r *row) *float64 { return r.Course.BrokeAtS })
		messages = append(messages, finding.New(finding.AnswerFellParams{Arms: armsOfRows(list), LowS: low, HighS: high, With: commonWith(list)}))
	}
	if list := others[didHold]; len(list) > 0 {
		low, _ := spanOf(list, func(r *row) *float64 { return r.Course.Reached })
		messages = append(messages, finding.New(finding.AnswerHeldParams{Arms: armsOfRows(list), Records: low}))
	}
	if list := others[didVary]; len(list) > 0 {
		messages = append(messages, finding.New(finding.AnswerUnsteadyParams{Arms: armsOfRows(list)}))
	}
	if list := others[tooShortToTell]; len(list) > 0 {
		messages = append(messages, finding.New(finding.AnswerUnknownParams{Arms: armsOfRows(list)}))
	}
	return messages
}

// tunedBy says where a store broke and what the settings of other arms of its driver did to that.
func (r *row) tunedBy(tuned []*row) finding.Message {
	at := *r.Course.BrokeAt
	p := finding.AnswerBrokeParams{Arms: []string{r.Arm}, Low: at, High: at, With: format.ResourceWords(r.Course.With)}
	effects := map[string][]string{}
	to := 0.0
	for _, other := range tuned {
		effect := "unknown"
		switch c := other.Course; other.fate() {
		case didBreak:
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
		case didHold:
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

func armsOfRows(rows []*row) (arms []string) {
	for _, r := range rows {
		arms = append(arms, r.Arm)
	}
	return arms
}

// spanOf returns the least and the greatest of what is known; zeros: nothing is.
func spanOf(rows []*row, value func(*row) *float64) (low, high float64) {
	var known []float64
	for _, r := range rows {
		known = appendKnown(known, value(r))
	}
	if len(known) == 0 {
		return 0, 0
	}
	return slices.Min(known), slices.Max(known)
}

// commonWith names the resources that changed with the fall of each of some stores.
func commonWith(rows []*row) (common []string) {
	for i, r := range rows {
		if i == 0 {
			common = slices.Clone(r.Course.With)
		}
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(r.Course.With, name) })
	}
	return format.ResourceWords(common)
}
