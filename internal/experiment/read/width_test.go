package read_test

import (
	"strings"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/store"
)

// A limit that follows an option is that of the store as it is configured: the wider one takes what
// the other is refused for.
func TestLimitFollowsTheStoresOptions(t *testing.T) {
	text := `name: widths
stores:
  - {name: narrow, driver: array, worker: [x]}
  - {name: wide, driver: array, worker: [x], options: {width_bytes: 512}}
keys: {format: binary, bytes: 8}
values: {bytes: 400}
records: 10
durability: D1
phases: [{name: put, mix: {upsert: 1}, for: 1s}]
`
	array := store.Description{
		Name: "array", Kind: store.Embedded, HandlesShareable: true, Durability: []store.DurabilityClaim{{Class: store.D1, How: "x"}}, KeyNumbers: true,
		ValueBytesMax: 255, ValueBytesOption: "width_bytes", Options: []store.Option{{Name: "width_bytes", Type: store.Int, Default: "255"}},
	}
	drivers := read.Drivers{Describe: func(experiment.Store) (store.Description, error) { return array, nil }}
	e, err := read.Load([]byte(text), "widths.yaml", nil, drivers)
	if err != nil {
		t.Fatal(err)
	}
	if r := e.Refusal(0, 0); r == nil || r.Field != "values" || !strings.Contains(r.Reason, "at most 255, which its option width_bytes sets") {
		t.Errorf("narrow: %+v", r)
	}
	if r := e.Refusal(1, 0); r != nil {
		t.Errorf("wide: %+v", r)
	}
	if e.Stores[1].Description.ValueBytesMax != 512 {
		t.Errorf("wide takes %d", e.Stores[1].Description.ValueBytesMax)
	}
}
