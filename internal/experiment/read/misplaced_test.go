package read

import (
	"slices"
	"testing"
)

func TestWhereFieldsStand(t *testing.T) {
	for field, want := range map[string][]string{
		"keys":    {"keys of the experiment", "phases.NAME.order.buckets.keys"},
		"mix":     {"phases.NAME.mix"},
		"options": {"stores.NAME.options", "stores.NAME.server.options"},
		"server":  {"stores.NAME.server", "cpus.server"},
		"kill":    {"phases.NAME.faults.kill"},
		"sort":    {"values.queries.NAME.sort", "phases.NAME.query.sort"},
		"aa":      nil,
	} {
		if got := placesOf(field); !slices.Equal(got, want) {
			t.Errorf("%s: %q, expected %q", field, got, want)
		}
	}
}

func TestAFieldOfAnotherPlace(t *testing.T) {
	for text, want := range map[string]string{
		"stores: [pebble]\nmix: {read: 1}\n":                                 "expected phases.NAME.mix",
		"stores: [{driver: pebble, git: .}]\n":                               "expected stores.NAME.server.build.git",
		"stores: [pebble]\naa: false\n":                                      "expected baseline: the store that runs twice, as the A/A arm",
		"stores: [pebble]\nphases: [{name: a, mix: {read: 1}, cpus: 2}]\n":   "expected cpus of the experiment",
		"stores: [pebble]\nphases: [{name: a, mix: {read: 1}, reads: 90}]\n": "expected mix: {read: 1}",
	} {
		_, err := Load([]byte("name: x\n"+text), "x.yaml", nil, Drivers{})
		if e, ok := err.(*Error); !ok || e.Hint != want {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}
