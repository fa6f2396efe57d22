package store_test

import (
	"strings"
	"testing"

	"assay/store"
)

func TestLimitFollowsItsOption(t *testing.T) {
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
	d.ValueBytesMax, d.ValueBytesOption = 1<<20-30, "cache_bytes" // 30 of them are a header
	for given, want := range map[string]int{"1MiB": 1<<20 - 30, "1KiB": 994, "31": 1} {
		if got, err := d.WithOptions(map[string]string{"cache_bytes": given}); err != nil || got.ValueBytesMax != want {
			t.Errorf("of %s: %d, %v; want %d", given, got.ValueBytesMax, err, want)
		}
	}
	if _, err := d.WithOptions(map[string]string{"cache_bytes": "30"}); err == nil || !strings.Contains(err.Error(), "expected more than 30 bytes") {
		t.Errorf("an option with room for a header alone: %v", err)
	}
	d.ValueBytesMax = 1<<20 + 1
	if _, err := d.WithOptions(nil); err == nil || !strings.Contains(err.Error(), "default of option cache_bytes") {
		t.Errorf("a limit above the default: %v", err)
	}
	d.ValueBytesMax = 255
	d.ValueBytesOption = "size"
	if _, err := d.WithOptions(nil); err == nil || !strings.Contains(err.Error(), "not declared") {
		t.Errorf("an option that is not there: %v", err)
	}
	d.Options = append(d.Options, store.Option{Name: "protocol", Type: store.Choice, Default: "tcp", Choices: []string{"tcp", "udp"}})
	d.ValueBytesOption, d.ValueBytesChoices = "protocol", map[string]int{"udp": 100}
	for protocol, want := range map[string]int{"tcp": 255, "udp": 100} {
		if got, err := d.WithOptions(map[string]string{"protocol": protocol}); err != nil || got.ValueBytesMax != want {
			t.Errorf("by %s: %d, %v; want %d", protocol, got.ValueBytesMax, err, want)
		}
	}
	d.ValueBytesOption = ""
	if got, err := d.WithOptions(map[string]string{"nonsense": "1"}); err != nil || got.ValueBytesMax != 255 {
		t.Errorf("without an option: %d, %v", got.ValueBytesMax, err)
	}
}

func TestChoiceChangesTheDescription(t *testing.T) {
	d := store.Description{KeyBytesMax: 1000,
		Options: []store.Option{
			{Name: "protocol", Type: store.Choice, Default: "binary", Choices: []string{"binary", "text"}},
			{Name: "write", Type: store.Choice, Default: "put", Choices: []string{"put", "late"}},
		},
		Variants: []store.Variant{
			{Option: "protocol", Choice: "text", KeyText: true, KeyBytesMax: 250},
			{Option: "write", Choice: "late", Eventual: true},
		},
	}
	for _, test := range []struct {
		given          map[string]string
		text, eventual bool
		keyBytes       int
	}{
		{nil, false, false, 1000},
		{map[string]string{"protocol": "text"}, true, false, 250},
		{map[string]string{"write": "late"}, false, true, 1000},
		{map[string]string{"protocol": "text", "write": "late"}, true, true, 250},
	} {
		got, err := d.WithOptions(test.given)
		if err != nil || got.KeyText != test.text || got.Eventual != test.eventual || got.KeyBytesMax != test.keyBytes {
			t.Errorf("%v: %+v, %v", test.given, got, err)
		}
	}
	d.Variants[0].Option = "colour"
	if _, err := d.WithOptions(nil); err == nil || !strings.Contains(err.Error(), "not declared") {
		t.Errorf("an option that is not there: %v", err)
	}
}

// The maximum of a client's own pool is how many connections a handle may hold.
func TestWithOptions_connections_follow_the_pools_maximum(t *testing.T) {
	d := store.Description{HandlePools: true, ConnectionsOption: "max", Options: []store.Option{{Name: "max", Type: store.Int, Default: "0"}}}
	for _, c := range []struct {
		given map[string]string
		each  int
		pools bool
	}{{nil, 0, true}, {map[string]string{"max": "5"}, 5, false}} {
		got, err := d.WithOptions(c.given)
		if err != nil || got.ConnectionsEach != c.each || got.HandlePools != c.pools {
			t.Errorf("%v: %d, %v, %v", c.given, got.ConnectionsEach, got.HandlePools, err)
		}
	}
}

// How many records a batch takes is bounded by their number and by their bytes, which may follow an
// option of the store.
func TestWithOptions_batches_are_bounded_in_bytes(t *testing.T) {
	d := store.Description{BatchMax: 100, BatchBytesMax: 10000, BatchBytesOption: "buffer_bytes",
		Options: []store.Option{{Name: "buffer_bytes", Type: store.Bytes, Default: "1MiB"}}}
	for _, c := range []struct {
		buffer string
		record int
		fits   int
	}{{"1MiB", 872, 10}, {"2MiB", 872, 20}, {"1MiB", 10, 72}, {"64MiB", 10, 100}, {"1KiB", 1 << 20, 1}} {
		got, err := d.WithOptions(map[string]string{"buffer_bytes": c.buffer})
		if err != nil || got.BatchFits(c.record) != c.fits {
			t.Errorf("%+v: %d records, %v", c, got.BatchFits(c.record), err)
		}
	}
	if got := (store.Description{}).BatchFits(1 << 30); got != 0 {
		t.Errorf("without a limit: %d", got)
	}
	d.BatchBytesOption = "colour"
	if _, err := d.WithOptions(nil); err == nil {
		t.Error("an option that is not there")
	}
}
