package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/analysis/series"
	"assay/internal/testkit/golden"
)

const article = "../../internal/analysis/csvseries/testdata/article.csv"

// notMeasured is a steady rate with thirty lines that were not measured, then one that is empty.
func notMeasured() string {
	var b strings.Builder
	b.WriteString("time_s,rate\n")
	for i := range 100 {
		rate := 10_000 + i%7*30
		switch {
		case i == 70:
			rate = 0
		case i >= 40 && i < 70:
			b.WriteString(formatLine(i+1, "nan"))
			continue
		}
		b.WriteString(formatLine(i+1, rate))
	}
	return b.String()
}

func formatLine(cells ...any) string {
	text, _ := json.Marshal(cells)
	return strings.ReplaceAll(strings.Trim(string(text), "[]"), `"`, "") + "\n"
}

func TestAnalyze_text(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"article": article, "tokyo-cabinet": filepath.Join(filepath.Dir(article), "tokyo-cabinet.csv")} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		e := assayIn(t, "", string(text), "analyze", "-")
		e.wants(t, 0)
		golden.Check(t, "analyze/"+name+".txt", e.stdout)
	}
	for name, text := range map[string]string{
		"not-measured": notMeasured(),
		"three":        "time_s,rate\n1,104000\n2,120000\n3,118000\n",
		"ten":          "time_s,rate\n1,100\n2,93\n3,85\n4,72\n5,61\n6,50\n7,44\n8,38\n9,30\n10,25\n",
	} {
		e := assayIn(t, "", text, "analyze", "-")
		e.wants(t, 0)
		golden.Check(t, "analyze/"+name+".txt", e.stdout)
		if lines := strings.Count(e.stdout, "\n"); lines > 25 {
			t.Errorf("%s: %d lines", name, lines)
		}
	}
}

// The example of the help text gives a finding when it is pasted into a shell.
func TestAnalyze_example_of_the_help(t *testing.T) {
	t.Parallel()
	_, script, found := strings.Cut(analyzeCommand().Example, "  (echo")
	script, _, piped := strings.Cut("(echo"+script, "|\n")
	if !found || !piped {
		t.Fatal("the help has no example that can be pasted")
	}
	series, err := exec.Command("sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	e := assayIn(t, "", string(series), "analyze", "-")
	e.wants(t, 0)
	golden.Check(t, "analyze/help-example.txt", e.stdout)
	wantParts(t, "the example", e.stdout, "Throughput fell by 65 % at 30.0 s")
}

func TestAnalyze_run_directory(t *testing.T) {
	t.Parallel()
	directory := exampleRun()
	all := parsed[[]struct {
		Where struct{ Trial, Phase string }
		Shape series.Shape
	}](t, assay(t, "analyze", directory, "--format", "json").stdout)
	if len(all) < 2 || all[0].Where.Trial == "" || all[0].Shape.Kind == "" {
		t.Fatalf("%d series", len(all))
	}
	first := all[0].Where
	rows := assay(t, "analyze", directory)
	rows.wants(t, 0)
	if lines := strings.Count(rows.stdout, "\n"); lines > 25 || !strings.Contains(rows.stdout, first.Trial) {
		t.Errorf("%d lines:\n%s", lines, rows.stdout)
	}
	one := assay(t, "analyze", directory, "--trial", first.Trial, "--phase", first.Phase)
	wantParts(t, "one series", one.stdout, first.Trial+", phase "+first.Phase, "top: ")
	file := assay(t, "analyze", filepath.Join(directory, "trials", first.Trial, "series.jsonl"), "--phase", first.Phase)
	if file.stdout != one.stdout {
		t.Errorf("series.jsonl by itself:\n%s\nin its run:\n%s", file.stdout, one.stdout)
	}
	assay(t, "analyze", directory, "--trial", first.Trial+"x").wants(t, exitUsage, "did you mean "+first.Trial)
	assay(t, "analyze", directory, "--phase", "nosuch").wants(t, exitUsage, `no phase "nosuch"`)
}

func TestAnalyze_left_out_columns_and_full_disk(t *testing.T) {
	t.Parallel()
	text := "time_s,rate,host,iowait\n"
	for i := range 20 {
		text += formatLine(i+1, 100, "web1", "-")
	}
	e := assayIn(t, "", text, "analyze", "-")
	e.wants(t, 0, `assay: note: column "host" is left out: on line 2 it is "web1"`, `column "iowait" holds no number`)
	wantParts(t, "analyze", e.stdout, "Steady at 100/s")

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	defer full.Close()
	for _, format := range []string{"text", "json"} {
		p := start(t, func(c *exec.Cmd) { c.Stdin, c.Stdout = strings.NewReader(text), full }, "analyze", "-", "--format", format)
		p.end(t).wants(t, exitFailed, "no space left on device")
	}
}

func TestAnalyze_refuses(t *testing.T) {
	t.Parallel()
	assay(t, "analyze", "/nonexistent.csv").wants(t, exitUsage, "/nonexistent.csv", "no such file")
	assay(t, "analyze").wants(t, exitUsage, "one CSV file, run directory, or - for standard input")
	assayIn(t, "", "time_s,rates\n", "analyze", "-").wants(t, exitUsage, "standard input: line 1", `"rates"`)
	assayIn(t, "", "time_s,rate\n1,x\n", "analyze", "-").wants(t, exitUsage, "line 2, column 3")
	assayIn(t, "", "time_s,rate\n1,1\n", "analyze", "-", "--format", "jsn").wants(t, exitUsage, "expected text or json")
	assayIn(t, "", "time_s,rate\n1,1\n", "analyze", "-", "--trial", "x").wants(t, exitUsage, "--trial and --phase are for run directories")
}

// docs/analyze.md shows an answer and a file as they are.
func TestAnalyze_page_shows_the_answer(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/analyze.md")
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(article)
	if err != nil {
		t.Fatal(err)
	}
	if answer := assay(t, "analyze", path).stdout; !strings.Contains(string(page), answer) {
		t.Errorf("docs/analyze.md does not show the answer:\n%s", answer)
	}
	_, example, found := strings.Cut(string(page), "```csv\n")
	example, _, closed := strings.Cut(example, "```")
	if !found || !closed {
		t.Fatal("the page has no example of a file")
	}
	assayIn(t, "", example, "analyze", "-").wants(t, 0)
}
