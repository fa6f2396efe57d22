package main

import (
	"encoding/csv"
	"encoding/json"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/perf/benchfmt"

	"assay/internal/evidence/record"
	"assay/internal/testkit/recordtest"
	"assay/store"
)

// made writes a run that never ran into a directory, as assay run would have.
func made(t *testing.T, shape recordtest.Shape) string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	makeRun(directory, shape)
	return directory
}

// exampleRun has marked, failed and refused trials among others, and stillRun is a run of two equal
// stores. Tests only read them.
var (
	exampleRun = sync.OnceValue(func() string {
		shape := recordtest.Example()
		shape.Seconds = 30
		return madeOnce("example", shape)
	})
	stillRun = sync.OnceValue(func() string { return madeOnce("still", quiet(100e3)) })
)

func madeOnce(name string, shape recordtest.Shape) string {
	directory := filepath.Join(filepath.Dir(program), name)
	makeRun(directory, shape)
	return directory
}

func makeRun(directory string, shape recordtest.Shape) {
	run := recordtest.Run(shape)
	w, err := record.Create(directory, run.Source, &run.Experiment, run.Plan, run.Environment)
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	check(err)
	for _, p := range run.Plan {
		trial, err := w.TrialStarted(p.ID)
		check(err)
		for _, sample := range run.Samples(p.ID, "") {
			check(trial.Sample(sample))
		}
		check(trial.End(run.Trials[p.ID]))
	}
	check(w.Event(record.EventEnded, "", ""))
	check(w.Close())
}

// quiet is a run of two stores on a machine that hardly disturbs them.
func quiet(putRate float64) recordtest.Shape {
	return recordtest.Shape{Name: "quiet", Classes: []store.Durability{store.D1}, Blocks: 5, Seconds: 30, Seed: 1, AA: true, Ceiling: true,
		Arms: []recordtest.Arm{
			{Name: "still", PutRate: 100e3, GetRate: 200e3, Noise: 0.01, BlockNoise: 0.001, DiskFactor: 1},
			{Name: "changed", PutRate: putRate, GetRate: 200e3, Noise: 0.01, BlockNoise: 0.001, DiskFactor: 1},
		}}
}

func TestReportForms(t *testing.T) {
	t.Parallel()
	directory := exampleRun()
	text := assay(t, "report", directory)
	text.wants(t, 0)
	wantParts(t, "the report", text.stdout, "(D0)", "(D3)", "pebble", "Clear")
	full := assay(t, "report", directory, "--full")
	full.wants(t, 0)
	wantParts(t, "the full report", full.stdout, "Findings", "Not supported", "→ ")
	if strings.Contains(text.stdout, "\x1b") {
		t.Error("what is written to a file has colours")
	}
	page := filepath.Join(t.TempDir(), "page.html")
	assay(t, "report", directory, "--html", page).wants(t, 0)
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "</html>") || strings.Contains(string(html), `src="http`) {
		t.Errorf("%d bytes of HTML that should need no network, %v", len(html), err)
	}
	for _, form := range []string{"text", "json", "csv", "benchfmt"} {
		first, second := assay(t, "report", directory, "--format", form), assay(t, "report", directory, "--format", form)
		first.wants(t, 0)
		if first.stdout != second.stdout {
			t.Errorf("--format %s is not the same twice", form)
		}
		switch form {
		case "json":
			var value struct {
				Tables   []json.RawMessage
				Findings []json.RawMessage
			}
			if err := json.Unmarshal([]byte(first.stdout), &value); err != nil || len(value.Findings) == 0 {
				t.Errorf("json: %d findings, %v", len(value.Findings), err)
			}
		case "csv":
			rows, err := csv.NewReader(strings.NewReader(first.stdout)).ReadAll()
			if err != nil || len(rows) < 10 {
				t.Errorf("csv: %d rows, %v", len(rows), err)
			}
		case "benchfmt":
			reader, results := benchfmt.NewReader(strings.NewReader(first.stdout), "report"), 0
			for reader.Scan() {
				switch r := reader.Result().(type) {
				case *benchfmt.Result:
					results++
				case *benchfmt.SyntaxError:
					t.Error(r)
				}
			}
			if reader.Err() != nil || results < 10 {
				t.Errorf("benchfmt: %d results, %v", results, reader.Err())
			}
		}
	}
	assay(t, "report", directory, "--format", "jsn").wants(t, exitUsage, "text, md, html, json, csv, benchfmt, benchmark-action or hlog")
	assay(t, "report", directory, "--html", "/nonexistent/x.html").wants(t, exitFailed, "/nonexistent/x.html")
}

// The raw data is one click away from wherever the page stands.
func TestPageLinksToRawDataFromWhereItStands(t *testing.T) {
	t.Parallel()
	above := filepath.Join(t.TempDir(), "runs: 50% & #1?")
	if err := os.Mkdir(above, 0o700); err != nil {
		t.Fatal(err)
	}
	directory := filepath.Join(above, "a:run")
	if err := os.Rename(made(t, quiet(100e3)), directory); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	for _, c := range []struct{ page, working string }{
		{filepath.Join(directory, "again.html"), ""},
		{filepath.Join(above, "page.html"), ""},
		{filepath.Join(elsewhere, "page.html"), ""},
		{"page.html", elsewhere},
		{"-", elsewhere}, // it will most likely be put where it is asked for
	} {
		e := assayIn(t, c.working, "", "report", directory, "--html", c.page)
		e.wants(t, 0)
		text, stands := e.stdout, c.working
		if c.page != "-" {
			path := c.page
			if !filepath.IsAbs(path) {
				path = filepath.Join(c.working, path)
			}
			written, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text, stands = string(written), filepath.Dir(path)
		}
		links := rawDataLink.FindAllStringSubmatch(text, -1)
		if len(links) == 0 {
			t.Fatalf("the page %s has no link to raw data", c.page)
		}
		for _, link := range links {
			path, err := url.PathUnescape(html.UnescapeString(link[1]))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(stands, filepath.FromSlash(path), "trial.json")); err != nil {
				t.Errorf("in %s, of the page %s, a link leads nowhere: %v", stands, c.page, err)
				break
			}
		}
	}
}

