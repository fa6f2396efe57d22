package detect_test

import (
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// asking gives the put phase two queries, and each store a plan of them.
func asking(run *record.Run, uses map[string]store.IndexUse) {
	run.Experiment.Values.Queries = []keyval.Query{
		{Name: "other", Limit: 10},
		{Name: "by_tag", Where: [][]keyval.Condition{{{Column: "tag", Is: store.Has}}}, Limit: 10},
	}
	for i := range run.Experiment.Phases {
		if p := &run.Experiment.Phases[i]; p.Name == "put" {
			p.Asked = []experiment.AskedQuery{{Operation: "count", Query: 1, Weight: 1}}
		}
	}
	for _, s := range run.Experiment.Stores {
		for _, e := range resulttest.Trials(run, s.Name) {
			p := record.QueryPlan{Phase: "put", Operation: "count", Position: 1, Use: uses[s.Name], Plan: "as " + s.Name + " has it"}
			if p.Use == store.IndexUntold {
				p.Why = "not reported by the store"
			}
			e.Plans = []record.QueryPlan{{Phase: "put", Operation: "query", Position: 1, Use: store.IndexNone}, p}
		}
	}
}

func TestQueriesWithoutAnIndex(t *testing.T) {
	stores := resulttest.CleanRun().Experiment.Stores
	all := func(use store.IndexUse) map[string]store.IndexUse {
		uses := map[string]store.IndexUse{}
		for _, s := range stores {
			uses[s.Name] = use
		}
		return uses
	}
	but := func(use store.IndexUse) map[string]store.IndexUse {
		uses := all(use)
		uses["elm"] = store.IndexNone
		return uses
	}
	var names, others []string
	for _, s := range stores {
		names = append(names, s.Name)
		if s.Name != "elm" {
			others = append(others, s.Name)
		}
	}
	found := []finding.Code{finding.QueryPlan}
	expect(t, resulttest.CleanRun, []planted{
		{"all use one", func(run *record.Run) { asking(run, all(store.IndexFinds)) }, nil, nil},
		{"all walk one", func(run *record.Run) { asking(run, all(store.IndexOrders)) }, nil, nil},
		{"one walks one, others find", func(run *record.Run) {
			asking(run, all(store.IndexFinds))
			for _, t := range resulttest.Trials(run, "elm") {
				t.Plans[1].Use = store.IndexOrders
			}
		}, []finding.Code{finding.QueryPlan}, finding.Params{"severity": "warning", "arms": []string{"elm"}, "others": facts.DistinctWords(others)}},
		{"one walks one, others use none", func(run *record.Run) {
			asking(run, all(store.IndexNone))
			for _, t := range resulttest.Trials(run, "elm") {
				t.Plans[1].Use = store.IndexOrders
			}
		}, found, finding.Params{"severity": "warning", "arms": facts.DistinctWords(others), "others": []string{"elm"}}},
		{"none tells", func(run *record.Run) { asking(run, all(store.IndexUntold)) }, nil, nil},
		{"none uses one", func(run *record.Run) { asking(run, all(store.IndexNone)) }, found,
			finding.Params{"severity": "notice", "arms": facts.DistinctWords(names), "query": "by_tag", "operation": "count", "asks": "tag has"}},
		{"one uses none", func(run *record.Run) { asking(run, but(store.IndexFinds)) }, found,
			finding.Params{"severity": "warning", "arms": []string{"elm"}, "others": facts.DistinctWords(others)}},
		{"one uses none, others don't tell", func(run *record.Run) { asking(run, but(store.IndexUntold)) }, found,
			finding.Params{"severity": "notice", "arms": []string{"elm"}}},
		{"one uses none in one block", func(run *record.Run) {
			asking(run, all(store.IndexFinds))
			resulttest.Trials(run, "elm")[1].Plans[1].Use = store.IndexNone
		}, found, finding.Params{"severity": "warning", "arms": []string{"elm"}, "others": facts.DistinctWords(others)}},
	})
}
