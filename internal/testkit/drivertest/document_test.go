package drivertest_test

import (
	"encoding/json"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheDocumentsExamplePassesTheDriversTests takes the driver out of docs/add-a-driver.md, puts
// it into the list of drivers, and runs the list's tests on it. All of it is in an overlay: no file
// of the source tree is touched.
func TestTheDocumentsExamplePassesTheDriversTests(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, filepath.Join(root, "docs", "add-a-driver.md"))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) != 1 {
		t.Fatalf("expected one block of Go in the page, found %d", len(blocks))
	}
	if formatted, err := format.Source([]byte(blocks[0][1])); err != nil || string(formatted) != blocks[0][1] {
		t.Errorf("the page's code is not as gofmt writes it: %v", err)
	}
	list := filepath.Join(root, "drivers", "drivers.go")
	listed := read(t, list)
	for before, with := range map[string]string{
		"\t\"assay/drivers/goleveldb\"\n": "\t\"assay/drivers/files\"\n\t\"assay/drivers/goleveldb\"\n",
		"\t\tgoleveldb.Driver{},\n":       "\t\tfiles.Driver{},\n\t\tgoleveldb.Driver{},\n",
	} {
		if strings.Count(listed, before) != 1 {
			t.Fatalf("drivers.go has no single line %q", before)
		}
		listed = strings.Replace(listed, before, with, 1)
	}

	temporary := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {
		filepath.Join(root, "drivers", "files", "files.go"): write(t, temporary, "files.go", blocks[0][1]),
		list: write(t, temporary, "drivers.go", listed),
	}}
	described, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := write(t, temporary, "overlay.json", string(described))

	// -vet=off: go vet does not find a folder that is in the overlay only. -s -w: linking takes most of
	// the time.
	command := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlayFile, "-vet=off", "-ldflags=-s -w", "-count=1", "-v", "-run", "/^files$", "./drivers")
	command.Dir = root
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("the page's driver does not pass: %v\n%s", err, output)
	}
	for _, want := range []string{
		"--- PASS: TestGetPutDelete/files/D3", "--- PASS: TestScansInOrder/files/D1",
		"--- PASS: TestHoldsToItsKeyLimits/files/D1", "--- PASS: TestAcknowledgedWritesSurviveTheProcess/files/D1",
	} {
		if !strings.Contains(string(output), want) {
			t.Errorf("the tests did not run: no %q in\n%s", want, output)
		}
	}
	runTheDocumentsLines(t, root, page, overlayFile)
}

// runTheDocumentsLines builds the command with the page's driver in it and runs the page's lines,
// each of which must do.
func runTheDocumentsLines(t *testing.T, root, page, overlayFile string) {
	t.Helper()
	here := t.TempDir()
	lines := regexp.MustCompile("(?s)```sh\nmake build\n(.*?)```").FindStringSubmatch(page)
	if lines == nil {
		t.Fatal("the page has no block of commands that begins with make build")
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay", overlayFile, "-o", filepath.Join(here, "bin", "assay"), "./cmd/assay")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	for line := range strings.Lines(lines[1]) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "bin/assay run") {
			line += " --set busy_machine=tell --no-html --for 50ms --blocks 1" // the last flag of a name counts
		}
		command := exec.CommandContext(t.Context(), "sh", "-c", line)
		command.Dir = here
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, output)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, directory, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(directory, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
