package tell_test

import (
	"slices"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/record"
	"assay/internal/testkit/resulttest"
)

// Stampedes that a sample of keys shows are reported for each store, over all blocks.
func TestFills_reports_stampedes_of_each_store(t *testing.T) {
	run := resulttest.CleanRun()
	blocks := uint64(0)
	for _, trial := range resulttest.Trials(run, "elm") {
		p := resulttest.PhaseOf(trial, "put")
		if p.History == nil {
			p.History = &record.History{}
		}
		blocks++
		p.History.Fills = &audit.Fills{Fills: 10, Beside: 2, Most: 1 + blocks}
	}
	r := resulttest.ResultOf(t, run)
	var answers []string
	for _, m := range r.Summary.Answer {
		if m.Code == "fills" {
			answers = append(answers, finding.Text(m))
		}
	}
	if want := finding.Text(finding.New(finding.FillsParams{
		Arm: "elm", Place: "put (D1)", Fills: 10 * blocks, Beside: 2 * blocks, Most: 1 + blocks})); !slices.Equal(answers, []string{want}) {
		t.Errorf("%q", answers)
	}
}
