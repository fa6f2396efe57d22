package assay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// productFiles calls do with each file of Go that is linked into the program.
func productFiles(t *testing.T, do func(path string, file *ast.File, at func(ast.Node) string)) {
	t.Helper()
	files := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			switch {
			case path == "internal/testkit" || path == "build" || path == "vectors" || path == "bench", path == "web/bundle",
				entry.Name() == "testdata", strings.HasPrefix(entry.Name(), ".") && path != ".":
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		do(path, file, func(n ast.Node) string { return files.Position(n.Pos()).String() })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// calls lists the functions of packages that a file uses, as "os.ReadFile".
func calls(file *ast.File, do func(name string, n ast.Node)) {
	packages := map[string]string{} // by the name that the file has for them
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		packages[name] = path
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, is := n.(*ast.SelectorExpr)
		if !is {
			return true
		}
		if x, is := selector.X.(*ast.Ident); is && packages[x.Name] != "" {
			do(packages[x.Name]+"."+selector.Sel.Name, n)
		} else {
			do("."+selector.Sel.Name, n)
		}
		return true
	})
}

// What was not written by the program itself may never end: it is read by internal/base/bounded alone.
func TestReadsAreBounded(t *testing.T) {
	banned := []string{"os.ReadFile", "io.ReadAll", "io/ioutil.ReadAll", "io/ioutil.ReadFile", "io/fs.ReadFile", ".ReadString"}
	seen := 0
	productFiles(t, func(path string, file *ast.File, at func(ast.Node) string) {
		seen++
		if strings.HasPrefix(path, "internal/base/bounded/") {
			return
		}
		calls(file, func(name string, n ast.Node) {
			for _, b := range banned {
				if name == b {
					t.Errorf("%s: %s reads to the end, wherever that is: use internal/base/bounded", at(n), name)
				}
			}
		})
	})
	if seen < 300 {
		t.Errorf("only %d files were looked at", seen)
	}
}

// What a kill would leave is noted before it is made: temporary files and directories are those of
// internal/base/owned alone.
func TestTemporaryFilesAreOwned(t *testing.T) {
	productFiles(t, func(path string, file *ast.File, at func(ast.Node) string) {
		if strings.HasPrefix(path, "internal/base/owned/") {
			return
		}
		calls(file, func(name string, n ast.Node) {
			switch name {
			case "os.MkdirTemp", "os.CreateTemp", "io/ioutil.TempDir", "io/ioutil.TempFile":
				t.Errorf("%s: a kill would leave what %s makes: use internal/base/owned", at(n), name)
			}
		})
	})
}

// Each process ends with Assay, however that ends, with what it has started: package child starts what lasts,
// bounded.Output what answers.
func TestProcessesAreOwned(t *testing.T) {
	productFiles(t, func(path string, file *ast.File, at func(ast.Node) string) {
		if strings.HasPrefix(path, "internal/execution/child/") || strings.HasPrefix(path, "internal/base/bounded/") {
			return
		}
		commands := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"os/exec"` })
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || !commands || len(call.Args) > 0 { // the methods of exec.Cmd have no arguments
				return true
			}
			method, is := call.Fun.(*ast.SelectorExpr)
			if is && slices.Contains([]string{"Run", "Start", "Output", "CombinedOutput"}, method.Sel.Name) {
				t.Errorf("%s: a kill would leave what %s starts: use internal/execution/child, or bounded.Output", at(n), method.Sel.Name)
			}
			return true
		})
		calls(file, func(name string, n ast.Node) {
			if slices.Contains([]string{"os.StartProcess", "syscall.ForkExec", "syscall.StartProcess"}, name) {
				t.Errorf("%s: a kill would leave what %s starts: use internal/execution/child, or bounded.Output", at(n), name)
			}
		})
	})
}