var rawDataLink = regexp.MustCompile(`href="([^"#]*trials/[^"#]*/)"`)

func TestReportOfHistograms(t *testing.T) {
	t.Parallel()
	directory := stillRun()
	e := assay(t, "report", directory, "--format", "hlog")
	e.wants(t, 0)
	reader := hdrhistogram.NewHistogramLogReader(strings.NewReader(e.stdout))
	histograms := 0
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		histograms++
		if strings.Count(h.Tag(), "/") != 2 || h.TotalCount() == 0 {
			t.Errorf("a histogram of %d operations is tagged %q", h.TotalCount(), h.Tag())
		}
	}
	if histograms < 10 {
		t.Errorf("the log has %d histograms", histograms)
	}
	assay(t, "report", directory, directory, "--format", "hlog").wants(t, exitUsage, "takes one run directory, got 2")
	wantParts(t, "report --help", assay(t, "report", "--help").stdout, "TRIAL/PHASE/OPERATION", "benchmark-action or hlog")
}

// Standard error names what benchstat won't see: a file of 0 bytes would look like success.
func TestBenchfmtSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	shape := quiet(100e3)
	for i := range shape.Arms {
		shape.Arms[i].Errors = 5
	}
	e := assay(t, "report", made(t, shape), "--format", "benchfmt")
	e.wants(t, 0, "15 of 15 are left out: 15 marked (the first: ")
	if e.stdout != "" {
		t.Errorf("marked trials are written: %s", e.stdout)
	}
	assay(t, "report", exampleRun(), "--format", "benchfmt").wants(t, 0, " are left out: ", " marked", " failed (the worker died")
	if e := assay(t, "report", stillRun(), "--format", "benchfmt"); e.stderr != "" {
		t.Errorf("nothing is left out, and it says %s", e.stderr)
	}
}

// A reader that has seen enough ends the report quietly, as it does with every other program.
func TestReportIntoHead(t *testing.T) {
	t.Parallel()
	directory := exampleRun()
	e := shell(t, `"$0" report "$1" | head -1`, program, directory)
	if e.status != 0 || strings.Count(e.stdout, "\n") != 1 || e.stderr != "" {
		t.Errorf("%+v", e)
	}
}

func TestCompareExitStatus(t *testing.T) {
	t.Parallel()
	before, same, slower, noisy := stillRun(), made(t, quiet(100e3)), made(t, quiet(70e3)), quiet(99e3)
	for i := range noisy.Arms {
		noisy.Arms[i].BlockNoise = 0.5
	}
	e := assay(t, "compare", before, same)
	e.wants(t, 0)
	wantParts(t, "compare", e.stdout, "No regression", "changed", "1.00×", "did not share blocks")
	e = assay(t, "compare", before, slower)
	e.wants(t, 4)
	wantParts(t, "compare", e.stdout, "Regression", "0.70×")
	assay(t, "compare", slower, before).wants(t, 0) // faster is no regression
	assay(t, "compare", before, before).wants(t, exitUsage, "is given twice")
	assay(t, "compare", before, slower, "--fail-if", "rate < 0.5x").wants(t, 0)
	assay(t, "compare", before, slower, "--fail-if", "rate < 0.8x").wants(t, 4)
	assay(t, "compare", before, slower, "--fail-if", "speed < 0.8x").wants(t, exitUsage, "rate, p50, p99")
	assay(t, "compare", before, made(t, noisy)).wants(t, 5)

	e = assay(t, "compare", "--run", slower, "still", "changed")
	e.wants(t, 4)
	wantParts(t, "compare --run", e.stdout, "0.7", "×")
	assay(t, "compare", "--run", slower, "changed", "still").wants(t, 0)
	assay(t, "compare", "--run", slower, "still", "nosuch").wants(t, exitUsage, "nosuch", "still", "changed")
	assay(t, "compare", "--run", "/nonexistent", "a", "b").wants(t, exitUsage, "/nonexistent")
}

// The whole way: two real runs, of a store and of the same store a tenth of a millisecond slower.
func TestCompareWithAStoreThatWasSlowedDown(t *testing.T) {
	t.Parallel()
	var directories []string
	for _, driver := range []string{"honest", "slow"} {
		text := strings.ReplaceAll(oneStore, "[memory]", "[{name: engine, driver: "+driver+", worker: "+hosted()+"}]")
		text = strings.ReplaceAll(strings.ReplaceAll(text, "blocks: 1", "blocks: 3"), "D0", "D1")
		directory := filepath.Join(t.TempDir(), "run")
		fine(t, assay(t, "run", written(t, driver+".yaml", text), "--out", directory, "--no-html"), directory)
		directories = append(directories, directory)
	}
	e := assay(t, "compare", directories[0], directories[1])
	if e.status != 4 && e.status != 5 { // on a machine that is busy enough it can't be decided
		t.Errorf("exit status %d: %s", e.status, e.stderr)
	}
	wantParts(t, "compare", e.stdout, "engine", "update", "different experiments")
}
