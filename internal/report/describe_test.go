package report

import (
	"testing"
	"time"

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

// What is the same of several runs is said once, and what differs is listed.
func TestConditionsOfSeveralRuns(t *testing.T) {
	v := View{Environment: []Fact{
		{"a 1: CPU", "x × 4"}, {"a 1: Memory", "25 GB"}, {"a 1: File system", "ext4 rw"}, {"a 1: fdatasync of 4 KiB", "232 µs (median)"},
		{"b 2: CPU", "x × 4"}, {"b 2: Memory", "17 GB"}, {"b 2: File system", "ext4 rw"}, {"b 2: fdatasync of 4 KiB", "151 µs (median)"},
		{"b 2: Values under zstd", "4 % of their size"}, {"b 2: " + quotaFactName, "tmpfs in memory, 1.00 GB, 1.00 GB of it usable"},
	}}
	const want = "x × 4 · 25 GB or 17 GB of memory · file system ext4 · fdatasync 232 µs or 151 µs · values compress to 4 % with zstd · each trial of b 2 on tmpfs in memory of its own"
	if got := conditionsOf(v); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{150 * time.Millisecond: "150 ms", 20 * time.Second: "20 s", 90 * time.Second: "90 s", 10 * time.Minute: "10 min", 1500 * time.Millisecond: "1.5 s"} {
		if got := durationText(d); got != want {
			t.Errorf("%s is written %s, want %s", d, got, want)
		}
	}
}
