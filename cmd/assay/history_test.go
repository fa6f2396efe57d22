package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/presentation/archive"
)

// Sixteen releases, of which the ninth puts a fifth slower: the history says so, its site shows
// it, and each figure there leads to its report.
func TestHistory(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file := filepath.Join(directory, "history.sqlite")
	history := func(args ...string) ended {
		return assay(t, append([]string{"history", "--archive", file}, args...)...)
	}
	none := history("show")
	none.wants(t, 2)
	wantParts(t, "without an archive", none.stderr, "there is no archive at", "assay history add DIR")
	if _, err := os.Stat(file); err == nil {
		t.Error("looking made an archive")
	}
	for i := range 16 {
		rate := 100e3
		if i >= 8 {
			rate = 80e3
		}
		shape := quiet(rate * (1 + 0.003*float64(i%3)))
		shape.Seconds, shape.Blocks = 12, 3
		run := filepath.Join(directory, fmt.Sprint("run", i))
		makeRun(run, shape)
		added := history("add", run, "--code", fmt.Sprintf("v1.%d", i), "--at", fmt.Sprintf("2026-01-%02d", i+1))
		added.wants(t, 0)
		wantParts(t, "history add", added.stdout, "Added quiet as v1.")
	}
	again := history("add", filepath.Join(directory, "run3"), "--code", "v1.3", "--at", "2026-01-04")
	again.wants(t, 0)
	wantParts(t, "a run that is there", again.stdout, "Replaced quiet as v1.3")
	shown := history("show")
	shown.wants(t, 0)
	wantParts(t, "history show", shown.stdout, "16 runs, 16 points, 1 Jan 2026 to 16 Jan 2026",
		"changed in put (D1), between v1.7 and v1.8: rate fell by 20")
	if strings.Count(shown.stdout, ", between ") != 1 {
		t.Errorf("one change was made, not these:\n%s", shown.stdout)
	}
	var groups []archive.Group
	if err := json.Unmarshal([]byte(history("show", "quiet", "--json").stdout), &groups); err != nil || len(groups) != 1 || len(groups[0].Runs) != 16 {
		t.Fatalf("%d groups, %v", len(groups), err)
	}
	other := history("show", "quite")
	other.wants(t, 2)
	wantParts(t, "an unknown experiment", other.stderr, `no run of an experiment "quite": expected one of quiet`)

	folder := filepath.Join(directory, "public")
	for range 2 { // the second time over the first
		history("site", "--output", folder).wants(t, 0)
	}
	page, err := os.ReadFile(filepath.Join(folder, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	wantParts(t, "the site", string(page), "changed in put (D1), between v1.7 and v1.8: rate fell by 20", "<polyline", `<td data-sort="`)
	for _, run := range groups[0].Runs {
		name := "report-" + run.ID + ".html"
		report, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !strings.Contains(string(report), "</html>") || !strings.Contains(string(page), `href="`+name+`"`) {
			t.Errorf("%s: %d bytes, %v, or nothing leads to it", name, len(report), err)
		}
	}
	foreign := filepath.Join(directory, "theirs")
	if err := os.MkdirAll(filepath.Join(foreign, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	refused := history("site", "--output", foreign)
	refused.wants(t, 1)
	wantParts(t, "a folder with other files", refused.stderr, "holds other files")
	history("remove", groups[0].Runs[0].ID).wants(t, 0)
	wantParts(t, "after a removal", history("show").stdout, "15 runs, 15 points")
}

// An entry's commit is that of the measured program, unless another is named.
func TestHistoryNamesTheCommit(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file := filepath.Join(directory, "history.sqlite")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no repository": {[]string{"--repository", directory}, "Added quiet as 20"},
		"a bad time":    {[]string{"--at", "yesterday"}, `--at "yesterday": expected a date (2026-11-01)`},
	} {
		e := assay(t, append([]string{"history", "--archive", file, "add", stillRun()}, c.args...)...)
		wantParts(t, name, e.stdout+e.stderr, c.says)
	}
}
