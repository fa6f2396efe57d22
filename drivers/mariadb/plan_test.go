package mariadb

import (
	"testing"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

func TestPlansAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		plan    string
		ordered bool
		want    store.Plan
	}{
		"a scan": {`{"query_block":{"select_id":1,"nested_loop":[{"table":{"table_name":"r","access_type":"ALL","rows":9}}]}}`, false,
			store.Plan{Use: store.IndexNone, Text: "ALL"}},
		"an equality": {`{"query_block":{"table":{"access_type":"ref","possible_keys":["i"],"key":"i"}}}`, false,
			store.Plan{Use: store.IndexFinds, Index: "i", Text: "ref i"}},
		"a union of indexes": {`{"query_block":{"table":{"access_type":"index_merge","index_merge":{"union":[{"range":{"key":"i"}},{"range":{"key":"k"}}]}}}}`, false,
			store.Plan{Use: store.IndexFinds, Index: "i, k", Text: "index_merge i k"}},
		"in order": {`{"query_block":{"table":{"access_type":"index","key":"i"}}}`, true, store.Plan{Use: store.IndexOrders, Index: "i", Text: "index i"}},
		"a whole index": {`{"query_block":{"table":{"access_type":"index","key":"PRIMARY"}}}`, false,
			store.Plan{Use: store.IndexNone, Index: "PRIMARY", Text: "index PRIMARY"}},
		"sorted": {`{"query_block":{"read_sorted_file":{"filesort":{"sort_key":"r.x","table":{"access_type":"ref","key":"i"}}}}}`, true,
			store.Plan{Use: store.IndexFinds, Index: "i", Text: "filesort; ref i"}},
		"no table": {`{"query_block":{"table":{"message":"Impossible WHERE"}}}`, false, store.Plan{}},
	} {
		accesses, text, err := readPlan([][]string{{c.plan}})
		if got := sqlkv.PlanOf(accesses, c.ordered, text); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, expected %+v", name, got, err, c.want)
		}
	}
	if _, _, err := readPlan([][]string{{"ALL"}}); err == nil {
		t.Error("a text was read as a plan")
	}
}
