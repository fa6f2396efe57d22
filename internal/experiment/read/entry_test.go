package read_test

import (
	"strings"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/store"
)

// A store's servers that requests may enter by: where the driver has a choice, each cell sets it;
// where it has none, or not this one, the store is refused there and nowhere else.
func TestEntryIsAnAxis(t *testing.T) {
	drivers := read.Drivers{Names: []string{"ring", "sharded", "file"}, Describe: func(s experiment.Store) (store.Description, error) {
		d := store.Description{Name: s.Driver, Kind: store.Server, HandlesShareable: true,
			Durability: []store.DurabilityClaim{{Class: store.D0}}}
		switch s.Driver {
		case "ring":
			d.Options = []store.Option{{Name: "entry", Type: store.Choice, Default: "all", Choices: []string{"one", "all"}}}
		case "file":
			d.Kind = store.Embedded
		}
		return d, nil
	}}
	const several = "endpoints: [127.0.0.1:1, 127.0.0.1:2]"
	text := "name: x\nstores: [{driver: ring, " + several + "}, {driver: sharded, " + several + "}, {driver: ring, name: fixed, " + several +
		", options: {entry: one}}, {driver: ring, name: single, endpoints: [127.0.0.1:1]}, file]\n" +
		"durability: D0\nentry: [one, all, prefer]\nphases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]\n"
	e, err := read.Load([]byte(text), "x.yaml", nil, drivers)
	if err != nil {
		t.Fatal(err)
	}
	for store, wants := range map[int][3]string{
		0: {"", "", "knows one, all"},
		1: {"no entry to choose", "no entry to choose", "no entry to choose"},
		2: {"of its own", "of its own", "of its own"},
		3: {}, 4: {},
	} {
		for cell, want := range wants {
			refusal := e.Refusal(store, cell)
			if (refusal == nil) != (want == "") || refusal != nil && (refusal.Field != "entry" || !strings.Contains(refusal.Reason, want)) {
				t.Errorf("%s at %s: %+v, want %q", e.Stores[store].Name, e.Cells[cell].Label(e), refusal, want)
			}
		}
	}
	if got := e.Stores[0].OptionsIn(e.Cells[1])["entry"]; got != "all" || len(e.Stores[0].Options) > 0 {
		t.Errorf("opened with entry %q, the arm's options are %v", got, e.Stores[0].Options)
	}
	if got := e.Stores[4].OptionsIn(e.Cells[1]); len(got) > 0 {
		t.Errorf("an embedded store is opened with %v", got)
	}
	if _, err := read.Load([]byte(strings.Replace(text, "prefer", "nearest", 1)), "x.yaml", nil, drivers); err == nil ||
		!strings.Contains(err.Error(), "one, all, prefer") {
		t.Error(err)
	}
}
