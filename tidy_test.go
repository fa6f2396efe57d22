package assay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// sources calls do with each file of Go of the tree, tests among them.
func sources(t *testing.T, do func(path, text string, file *ast.File, positions *token.FileSet)) {
	t.Helper()
	positions, seen := token.NewFileSet(), 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name := entry.Name(); name == "testdata" || path == "bin" || path == "dist" || strings.HasPrefix(name, ".") && path != "." {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(positions, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		do(path, string(text), file, positions)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 1000 {
		t.Errorf("only %d files were looked at", seen)
	}
}

// A folder's files, and what the comment of its package says of them.
type folder struct {
	name, comment, in string
	files             []string
}

// filesUnlisted is how many files a package may have without a list of them.
const filesUnlisted = 12

// fileName is a file of Go as a comment names it: catalogue_*.go stands for several.
var fileName = regexp.MustCompile(`[\w*]+\.go\b`)

// A package has a comment. Where it lists the package's files, it lists each, and none that is gone.
func TestPackageComments(t *testing.T) {
	folders := map[string]*folder{}
	sources(t, func(name, _ string, file *ast.File, _ *token.FileSet) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		at := path.Dir(name)
		if folders[at] == nil {
			folders[at] = &folder{name: file.Name.Name}
		}
		f := folders[at]
		f.files = append(f.files, path.Base(name))
		if file.Doc != nil {
			f.comment, f.in = f.comment+file.Doc.Text(), path.Base(name)
		}
	})
	for at, f := range folders {
		for _, wrong := range f.faults() {
			t.Errorf("%s: %s", at, wrong)
		}
	}
}

// faults says what is wrong with the comment of a package.
func (f *folder) faults() (faults []string) {
	if f.comment == "" {
		return []string{"no file has a comment of the package"}
	}
	patterns := fileName.FindAllString(f.comment, -1)
	lists := len(patterns) > 0
	if f.name == "main" && !lists {
		return nil // a command's files are its subcommands
	}
	if !lists && len(f.files) > filesUnlisted {
		faults = append(faults, "the package's comment does not say what its files are")
	}
	for _, pattern := range patterns {
		if !slices.ContainsFunc(f.files, func(name string) bool { return matches(pattern, name) }) {
			faults = append(faults, "the package's comment names "+pattern+", which is not there")
		}
	}
	for _, name := range f.files {
		named := slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, name) })
		if lists && !named && name != f.in && !strings.HasSuffix(name, "_other.go") {
			faults = append(faults, "the package's comment does not name "+name)
		}
	}
	return faults
}

func matches(pattern, name string) bool {
	is, err := path.Match(pattern, name)
	return is && err == nil
}

func TestFaultsOfPackageComments(t *testing.T) {
	for _, c := range []struct {
		comment string
		files   []string
		want    string
	}{
		{"Package p does.\n\n\ta.go  one\n\tb_*.go  many\n", []string{"doc.go", "a.go", "b_c.go", "a_other.go"}, ""},
		{"Package p does.\n\n\ta.go  one\n", []string{"doc.go", "a.go", "b.go"}, "does not name b.go"},
		{"Package p does.\n\n\tgone.go  one\n", []string{"doc.go"}, "names gone.go"},
		{"Package p does.\n", slices.Repeat([]string{"a.go"}, filesUnlisted+1), "does not say what its files are"},
		{"", []string{"a.go"}, "no file has a comment"},
	} {
		f := folder{name: "p", comment: c.comment, in: "doc.go", files: c.files}
		if got := strings.Join(f.faults(), "; "); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%q of %v: %q, want %q", c.comment, c.files, got, c.want)
		}
	}
}

// Comments name no file that is gone. Those of drivers name files of their stores' libraries too.
func TestCommentsNameExistingFiles(t *testing.T) {
	there, named := map[string]bool{}, map[string][]string{}
	sources(t, func(name, _ string, file *ast.File, positions *token.FileSet) {
		there[path.Base(name)] = true
		if strings.HasPrefix(name, "drivers/") || name == "tidy_test.go" {
			return
		}
		for _, group := range file.Comments {
			for _, found := range regexp.MustCompile(`\w+\.go\b`).FindAllString(group.Text(), -1) {
				named[found] = append(named[found], positions.Position(group.Pos()).String())
			}
		}
	})
	for name, places := range named {
		if !there[name] {
			t.Errorf("%s is named at %v, and is not there", name, places)
		}
	}
}

// Documents of the source name no file or folder of it that is gone.
func TestDocumentsNameExistingPaths(t *testing.T) {
	inCode := regexp.MustCompile("`((?:bench|build|cmd|drivers|internal|presets|store|storetest|vectors|web|worker|workers)/[\\w./-]*)`")
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "docs/add-a-driver.md", "docs/worker-contract.md", "workers/c/README.md"} {
		for _, found := range inCode.FindAllStringSubmatch(prose(t, page), -1) {
			if strings.Contains(found[1], "NAME") || strings.HasPrefix(found[1], "drivers/files/") {
				continue // of a driver that is to be written
			}
			name := strings.TrimSuffix(found[1], "/...")
			_, err := os.Stat(name)
			if _, beside := os.Stat(path.Join(path.Dir(page), name)); err != nil && beside != nil {
				t.Errorf("%s names %s, which is not there", page, found[1])
			}
		}
	}
}

