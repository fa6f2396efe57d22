package main

import (
	"strings"
	"testing"
)

// What a shell gets at the end of a line: names one a line, then a colon and cobra's directive
// (16: directories only, 4: no files, 0: files as well).
func TestCompletion(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		name      string // one of the names; "": none
		directive string
	}{
		"run ":                   {"put-get", ":0"},
		"run --resume ":          {"", ":16"},
		"run put-get ":           {"", ":4"},
		"run put-get --set ":     {"records=", ":6"},
		"run --durability ":      {"D3", ":4"},
		"run bbolt --order ":     {"zipfian", ":4"},
		"run put-get --out ":     {"", ":16"},
		"report ":                {"", ":16"},
		"report --format ":       {"benchfmt", ":4"},
		"compare ":               {"", ":16"},
		"compare --run nowhere ": {"", ":4"},
		"conformance --driver ":  {"pebble", ":4"},
		"drivers ":               {"bbolt", ":4"},
		"init my.yaml --preset ": {"ycsb-a", ":4"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			e := assay(t, append([]string{"__complete"}, strings.Split(line, " ")...)...)
			e.wants(t, 0)
			lines := strings.Split(strings.TrimSpace(e.stdout), "\n")
			if got := lines[len(lines)-1]; got != want.directive {
				t.Errorf("directive %s, want %s", got, want.directive)
			}
			if want.name == "" && len(lines) > 1 {
				t.Errorf("names %q, want none", lines[:len(lines)-1])
			}
			if want.name != "" && !strings.Contains("\n"+e.stdout, "\n"+want.name+"\n") {
				t.Errorf("%s is not among:\n%s", want.name, e.stdout)
			}
		})
	}
}
