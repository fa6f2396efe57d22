package report

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/internal/record"
	"assay/internal/record/recordtest"
	"assay/internal/verdict"
)

func TestEveryFindingIsInOneGroup(t *testing.T) {
	v := exampleView(t)
	seen := map[int]int{}
	several := 0
	for _, g := range v.Groups {
		if len(g.Of) > 1 {
			several++
		}
		for _, i := range g.Of {
			seen[i]++
			if f := v.Findings[i]; f.Group != g.Key || f.Severity != g.Severity || f.Code != g.Code {
				t.Errorf("the finding %q of %s is in the group %s", f.Sentence, f.Group, g.Key)
			}
		}
	}
	for i, f := range v.Findings {
		if seen[i] != 1 {
			t.Errorf("%q is in %d groups", f.Sentence, seen[i])
		}
	}
	if several == 0 || len(v.Groups) >= len(v.Findings) {
		t.Errorf("%d findings make %d groups: nothing was grouped", len(v.Findings), len(v.Groups))
	}
	if !slices.IsSortedFunc(v.Groups, func(a, b Group) int {
		return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
	}) {
		t.Error("the groups are not in the order of gravity")
	}
}

// Whatever the code, a sentence of several is whole, and counts right.
func TestSentencesOfSeveral(t *testing.T) {
	for _, code := range append(codesIn(t, "../verdict/findings.go"), codesIn(t, "../record/trial.go")...) {
		if oneEach[code] || code == verdict.FindUndecided || code == verdict.FindRefused { // these two count rows and classes of tables
			continue
		}
		for _, c := range []struct {
			members []Finding
			want    string
		}{
			{[]Finding{{Arm: "a", Place: "put at D1"}, {Arm: "b", Place: "get at D1"}, {Arm: "b", Place: "put at D1"}}, "2 stores"},
			{[]Finding{{Arm: "a", Place: "put at D1"}, {Arm: "a", Place: "get at D1"}}, "put at D1 and get at D1"},
			{[]Finding{{Arm: "a", Place: "put at D3"}, {Arm: "a", Place: "put at D1"}}, ": put at D1 and D3."},
			{[]Finding{{Place: "put"}, {Place: "get"}}, "2 phases"},
			{[]Finding{{Sentence: "The one."}, {}, {}}, "The one. (And 2 more of this kind"},
		} {
			for i := range c.members {
				c.members[i].Code, c.members[i].Severity = code, Warning
				if c.members[i].Sentence == "" {
					c.members[i].Sentence = "It is so."
				}
			}
			sentence := together(c.members, nil)
			if !strings.Contains(sentence, c.want) || strings.ContainsAny(sentence, "%{}|!") || !strings.HasSuffix(strings.TrimSuffix(sentence, ")"), ".") {
				t.Errorf("%s of %d: %q, want %q in it", code, len(c.members), sentence, c.want)
			}
		}
	}
}

// However much evidence is left out, every writer says how much there is in all.
func TestEvidenceIsCountedWhole(t *testing.T) {
	findings := []Finding{
		{Severity: Warning, Code: verdict.FindBusyMachine, Sentence: "It is so.", Evidence: []string{"one", "two"}, More: 19, Group: "busy"},
		{Severity: Notice, Code: verdict.FindDips, Sentence: "It is.", Evidence: []string{"one"}, More: 7, Arm: "a", Group: "dips"},
		{Severity: Notice, Code: verdict.FindDips, Sentence: "It is.", Evidence: []string{"one"}, Arm: "b", Group: "dips"},
	}
	v := View{Findings: findings, Groups: groupFindings(findings, nil)}
	if text := textOfView(t, v); !strings.Contains(text, "one (and 20 more)") {
		t.Errorf("of 21 lines, the text says:\n%s", text)
	}
	html := htmlOf(t, v)
	for _, want := range []string{"and 19 more like these", "and 7 more like these"} {
		if strings.Count(html, want) != 1 {
			t.Errorf("the page does not say %q once", want)
		}
	}
	var out strings.Builder
	if err := JSON(&out, v); err != nil || !strings.Contains(out.String(), `"evidence_more": 19`) {
		t.Errorf("JSON does not count: %v", err)
	}
}

