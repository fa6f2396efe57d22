package format_test

import (
	"testing"

	"assay/internal/base/format"
)

func TestNearest(t *testing.T) {
	names := []string{"records", "read", "threads", "D0", "zipfian", "scrambled_zipfian", "sequential"}
	for word, want := range map[string]string{
		"recrods": "records", "record": "records", "RECORDS": "records", "red": "read", "zipf": "zipfian", "seq": "sequential",
		"zipfain": "zipfian", "d0": "D0", "qqqqqq": "", "": "", "x": "", "thraeds": "threads", "scrambled": "scrambled_zipfian",
		"slo": "", "raed": "read", "sequntail": "sequential", "rescue": "", "three": "",
	} {
		if got := format.Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
