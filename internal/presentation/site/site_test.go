package site

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/presentation/archive"
	"assay/internal/testkit/chromium"
)

func TestMain(m *testing.M) { chromium.Main(m) }

// twoMachines are the rates and p99 of two stores, in two classes on the first machine.
func twoMachines() (groups []archive.Group) {
	figure := func(value float64, version string) *archive.Value {
		return &archive.Value{Value: value, Version: version, Runs: 1}
	}
	for _, machine := range []string{"small", "large"} {
		g := archive.Group{Name: "put-get", Experiment: strings.Repeat("e", 64), Machine: machine}
		for i, code := range []string{"aaaa", "bbbb"} {
			g.Runs = append(g.Runs, archive.Entry{ID: machine + "-" + code, CodeAt: time.Unix(int64(i), 0)})
			g.Points = append(g.Points, archive.Point{Code: code, Runs: []int{i}})
		}
		for i, arm := range []string{"pebble", "bbolt"} {
			level := float64(1 + i)
			g.Series = append(g.Series,
				archive.Series{Class: "D3", Phase: "put", Arm: arm, Metric: "rate", Values: []*archive.Value{figure(9000*level, "v1"), figure(10000*level, "v2")}},
				archive.Series{Class: "D3", Phase: "put", Arm: arm, Metric: "p99", Values: []*archive.Value{figure(3e6, "v1"), figure(2e6/level, "v2")}})
		}
		if machine == "small" {
			g.Series = append(g.Series, archive.Series{Class: "D1", Phase: "put", Arm: "bbolt", Metric: "rate", Values: []*archive.Value{figure(5e5, "v1"), nil}})
		}
		groups = append(groups, g)
	}
	return groups
}

// In a browser, filters leave the rows that fit all of them, headings sort, and each figure and dot
// leads to the report of its run.
func TestSiteInABrowser(t *testing.T) {
	var page bytes.Buffer
	groups := twoMachines()
	if err := index(&page, groups); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "index.html")
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p := chromium.Open(t, chromium.File(file))
	shown := func() []string {
		return chromium.JS[[]string](p, `[...document.querySelectorAll("section:not([hidden]) tbody tr:not([hidden])")].map((row) =>
			[row.closest("section").dataset.machine, row.cells[1].textContent, row.cells[3].textContent, row.cells[5].textContent].join(" "))`)
	}
	for _, c := range []struct {
		set  string
		want int
		all  string // is in each row that is shown
	}{
		{`{}`, 9, ""},
		{`{machine: "large"}`, 4, "large "},
		{`{class: "D1"}`, 1, "small D1 bbolt rate"},
		{`{metric: "p99"}`, 4, " p99"},
		{`{text: "PEBBLE"}`, 4, " pebble "},
		{`{text: "v2", machine: "small", metric: "rate"}`, 2, "small D3 "},
		{`{text: "rocksdb"}`, 0, ""},
	} {
		chromium.JS[bool](p, `(() => { const form = document.querySelector("form"); form.reset();
			for (const [name, value] of Object.entries(`+c.set+`)) form.elements[name].value = value;
			form.dispatchEvent(new Event("input")); return true; })()`)
		if rows := shown(); len(rows) != c.want || slices.ContainsFunc(rows, func(row string) bool { return !strings.Contains(row, c.all) }) {
			t.Errorf("%s shows %q", c.set, rows)
		}
	}
	chromium.JS[bool](p, `(() => { const form = document.querySelector("form"); form.reset(); form.dispatchEvent(new Event("input")); return true; })()`)
	click := func(column string) []string {
		return chromium.JS[[]string](p, `(() => { const head = [...document.querySelector("section").querySelectorAll("th")].find((h) => h.textContent === "`+column+`");
			head.click();
			return [head.getAttribute("aria-sort"), ...[...document.querySelector("section").querySelectorAll("tbody tr")].map((row) => row.cells[head.cellIndex].textContent)]; })()`)
	}
	for _, want := range [][]string{{"store", "ascending", "bbolt", "bbolt", "bbolt", "pebble", "pebble"}, {"store", "descending", "pebble", "pebble", "bbolt", "bbolt", "bbolt"}} {
		if got := click(want[0]); !slices.Equal(got, want[1:]) {
			t.Errorf("by %s: %q", want[0], got)
		}
	}
	if got := click("last"); got[0] != "descending" || got[1] != "2.00 ms" || got[len(got)-1] != "10.0 k/s" {
		t.Errorf("by the last figure: %q", got)
	}
	links := chromium.JS[[]string](p, `[...document.querySelectorAll("tbody a")].map((a) => a.getAttribute("href"))`)
	for _, g := range groups {
		for _, run := range g.Runs {
			if !slices.Contains(links, "report-"+run.ID+".html") {
				t.Errorf("nothing leads to the report of %s: %q", run.ID, links)
			}
		}
	}
	p.Quiet(chromium.Alone)
}
