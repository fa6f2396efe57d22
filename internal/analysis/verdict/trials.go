package verdict

import (
	"slices"

	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// observeTrial looks at one phase of one planned trial.
func observeTrial(run *record.Run, planned plan.Trial, phase experiment.Phase) *observation {
	o := &observation{planned: planned, trial: run.Trials[planned.ID]}
	if o.trial == nil {
		return o
	}
	o.state, o.marks = o.trial.State, o.trial.CountedMarks()
	if o.state == record.OK && len(o.marks) > 0 {
		o.state = record.Marked
	}
	o.phase = phaseIn(o.trial, phase.Name)
	o.course = courseOf(run.Series[planned.ID], phase)
	if o.phase == nil || o.phase.ElapsedNS <= 0 {
		return o
	}
	rate, steady := rateOf(o.phase, o.course, o.state, phase)
	o.rate, o.steady = &rate, steady
	good := goodOf(o.phase)
	var items uint64
	for _, op := range o.phase.Operations {
		items += op.Items
	}
	if good > 0 {
		o.perItem = float64(items) / float64(good)
	}
	return o
}

// rateOf returns the operations a second that ended well in a phase of one trial: after the warm-up
// (steady), or over the whole phase where the work was fixed, where the trial failed, and where the
// rate never settled: one that falls all the way has no warm-up, and where one is cut off all the
// same depends on chance.
func rateOf(p *record.Phase, c *course, state record.State, phase experiment.Phase) (rate float64, steady bool) {
	if c != nil && phase.Operations == 0 && state != record.Failed && !c.restless() {
		if rate, ok := c.afterWarmup(); ok {
			return rate, true
		}
	}
	return float64(goodOf(p)) / (float64(p.ElapsedNS) / 1e9), false
}

// TrialRate returns the rate of a trial's last measured phase, as tables show it, from its result
// and its samples; nil: no phase was measured.
func TrialRate(e *experiment.Experiment, planned plan.Trial, t *record.Trial, samples []record.Sample) *float64 {
	for i, p := range slices.Backward(t.Phases) {
		at := slices.IndexFunc(e.Phases, func(of experiment.Phase) bool { return of.Name == p.Name })
		if at >= 0 && p.Measured && p.ElapsedNS > 0 {
			rate, _ := rateOf(&t.Phases[i], courseOf(samples, e.Phases[at]), t.State, e.Phases[at])
			return &rate
		}
	}
	return nil
}

func phaseIn(t *record.Trial, name string) *record.Phase {
	if t == nil {
		return nil
	}
	at := slices.IndexFunc(t.Phases, func(p record.Phase) bool { return p.Name == name })
	if at < 0 {
		return nil
	}
	return &t.Phases[at]
}

// goodOf counts the operations of a phase that ended well.
func goodOf(p *record.Phase) (good uint64) {
	for _, op := range p.Operations {
		good += op.Good()
	}
	return good
}

// good reports whether an observation's figures may be compared.
func (o *observation) good() bool { return o.used && o.state == record.OK }

// restless reports whether the rate is known not to have settled.
func (o *observation) restless() bool { return o.course != nil && o.course.restless() }

// choose marks the trials whose figures the row shows: of each block the last good one, for a trial
// that the machine spoilt is run again; where no block has a good one, the last that has a figure,
// so that an unranked row shows what was seen.
func (r *row) choose() {
	slices.SortStableFunc(r.trials, func(a, b *observation) int {
		if d := a.planned.Block - b.planned.Block; d != 0 {
			return d
		}
		return a.planned.Again - b.planned.Again
	})
	last := func(fit func(*observation) bool) (found bool) {
		ofBlock := map[int]*observation{}
		for _, o := range r.trials {
			if o.rate != nil && fit(o) {
				ofBlock[o.planned.Block], found = o, true
			}
		}
		for _, o := range ofBlock {
			o.used = true
		}
		return found
	}
	if !last(func(o *observation) bool { return o.state == record.OK }) {
		last(func(*observation) bool { return true })
	}
}

// latest returns of each block the try that counts: the used one, otherwise the last.
func (r *row) latest() (latest []*observation) {
	for _, o := range r.trials {
		n := len(latest)
		switch {
		case n == 0 || latest[n-1].planned.Block != o.planned.Block:
			latest = append(latest, o)
		case !latest[n-1].used:
			latest[n-1] = o
		}
	}
	return latest
}

// unsettled reports whether so many blocks never settled that the arm has no steady rate.
func (r *row) unsettled() bool {
	restless := r.count((*observation).restless)
	return restless > 0 && 2*restless >= len(r.used())
}

func (r *row) count(is func(*observation) bool) (n int) {
	for _, o := range r.used() {
		if is(o) {
			n++
		}
	}
	return n
}

func (r *row) hasGood() bool { return slices.ContainsFunc(r.trials, (*observation).good) }
