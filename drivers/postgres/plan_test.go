package postgres

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
		"a scan": {`[{"Plan":{"Node Type":"Limit","Plans":[{"Node Type":"Seq Scan","Relation Name":"r","Filter":"(x = 1)"}]}}]`, false,
			store.Plan{Use: store.IndexNone, Text: "Limit; Seq Scan"}},
		"a bitmap": {`[{"Plan":{"Node Type":"Bitmap Heap Scan","Plans":[{"Node Type":"Bitmap Index Scan","Index Name":"i","Index Cond":"(x = 1)"}]}}]`, false,
			store.Plan{Use: store.IndexFinds, Index: "i", Text: "Bitmap Heap Scan; Bitmap Index Scan using i (x = 1)"}},
		"one alternative by an index, one not": {`[{"Plan":{"Node Type":"Append","Plans":[{"Node Type":"Index Scan","Index Name":"i","Index Cond":"c"},{"Node Type":"Parallel Seq Scan"}]}}]`, false,
			store.Plan{Use: store.IndexNone, Index: "i", Text: "Append; Index Scan using i c; Parallel Seq Scan"}},
		"in order":      {`[{"Plan":{"Node Type":"Index Scan","Index Name":"i"}}]`, true, store.Plan{Use: store.IndexOrders, Index: "i", Text: "Index Scan using i"}},
		"a whole index": {`[{"Plan":{"Node Type":"Index Only Scan","Index Name":"i"}}]`, false, store.Plan{Use: store.IndexNone, Index: "i", Text: "Index Only Scan using i"}},
		"no table":      {`[{"Plan":{"Node Type":"Result"}}]`, false, store.Plan{Text: "Result"}},
	} {
		accesses, text, err := readPlan([][]string{{c.plan}})
		if got := sqlkv.PlanOf(accesses, c.ordered, text); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, expected %+v", name, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "[]", "{}", "Seq Scan"} {
		if _, _, err := readPlan([][]string{{bad}}); err == nil {
			t.Errorf("%q was read as a plan", bad)
		}
	}
}
