package facts

import (
	"slices"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// Why is what a trial that failed or was refused says of that.
func (o *Observation) Why() finding.Message {
	if reasons := o.Trial.Reasons(); len(reasons) > 0 {
		return reasons[0]
	}
	return finding.Message{}
}

// observeTrial looks at one phase of one planned trial.
func observeTrial(run *record.Run, planned plan.Trial, phase experiment.Phase) *Observation {
	o := &Observation{Planned: planned, Trial: run.Trials[planned.ID]}
	if o.Trial == nil {
		return o
	}
	o.State, o.Marks = o.Trial.State, o.Trial.CountedMarks()
	if o.State == record.OK && len(o.Marks) > 0 {
		o.State = record.Marked
	}
	o.Phase = PhaseIn(o.Trial, phase.Name)
	o.Course = courseOf(func() []record.Sample { return run.Samples(planned.ID, phase.Name) }, phase)
	if o.Phase == nil || o.Phase.ElapsedNS <= 0 {
		return o
	}
	if phase.Capacity != nil {
		o.Course = nil // the search asked for each of its rates
		if o.Phase.Capacity == nil {
			return o
		}
		fitted := o.Phase.Capacity.Fitted(phase.Capacity.Objectives)
		o.Fitted = &fitted
		if fitted.Rate > 0 {
			o.Rate = &fitted.Rate
		}
		return o
	}
	rate, steady := RateOf(o.Phase, o.Course, o.State, phase)
	o.Rate, o.Steady = &rate, steady
	good := goodOf(o.Phase)
	var items uint64
	for _, op := range o.Phase.Operations {
		items += op.Items
	}
	if good > 0 {
		o.perItem = float64(items) / float64(good)
	}
	return o
}

// RateOf returns the operations a second that ended well in a phase of one trial: after the warm-up
// (steady), or over the whole phase where the work was fixed, where the trial failed, where servers were
// taken down in it or the rate was to change, and where the rate never settled: one that falls all
// the way has no warm-up, and where one is cut off anyway depends on chance.
func RateOf(p *record.Phase, c *TrialCourse, state record.State, phase experiment.Phase) (rate float64, steady bool) {
	if c != nil && phase.Operations == 0 && state != record.Failed && !wasDirected(p) && !c.restless() {
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
		if at >= 0 && p.Capacity != nil && e.Phases[at].Capacity != nil {
			if fitted := p.Capacity.Fitted(e.Phases[at].Capacity.Objectives); fitted.Rate > 0 {
				return &fitted.Rate
			}
			return nil
		}
		if at >= 0 && p.Measured && p.ElapsedNS > 0 {
			rate, _ := RateOf(&t.Phases[i], courseOf(func() []record.Sample { return samples }, e.Phases[at]),
				t.State, e.Phases[at])
			return &rate
		}
	}
	return nil
}

// PhaseIn returns the phase of a trial that has the name; nil: it has none.
func PhaseIn(t *record.Trial, name string) *record.Phase {
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
func (o *Observation) good() bool { return o.Used && o.State == record.OK }

// Restless reports whether the rate is known not to have settled.
func (o *Observation) Restless() bool { return o.Course != nil && !o.Directed() && o.Course.restless() }

// choose marks the trials whose figures the row shows: of each block the last good one, for a trial
// that the machine spoilt is run again; where no block has a good one, the last that has a figure,
// so that an unranked row shows what was seen.
func (r *Row) choose() {
	slices.SortStableFunc(r.Trials, func(a, b *Observation) int {
		if d := a.Planned.Block - b.Planned.Block; d != 0 {
			return d
		}
		return a.Planned.Again - b.Planned.Again
	})
	last := func(fit func(*Observation) bool) (found bool) {
		ofBlock := map[int]*Observation{}
		for _, o := range r.Trials {
			if o.Rate != nil && fit(o) {
				ofBlock[o.Planned.Block], found = o, true
			}
		}
		for _, o := range ofBlock {
			o.Used = true
		}
		return found
	}
	if !last(func(o *Observation) bool { return o.State == record.OK }) {
		last(func(*Observation) bool { return true })
	}
}

// latest returns of each block the try that counts: the used one, otherwise the last.
func (r *Row) latest() (latest []*Observation) {
	for _, o := range r.Trials {
		n := len(latest)
		switch {
		case n == 0 || latest[n-1].Planned.Block != o.Planned.Block:
			latest = append(latest, o)
		case !latest[n-1].Used:
			latest[n-1] = o
		}
	}
	return latest
}

// Unsettled reports whether so many blocks never settled that the arm has no steady rate.
func (r *Row) Unsettled() bool {
	restless := r.Count((*Observation).Restless)
	return restless > 0 && 2*restless >= len(r.Used())
}

func (r *Row) Count(is func(*Observation) bool) (n int) {
	for _, o := range r.Used() {
		if is(o) {
			n++
		}
	}
	return n
}

// HasGood reports whether a trial of the row counts.
func (r *Row) HasGood() bool { return slices.ContainsFunc(r.Trials, (*Observation).good) }
