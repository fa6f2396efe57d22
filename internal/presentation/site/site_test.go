package site

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

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

// In a browser, filters leave the tables and rows that fit all of them, the best store comes first, and
// each figure and dot leads to the report of its run.
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
		return chromium.JS[[]string](p, `[...document.querySelectorAll("section:not([hidden]) .grid:not([hidden]) tbody tr:not([hidden])")].map((row) => {
			const table = row.closest(".grid");
			const figure = row.querySelector("td a span:not([hidden])").textContent;
			return [row.closest("section").dataset.machine, table.dataset.class, row.cells[0].textContent.split(/\s/)[0], table.dataset.metric, figure].join(" ");
		})`)
	}
	for _, c := range []struct {
		set  string
		want []string
	}{
		{`{}`, []string{"small D3 bbolt rate 20.0 k/s", "small D3 pebble rate 10.0 k/s", "small D1 bbolt rate 500 k/s",
			"large D3 bbolt rate 20.0 k/s", "large D3 pebble rate 10.0 k/s"}},
		{`{machine: "large"}`, []string{"large D3 bbolt rate 20.0 k/s", "large D3 pebble rate 10.0 k/s"}},
		{`{class: "D1"}`, []string{"small D1 bbolt rate 500 k/s"}},
		{`{metric: "p99", machine: "small"}`, []string{"small D3 bbolt p99 1.00 ms", "small D3 pebble p99 2.00 ms"}},
		{`{text: "PEBBLE", machine: "small"}`, []string{"small D3 pebble rate 10.0 k/s"}},
		{`{machine: "large", relative: true}`, []string{"large D3 bbolt rate 1.00×", "large D3 pebble rate 0.50×"}},
		{`{text: "rocksdb"}`, nil},
	} {
		chromium.JS[bool](p, `(() => { const form = document.querySelector("form"); form.reset();
			for (const [name, value] of Object.entries(`+c.set+`)) {
				if (value === true) form.elements[name].checked = true; else form.elements[name].value = value;
			}
			form.dispatchEvent(new Event("input")); return true; })()`)
		if rows := shown(); !slices.Equal(rows, c.want) {
			t.Errorf("%s shows %q, want %q", c.set, rows, c.want)
		}
	}
	if at := chromium.JS[string](p, `location.hash`); !strings.Contains(at, "text=rocksdb") {
		t.Errorf("the address is %q", at)
	}
	if got := chromium.JS[string](p, `(() => { const form = document.querySelector("form"); form.reset(); form.dispatchEvent(new Event("input"));
		const table = document.querySelector("table"); table.querySelector("th button").click(); return table.tBodies[0].rows[0].cells[0].textContent; })()`); !strings.HasPrefix(got, "pebble") {
		t.Errorf("turned round, %q is first", got)
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
	p.Accessible()
}

// On a phone the first screen has a figure, and nothing is wider than it.
func TestSiteOnAPhone(t *testing.T) {
	var page bytes.Buffer
	if err := index(&page, twoMachines()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "index.html")
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p := chromium.Open(t, chromium.File(file))
	p.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateScale(2)), chromedp.Reload())
	if wide := chromium.JS[float64](p, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the page is %v pixels wide", wide)
	}
	figure := chromium.JS[[]float64](p, `(() => { const box = document.querySelector("tbody td a").getBoundingClientRect(); return [box.right, box.bottom]; })()`)
	if figure[0] > 390 || figure[1] > 844 {
		t.Errorf("the first figure ends at %v", figure)
	}
	p.Accessible()
}
