package store_test

import (
	"slices"
	"strings"
	"testing"

	"assay/store"
)

func TestTuneLevels(t *testing.T) {
	for _, c := range []struct {
		of, tune string
		want     []string
	}{
		{"bytes", "log 1MiB 128MiB", []string{"1MiB", "2MiB", "4MiB", "8MiB", "16MiB", "32MiB", "64MiB", "128MiB"}},
		{"int", "linear 1 4", []string{"1", "2", "3", "4"}},
		{"int", "log 250 16000", []string{"250", "453", "820", "1486", "2692", "4876", "8833", "16000"}},
		{"choice", "list none zstd", []string{"none", "zstd"}},
		{"bool", "list false true", []string{"false", "true"}},
		{"bytes", "", nil},
	} {
		o := store.Option{Name: "o", Type: store.OptionType(c.of), Choices: []string{"none", "zstd"}, Tune: c.tune}
		if got, err := o.TuneLevels(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %q: %v, %v", c.of, c.tune, got, err)
		}
	}
	for _, c := range []struct{ of, tune, why string }{
		{"bytes", "log 8MiB 1MiB", "no range"}, {"bytes", "log 0 1MiB", "no range"}, {"int", "log 1", "expected log"},
		{"choice", "linear 1 4", "no range"}, {"choice", "list none lz4", "expected one of"}, {"int", "list 1", "fewer than two"},
		{"int", "steps 1 2", "expected log"},
	} {
		o := store.Option{Name: "o", Type: store.OptionType(c.of), Choices: []string{"none", "zstd"}, Tune: c.tune}
		if _, err := o.TuneLevels(); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s %q: %v", c.of, c.tune, err)
		}
	}
}
