package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func command(t *testing.T, directory, name string, arguments ...string) string {
	t.Helper()
	c := exec.Command(name, arguments...)
	c.Dir, c.Env = directory, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOWORK=off")
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, said)
	}
	return string(said)
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// What is an import is renamed, twice, and what only looks like one is not.
func TestRename(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{
		"go.mod":           "module assay\n\ngo 1.26\n",
		"store/store.go":   "package store\n\nconst Name, Path, Schema = \"assay\", \"assay/owned\", `assay/storefront`\n",
		"worker/worker.go": "package worker\n\nimport (\n\t_ \"assay/store\"\n)\n\nconst Overlay = \"\\t\\\"assay/store\\\"\\n\"\n",
		"docs/page.md":     "Import `assay/store`; `assay run` is a command, and `assay/owned` a folder.\n",
		"build/x/go.mod":   "module assay/build/x\n\nrequire assay v0.0.0\n\nreplace assay => ../..\n",
		"other.sh":         "go build \"assay/store\"\n",
	}
	write(t, root, files)
	command(t, root, "git", "init", "-q")
	command(t, root, "git", "add", ".")
	for _, module := range []string{"example.org/x", "host.example/y/assay"} {
		if _, err := rename(root, module); err != nil {
			t.Fatal(err)
		}
		for name, before := range files {
			want := before
			switch name {
			case "go.mod", "build/x/go.mod":
				want = strings.NewReplacer("module assay", "module "+module, "require assay", "require "+module, "replace assay", "replace "+module).Replace(before)
			case "worker/worker.go", "docs/page.md":
				want = strings.ReplaceAll(before, "assay/store", module+"/store")
			}
			if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
				t.Errorf("%s as %s: %v\n%s\nwant\n%s", name, module, err, got, want)
			}
		}
		command(t, root, "go", "build", "./...")
	}
	if _, err := rename(root, "no path"); err == nil {
		t.Error("a path with a space was taken")
	}
}

// The tree itself, in a copy: every package still finds the others, and a program elsewhere imports the
// contract and a worker by the new path.
func TestModuleCanBeRenamed(t *testing.T) {
	if os.Getenv("ASSAY_LONG") == "" {
		t.Skip("SKIPPED: it compiles the contract and the worker anew; ASSAY_LONG=1 has it")
	}
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	root, elsewhere := filepath.Join(t.TempDir(), "assay"), t.TempDir()
	command(t, tree, "git", "clone", "-q", ".", root)
	const module = "example.org/x"
	if _, err := rename(root, module); err != nil {
		t.Fatal(err)
	}
	left := command(t, root, "go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}", "./...")
	for path := range strings.FieldsSeq(left) {
		if !strings.HasPrefix(path, module) {
			t.Errorf("%s is not below %s", path, module)
		}
	}
	write(t, elsewhere, map[string]string{
		"go.mod": "module elsewhere\n\ngo 1.26\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n",
		"main.go": "package main\n\nimport (\n\t\"os\"\n\n\t\"" + module + "/store\"\n\t\"" + module + "/worker\"\n)\n\n" +
			"var drivers []store.Driver\n\nfunc main() { os.Exit(worker.Main(drivers...)) }\n",
	})
	command(t, elsewhere, "go", "mod", "tidy")
	command(t, elsewhere, "go", "vet", "./...")
	command(t, root, "go", "vet", "./store", "./worker", "./storetest", ".")
}
