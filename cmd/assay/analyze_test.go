package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"assay/internal/analyze"
)

const article = "../../internal/verdict/testdata/article.csv"

func TestAnalyze(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(article)
	if err != nil {
		t.Fatal(err)
	}
	e := assayIn(t, "", string(text), "analyze", "-")
	e.wants(t, 0)
	wantParts(t, "analyze", e.stdout, "fell off a cliff at 30.0 s", "3.74 M records", "between two levels, 46.5 k/s", "C cliff", "mean rate")

	path, err := filepath.Abs(article)
	if err != nil {
		t.Fatal(err)
	}
	got := parsed[analyze.Shape](t, assay(t, "analyze", path, "--format", "json").stdout)
	if cliff := got.Cliff(); cliff == nil || cliff.From != 30 {
		t.Errorf("%+v", got)
	}
	short := assayIn(t, "", "time_s,rate,record\n1,2,3\n", "analyze", "-")
	short.wants(t, 0, "if it is records, rename it") // nothing can be told, and that is an answer
	wantParts(t, "analyze", short.stdout, "Nobody can tell", "at least 10 are needed")
}

// A column that nobody needs keeps nobody from an answer; a full standard output does, and is not the file's fault.
func TestAnalyzeLeavesOutAndFails(t *testing.T) {
	t.Parallel()
	text := "time_s,rate,host,iowait\n" + strings.Repeat("#,100,web1,-\n", 20)
	for i := range 20 {
		text = strings.Replace(text, "#", strconv.Itoa(i+1), 1)
	}
	e := assayIn(t, "", text, "analyze", "-")
	e.wants(t, 0, `assay: note: column "host" is left out: on line 2 it is "web1"`, `column "iowait" holds no number`)
	wantParts(t, "analyze", e.stdout, "The rate is steady, 100/s on average")

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

func TestAnalyzeRefuses(t *testing.T) {
	t.Parallel()
	assay(t, "analyze", "/nonexistent.csv").wants(t, exitUsage, "/nonexistent.csv", "no such file")
	assay(t, "analyze").wants(t, exitUsage, "one CSV file, or - for standard input")
	assayIn(t, "", "time_s,rates\n", "analyze", "-").wants(t, exitUsage, "standard input: line 1", `"rates"`)
	assayIn(t, "", "time_s,rate\n1,x\n", "analyze", "-").wants(t, exitUsage, "line 2, column 3")
	assayIn(t, "", "time_s,rate\n1,1\n", "analyze", "-", "--format", "jsn").wants(t, exitUsage, "did you mean json?")
}

// The file that docs/analyze.md shows is read as it stands there, and so is the answer that it shows.
func TestTheAnalyzePageShowsWhatIsSaid(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/analyze.md")
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(article)
	if err != nil {
		t.Fatal(err)
	}
	said := assay(t, "analyze", path).stdout
	if !strings.Contains(string(page), said) {
		t.Errorf("docs/analyze.md does not show what is said of the article:\n%s", said)
	}
	_, example, found := strings.Cut(string(page), "```csv\n")
	example, _, closed := strings.Cut(example, "```")
	if !found || !closed {
		t.Fatal("the page has no example of a file")
	}
	assayIn(t, "", example, "analyze", "-").wants(t, 0)
}
