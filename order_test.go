package assay_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// module is the path of this module, as go.mod has it.
var module = modulePath()

func modulePath() string {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		panic(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(line, "module ")
}

// The order in which packages may import is a list in ARCHITECTURE.md, highest first: a package
// imports only what stands below it. Packages of one line do not import each other.
func TestPackagesImportOnlyDownward(t *testing.T) {
	height, listed := importOrder(t)
	for path, imports := range importsOf(t, "./...") { // tests may look upward
		name := short(path)
		if name == "" {
			continue
		}
		own, known := level(height, name)
		if !known {
			t.Errorf("package %s is not in ARCHITECTURE.md's import order", name)
			continue
		}
		for _, imported := range imports {
			if !strings.HasPrefix(imported, module+"/") {
				continue
			}
			below, known := level(height, short(imported))
			if known && below <= own && !within(short(imported), name) {
				t.Errorf("%s imports %s, which does not stand below it", name, short(imported))
			}
		}
	}
	for name := range listed {
		if info, err := os.Stat(strings.TrimSuffix(name, "/*")); err != nil || !info.IsDir() {
			t.Errorf("ARCHITECTURE.md lists %s, which is no folder", name)
		}
	}
}

// floors are the folders of internal/, each with those that it may import. What tests share is
// imported by tests and by what measures Assay itself.
var floors = map[string][]string{
	"base":         nil,
	"experiment":   {"base"},
	"evidence":     {"experiment", "base"},
	"execution":    {"evidence", "experiment", "base"},
	"analysis":     {"evidence", "experiment", "base"},
	"presentation": {"execution", "analysis", "evidence", "experiment", "base"},
}

func TestFloorsImportOnlyDownward(t *testing.T) {
	for path, imports := range importsOf(t, "./...") {
		from, inside := floorOf(path)
		for _, imported := range imports {
			to, internal := floorOf(imported)
			switch {
			case !internal || from == to:
			case to == "testkit":
				if path != module+"/bench" {
					t.Errorf("%s imports %s, which is for tests", path, imported)
				}
			case inside && from != "testkit" && !slices.Contains(floors[from], to):
				t.Errorf("%s imports %s: floor %s may import %v", path, imported, from, floors[from])
			}
		}
	}
}

// floorOf returns the folder of internal/ that a package is in.
func floorOf(path string) (floor string, inside bool) {
	rest, inside := strings.CutPrefix(path, module+"/internal/")
	floor, _, _ = strings.Cut(rest, "/")
	return floor, inside
}

// importsOf lists what packages import, without their tests.
func importsOf(t *testing.T, pattern string) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}:{{join .Imports " "}}`, pattern).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	imports := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		path, list, _ := strings.Cut(line, ":")
		imports[path] = strings.Fields(list)
	}
	return imports
}

// Drivers know the contract, their library, what drivers share, how a server is started and how what
// others made is read, and nothing else of Assay.
func TestDriversKnowOnlyTheContract(t *testing.T) {
	for path, imports := range importsOf(t, "./drivers/...") {
		if path == module+"/drivers" {
			continue // the registry
		}
		for _, imported := range imports {
			name := short(imported)
			if name != imported && name != "store" && name != "internal/execution/server" && name != "internal/base/bounded" &&
				!strings.HasPrefix(name, "drivers/internal/") {
				t.Errorf("driver %s imports %s", path, imported)
			}
		}
	}
}

func short(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

// within says that one package is a part of the other's folder.
func within(a, b string) bool { return strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/") }

func level(height map[string]int, name string) (int, bool) {
	for at := name; at != ""; {
		if h, ok := height[at]; ok {
			return h, true
		}
		if h, ok := height[parent(at)+"/*"]; ok {
			return h, true
		}
		at = parent(at)
	}
	return 0, false
}

func parent(name string) string {
	if i := strings.LastIndex(name, "/"); i >= 0 {
		return name[:i]
	}
	return ""
}

func importOrder(t *testing.T) (height map[string]int, listed map[string]bool) {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```import-order\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("ARCHITECTURE.md has no ```import-order block")
	}
	height, listed = map[string]int{}, map[string]bool{}
	for i, line := range strings.Split(strings.TrimSpace(string(block[1])), "\n") {
		for _, name := range strings.Fields(line) {
			height[name], listed[name] = i, true
		}
	}
	return height, listed
}