// oneEach are the codes that no run has two findings of. Two runs have, and then no sentence sums them up.
var oneEach = map[string]bool{
	verdict.FindMissing: true, verdict.FindIncomplete: true, verdict.FindOtherHarness: true, verdict.FindKeptData: true, verdict.FindClasses: true, verdict.FindVolatile: true,
	verdict.FindNoisy: true, verdict.FindNoTwin: true, verdict.FindFewTwins: true, verdict.FindNoCeiling: true, verdict.FindBusyMachine: true, verdict.FindThrottling: true, verdict.FindMachineUntold: true,
	verdict.FindShortValues: true, verdict.FindUntold: true, verdict.FindUnverified: true, verdict.FindOneBlock: true, verdict.FindMemoryLimit: true,
}

func TestSentencesOfTwoRuns(t *testing.T) {
	for code := range oneEach {
		members := []Finding{{Code: code, Severity: Warning, Sentence: "One 1: It is so.", Place: "put"}, {Code: code, Severity: Warning, Sentence: "Two 2: It is so.", Place: "put"}}
		if got := together(members, nil); got != "One 1: It is so. (And 1 more of this kind.)" {
			t.Errorf("two findings of %s are told as: %s", code, got)
		}
	}
}

var codeName = regexp.MustCompile(`^(Find|Mark)[A-Z]`)

// codesIn returns the values of a file's constants that are codes of findings or of marks.
func codesIn(t *testing.T, file string) (codes []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && len(spec.Values) == 1 && codeName.MatchString(spec.Names[0].Name) {
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		return true
	})
	if len(codes) < 10 {
		t.Fatalf("%s has the codes %q only", file, codes)
	}
	return codes
}

