package report

import (
	"testing"

	"assay/internal/spec"
	"assay/store"
)

func TestSettingsAreADifferenceFromTheDefaults(t *testing.T) {
	d := store.Description{Options: []store.Option{
		{Name: "bnum", Type: store.Int, Default: "131071"}, {Name: "cache_bytes", Type: store.Bytes, Default: "8388608"}, {Name: "dictionary", Type: store.String},
	}}
	for _, c := range []struct {
		options map[string]string
		want    string
	}{
		{nil, "all defaults"},
		{map[string]string{"bnum": "131071", "cache_bytes": "8MiB"}, "all defaults"},
		{map[string]string{"bnum": "9", "cache_bytes": "8MiB", "dictionary": "d"}, "options changed from default: bnum=9 (default 131071), dictionary=d"},
		{map[string]string{"cache_bytes": "64MiB"}, "options changed from default: cache_bytes=64MiB (default 8388608)"},
	} {
		if got := changedText(spec.Store{Options: c.options, Description: d}); got != c.want {
			t.Errorf("%v: %q, want %q", c.options, got, c.want)
		}
	}
}
