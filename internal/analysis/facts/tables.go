package facts

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"assay/internal/analysis/stat"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// Check refuses a run of which nothing can be said.
func Check(run *record.Run) error {
	if len(run.Experiment.Cells) == 0 {
		return errors.New("no experiment (experiment.json): nothing can be reported")
	}
	if len(run.Plan) == 0 {
		return errors.New("no plan (plan.json): nothing can be reported")
	}
	for _, planned := range run.Plan {
		if planned.Cell < 0 || planned.Cell >= len(run.Experiment.Cells) ||
			planned.Store >= len(run.Experiment.Stores) {
			return fmt.Errorf("trial %s of plan.json is of cell %d and store %d, which experiment.json lacks", planned.ID, planned.Cell, planned.Store)
		}
	}
	return nil
}

// CPU time is counted in ticks of 10 ms: of fewer than cpuTicksMin, an operation's share is chance.
const (
	cpuTickSeconds = 0.01
	cpuTicksMin    = 10
)

// TablesOf makes a table of each cell and measured phase, with figures and without ranks.
func TablesOf(run *record.Run) (tables []*Table) {
	for cell := range run.Experiment.Cells {
		for _, phase := range run.Experiment.Phases {
			if phase.Load || phase.Unmeasured {
				continue
			}
			promises := promisesOf(run, cell, phase.Name)
			for _, promise := range promises.kinds() {
				tables = append(tables, tableIn(run, cell, phase, promises, promise))
			}
		}
	}
	order := map[string]int{} // of classes; those that are claimed stand together too
	for _, t := range tables {
		if _, known := order[t.Class]; !known {
			order[t.Class] = len(order)
		}
	}
	slices.SortStableFunc(tables, func(a, b *Table) int { return order[a.Class] - order[b.Class] })
	return tables
}

// Promise is what the stores of a table promise alike: those of different promises have no rank beside
// each other.
type Promise struct {
	// Claimed: the durability class is the store's claim alone, because no disk of its could be looked at.
	Claimed bool
	// Eventual: a read may return an older value than the newest acknowledged one, for no longer than
	// WithinNS; 0: for as long as it likes.
	Eventual bool
	WithinNS int64
}

// suffix follows the durability class in the name of a table.
func (p Promise) suffix() (text string) {
	if p.Claimed {
		text = " claimed"
	}
	if p.Eventual {
		text += " eventual"
	}
	if p.WithinNS > 0 {
		text += " " + time.Duration(p.WithinNS).String()
	}
	return text
}

// promises are those of the stores of a cell.
type promises map[int]Promise

// promisesOf returns what each store of a cell promised in a phase. A store of which one trial was not
// checked was not checked; one that is eventual in one is eventual.
func promisesOf(run *record.Run, cell int, phase string) promises {
	all := promises{}
	for _, planned := range run.Plan {
		if planned.Cell != cell || planned.Store < 0 {
			continue
		}
		description := &run.Experiment.Stores[planned.Store].Description
		promise, known := all[planned.Store]
		if !known {
			promise.Eventual = description.Eventual
		}
		if t := run.Trials[planned.ID]; t != nil {
			if p := PhaseIn(t, phase); p != nil {
				promise.Claimed = promise.Claimed || p.Syncs != nil && p.Syncs.Why != ""
				promise.Eventual = promise.Eventual || p.Eventual
			}
		}
		if promise.Eventual {
			promise.WithinNS = description.EventualWithinNS
		}
		all[planned.Store] = promise
	}
	return all
}

// kinds returns the different promises, the strongest first; one where no store is planned.
func (p promises) kinds() []Promise {
	kinds := map[Promise]bool{}
	for _, promise := range p {
		kinds[promise] = true
	}
	if len(kinds) == 0 {
		return []Promise{{}}
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b Promise) int {
		return cmp.Or(Earlier(!a.Claimed, !b.Claimed), Earlier(!a.Eventual, !b.Eventual), Earlier(a.WithinNS > 0,
			b.WithinNS > 0),
			cmp.Compare(a.WithinNS, b.WithinNS))
	})
}

