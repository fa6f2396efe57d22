package assay_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The order in which packages may import is a list in ARCHITECTURE.md, highest first: a package
// imports only what stands below it. Packages of one line do not import each other.
func TestPackagesImportOnlyDownward(t *testing.T) {
	height, listed := importOrder(t)
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}:{{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}|{{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		path, rest, _ := strings.Cut(line, ":")
		_, imports, _ := strings.Cut(rest, "|") // tests may look upward
		name := short(path)
		if name == "" {
			continue
		}
		own, known := level(height, name)
		if !known {
			t.Errorf("package %s is not in ARCHITECTURE.md's import order", name)
			continue
		}
		for _, imported := range strings.Fields(imports) {
			if !strings.HasPrefix(imported, "assay/") {
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

// Drivers know the contract, their library and how a server is started, and nothing else of Assay.
func TestDriversKnowOnlyTheContract(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}:{{join .Imports " "}}`, "./drivers/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		path, imports, _ := strings.Cut(line, ":")
		if path == "assay/drivers" || strings.HasSuffix(path, "drivertest") {
			continue // the registry, and what only tests import
		}
		for _, imported := range strings.Fields(imports) {
			if strings.HasPrefix(imported, "assay/") && imported != "assay/store" &&
				imported != "assay/internal/server" && !strings.HasPrefix(imported, "assay/drivers/internal/") {
				t.Errorf("driver %s imports %s", path, imported)
			}
		}
	}
}

func short(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, "assay"), "/") }

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
