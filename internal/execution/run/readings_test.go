package run

import (
	"testing"

	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/execution/control"
	"assay/internal/execution/event"
	"assay/internal/experiment/trace"
)

// A request that was refused because others wrote is no error, and the answer of an operation with a
// condition is not even a conflict.
func TestConflictsAreNotCountedAsErrors(t *testing.T) {
	var told event.Tick
	totals := []counters.Total{{Operation: trace.Request}, {Operation: trace.Add}}
	asked := &totals[0].Outcomes
	asked[counters.OK], asked[counters.Conflict], asked[counters.Error] = 80, 15, 5
	totals[1].Outcomes[counters.Conflict] = 7
	p := &part{counted: []bool{true, true}, last: counters.Sample{Totals: totals}}
	r := &readings{phaseInput: &phaseInput{request: &control.Prepare{}, listeners: listeners{
		tick:  func(t event.Tick) { told = t },
		meter: func([]counters.Total, *record.Sample, bool) {},
	}}, parts: []*part{p}}
	var sample uint64
	for _, total := range totals {
		sample += bad(total)
	}
	r.tell(&record.Sample{Operations: 107, Bad: sample, Seconds: 1})
	if told.Bad != 5 || told.Conflicts != 15 || told.Missing != 0 || told.Rate != 87 {
		t.Errorf("%+v", told)
	}
}
