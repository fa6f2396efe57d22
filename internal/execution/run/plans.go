package run

import (
	"errors"
	"fmt"

	"assay/internal/evidence/record"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

// notTold is why a store without the ability has no plan.
const notTold = "not told by the store"

// question is a query of define, found or counted.
type question struct {
	operation trace.Operation
	query     int
}

// askPlans asks the store how it answers each question that a phase was the first to ask: its data
// and statistics are then those of the measurement. The values are those of the first time that the
// trace asks it, so that they are the same for all arms.
func (t *trial) askPlans(phase string, file *trace.File) error {
	if t.store.Description.Kind == store.None {
		return nil
	}
	for _, f := range firstAsked(file) {
		p := record.QueryPlan{Phase: phase, Operation: f.operation.String(), Position: f.query}
		if t.hasPlan(p) {
			continue
		}
		if err := t.askPlan(&p, f); err != nil {
			return err
		}
		t.result.Plans = append(t.result.Plans, p)
	}
	return nil
}

func (t *trial) hasPlan(p record.QueryPlan) bool {
	for _, known := range t.result.Plans {
		if known.Operation == p.Operation && known.Position == p.Position {
			return true
		}
	}
	return false
}

// askPlan fills in what the store says. That a store can't say it, or fails to, is no fault of the
// trial's.
func (t *trial) askPlan(p *record.QueryPlan, f asking) error {
	if !t.result.Abilities.Explain {
		p.Why = notTold
		return nil
	}
	var told control.Explained
	err := t.clients.call(control.Request{Command: control.CommandExplain, Explain: &control.Explain{
		Query: f.query, Count: f.operation == trace.Count, Index: f.index,
	}}, &told)
	var reply *control.Error
	switch {
	case errors.As(err, &reply):
		p.Why = reply.Message
	case err != nil:
		return fmt.Errorf("explain: %w", err)
	case told.Use == store.IndexUntold:
		p.Why = notTold
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
	for _, o := range file.Operations {
		if o != trace.Query && o != trace.Count {
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
