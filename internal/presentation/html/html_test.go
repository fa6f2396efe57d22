package html

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/internal/base/format"
	"assay/internal/evidence/proof"
	"assay/internal/evidence/record"
	"assay/internal/presentation/model"
	"assay/internal/testkit/golden"
	"assay/internal/testkit/hostile"
)

func pageOf(t *testing.T, r *model.Result) string {
	t.Helper()
	var page strings.Builder
	if err := Write(&page, r); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// The structure of a page: its style sheet and script have tests of their own.
func TestPageOfOneStore(t *testing.T) {
	page := pageOf(t, made(fixtures["small"]))
	page = regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAllString(page, "<style></style>")
	page = regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(page, "<script></script>")
	page = regexp.MustCompile(`sha256-.*?=`).ReplaceAllString(page, "sha256-")
	golden.Check(t, "small.html", page)
}

func TestEmptyResultHasAPage(t *testing.T) {
	if page := pageOf(t, &model.Result{Groups: []model.Group{{Text: "nothing", Severity: "notice"}}}); !strings.Contains(page, "nothing") {
		t.Error("the page lacks the only group")
	}
}

// Only a group that had another one beside it for a part of the time has a chart of both.
func TestGroupsAreOverlaid(t *testing.T) {
	at, rates := []float64{1, 2, 3, 4}, []*float64{ptr(10), ptr(1), nil, ptr(9)}
	table := func(id, phase string, groups ...model.Clients) model.Table {
		return model.Table{ID: id, Phase: phase, Rows: []model.Row{
			{Arm: "oak", Ranking: model.Ranking{Standing: model.Ranked}},
			{Arm: "oak (A/A)", Ranking: model.Ranking{Standing: model.Reference}}},
			Series: []model.Series{{Trial: "1", Arm: "oak", Median: true, At: at, Rate: rates, Groups: groups}}}
	}
	insert := table("i", "beside · insert", model.Clients{Name: "count", Phase: "beside · count", From: 2, Until: 3})
	count := table("c", "beside · count", model.Clients{Name: "insert", Phase: "beside · insert", Until: 4})
	p, err := newPage(&model.Result{Tables: []model.Table{insert, count, table("a", "alone")}})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.WithOthers(insert); !slices.Equal(got, []string{"oak"}) {
		t.Errorf("charts of groups for %q", got)
	}
	for _, other := range []model.Table{count, table("a", "alone")} {
		if got := p.WithOthers(other); got != nil {
			t.Errorf("%s has charts of groups for %q", other.Phase, got)
		}
	}
	lines := p.groupsOf(insert, insert.Series[0]).Lines
	if len(lines) != 2 || lines[0].Until != 0 || lines[1].Name != "count" || lines[1].From != 2 || lines[1].Until != 3 || len(lines[1].Rate) != 4 {
		t.Errorf("lines %+v", lines)
	}
	if page := pageOf(t, &model.Result{Tables: []model.Table{insert, count}}); strings.Count(page, `data-kind="groups"`) != 1 ||
		!strings.Contains(page, "on a scale of its own: count. Shaded: while it ran.") {
		t.Error("the page has no chart of the groups")
	}
}

func TestHostileTextsAreEscaped(t *testing.T) {
	for _, with := range []string{hostile.Text, strings.Repeat("long", format.TextMax)} {
		s := fixtures["put-get"]
		s.classes, s.samples = s.classes[:1], 10
		r := made(s)
		hostile.Poison(r, with)
		page := pageOf(t, r)
		if n := strings.Count(page, "<script"); n != 2 {
			t.Errorf("the page has %d script elements, want the data and the program", n)
		}
		for _, bad := range []string{"<img", "\x1b", "\u2028", "\u202e", strings.Repeat("long", format.TextMax/4+1)} {
			if at := strings.Index(page, bad); at >= 0 {
				t.Errorf("the page has %.20q in %.80q", bad, page[max(0, at-40):])
			}
		}
	}
}

func TestCleaningLeavesTheResultAlone(t *testing.T) {
	r := made(fixtures["small"])
	hostile.Poison(r, hostile.Text)
	title, params := r.Title, r.Summary.Ran.Code
	if clean := format.Shown(r); clean.Title == title {
		t.Error("the copy is not clean")
	}
	if r.Title != title || r.Summary.Ran.Code != params {
		t.Error("the caller's result was changed")
	}
}

func TestColumnWithoutValuesIsLeftOut(t *testing.T) {
	r := made(fixtures["small"])
	row := &r.Tables[0].Rows[0]
	titles := func() (titles []string) {
		for _, c := range (page{Result: r}).Took(r.Tables[0]).Columns {
			titles = append(titles, c.Title)
		}
		return titles
	}
	before := titles()
	row.MemoryBytes = nil
	if after := titles(); len(after) != len(before)-1 || strings.Contains(strings.Join(after, " "), "Memory") {
		t.Errorf("without memory the columns are %q, before %q", after, before)
	}
}

func TestStoresHaveDifferentLooks(t *testing.T) {
	r := made(fixtures["hundred"])
	seen := map[string]string{}
	looks := looksOf(r)
	for i, s := range r.Stores[:hues*len(dashes)] {
		l := looks[s.Arm].Hue + looks[s.Arm].Path()
		if other, taken := seen[l]; taken {
			t.Errorf("arm %d, %s, looks as %s does", i, s.Arm, other)
		}
		seen[l] = s.Arm
	}
}

func TestLocate(t *testing.T) {
	folder := t.TempDir()
	for file, want := range map[string]string{
		"run/report.html": "trials/a/", "report.html": "run/trials/a/", "other/report.html": "../run/trials/a/"} {
		r := &model.Result{Runs: []model.Run{{ID: "1", Directory: filepath.Join(folder, "run")}},
			Trials: []model.Trial{{Run: "1", Link: "trials/a/"}, {Run: "1"}}}
		for range 2 { // it may be moved again
			if err := Locate(r, filepath.Join(folder, file)); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.Trials[0].Link; got != want || r.Trials[1].Link != "" {
			t.Errorf("from %s the trial is at %q, want %q", file, got, want)
		}
	}
	r := &model.Result{Runs: []model.Run{{ID: "1", Directory: filepath.Join(folder, "a b#c?")}}}
	if err := Locate(r, filepath.Join(folder, "report.html")); err != nil || r.Runs[0].Base != "a%20b%23c%3F/" {
		t.Errorf("a name with URL characters gives %q, %v", r.Runs[0].Base, err)
	}
}

// keep saves what a test made in the folder ASSAY_SCREENSHOTS; without it, nothing is saved.
func keep(t *testing.T, name string, content func() []byte) {
	t.Helper()
	folder := os.Getenv("ASSAY_SCREENSHOTS")
	if folder == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(folder, name), content(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What power cuts took stands in the page of a run; a store that none opened after is not drawn.
func TestPageDrawsRateAgainstLoss(t *testing.T) {
	if page := pageOf(t, &model.Result{}); strings.Contains(page, `id="power-cuts"`) {
		t.Error("a page of stores that were not cut has the picture")
	}
	lost := proof.Measure{Rate: 300_000, Loss: &proof.Loss{Cuts: 5, MedianNS: 40e6, LowNS: 20e6, HighNS: 80e6,
		WorstNS: 80e6, Records: 900, RecordsMax: 1700}}
	page := pageOf(t, &model.Result{PowerCuts: []model.PowerCuts{
		{Arm: "goleveldb", Class: "D1", Proof: record.Proof{Kept: true, NoPromise: true, Cuts: 5, Measure: lost}},
		{Arm: "b<olt", Class: "D3", Proof: record.Proof{Kept: true, Cuts: 5, Measure: proof.Measure{Rate: 1000, Loss: &proof.Loss{Cuts: 5}}}},
		{Arm: "shut", Class: "D1", Proof: record.Proof{Cuts: 5}},
	}})
	for _, part := range []string{`href="#power-cuts"`, "goleveldb (D1): 300 k/s; lost median 40.0 ms", "b&lt;olt (D3): 1.00 k/s; lost nothing"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if n := strings.Count(page, "<circle"); n != 2 {
		t.Errorf("%d points are drawn, expected 2", n)
	}
}