// tableIn makes a table of the stores that promise the same.
func tableIn(run *record.Run, cell int, phase experiment.Phase, all promises, promise Promise) *Table {
	e, parameters := &run.Experiment, run.Experiment.Cells[cell]
	phase = phase.In(parameters)
	class := parameters.ClassText() + promise.suffix()
	t := &Table{ID: anchor(run.Header.ID, cell, class, phase.Name), Run: run, Cell: cell, Parameters: parameters,
		Label: cellDifference(e, cell), Class: class, Promise: promise, Phase: phase.Name, Work: phase,
		Requests: len(phase.Request) > 0, Open: phase.Rate > 0, Offered: phase.Rate, Baseline: e.Baseline}
	if phase.Batch > 1 {
		t.BatchItems = phase.Batch
	}
	for _, planned := range run.Plan {
		if planned.Cell != cell || planned.Store >= 0 && all[planned.Store] != promise {
			continue
		}
		r := t.Row(planned.Role, planned.Arm)
		if r == nil {
			r = &Row{Arm: planned.Arm, Role: planned.Role, Store: planned.Store, ceilingArm: e.CeilingOf(planned.Store)}
			t.Rows = append(t.Rows, r)
		}
		r.Trials = append(r.Trials, observeTrial(run, planned, phase))
	}
	t.chooseTrials()
	for _, r := range t.Rows {
		r.sum(t)
	}
	return t
}

// chooseTrials decides which trials count and which part of a phase their rates are of.
func (t *Table) chooseTrials() {
	t.FixedWork = t.Work.Operations > 0
	for _, r := range t.Rows {
		r.choose()
		cut := r.Count(func(o *Observation) bool { return o.Phase.EndedBy != record.EndedOperations })
		r.WholeWork = t.Work.Operations > 0 && cut == 0
		t.FixedWork = t.FixedWork && r.WholeWork
	}
	twin := t.Row(plan.AA, "")
	if twin != nil { // where the baseline can't run, its part is that of the store that the A/A arm repeats
		t.Baseline = t.Run.Experiment.Stores[twin.Store].Name
	}
}

// gravity orders states: a row's is the gravest of its trials'.
var gravity = []record.State{record.OK, record.Refused, record.Interrupted, record.Marked, record.Failed}

// sum fills in what a row says by itself.
func (r *Row) sum(t *Table) {
	r.State = record.OK
	for _, o := range r.latest() {
		state := o.State
		if state == "" {
			state = record.Interrupted
		}
		if slices.Index(gravity, state) > slices.Index(gravity, r.State) {
			r.State = state
		}
	}
	for _, o := range r.Trials {
		if o.Phase != nil {
			AddOutcomes(&r.Outcomes, o.Phase)
		}
	}
	if r.Store >= 0 {
		claim, _ := t.Run.Experiment.Stores[r.Store].Description.Claim(t.Parameters.Durability)
		r.How = format.Clean(claim.How)
	}
	var phases []*record.Phase
	for _, o := range r.Used() {
		phases = append(phases, o.Phase)
		r.Marked = r.Marked || o.State != record.OK
		t.SampleS = max(t.SampleS, float64(o.Phase.SampleNS)/1e9)
		if o.Course != nil {
			if worst := o.Course.worst(); worst != nil && (r.WorstSample == nil || *worst < *r.WorstSample) {
				r.WorstSample = worst
			}
			// Where a server is killed, clients connect again before their old connections are gone.
			if n := o.Course.Connections; n != nil && !o.Faulty() && (r.Connections == nil || *n > *r.Connections) {
				e := &t.Run.Experiment
				most := e.ConnectionsMax(e.Stores[o.Planned.Store], e.Cells[o.Planned.Cell])
				r.Connections, r.ConnectionsMax = n, most
			}
		}
	}
	r.Latencies = LatenciesOf(Refuse(phases...), phases...)
	r.Kinds, r.Steps = kindsOf(t.questionsOf(phases)), kindsOf(stepsOf(phases))
	t.rightOf(r.Kinds, phases)
	r.Course = r.courseOver()
	r.resources(t, phases)
	r.Expired, r.LatestNS = expiredOf(phases)
	r.HitRatio, r.LostUpdates = hitRatioOf(phases), lostUpdatesOf(phases)
	if t.Eventual && r.Role != plan.Ceiling {
		r.OldReads, r.Staleness = oldReadsOf(phases), stalenessOf(phases)
	}
	r.Checked, r.Milestones, r.StartsApartNS = checkedOf(phases), milestonesOf(phases), startsApartOf(phases)
	r.Plans, r.Nodes, r.OverTime = r.plansOf(t), r.nodesOf(t), r.overTime(t.Work)
	r.Replay = replayOf(phases)
	r.Capacity = r.capacityOf(t.Work, t.Work.Capacity != nil && t.Unsteady())
}

