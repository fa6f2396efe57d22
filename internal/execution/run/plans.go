package run

import (
	"errors"
	"fmt"
	"slices"

	"assay/internal/evidence/record"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

// notReported is why a store without the ability has no plan.
const notReported = "not reported by the store"

// question is a query of define, found or counted.
type question struct {
	operation trace.Operation
	query     int
}

// planner asks a trial's store how it answers queries.
type planner struct {
	explains bool // the store can say
	call     func(r control.Request, result any) error
}

// ask asks for each question that a phase was the first to ask, but for those of which known tells:
// the store's data and statistics are then those of the measurement. The values are those of the
// first time that the trace asks it, so that they are the same for all arms.
func (a planner) ask(phase string, file *trace.File, known []record.QueryPlan) ([]record.QueryPlan, error) {
	for _, f := range firstAsked(file) {
		p := record.QueryPlan{Phase: phase, Operation: f.operation.String(), Position: f.query}
		if slices.ContainsFunc(known, func(k record.QueryPlan) bool {
			return k.Operation == p.Operation && k.Position == p.Position
		}) {
			continue
		}
		if err := a.explain(&p, f); err != nil {
			return known, err
		}
		known = append(known, p)
	}
	return known, nil
}

// explain fills in what the store says. That a store can't say it, or fails to, is no fault of the
// trial's.
func (a planner) explain(p *record.QueryPlan, f asking) error {
	if !a.explains {
		p.Why = notReported
		return nil
	}
	var told control.Explained
	err := a.call(control.Request{Command: control.CommandExplain, Explain: &control.Explain{
		Query: f.query, Count: f.operation == trace.Count, Index: f.index,
	}}, &told)
	var reply *control.Error
	switch {
	case errors.As(err, &reply):
		p.Why = reply.Message
	case err != nil:
		return fmt.Errorf("explain: %w", err)
	case told.Use == store.IndexUntold:
		p.Why = notReported
	}
	p.Use, p.Index, p.Plan = told.Use, told.Index, told.Plan
	return nil
}

// asking is a question and the index of the record whose values it first had.
type asking struct {
	question
	index uint64
}

// firstAsked returns the questions of a trace, in the order of its threads.
func firstAsked(file *trace.File) (all []asking) {
	seen := map[question]bool{}
	for slot, o := range file.Operations {
		if o != trace.Query && o != trace.Count || slot > 0 && file.Operations[slot-1] == o {
			continue
		}
		for i := range file.Threads {
			for _, e := range file.Threads[i].Entries {
				q := question{o, int(file.Amounts[e.SizeClass()])}
				if e.Operation() == o && !seen[q] {
					seen[q] = true
					all = append(all, asking{q, e.Index()})
				}
			}
		}
	}
	return all
}
