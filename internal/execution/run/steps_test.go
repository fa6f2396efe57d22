package run

import (
	"testing"

	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

func TestStepsAreInRequestOrder(t *testing.T) {
	p := experiment.Phase{Request: []experiment.Step{{Operation: "upsert"}, {Operation: "read"}, {Operation: "compare_and_swap"}, {Operation: "read"}}}
	results := []record.Operation{{Name: "read"}, {Name: "compare_and_swap"}, {Name: "upsert"}}
	orderSteps(&p, results)
	for i, want := range []string{"upsert", "read", "compare_and_swap"} {
		if results[i].Name != want {
			t.Errorf("step %d is %s, want %s", i, results[i].Name, want)
		}
	}
}
