package export_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/presentation/export"
	"assay/internal/presentation/tell"
	"assay/internal/testkit/resulttest"
)

// Each ranked figure is a point with a name of its own; one without a rank is left out and told.
func TestBenchmarkAction(t *testing.T) {
	t.Parallel()
	r, err := tell.Result(resulttest.CleanRun())
	if err != nil {
		t.Fatal(err)
	}
	written := func() (points []struct {
		Name, Unit, Range string
		Value             float64
	}) {
		var out bytes.Buffer
		if err := export.BenchmarkAction(&out, r); err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(&out)
		if err := decoder.Decode(&points); err != nil {
			t.Fatal(err)
		}
		return points
	}
	points, names := written(), map[string]bool{}
	for _, p := range points {
		if names[p.Name] || p.Unit != "ops/s" || p.Value <= 0 || p.Range == "" {
			t.Errorf("%+v", p)
		}
		names[p.Name] = true
	}
	if len(points) == 0 || export.BenchmarkActionLeftOut(r) != "" {
		t.Fatalf("%d points; %q", len(points), export.BenchmarkActionLeftOut(r))
	}
	row := &r.Tables[0].Rows[0]
	row.Standing = facts.NotRanked
	if left := export.BenchmarkActionLeftOut(r); len(written()) != len(points)-1 || !strings.Contains(left, "1 of ") || !strings.Contains(left, row.Arm) {
		t.Errorf("%d of %d points; %q", len(written()), len(points), left)
	}
}
