package verdict

import (
	"fmt"
	"maps"
	"slices"

	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/stat"
)

// findTuning says of each store whose rate broke at its defaults what settings did to that: cured it, as far as was run,
// postponed it to a larger number of records, or nothing. Settings are arms of the same driver with options.
func findTuning(run *record.Run, s *Summary) (found []Finding) {
	for i := range s.Tables {
		t := &s.Tables[i]
		for j := range t.Rows {
			untuned := &t.Rows[j]
			if untuned.Role != plan.Measured || len(run.Experiment.Stores[untuned.Store].Options) > 0 {
				continue
			}
			broke := breakOf(untuned)
			if broke.records == nil {
				continue
			}
			for k := range t.Rows {
				tuned := &t.Rows[k]
				if tuned.Role != plan.Measured || tuned.Store == untuned.Store || len(tuned.Trials) == 0 ||
					run.Experiment.Stores[tuned.Store].Driver != run.Experiment.Stores[untuned.Store].Driver {
					continue
				}
				found = append(found, Finding{Code: FindTuning, Severity: Notice, Sentence: tuningText(run, t, untuned, tuned, broke, breakOf(tuned)),
					Evidence: []string{fmt.Sprintf("settings of %s: %s", tuned.Arm, settingsText(run.Experiment.Stores[tuned.Store].Options))}, Where: at(t, tuned.Arm)})
			}
		}
	}
	return found
}

func settingsText(options map[string]string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		texts = append(texts, name+"="+options[name])
	}
	return list(texts)
}

// fall is when an arm's rate broke, in records stored: the median over its trials.
type fall struct {
	records *float64 // nil: in less than half of its trials
	reached float64  // records that its trials reached, the median; 0: not measured
}

// breakOf finds the first cliff of each trial, or where half of its early rate was left.
func breakOf(r *Row) fall {
	var breaks, reached []float64
	for _, o := range r.Trials {
		if o.Course == nil {
			continue
		}
		if last := measured(o.sampled.Records, len(o.sampled.Records)-1); last != nil {
			reached = append(reached, *last)
		}
		if first := firstBreak(o.Course); first != nil {
			breaks = append(breaks, *first)
		}
	}
	f := fall{reached: stat.Median(reached)}
	if len(breaks) > 0 && 2*len(breaks) >= len(reached) {
		middle := stat.Median(breaks)
		f.records = &middle
	}
	return f
}

func firstBreak(a *Analysis) (first *float64) {
	earlier := func(records *float64) {
		if records != nil && (first == nil || *records < *first) {
			first = records
		}
	}
	for _, cliff := range a.Cliffs {
		earlier(cliff.Records)
	}
	for _, decline := range a.Declines {
		if decline.Basis == stat.OverRecords && !decline.Extrapolated {
			earlier(decline.HalfAt)
		}
	}
	return first
}

// movedFactor is how far apart two breaks must lie to be told apart: their own intervals are seldom narrower.
const movedFactor = 1.25

func tuningText(run *record.Run, t *Table, untuned, tuned *Row, was, is fall) string {
	where := in(run, t)
	switch {
	case is.records == nil && !tuned.neverFell():
		return fmt.Sprintf("Whether the settings of %s cure the fall of %s at %s records in %s can't be told: its own rate, up to %s records, was not seen to break at a place, nor to hold.",
			tuned.Arm, untuned.Arm, amount(*was.records), where, amount(is.reached))
	case is.records == nil && is.reached > movedFactor**was.records:
		return fmt.Sprintf("The settings of %s kept it from the fall of %s at %s records in %s, as far as was run: it reached %s records without one.",
			tuned.Arm, untuned.Arm, amount(*was.records), where, amount(is.reached))
	case is.records == nil:
		return fmt.Sprintf("Whether the settings of %s cure the fall of %s in %s can't be told: it reached %s records, the fall was at %s.",
			tuned.Arm, untuned.Arm, where, amount(is.reached), amount(*was.records))
	case *is.records > movedFactor**was.records:
		return fmt.Sprintf("The settings of %s postponed the fall of %s in %s, from %s to %s records, and did not cure it.",
			tuned.Arm, untuned.Arm, where, amount(*was.records), amount(*is.records))
	case *was.records > movedFactor**is.records:
		return fmt.Sprintf("The settings of %s brought the fall of %s in %s forward, from %s to %s records.",
			tuned.Arm, untuned.Arm, where, amount(*was.records), amount(*is.records))
	}
	return fmt.Sprintf("The settings of %s did not move the fall of %s in %s: both fall at about %s records.",
		tuned.Arm, untuned.Arm, where, amount(*was.records))
}
