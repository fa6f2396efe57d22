package store_test

import (
	"strings"
	"testing"

	"assay/store"
)

func TestALimitFollowsItsOption(t *testing.T) {
	d := store.Description{ValueBytesMax: 255, ValueBytesOption: "width_bytes", Options: []store.Option{
		{Name: "width_bytes", Type: store.Int, Default: "255"}, {Name: "cache_bytes", Type: store.Bytes, Default: "1MiB"},
	}}
	for given, want := range map[string]int{"": 255, "width_bytes": 1000, "cache_bytes": 255} {
		options := map[string]string{}
		if given != "" {
			options[given] = "1000"
		}
		if got, err := d.WithOptions(options); err != nil || got.ValueBytesMax != want {
			t.Errorf("%v: %d, %v; want %d", options, got.ValueBytesMax, err, want)
		}
	}
	if _, err := d.WithOptions(map[string]string{"width_bytes": "wide"}); err == nil || !strings.Contains(err.Error(), "wide") {
		t.Errorf("a width of no number: %v", err)
	}
	d.ValueBytesOption = "cache_bytes"
	if got, err := d.WithOptions(nil); err != nil || got.ValueBytesMax != 1<<20 {
		t.Errorf("of type bytes: %d, %v", got.ValueBytesMax, err)
	}
	d.ValueBytesOption = "size"
	if _, err := d.WithOptions(nil); err == nil || !strings.Contains(err.Error(), "not declared") {
		t.Errorf("an option that is not there: %v", err)
	}
	d.ValueBytesOption = ""
	if got, err := d.WithOptions(map[string]string{"nonsense": "1"}); err != nil || got.ValueBytesMax != 255 {
		t.Errorf("without an option: %d, %v", got.ValueBytesMax, err)
	}
}
