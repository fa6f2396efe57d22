package verdict

import (
	"errors"
	"fmt"
	"slices"

	"assay/internal/histogram"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/stat"
)

// Summarise says what a run says, however little of it has ended. It returns an error only for a run that has no plan or
// no experiment; what is missing otherwise is in the findings.
func Summarise(run *record.Run) (*Summary, error) {
	if len(run.Experiment.Cells) == 0 {
		return nil, errors.New("the run has no experiment (experiment.json): nothing can be said of it")
	}
	if len(run.Plan) == 0 {
		return nil, errors.New("the run has no plan (plan.json): nothing can be said of it")
	}
	s := &Summary{Planned: len(run.Plan)}
	for _, planned := range run.Plan {
		if planned.Cell < 0 || planned.Cell >= len(run.Experiment.Cells) || planned.Store >= len(run.Experiment.Stores) {
			return nil, fmt.Errorf("trial %s of the plan is of cell %d and store %d, which the experiment does not have", planned.ID, planned.Cell, planned.Store)
		}
		s.countTrial(run.Trials[planned.ID])
	}
	for cell := range run.Experiment.Cells {
		for _, phase := range run.Experiment.Phases {
			if !phase.Load && !phase.Unmeasured {
				s.Tables = append(s.Tables, tableOf(run, cell, phase))
			}
		}
	}
	s.Findings = findingsOf(run, s)
	return s, nil
}

func (s *Summary) countTrial(t *record.Trial) {
	switch {
	case t == nil:
		s.Missing++
	case t.State == record.OK && len(t.CountedMarks()) == 0:
		s.OK++
	case t.State == record.OK || t.State == record.Marked:
		s.Marked++
	case t.State == record.Failed:
		s.Failed++
	case t.State == record.Refused:
		s.Refused++
	default:
		s.Interrupted++
	}
}

func tableOf(run *record.Run, cell int, phase spec.Phase) Table {
	parameters := run.Experiment.Cells[cell]
	t := Table{Cell: cell, Parameters: parameters, Class: className(parameters), Phase: phase.Name,
		Open: phase.Rate > 0, Offered: phase.Rate, Baseline: run.Experiment.Baseline}
	for _, planned := range run.Plan {
		if planned.Cell != cell {
			continue
		}
		at := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Arm == planned.Arm && r.Role == planned.Role })
		if at < 0 {
			at = len(t.Rows)
			t.Rows = append(t.Rows, Row{Arm: planned.Arm, Role: planned.Role, Store: planned.Store,
				Ceiling: run.Experiment.CeilingOf(planned.Store)})
		}
		t.Rows[at].Trials = append(t.Rows[at].Trials, observe(run, planned, phase))
	}
	for i := range t.Rows {
		t.Rows[i].choose()
	}
	twin := t.rowOf(plan.AA, "")
	if twin != nil { // where the baseline can't run, its part is that of the store that the A/A arm repeats
		t.Baseline = run.Experiment.Stores[twin.Store].Name
	}
	t.FixedWork = phase.Operations > 0
	for i := range t.Rows {
		r := &t.Rows[i]
		r.FixedWork = phase.Operations > 0 && !slices.ContainsFunc(r.used(), cutShort)
		t.FixedWork = t.FixedWork && r.FixedWork
	}
	baseline := t.rowOf(plan.Measured, t.Baseline)
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.unsettled() || r == twin && baseline != nil && baseline.unsettled() {
			r.takeWholePhase()
		}
	}
	for i := range t.Rows {
		t.Rows[i].sum()
	}
	t.weighWork(run)
	t.rank()
	return t
}

// oldGravity orders states: a row's is the gravest of its trials'.
var oldGravity = []record.State{record.OK, record.Refused, record.Interrupted, record.Marked, record.Failed}

// sum fills in what a row says by itself.
func (r *Row) sum() {
	slices.SortStableFunc(r.Trials, func(a, b Observation) int { return a.Block - b.Block })
	r.State = record.OK
	for _, o := range r.Trials {
		state := o.State
		if state == "" {
			state = record.Interrupted
		}
		if slices.Index(oldGravity, state) > slices.Index(oldGravity, r.State) {
			r.State, r.Why = state, o.Why
		}
		if o.phase != nil {
			r.Outcomes.add(o.phase)
		}
	}

	var rates, records, worst []float64
	latency := histogram.New()
	var longest uint64
	fromDue := false
	var phases []*record.Phase
	for _, o := range r.used() {
		phases = append(phases, o.phase)
		rates = append(rates, *o.Rate)
		if o.Records != nil {
			records = append(records, *o.Records)
		}
		if o.Steadiness != nil {
			worst = append(worst, o.Steadiness.Worst)
			r.Warnings = append(r.Warnings, inTrial(o, o.Steadiness.Warnings)...)
		}
		for _, op := range o.phase.Operations {
			if op.Response != nil {
				fromDue = true
				latency.Add(op.Response)
				continue
			}
			longest = max(longest, op.MaxNS)
			if op.Service != nil {
				latency.Add(op.Service)
			}
		}
	}
	if len(rates) > 0 {
		r.Rate = pointer(stat.MeanRate(rates))
		r.Warnings = append(r.Warnings, r.Rate.Warnings...)
	}
	if len(records) > 0 {
		r.Records = pointer(stat.MeanRate(records))
	}
	if len(worst) > 0 {
		r.WorstSample = pointer(slices.Min(worst))
	}
	if latency.Count() > 0 {
		r.Latency = &Latency{FromDue: fromDue, P50: latency.Quantile(0.5), P90: latency.Quantile(0.9), P99: latency.Quantile(0.99),
			P999: latency.Quantile(0.999), p9999: latency.Quantile(0.9999), Refusal: Refuse(phases...), Max: max(float64(longest), latency.Quantile(1))}
		if !fromDue && longest > 0 {
			r.Latency.Max = float64(longest)
			r.Latency.notAbove(r.Latency.Max)
		}
	}
	r.resources()
}

