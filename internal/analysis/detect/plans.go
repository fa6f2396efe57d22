package detect

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/store"
)

// scanned is a query that some arms answer in a way that costs more than others'.
type scanned struct {
	operation, query, asks string
	without, with          []string // arms: that answer it so; of the same tables, that do better
	evidence               []finding.Evidence
}

// planFaults are the ways that cost more, and those that are better.
var planFaults = []struct {
	walks  bool // an index in the query's order
	use    store.IndexUse
	better []store.IndexUse
	alone  bool // a finding also where no arm does better
}{
	{false, store.IndexNone, []store.IndexUse{store.IndexFinds, store.IndexOrders}, true},
	{true, store.IndexOrders, []store.IndexUse{store.IndexFinds}, false},
}

func (s *scanned) same(operation, query, asks string) bool {
	return s.operation == operation && s.query == query && s.asks == asks
}

// detectPlans names the queries that stores say they answer without an index, or by walking one in
// the query's order, each once. Where other stores of the same table do better, that explains the
// difference between them, and is a warning; where none does, the experiment asks for a scan.
func detectPlans(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	for i := range planFaults {
		fault := &planFaults[i]
		var all []*scanned
		for _, t := range tables {
			for _, a := range t.Work.Asked {
				query := run.Experiment.Values.Queries[a.Query]
				s := scanned{operation: a.Operation, query: query.Name, asks: facts.Asks(query, a)}
				without, with := armsBy(t, s, fault.use, fault.better)
				if len(without) == 0 || len(with) == 0 && !fault.alone {
					continue
				}
				at := slices.IndexFunc(all, func(known *scanned) bool {
					return known.same(s.operation, s.query, s.asks)
				})
				if at < 0 {
					at = len(all)
					all = append(all, &s)
				}
				for _, p := range without {
					all[at].without = append(all[at].without, p.arm)
					all[at].evidence = append(all[at].evidence, finding.Evidence{Trial: p.trial,
						Message: finding.New(finding.SeenPlanParams{Arm: p.arm, Place: t.Place(), Plan: p.Text})})
				}
				all[at].with = append(all[at].with, with...)
			}
		}
		for _, s := range all {
			found = append(found, s.finding(run, fault.walks))
		}
	}
	return found
}

func (s *scanned) finding(run *record.Run, walks bool) finding.Finding {
	p := finding.PlanParams{Walks: walks, Arms: facts.DistinctWords(s.without), Operation: s.operation,
		Query: s.query, Asks: s.asks}
	if len(s.with) > 0 {
		p.Others = facts.DistinctWords(s.with)
	}
	f := finding.Make(finding.Where{Run: run.Header.ID}, finding.New(p), s.evidence...)
	if len(s.with) > 0 {
		f.Severity = finding.Warning
	}
	return f
}

// armPlan is what an arm said.
type armPlan struct {
	arm, trial string
	facts.Plan
}

// armsBy returns the measured arms of a table that answer a query by use in some block, and the
// names of those that do better in each.
func armsBy(t *facts.Table, s scanned, use store.IndexUse, better []store.IndexUse) (without []armPlan, with []string) {
	for _, r := range t.Rows {
		if r.Role != plan.Measured {
			continue
		}
		var plans []facts.Plan
		for _, p := range r.Plans {
			if s.same(p.Operation, p.Query, p.Asks) && p.Use != store.IndexUntold {
				plans = append(plans, p)
			}
		}
		worse := func(p facts.Plan) bool { return !slices.Contains(better, p.Use) }
		at := slices.IndexFunc(plans, func(p facts.Plan) bool { return p.Use == use })
		switch {
		case at >= 0:
			without = append(without, armPlan{r.Arm, r.Used()[0].Planned.ID, plans[at]})
		case len(plans) > 0 && !slices.ContainsFunc(plans, worse):
			with = append(with, r.Arm)
		}
	}
	return without, with
}
