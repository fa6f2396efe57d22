package format_test

import (
	"strings"
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

func TestAlike(t *testing.T) {
	names := []string{"memory_limit", "disk_quota", "disk_quota_by", "records", "verify_records", "blocks", "blocks_max", "threads"}
	for word, want := range map[string]string{
		"quota_of_disk": "disk_quota disk_quota_by", "max_blocks": "blocks_max blocks", "zzz": "", "": "",
		"limit_of_memory": "memory_limit",
	} {
		if got := strings.Join(format.Alike(word, names), " "); got != want {
			t.Errorf("Alike(%q) = %q, want %q", word, got, want)
		}
	}
}
