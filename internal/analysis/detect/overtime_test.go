package detect

import (
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/plan"
)

// A capacity that is of blocks of several kinds is a warning, once a table; one of a kind is none.
func TestDetectUnsureCapacities(t *testing.T) {
	row := func(arm string, unsure ...capacity.Outcome) *facts.Row {
		return &facts.Row{Arm: arm, Role: plan.Measured, Figures: facts.Figures{Capacity: &facts.Capacity{
			Outcome: capacity.Found, Unsure: unsure}}}
	}
	run := &record.Run{}
	sure := &facts.Table{Run: run, Rows: []*facts.Row{row("redis"), row("etcd")}}
	unsure := &facts.Table{Run: run, Phase: "search", Class: "D0", Rows: []*facts.Row{row("redis"), row("etcd", capacity.Found, capacity.Declines)}}
	found := detectUnsureCapacities(nil, []*facts.Table{sure, unsure})
	if len(found) != 1 || found[0].Code != finding.CapacityUnsure || found[0].Severity != finding.Warning {
		t.Fatalf("%+v", found)
	}
	if want := "Blocks differ in kind in search (D0). Capacities are of all blocks, so intervals are wide: etcd: capacity, declines."; finding.Text(found[0].Message) != want {
		t.Errorf("%s", finding.Text(found[0].Message))
	}
}
