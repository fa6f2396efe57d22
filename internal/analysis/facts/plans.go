package facts

import (
	"slices"

	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// plansOf returns how the row's store said that it answers the queries of the phase.
func (r *Row) plansOf(t *Table) (plans []Plan) {
	for _, a := range t.Work.Asked {
		query := t.Run.Experiment.Values.Queries[a.Query]
		first := len(plans)
		for _, o := range r.Used() {
			told := planIn(o.Trial, a)
			if told == nil {
				continue
			}
			p := Plan{Operation: a.Operation, Query: query.Name, Asks: Asks(query, a), Use: told.Use,
				Index: told.Index, Text: told.Plan, Why: format.Clean(told.Why)}
			at := slices.IndexFunc(plans[first:], func(known Plan) bool {
				return known.Use == p.Use && known.Index == p.Index && known.Why == p.Why
			})
			if at < 0 {
				at = len(plans) - first
				plans = append(plans, p)
			}
			plans[first+at].Blocks++
		}
	}
	return plans
}

// Asks says what an operation asks: order and limit are of a query alone.
func Asks(q keyval.Query, a experiment.AskedQuery) string {
	if a.Operation != trace.Query.String() {
		q.Sort, q.Limit = nil, 0
	}
	return experiment.QueryText(q)
}

func planIn(t *record.Trial, a experiment.AskedQuery) *record.QueryPlan {
	at := slices.IndexFunc(t.Plans, func(p record.QueryPlan) bool {
		return p.Operation == a.Operation && p.Position == a.Query
	})
	if at < 0 {
		return nil
	}
	return &t.Plans[at]
}
