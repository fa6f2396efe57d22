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

// TestDocumentsExamplePassesTheDriversTests takes the driver out of docs/add-a-driver.md, puts it into
// the list of drivers, and beside it a server's driver that implements what is required and nothing else.
// The list's tests and the kit must pass on both. All of it is in an overlay: no file of the source tree is
// touched.
func TestDocumentsExamplePassesTheDriversTests(t *testing.T) {
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
		"\t\"assay/drivers/goleveldb\"\n":         "\t\"assay/drivers/files\"\n\t\"assay/drivers/goleveldb\"\n",
		"\t\tgoleveldb.Driver{},\n":               "\t\tfiles.Driver{},\n\t\tgoleveldb.Driver{},\n",
		"\t\"assay/internal/execution/server\"\n": "\t\"assay/drivers/toy\"\n\t\"assay/internal/execution/server\"\n",
		"\t\ttokyotyrant.Table{},\n":              "\t\ttokyotyrant.Table{},\n\t\ttoy.Driver,\n",
		"\t\ttokyotyrant.TableProgram,\n":         "\t\ttokyotyrant.TableProgram,\n\t\ttoy.Program,\n",
	} {
		if strings.Count(listed, before) != 1 {
			t.Fatalf("drivers.go has no single line %q", before)
		}
		listed = strings.Replace(listed, before, with, 1)
	}

	temporary := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {
		filepath.Join(root, "drivers", "files", "files.go"):           write(t, temporary, "files.go", blocks[0][1]),
		filepath.Join(root, "drivers", "toy", "toy.go"):               filepath.Join(root, toySource, "toy.go.txt"),
		filepath.Join(root, "drivers", "toy", "toyserver", "main.go"): filepath.Join(root, toySource, "main.go.txt"),
		list: write(t, temporary, "drivers.go", listed),
	}}
	described, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := write(t, temporary, "overlay.json", string(described))

	here := t.TempDir() // where the page's lines run
	build(t, root, overlayFile, filepath.Join(here, "bin", "assay"), "./cmd/assay")
	build(t, root, overlayFile, filepath.Join(here, "bin", "toyserver"), "./drivers/toy/toyserver")
	if err := os.Chmod(here, 0o711); err != nil { // the toy's server runs as another user
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(here, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	// -vet=off: go vet does not find a folder that is in the overlay only. -s -w: linking takes most of
	// the time.
	command := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlayFile, "-vet=off", "-ldflags=-s -w", "-count=1", "-v", "-run", "/^(files|toy)$", "./drivers")
	command.Dir = root
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("the page's driver does not pass: %v\n%s", err, output)
	}
	for _, test := range []string{"TestValuesOfAnyBytes", "TestKeysAtTheirLimits"} {
		for _, driver := range []string{"files", "toy"} {
			if want := "--- PASS: " + test + "/" + driver + " "; !strings.Contains(string(output), want) {
				t.Errorf("the tests did not run: no %q in\n%s", want, output)
			}
		}
	}
	runTheDocumentsLines(t, here, page)
	run(t, here, "bin/assay conformance --driver toy --endpoint start")
}

// toySource has what the guide asks of a server's driver: one that has no ability, and its program.
const toySource = "internal/testkit/drivertest/testdata/toy"

func build(t *testing.T, root, overlayFile, output, name string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay", overlayFile, "-o", output, name)
	command.Dir, command.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if printed, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", name, err, printed)
	}
}

func run(t *testing.T, here, line string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-c", line)
	command.Dir = here
	if printed, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", line, err, printed)
	}
}

// runTheDocumentsLines runs the page's lines with a command that has the page's driver in it: each must do.
func runTheDocumentsLines(t *testing.T, here, page string) {
	t.Helper()
	lines := regexp.MustCompile("(?s)```sh\nmake build\n(.*?)```").FindStringSubmatch(page)
	if lines == nil {
		t.Fatal("the page has no block of commands that begins with make build")
	}
	for line := range strings.Lines(lines[1]) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "bin/assay run") {
			line += " --set busy_machine=tell --no-html --for 50ms --blocks 1" // the last flag of a name counts
		}
		run(t, here, line)
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
