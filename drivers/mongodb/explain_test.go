package mongodb

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

func TestPlansAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		answer  string
		ordered bool
		want    store.Plan
	}{
		"a scan": {`{"queryPlanner":{"winningPlan":{"stage":"LIMIT","inputStage":{"stage":"COLLSCAN","filter":{"stage":{"$eq":"x"}}}},"rejectedPlans":[]}}`, false,
			store.Plan{Use: store.IndexNone, Text: "LIMIT; COLLSCAN"}},
		"an index": {`{"queryPlanner":{"winningPlan":{"stage":"FETCH","inputStage":{"stage":"IXSCAN","indexName":"a_1","indexBounds":{"a":["[1, 1]"]}}},"rejectedPlans":[{"stage":"COLLSCAN"}]}}`, false,
			store.Plan{Use: store.IndexFinds, Index: "a_1", Text: "FETCH; IXSCAN a_1"}},
		"of the newer engine": {`{"queryPlanner":{"winningPlan":{"queryPlan":{"stage":"GROUP","inputStage":{"stage":"IXSCAN","indexName":"a_1","indexBounds":{"a":["[1, 1]"]}}},"slotBasedPlan":{"stages":"scan"}}}}`, false,
			store.Plan{Use: store.IndexFinds, Index: "a_1", Text: "GROUP; IXSCAN a_1"}},
		"within an aggregation": {`{"stages":[{"$cursor":{"queryPlanner":{"winningPlan":{"stage":"COLLSCAN"}}}},{"$group":{"_id":1}}]}`, false,
			store.Plan{Use: store.IndexNone, Text: "COLLSCAN"}},
		"one alternative by an index, one not": {`{"queryPlanner":{"winningPlan":{"stage":"OR","inputStages":[{"stage":"IXSCAN","indexName":"a_1"},{"stage":"COLLSCAN"}]}}}`, false,
			store.Plan{Use: store.IndexNone, Index: "a_1", Text: "OR; IXSCAN a_1; COLLSCAN"}},
		"in order": {`{"queryPlanner":{"winningPlan":{"stage":"IXSCAN","indexName":"a_1","indexBounds":{"a":["[MinKey, MaxKey]"]}}}}`, true,
			store.Plan{Use: store.IndexOrders, Index: "a_1", Text: "IXSCAN a_1"}},
		"FerretDB's": {`{"queryPlanner":{"Plan":["id=2 parent=0 notused=0 detail=SCAN records_x"]}}`, false,
			store.Plan{Use: store.IndexNone, Text: "id=2 parent=0 notused=0 detail=SCAN records_x"}},
		"nothing told": {`{"ok":1}`, false, store.Plan{}},
	} {
		var answer bson.Raw
		if err := bson.UnmarshalExtJSON([]byte(c.answer), false, &answer); err != nil {
			t.Fatal(name, err)
		}
		var w planWalk
		w.document(answer, false)
		if got := sqlkv.PlanOf(w.accesses, c.ordered, strings.Join(w.words, "; ")); got != c.want {
			t.Errorf("%s: %+v, expected %+v", name, got, c.want)
		}
	}
}
