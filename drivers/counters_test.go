package drivers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/drivers"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

// countersOptions are those with which a driver tells all that it can; small memtables soon make a
// table.
var countersOptions = map[string]map[string]string{
	"badger":    {"index_cache_bytes": "1MiB"},
	"goleveldb": {"write_buffer_bytes": "64KiB"},
	"pebble":    {"memtable_bytes": "64KiB"},
}

// theirNames are words in what Inspect uses that are the library's and not a counter's name here.
var theirNames = map[string]*regexp.Regexp{
	"badger": regexp.MustCompile(`^badger_`),
}

// Inspect returns each counter that is named in the source of an embedded store's driver: a line that
// asks the library for a counter that it does not have would go unnoticed. workers/c has the same test
// for the drivers in C. Servers report their counters under names of their own.
func TestInspectReturnsEveryCounterInTheSource(t *testing.T) {
	for _, driver := range drivers.All() {
		d := driver.Describe()
		if !d.Abilities.Inspect || d.Kind == store.Server {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			s, h := drivertest.Open(t, driver, drivertest.Config(t, d, d.Durability[0].Class, countersOptions[d.Name]))
			for _, key := range keys(d, 200) {
				must(t, h.Put(key, make([]byte, 1000)))
				mustGet(t, h, key, make([]byte, 1000))
			}
			told := slices.Collect(maps.Keys(s.(store.Inspector).Inspect().Stats))
			written := namesInSource(t, d.Name)
			if len(written) == 0 {
				t.Errorf("no name of a counter was found in the source: is the driver's folder not drivers/%s?", d.Name)
			}
			for _, name := range written {
				if !slices.ContainsFunc(told, name.MatchString) {
					t.Errorf("%v stands in the source and is never told", name)
				}
			}
		})
	}
}

// partOfName is a counter's name, its beginning ("level%d_") or its end ("hits").
var partOfName = regexp.MustCompile(`^[a-z][a-z0-9_]*(%d)?[a-z0-9_]*$`)

// namesInSource finds the counters' names in what a driver's Inspect uses of its own package:
// functions and tables.
func namesInSource(t *testing.T, driver string) []*regexp.Regexp {
	t.Helper()
	definitions := definitionsOf(t, driver)
	var names []*regexp.Regexp
	for open := []string{"Inspect"}; len(open) > 0; {
		definition := definitions[open[0]]
		delete(definitions, open[0])
		open = open[1:]
		if definition == nil {
			continue
		}
		ast.Inspect(definition, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				open = append(open, n.Name)
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if n.Kind != token.STRING || err != nil || !partOfName.MatchString(text) ||
					theirNames[driver] != nil && theirNames[driver].MatchString(text) {
					return true
				}
				expression := `(^|_)` + strings.ReplaceAll(text, "%d", `\d+`)
				if !strings.HasSuffix(text, "_") { // it is not what others begin with
					expression += `$`
				}
				names = append(names, regexp.MustCompile(expression))
			}
			return true
		})
	}
	return names
}

// definitionsOf parses a driver's package: its functions without a receiver, its variables, and the
// method Inspect.
func definitionsOf(t *testing.T, driver string) map[string]ast.Node {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(driver, "*.go"))
	must(t, err)
	definitions := map[string]ast.Node{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		must(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		must(t, err)
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || d.Name.Name == "Inspect" {
					definitions[d.Name.Name] = d.Body
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						for _, defined := range v.Names {
							definitions[defined.Name] = v
						}
					}
				}
			}
		}
	}
	return definitions
}
