package assay_test

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Every link between documents leads to a file, and to a heading of it.
func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md").Output()
	if err != nil {
		t.Skipf("skipped: no git here: %v", err)
	}
	link := regexp.MustCompile(`\]\(([^()\s]+)\)`)
	checked := 0
	for _, page := range strings.Fields(string(out)) {
		for _, found := range link.FindAllStringSubmatch(prose(t, page), -1) {
			target := found[1]
			if strings.Contains(target, "://") {
				continue
			}
			checked++
			path, anchor, _ := strings.Cut(target, "#")
			file := page
			if path != "" {
				file = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which is not there", page, target)
			} else if anchor != "" && !headings(t, file)[anchor] {
				t.Errorf("%s links to %s, which has no such heading", page, target)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d links were checked", checked)
	}
}

// prose returns a document without its blocks of code.
func prose(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split("\n"+string(text), "\n```")
	var kept []string
	for i := 0; i < len(parts); i += 2 {
		kept = append(kept, parts[i])
	}
	return strings.Join(kept, "\n")
}

// headings are the anchors of a document, as GitHub makes them of its headings.
func headings(t *testing.T, path string) map[string]bool {
	t.Helper()
	notInAnchor := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	anchors := map[string]bool{}
	for _, line := range strings.Split(prose(t, path), "\n") {
		if title, is := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); is && strings.HasPrefix(line, "#") {
			anchor := notInAnchor.ReplaceAllString(strings.ToLower(title), "")
			anchors[strings.ReplaceAll(anchor, " ", "-")] = true
		}
	}
	return anchors
}

// The page that explains the screen shows the screen of today.
func TestExplainedScreenIsCurrent(t *testing.T) {
	page, err := os.ReadFile("docs/reading-the-report.md")
	if err != nil {
		t.Fatal(err)
	}
	screens, err := filepath.Glob("internal/*/*/testdata/example.txt")
	if err != nil || len(screens) != 1 {
		t.Fatalf("example.txt is at %v (%v)", screens, err)
	}
	screen, err := os.ReadFile(screens[0])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```\n"+strings.TrimRight(string(screen), "\n")+"\n```") {
		t.Errorf("docs/reading-the-report.md does not show the screen of %s", screens[0])
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(readme), "of which this is a part:\n\n```\n")
	part, _, shows := strings.Cut(part, "```\n")
	for _, piece := range strings.Split(part, "…\n") {
		if !shows || !strings.Contains(string(screen), piece) {
			t.Errorf("README.md shows what is no part of the screen of %s:\n%s", screens[0], piece)
		}
	}
}

// Sentences of more words than that are read twice: docs that users read have few of them. What defines every
// field or formula, for who writes a worker or checks the statistics, has more.
const (
	wordsMax        = 25
	longShareMax    = 0.05
	longDefinitions = 0.10
)

var definitions = []string{"docs/experiment-file.md", "docs/faults.md", "docs/statistics.md", "docs/worker-contract.md"}

func TestSentencesOfDocumentsAreShort(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	servers, err := filepath.Glob("docs/servers/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range slices.Concat([]string{"README.md"}, pages, servers) {
		most, all, long := longShareMax, 0, []string(nil)
		if slices.Contains(definitions, page) {
			most = longDefinitions
		}
		for _, sentence := range sentences(prose(t, page)) {
			if all++; len(words(sentence)) > wordsMax {
				long = append(long, sentence)
			}
		}
		// On a short page one is more than the share.
		if len(long) > 1 && float64(len(long)) > most*float64(all) {
			t.Errorf("%s: %d of %d sentences have more than %d words:\n%s", page, len(long), all, wordsMax, strings.Join(long, "\n"))
		}
	}
}

var (
	item        = regexp.MustCompile(`^\s*(?:[*-]|\d+\.|#+) `)
	code        = regexp.MustCompile("`[^`]*`")
	linked      = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	sentenceEnd = regexp.MustCompile(`[.!?]["*)]*\s+`)
	paragraph   = regexp.MustCompile(`\n\s*\n`)
)

// sentences of paragraphs, items of lists and cells of tables.
func sentences(text string) (all []string) {
	part := ""
	add := func() {
		from := 0
		for _, end := range sentenceEnd.FindAllStringIndex(part, -1) {
			if next := strings.TrimLeft(part[end[1]:], "\"*`([“"); next == "" || !strings.ContainsAny(next[:1], "abcdefghijklmnopqrstuvwxyz") || next != part[end[1]:] {
				all, from = append(all, strings.TrimSpace(part[from:end[1]])), end[1]
			}
		}
		if rest := strings.TrimSpace(part[from:]); rest != "" {
			all = append(all, rest)
		}
		part = ""
	}
	for _, block := range paragraph.Split(text, -1) {
		for line := range strings.Lines(block) {
			trimmed := strings.TrimSpace(line)
			if cells, is := strings.CutPrefix(trimmed, "|"); is {
				for _, cell := range strings.Split(strings.TrimSuffix(cells, "|"), " | ") {
					add()
					part = cell
				}
				add()
				continue
			}
			if head := item.FindString(line); head != "" {
				add()
				trimmed = strings.TrimSpace(line[len(head):])
			}
			part += " " + trimmed
		}
		add()
	}
	return all
}

// words counts a piece of code and a link as what is read of them.
func words(sentence string) (all []string) {
	read := linked.ReplaceAllString(code.ReplaceAllString(sentence, "X"), "$1")
	for _, word := range strings.Fields(read) {
		if strings.IndexFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0 {
			all = append(all, word)
		}
	}
	return all
}

func TestSentences(t *testing.T) {
	const text = "# A head\n\nOne. Two of `x. y` and [a link. here](z.md): not three; nor e.g. four.\nFive!\n\n* item one\n* item\n  two. Three\n\n| a | b. C |\n"
	got := sentences(text)
	want := []string{"A head", "One.", "Two of `x. y` and [a link. here](z.md): not three; nor e.g. four.", "Five!", "item one", "item two.", "Three", "a", "b.", "C"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := len(words(want[2])); n != 12 {
		t.Errorf("%d words in %q", n, want[2])
	}
}

// Results that stand beside a page as data can be read by a program: each row has the columns of the first.
func TestDataOfDocumentsIsWhole(t *testing.T) {
	files, err := filepath.Glob("docs/*/*.csv")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll(); err != nil || len(rows) < 2 {
			t.Errorf("%s has %d rows: %v", name, len(rows), err)
		}
	}
}
