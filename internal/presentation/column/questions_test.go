package column_test

import (
	"testing"

	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/presentation/column"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// Each question of a phase is a line of its own: its latency, how many answers are right, and what
// the store does for it.
func TestQueriesAreLines(t *testing.T) {
	const fast, slow = 100_000, 9_000_000 // ns
	run := resulttest.CleanRun()
	run.Experiment.Verify = true
	run.Experiment.Values.Queries = []keyval.Query{{Name: "category", Limit: 10}, {Name: "newest", Limit: 10}}
	for i := range run.Experiment.Phases {
		if p := &run.Experiment.Phases[i]; p.Name == "get" {
			p.Asked = []experiment.AskedQuery{{Operation: "query", Query: 0, Weight: 1}, {Operation: "query", Query: 1, Weight: 1}, {Operation: "count", Query: 0, Weight: 1}}
		}
	}
	for _, e := range resulttest.Trials(run, "elm") {
		e.Plans = []record.QueryPlan{{Phase: "get", Operation: "query", Position: 0, Use: store.IndexFinds, Index: "on_category"},
			{Phase: "get", Operation: "query", Position: 1, Use: store.IndexNone}}
		p := resulttest.PhaseOf(e, "get")
		times := func(n, ns uint64) *histogram.Histogram {
			h := histogram.New()
			h.Counts[histogram.Bucket(ns)] = n
			return h
		}
		asked := func(name string, query int, ok, wrong, ns uint64) record.Operation {
			o := record.Operation{Name: name, OK: ok, Wrong: wrong, Items: ok, MaxNS: ns, Service: times(ok+wrong, ns)}
			o.Questions = []record.Question{{Query: query, Operation: o}}
			return o
		}
		p.Operations = record.Operations([]record.Operation{
			asked("query", 0, 5000, 0, fast), asked("query", 1, 3000, 7, slow), asked("count", 0, 10, 0, fast),
		})
		p.Attempted = 8017
	}
	table := resulttest.TableOf(t, run, "get")
	lines := map[string]*column.Line{}
	for _, l := range column.KindLines(table) {
		if l.Arm == "elm" {
			lines[l.Kind.Operation] = l
		}
	}
	blocks := float64(len(resulttest.Trials(run, "elm")))
	for _, c := range []struct {
		name         string
		right, wrong float64 // a block
		p99          float64
		plan         string
	}{
		{"query:category", 5000, 0, fast, "index on_category"}, {"query:newest", 3000, 7, slow, "all records"}, {"count:category", -1, 0, fast, ""},
	} {
		l := lines[c.name]
		if l == nil {
			t.Errorf("no line of %s among %v", c.name, lines)
			continue
		}
		if at := l.At(0.99); at != nil && (*at < c.p99*0.99 || *at > c.p99*1.01) || at == nil && c.name != "count:category" {
			t.Errorf("%s: p99 %v ns, expected %v", c.name, at, c.p99)
		}
		cells := map[string]column.Cell{}
		for _, each := range column.All(table) {
			cells[each.Name] = each.Of(l)
		}
		answers := cells["answers_right"]
		if c.right < 0 != (answers.Value == nil) || answers.Value != nil && *answers.Value != c.right*blocks {
			t.Errorf("%s: %v right answers", c.name, answers.Text)
		}
		if got := cells["plan"].Text; got != c.plan {
			t.Errorf("%s: the plan is %q, expected %q", c.name, got, c.plan)
		}
		if float64(l.Wrong) != c.wrong*blocks {
			t.Errorf("%s: %d wrong answers", c.name, l.Wrong)
		}
	}
}