func TestRefusedTogether(t *testing.T) {
	tables := []Table{
		{Class: "D0", Rows: []Row{{Arm: "a", Standing: Refused}, {Arm: "b", Standing: Refused}, {Arm: "c", Standing: Ranked}}},
		{Class: "D1", Rows: []Row{{Arm: "a", Standing: Ranked}, {Arm: "b", Standing: Ranked}, {Arm: "c", Standing: Refused}}},
	}
	want := "3 stores can't do what is asked in a class, and are shown there without figures: a and b at D0; c at D1."
	if got := refusedSentence(tables, 3); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNotes(t *testing.T) {
	table := Table{Rows: []Row{
		{Arm: "a", Standing: Refused, Reasons: []string{"a can't reach D0: its driver reaches D1, D3"}},
		{Arm: "b", Standing: Refused, Reasons: []string{"b can't reach D0: its driver reaches D1, D3"}},
		{Arm: "c", Standing: Refused, Reasons: []string{"c can't share a handle"}},
		{Arm: "d", Standing: LeftOut, Reasons: []string{"d can't write batches"}},
		{Arm: "e", Standing: NotRanked, Rate: &Estimate{Value: 1}, Reasons: []string{"it has a row of its own"}},
	}}
	var got []string
	for _, n := range notesOf(table) {
		got = append(got, n.Lead()+n.Text())
	}
	want := []string{"Refused here: a, b (only D1, D3); c (can't share a handle).", "Left out: d (can't write batches)."}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A phase that a store skips is not one in which it failed.
func TestSkippedPhaseIsLeftOut(t *testing.T) {
	run := recordtest.Run(recordtest.Example())
	for i := range run.Plan {
		if run.Plan[i].Arm != "pebble" {
			continue
		}
		run.Plan[i].Skip = map[string]string{"get": "pebble has no gets"}
		trial := run.Trials[run.Plan[i].ID]
		trial.Phases = slices.DeleteFunc(trial.Phases, func(p record.Phase) bool { return p.Name == "get" })
		run.Series[run.Plan[i].ID] = slices.DeleteFunc(run.Series[run.Plan[i].ID], func(s record.Sample) bool { return s.Phase == "get" })
	}
	v, err := Build(run)
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, table := range v.Tables {
		for _, row := range table.Rows {
			if row.Standing != LeftOut {
				continue
			}
			left++
			if row.Arm != "pebble" || table.Phase != "get" {
				t.Errorf("%s is left out of %s", row.Arm, table.Phase)
			}
		}
	}
	if left != 3 {
		t.Errorf("pebble is left out of %d tables, want the gets of three classes", left)
	}
	for _, text := range []string{textOfView(t, v), htmlOf(t, v)} {
		if !strings.Contains(text, "Left out: ") || !strings.Contains(strings.ReplaceAll(text, "\n", " "), "has no gets") {
			t.Error("that a phase is left out is not said")
		}
	}
}

func TestHeadline(t *testing.T) {
	ranked := func(label string, ranks ...int) Table {
		table := Table{Class: "D1", Label: label}
		for i, rank := range ranks {
			row := Row{Arm: string(rune('a' + i)), Rank: rank, Rate: &Estimate{Value: 1}}
			if rank > 1 {
				row.Ratio = &Estimate{Value: 0.5}
			}
			table.Rows = append(table.Rows, row)
		}
		return table
	}
	for _, c := range []struct {
		tables []Table
		want   string
	}{
		{[]Table{ranked("put", 1, 2, 3), ranked("get", 1, 2)}, "a leads in put (2.00×) and get (2.00×)."},
		{[]Table{ranked("put", 1, 1, 3)}, "No difference is shown among the first in put (a and b)."},
		{[]Table{ranked("put", 1, 1, 1, 1, 1)}, "No difference is shown among the first in put (a, b and 3 more)."},
		{[]Table{ranked("put", 1)}, "Nothing is compared in put (only a has a rank)."},
		{[]Table{ranked("put", 1), ranked("get", 1, 0), ranked("scan", 0)}, "Nothing is compared in put and get (only a has a rank), nor in scan."},
		{[]Table{ranked("1", 1, 2), ranked("2", 1, 2), ranked("3", 1, 2), ranked("4", 1, 2), ranked("5", 1, 2), ranked("6", 1, 1), ranked("7", 0)},
			"a leads in 5 of 7 tables; no difference is shown among the first in 1; nothing is compared in 1."},
		{[]Table{ranked("1", 1, 1), ranked("2", 1, 1), ranked("3", 1, 1), ranked("4", 1, 1), ranked("5", 1, 1), ranked("6", 1, 1), ranked("7", 0)},
			"No difference is shown among the first in 6 of 7 tables; nothing is compared in 1."},
		{[]Table{ranked("1", 0), ranked("2", 0), ranked("3", 0), ranked("4", 0), ranked("5", 0), ranked("6", 0), ranked("7", 0)},
			"Nothing is compared in 7 of 7 tables."},
	} {
		headlines := headlinesOf(c.tables)
		if len(headlines) != 1 || headlines[0].Sentence != c.want {
			t.Errorf("got %+v, want %q", headlines, c.want)
		}
	}
}

// At one table and at many, each table has one column, and no part is wider than a page.
func TestGlanceHasEveryTable(t *testing.T) {
	for _, tables := range []int{0, 1, 2, 12, 13, 40} {
		for _, each := range []int{1, 4, 30} {
			var v View
			for i := range tables {
				v.Tables = append(v.Tables, Table{ID: fmt.Sprint(i), Class: fmt.Sprint("D", i/each), Phase: "p", Label: "p",
					Rows: []Row{{Arm: "a", Role: "measured", Rank: 1, Rate: &Estimate{Value: 2}}, {Arm: "b", Role: "measured", Standing: Refused}}})
			}
			var seen []string
			for _, part := range glanceOf(v).Parts {
				if len(part.Columns) > glanceColumnsMax || len(part.Columns) == 0 {
					t.Errorf("of %d tables, a part has %d", tables, len(part.Columns))
				}
				span := 0
				for _, head := range part.Heads {
					span += head.Span
				}
				if span != len(part.Columns) {
					t.Errorf("the heads of a part span %d columns of %d", span, len(part.Columns))
				}
				for _, column := range part.Columns {
					seen = append(seen, column.Table)
				}
				for _, row := range part.Rows {
					if len(row.Squares) != len(part.Columns) {
						t.Errorf("%s has %d squares for %d columns", row.Arm, len(row.Squares), len(part.Columns))
					}
				}
				if html := htmlOf(t, v); !strings.Contains(html, "<b>refused</b> can’t do what is asked") || strings.Contains(html, "reach the class") {
					t.Error("the legend gives one reason for all that is refused")
				}
				if refused := part.Rows[1].Squares[0]; refused.Rate != "refused" || !refused.Word {
					t.Errorf("a refused arm is shown as %+v", refused)
				}
			}
			if len(seen) != tables {
				t.Errorf("%d tables have %d columns", tables, len(seen))
			}
		}
	}
}