// takeWholePhase makes the rates of a row that never settled those of its whole phases: a series that falls all the way has no warm-up, and where one is
// cut off all the same hangs on chance.
func (r *Row) takeWholePhase() {
	for k := range r.Trials {
		if o := &r.Trials[k]; o.Rate != nil {
			o.setRate(WholePhase, o.whole)
		}
	}
}

// cutByQuota counts the trials in which the disk quota ended the phase so soon that what there is of it is a beginning.
func (r *Row) cutByQuota() (count int) {
	for _, o := range r.used() {
		if o.phase.EndedBy == record.EndedQuota && (o.Steadiness == nil || len(o.times) < stat.SteadySamplesMin) {
			count++
		}
	}
	return count
}

// restless counts the trials that the row shows and that never settled.
func (r *Row) restless() (count int) {
	for _, o := range r.used() {
		if o.restless() {
			count++
		}
	}
	return count
}

// unsettled says whether so many blocks never settled that the arm is one without a steady state.
func (r *Row) unsettled() bool {
	restless := r.restless()
	return restless > 0 && 2*restless >= len(r.used())
}

// idle counts the trials that the row shows and in which no operation ended well.
func (r *Row) idle() (count int) {
	for _, o := range r.used() {
		if *o.Rate <= 0 {
			count++
		}
	}
	return count
}

func (r *Row) hasGood() bool { return slices.ContainsFunc(r.Trials, Observation.good) }

// good says whether an observation's figures may be compared.
func (o Observation) good() bool { return o.Used && o.State == record.OK }

// choose marks the trials whose figures the row shows: the good ones, or where there is none, all that have a figure, so
// that an unranked row shows what was seen.
func (r *Row) choose() {
	good := func(o *Observation) bool { return o.Rate != nil && o.State == record.OK }
	if !slices.ContainsFunc(r.Trials, func(o Observation) bool { return good(&o) }) {
		good = func(o *Observation) bool { return o.Rate != nil }
	}
	for i := range r.Trials {
		r.Trials[i].Used = good(&r.Trials[i])
	}
}

func (r *Row) used() (used []Observation) {
	for _, o := range r.Trials {
		if o.Used {
			used = append(used, o)
		}
	}
	return used
}

func inTrial(o Observation, warnings []stat.Warning) []stat.Warning {
	named := slices.Clone(warnings)
	for i := range named {
		named[i].Evidence = o.Trial + ": " + named[i].Evidence
		if o.ranOut() {
			named[i].Remedy = longer([]Observation{o}) // all of them ask for more samples
		}
	}
	return named
}

// resources fills in the means of sizes and of what an operation cost.
func (r *Row) resources() {
	var logical, disk, writes, amplification, memory, allocBytes, allocs, cpu []float64
	for _, o := range r.used() {
		p := o.phase
		logical = appendCount(logical, p.Sizes.LogicalBytes)
		disk = appendCount(disk, p.Sizes.DiskBytes)
		writes = appendCount(writes, p.Process.WrittenBytes())
		memory = appendCount(memory, p.Process.MemoryBytes())
		var outcomes Outcomes
		outcomes.add(p)
		var written uint64
		for _, op := range p.Operations {
			written += op.BytesWritten
		}
		if host := p.Process.WrittenBytes(); written > 0 && host != nil {
			amplification = append(amplification, float64(*host)/float64(written))
		}
		done := float64(outcomes.Done())
		if done == 0 {
			continue
		}
		if v, ok := p.Runtime["alloc_bytes"]; ok {
			allocBytes = append(allocBytes, v/done)
		}
		if v, ok := p.Runtime["allocs"]; ok {
			allocs = append(allocs, v/done)
		}
		if seconds := p.Process.CPU(); seconds != nil {
			cpu = append(cpu, *seconds*1e9/done)
		}
	}
	r.LogicalBytes, r.DiskBytes, r.HostWriteBytes, r.RSSMaxBytes = meanOf(logical), meanOf(disk), meanOf(writes), meanOf(memory)
	r.WriteAmplification, r.AllocBytes, r.Allocs, r.CPUNS = meanOf(amplification), meanOf(allocBytes), meanOf(allocs), meanOf(cpu)
}

func appendCount(values []float64, v *uint64) []float64 {
	if v == nil {
		return values
	}
	return append(values, float64(*v))
}

func meanOf(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	return pointer(stat.Mean(values))
}

// rowOf returns the row of a role, and of an arm where the name is not ""; nil if there is none.
func (t *Table) rowOf(role plan.Role, arm string) *Row {
	for i := range t.Rows {
		if t.Rows[i].Role == role && (arm == "" || t.Rows[i].Arm == arm) {
			return &t.Rows[i]
		}
	}
	return nil
}
