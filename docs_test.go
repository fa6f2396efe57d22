package assay_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
func TestTheScreenThatIsExplainedIsTheScreen(t *testing.T) {
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
}