// implements are methods whose meaning an interface gives: of Go's packages, of encoders, and of contracts that
// are documented where they stand.
var implements = []string{
	"Error", "String", "Close", "Unwrap", "Is", "Read", "Write", "Len", "Less", "Swap", "LocalAddr", "RemoteAddr",
	"SetDeadline", "SetReadDeadline", "SetWriteDeadline", "Format", "Set", "Type", "Init", "Update", "View",
	"MarshalJSON", "UnmarshalJSON", "MarshalYAML", "UnmarshalYAML", "MarshalText", "UnmarshalText", "JSONSchema",
	"RunStarted", "TrialStarted", "PhaseStarted", "Tick", "TrialEnded", "Message", "RunEnded", // event.Sink
}

// methodsOfContract are those of the interfaces of package store: a driver need not say again what they do.
func methodsOfContract(t *testing.T) (names []string) {
	t.Helper()
	sources(t, func(name, _ string, file *ast.File, _ *token.FileSet) {
		if path.Dir(name) != "store" {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if contract, is := n.(*ast.InterfaceType); is {
				for _, method := range contract.Methods.List {
					for _, name := range method.Names {
						names = append(names, name.Name)
					}
				}
			}
			return true
		})
	})
	return names
}

// Names that others use say what they are. The parameters of a sentence stand beside it, and what refuses
// on another system beside what does not.
func TestExportedNamesAreDocumented(t *testing.T) {
	known := append(methodsOfContract(t), implements...)
	sources(t, func(name, _ string, file *ast.File, positions *token.FileSet) {
		floor, _, _ := strings.Cut(strings.TrimPrefix(name, "internal/"), "/")
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_other.go") || file.Name.Name == "main" || floor == "testkit" {
			return
		}
		missing := func(n ast.Node, what string) { t.Errorf("%s: %s has no comment", positions.Position(n.Pos()), what) }
		documented := 0 // the line at which what a comment is for ends: it is for what follows without a gap
		for _, declaration := range file.Decls {
			line := positions.Position(declaration.Pos()).Line
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				has := d.Doc != nil || documented == line-1
				if ast.IsExported(d.Name.Name) && !has && (d.Recv == nil || ast.IsExported(receiver(d)) &&
					!slices.Contains(known, d.Name.Name)) {
					missing(d, d.Name.Name)
				}
				if has {
					documented = positions.Position(d.End()).Line
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						parameters := strings.HasPrefix(path.Base(name), "catalogue_") && strings.HasSuffix(s.Name.Name, "Params")
						if ast.IsExported(s.Name.Name) && d.Doc == nil && s.Doc == nil && !parameters {
							missing(s, s.Name.Name)
						}
					case *ast.ValueSpec:
						if ast.IsExported(s.Names[0].Name) && d.Doc == nil && s.Doc == nil && s.Comment == nil &&
							!d.Lparen.IsValid() {
							missing(s, s.Names[0].Name)
						}
					}
				}
			}
		}
	})
}

// receiver returns the name of the type that a method is of.
func receiver(d *ast.FuncDecl) string {
	of := d.Recv.List[0].Type
	for {
		switch x := of.(type) {
		case *ast.StarExpr:
			of = x.X
		case *ast.IndexExpr:
			of = x.X
		case *ast.IndexListExpr:
			of = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// What a third party imports names nothing of the tree that it can't import.
func TestPublicPackagesNameNothingInternal(t *testing.T) {
	sources(t, func(name, _ string, file *ast.File, positions *token.FileSet) {
		if !slices.Contains([]string{"store", "storetest", "worker"}, path.Dir(name)) || strings.HasSuffix(name, "_test.go") {
			return
		}
		internal := map[string]bool{}
		for _, i := range file.Imports {
			if of := strings.Trim(i.Path.Value, `"`); strings.HasPrefix(of, "assay/internal/") {
				internal[path.Base(of)] = true
			}
		}
		names := func(shown ast.Node) {
			ast.Inspect(shown, func(n ast.Node) bool {
				if field, is := n.(*ast.Field); is && len(field.Names) > 0 && !ast.IsExported(field.Names[0].Name) {
					if _, inStruct := shown.(*ast.TypeSpec); inStruct {
						return false
					}
				}
				if selector, is := n.(*ast.SelectorExpr); is {
					if of, is := selector.X.(*ast.Ident); is && internal[of.Name] {
						t.Errorf("%s shows %s.%s", positions.Position(n.Pos()), of.Name, selector.Sel.Name)
					}
				}
				return true
			})
		}
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if ast.IsExported(d.Name.Name) && (d.Recv == nil || ast.IsExported(receiver(d))) {
					names(d.Type)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, is := spec.(*ast.TypeSpec); is && ast.IsExported(s.Name.Name) {
						names(s)
					}
				}
			}
		}
	})
}

const (
	columnsMax = 120
	tabColumns = 4
)

// A line that is longer than a screen is wide has a text that would not be shorter in two: sentences of the
// catalogue, cases of tests.
func TestLinesAreNoLongerThanAScreen(t *testing.T) {
	sources(t, func(name, text string, file *ast.File, positions *token.FileSet) {
		texts := map[int]bool{} // lines that have a literal text
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
				from, to := positions.Position(literal.Pos()).Line, positions.Position(literal.End()).Line
				for line := from; line <= to; line++ {
					texts[line] = true
				}
			}
			return true
		})
		for i, line := range strings.Split(text, "\n") {
			if columns := utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t"); columns > columnsMax && !texts[i+1] {
				t.Errorf("%s:%d has %d columns, more than %d", name, i+1, columns, columnsMax)
			}
		}
	})
}
