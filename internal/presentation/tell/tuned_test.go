package tell

import (
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

func TestTunedOf(t *testing.T) {
	run := &record.Run{}
	run.Experiment.Stores = []experiment.Store{{Name: "pebble"}, {Name: "pebble-tuned", Tuned: "much"}, {Name: "bbolt"}}
	got := tunedOf(run)
	want := "Options were tuned of pebble-tuned on much, not of pebble and bbolt: a difference may be of the options, " +
		"and hold on that workload alone."
	if len(got) != 1 || finding.Text(got[0]) != want {
		t.Errorf("got %v", got)
	}
	run.Experiment.Stores = run.Experiment.Stores[1:2]
	if got := tunedOf(run); got != nil {
		t.Errorf("an arm alone: %v", got)
	}
	run.Experiment.Stores = []experiment.Store{{Name: "pebble"}, {Name: "bbolt"}}
	if got := tunedOf(run); got != nil {
		t.Errorf("none is tuned: %v", got)
	}
}