// resources fills in means over blocks of sizes and of what an operation cost.
func (r *Row) resources(t *Table, phases []*record.Phase) {
	mean := func(value func(*record.Phase) *float64) *float64 {
		var values []float64
		for _, p := range phases {
			values = AppendKnown(values, value(p))
		}
		if len(values) == 0 {
			return nil
		}
		m := stat.Mean(values)
		return &m
	}
	perOperation := func(of func(*record.Phase) *float64) *float64 {
		return mean(func(p *record.Phase) *float64 { return Divided(of(p), float64(DoneOf(p))) })
	}
	runtime := func(name string) func(*record.Phase) *float64 {
		return func(p *record.Phase) *float64 {
			if v, ok := p.Runtime[name]; ok {
				return &v
			}
			return nil
		}
	}
	written := func(p *record.Phase) *float64 { return Float(p.Process.WrittenBytes()) }
	r.LogicalBytes = mean(func(p *record.Phase) *float64 { return Float(p.Sizes.LogicalBytes) })
	r.DiskBytes = mean(func(p *record.Phase) *float64 { return Float(p.Sizes.DiskBytes) })
	r.DataToMemory = mean(func(p *record.Phase) *float64 { return p.Sizes.DataToMemory })
	r.HostWriteBytes = mean(written)
	r.MemoryBytes = mean(func(p *record.Phase) *float64 { return Float(p.Process.MemoryBytes()) })
	r.AllocBytes, r.Allocs = perOperation(runtime("alloc_bytes")), perOperation(runtime("allocs"))
	r.CPUNS = perOperation(func(p *record.Phase) *float64 {
		if s := p.Process.CPU(); s != nil {
			ns := *s * 1e9
			return &ns
		}
		return nil
	})
	if slices.ContainsFunc(phases, func(p *record.Phase) bool {
		s := p.Process.CPU()
		return s != nil && *s < cpuTicksMin*cpuTickSeconds
	}) {
		r.CPUNS = nil
	}
	if t.Parameters.PoolHandles > 0 {
		r.WaitNS = perOperation(func(p *record.Phase) *float64 { ns := float64(p.HandleWaitNS); return &ns })
	}
	taken := func(q float64) *float64 {
		return mean(func(p *record.Phase) *float64 {
			if p.HandleTimes == nil || p.HandleTimes.Count() == 0 {
				return nil
			}
			ns := p.HandleTimes.Quantile(q)
			return &ns
		})
	}
	r.HandleP50NS, r.HandleP99NS = taken(0.5), taken(0.99)
	for _, p := range phases {
		if r.HostWriteSource == "" {
			r.HostWriteSource = p.Process.HostWriteSource
		}
	}
	if r.Role == plan.Ceiling { // it is the harness, and stores nothing
		return
	}
	r.WriteAmplification = mean(func(p *record.Phase) *float64 {
		var acknowledged uint64
		for _, op := range p.Calls() {
			acknowledged += op.BytesWritten
		}
		return Divided(written(p), float64(acknowledged))
	})
	for _, p := range phases {
		drained, seconds := p.Sizes.Drained, p.Sizes.DrainSeconds
		if r.Drained != nil {
			drained, seconds = drained && *r.Drained, max(seconds, *r.DrainSeconds)
		}
		r.Drained, r.DrainSeconds = &drained, &seconds
	}
}

// DoneOf returns how many operations of a phase ended well.
func DoneOf(p *record.Phase) (done uint64) {
	for _, op := range p.Operations {
		done += op.Done()
	}
	return done
}

// Float returns a number that may be unknown (nil) as a float.
func Float(n *uint64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

// Divided returns a ÷ b; nil where there is no a or no b.
func Divided(a *float64, b float64) *float64 {
	if a == nil || b <= 0 {
		return nil
	}
	quotient := *a / b
	return &quotient
}

// leftOut says why a phase is left out of all trials of a row; "": it is not.
func (r *Row) leftOut(phase string) (why string) {
	for _, o := range r.Trials {
		why = o.Planned.Skip[phase]
		if why == "" || o.Planned.Refuse != "" {
			return ""
		}
	}
	return why
}
