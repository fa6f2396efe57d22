package tell

import (
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/store"
)

// Asynchronous handles are proposed where threads were the limit, and every store has them.
func TestLimitedByThreads(t *testing.T) {
	lanes := store.Description{Durability: []store.DurabilityClaim{{Class: store.D0}},
		Abilities: store.Abilities{Async: true}}
	threads := lanes
	threads.Abilities.Async = false
	for name, c := range map[string]struct {
		handles string
		limit   facts.LimitKind
		second  store.Description
		want    string
	}{
		"client":             {experiment.PerThread, facts.LimitClient, lanes, "redis"},
		"server":             {experiment.PerThread, facts.LimitServer, lanes, ""},
		"asynchronous":       {experiment.Async, facts.LimitClient, lanes, ""},
		"one can do threads": {experiment.PerThread, facts.LimitClient, threads, ""},
	} {
		run := &record.Run{Experiment: experiment.Experiment{
			Cells:  []experiment.Cell{{Durability: store.D0, Handles: c.handles, Threads: 1}},
			Stores: []experiment.Store{{Name: "redis", Description: lanes}, {Name: "other", Description: c.second}},
		}}
		tables := []*facts.Table{{Rows: []*facts.Row{{Arm: "redis", Role: plan.Measured, Figures: facts.Figures{
			Capacity: &facts.Capacity{Limit: facts.CapacityLimit{Kind: c.limit}}}}}}}
		if got := limitedByThreads(run, tables); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
