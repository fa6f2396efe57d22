package assay_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/internal/testkit/golden"
)

// faultSection is a part of docs/faults.md: the word by which a test's comment names it, its heading, and what
// stands below its table.
type faultSection struct{ word, heading, below string }

var faultSections = []faultSection{
	{"conductor", "The conductor", ""},
	{"servers", "Servers that Assay starts", ""},
	{"run directory", "The run directory", ""},
	{"left", "What is left, and what is touched", ""},
	{"connections", "Pools of connections", ""},
	{"physics", "Plausible by physics", "\nEvery grave finding takes the rank and sets exit status 3: `main.TestGraveFindingsTakeTheRankAndTheStatus`.\n"},
	{"values", "Values and consistency", "\nHonest stores and a real memcached are not accused: `run.TestHonestStoresAreConsistent`,\n" +
		"`history.TestHonestRegisterIsNeverAccused`, `run.TestRealMemcachedIsNotAccused`.\n"},
	{"clients", "Clients that cheat", ""},
	{"stops", "What was stopped", ""},
	{"agents", "Agents", ""},
	{"archive", "The history's archive", ""},
	{"watchers", "Who watches", ""},
	{"disk", "The disk", ""},
}

const faultsIntroduction = `# Faults, and what Assay does about them

Each row names the test that does the fault. Damage to a run directory is a finding; a fault of a store, a worker or
the machine is an outcome of its trial. The rows are comments of these tests: ` + "`go test . -run Faults -update`" + ` writes
this page.
`

// A fault is what the comment of a test says of it:
//
//	Fault (SECTION): what is done
//	Assay: what becomes of it
//	With: the other tests that do it, or cases of this one
type fault struct{ section, done, becomes, tests string }

var (
	faultBegin = regexp.MustCompile(`^Fault \(([a-z ]+)\): `)
	testNamed  = regexp.MustCompile(`\b(\w+)\.((?:Test|Fuzz)\w+)(/[\w./-]+)?`)
)

// docs/faults.md has the fault that each test says it does, and names tests that are there.
func TestFaultsArePage(t *testing.T) {
	var faults []fault
	there := map[string]bool{}
	sources(t, func(name, _ string, file *ast.File, positions *token.FileSet) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		pkg := strings.TrimSuffix(file.Name.Name, "_test")
		for _, declaration := range file.Decls {
			f, is := declaration.(*ast.FuncDecl)
			if !is || f.Recv != nil {
				continue
			}
			there[pkg+"."+f.Name.Name] = true
			found, err := faultsOf(f.Doc.Text(), pkg+"."+f.Name.Name)
			if err != nil {
				t.Errorf("%s: %v", positions.Position(f.Pos()), err)
			}
			faults = append(faults, found...)
		}
	})
	page := pageOfFaults(faults)
	for _, named := range testNamed.FindAllStringSubmatch(page, -1) {
		if test := named[1] + "." + named[2]; !there[test] {
			t.Errorf("there is no %s", test)
		}
	}
	golden.Check(t, path.Join("..", "docs", "faults.md"), page)
}

// faultsOf reads the faults of the comment of a test.
func faultsOf(comment, test string) (faults []fault, err error) {
	var field *string
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(line)
		begin := faultBegin.FindStringSubmatch(line)
		last := len(faults) - 1
		switch {
		case begin != nil:
			faults = append(faults, fault{section: begin[1], done: line[len(begin[0]):], tests: test})
			field = &faults[last+1].done
		case line == "":
			field = nil
		case field == nil && strings.HasPrefix(line, "Fault ("):
			return nil, fmt.Errorf("%q is no fault of a section", line)
		case field == nil: // the rest of the test's comment
		case strings.HasPrefix(line, "Assay: "):
			field = &faults[last].becomes
			*field = strings.TrimPrefix(line, "Assay: ")
		case strings.HasPrefix(line, "With: "):
			field = &faults[last].tests
			if with := strings.TrimPrefix(line, "With: "); strings.HasPrefix(with, test) {
				*field = with // a case of it
			} else {
				*field += ", " + with
			}
		default:
			*field += " " + line
		}
	}
	for _, f := range faults {
		known := slices.ContainsFunc(faultSections, func(s faultSection) bool { return s.word == f.section })
		if !known || f.done == "" || f.becomes == "" {
			return nil, fmt.Errorf("%s: a fault has a section that is there (%q), what is done and what becomes of it", test, f.section)
		}
	}
	return faults, nil
}

func pageOfFaults(faults []fault) string {
	var page strings.Builder
	page.WriteString(faultsIntroduction)
	for _, section := range faultSections {
		fmt.Fprintf(&page, "\n## %s\n\n| fault | what Assay does | test |\n|---|---|---|\n", section.heading)
		for _, f := range faults {
			if f.section == section.word {
				fmt.Fprintf(&page, "| %s | %s | %s |\n", f.done, f.becomes, testNamed.ReplaceAllString(f.tests, "`$0`"))
			}
		}
		page.WriteString(section.below)
	}
	return page.String()
}

func TestFaultsOfComments(t *testing.T) {
	got, err := faultsOf("It does.\n\nFault (disk): it is\nfull\nAssay: says so\nWith: p.TestB, p.TestC\n\nFault (agents): gone\nAssay: waits\nWith: p.TestA/late\n", "p.TestA")
	want := []fault{{"disk", "it is full", "says so", "p.TestA, p.TestB, p.TestC"}, {"agents", "gone", "waits", "p.TestA/late"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
	for _, wrong := range []string{"Fault (nowhere): x\nAssay: y\n", "Fault (disk): x\n", "Fault (Disk): x\nAssay: y\n"} {
		if _, err := faultsOf(wrong, "p.TestA"); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
