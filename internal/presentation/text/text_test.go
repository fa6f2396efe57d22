package text

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"assay/internal/analysis/compare"
	"assay/internal/base/finding"
	"assay/internal/presentation/column"
	"assay/internal/presentation/model"
	"assay/internal/testkit/golden"
	"assay/internal/testkit/hostile"
)

func said(text string) finding.Message { return finding.New(finding.PlainParams{Text: text}) }

func figure(v float64, letters string, best bool) model.SectionCell {
	low, high := v*0.97, v*1.04
	return model.SectionCell{Value: &v, Low: &low, High: &high, Letters: letters, Best: best, Ranked: true}
}

// putGet is like the demo: stores × phases in three classes.
func putGet() *model.Result {
	columns := []model.SectionColumn{{Kind: "rate", Title: "overwrite"}, {Kind: "rate", Title: "overwrite-batch"}, {Kind: "rate", Title: "read-shuffled"}, {Kind: "rate", Title: "insert"}}
	none := model.SectionCell{Text: "no batches"}
	unsteady := figure(12100, "", false)
	unsteady.Unsteady, unsteady.Ranked, unsteady.Letters = true, false, ""
	rows := []model.SectionRow{
		{Arm: "pebble", Cells: []model.SectionCell{figure(8120, "a", true), figure(312, "a", true), figure(45100, "c", false), figure(8400, "a", true)}},
		{Arm: "bbolt", Cells: []model.SectionCell{figure(2100, "b", false), figure(301, "a", true), figure(579000, "a", true), figure(812, "b", false)}},
		{Arm: "pogreb", Cells: []model.SectionCell{figure(1980, "b", false), none, figure(512000, "b", false), unsteady}},
	}
	r := &model.Result{Summary: model.Summary{
		Question: "Which embedded engine puts and gets small records fastest, durability class by class?",
		Ran:      said("9 stores, 3 classes, 3 blocks: 96 trials in 2 min 41 s. 10,000 records of 1,449 B, 1 thread."),
		Clear:    []finding.Message{said("Surviving a power cut, pebble is fastest at overwrite: 3.87× bbolt (3.51 to 4.20).")},
		NotClear: []finding.Message{said("overwrite-batch (D3): pebble and bbolt are tied. Differences above 1.1× would have been found.")},
		Trust:    []finding.Message{said("Durability is the drivers' claim; no power-cut test was run.")},
		Next:     []model.Next{{Command: "assay run put-get --set blocks=7", Why: said("More blocks separate the tied stores.")}},
	}}
	for _, class := range []string{"survives a power cut (D3)", "survives a crash of the process (D1)", "may be lost with the process (D0)"} {
		r.Summary.Sections = append(r.Summary.Sections, model.Section{Title: class, Unit: "operations/s", Columns: columns, Rows: rows,
			Missing: []finding.Message{said("Not supported: memory.")}})
	}
	return r
}

// collapse is a run in which stores did not hold their rate.
func collapse() *model.Result {
	early, late, at := 133000.0, 17000.0, 3.7e6
	row := func(arm string, broke bool) model.SectionRow {
		cells := []model.SectionCell{{Value: &early, Ranked: true}, {Value: &late, Ranked: true}, {Value: &at}, {Text: "page faults"}}
		if !broke {
			cells[2], cells[3] = model.SectionCell{Text: "held"}, model.SectionCell{}
		}
		return model.SectionRow{Arm: arm, Cells: cells}
	}
	section := model.Section{Title: "survives a crash of the process (D1)", Cell: "200 MiB memory", Columns: []model.SectionColumn{{Kind: "early", Title: "early/s"},
		{Kind: "late", Title: "late/s"}, {Kind: "broke", Title: "broke at records"}, {Kind: "with", Title: "with"}}}
	for i := range 16 {
		section.Rows = append(section.Rows, row(fmt.Sprintf("tokyocabinet-table-tuned-%d", i), i%3 > 0))
	}
	return &model.Result{Summary: model.Summary{Question: "Does a table store keep its rate while ten threads insert without end and the data outgrows the memory?",
		Ran: said("16 stores, 1 class, 1 block."), Sections: []model.Section{section},
		Answer: []finding.Message{said("tc-table broke at 3.7 M records; page faults rose with it. Tuning postponed it to 9.1 M.")}}}
}

func TestScreen(t *testing.T) {
	for name, r := range map[string]*model.Result{"put-get": putGet(), "collapse": collapse()} {
		var out bytes.Buffer
		if err := Screen(&out, r, Options{Width: 80, Report: "assay-put-get/report.html"}); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name+".txt", out.String())
		var md bytes.Buffer
		if err := Markdown(&md, r); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name+".md", md.String())
	}
}

func TestScreen_fits_whatever_comes(t *testing.T) {
	r := putGet()
	long := strings.Repeat("long words of a finding that wraps ", 6)
	for range 10 {
		r.Summary.Sections = append(r.Summary.Sections, r.Summary.Sections[0])
	}
	for _, list := range []*[]finding.Message{&r.Summary.Clear, &r.Summary.NotClear, &r.Summary.Trust,
		&r.Summary.Answer} {
		for range 30 {
			*list = append(*list, said(long))
		}
	}
	for _, width := range []int{40, 80, 200} {
		var out bytes.Buffer
		if err := Screen(&out, r, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
		if width >= 80 && len(r.Summary.Sections) <= 3 && len(lines) > LinesMax {
			t.Errorf("%d lines at width %d", len(lines), width)
		}
		for _, line := range lines {
			if lipgloss.Width(line) > width {
				t.Errorf("line of %d columns at width %d: %q", lipgloss.Width(line), width, line)
			}
		}
	}
}

// What there is no room for is counted, below a grid as in the lists.
func TestScreen_counts_what_it_leaves_out(t *testing.T) {
	var told []finding.Message
	for i := range 6 {
		told = append(told, said(fmt.Sprintf("note %d", i)))
	}
	p := newPage(Options{Width: 80})
	p.section(model.Section{Title: "class", Changes: told, Missing: told}, budget{rows: 16, changes: 4, missing: 1}, &drawn{})
	text := strings.Join(p.lines, "\n")
	if strings.Count(text, "note 3 (2 more: --full)") != 1 || strings.Count(text, "note 0 (5 more: --full)") != 1 || strings.Contains(text, "note 4") {
		t.Errorf("%s", text)
	}
}

// The legend explains the sign of an interval where intervals are shown, and not where they did not fit.
func TestScreen_explains_the_intervals_that_it_shows(t *testing.T) {
	r := putGet()
	for _, section := range r.Summary.Sections {
		for i := range section.Rows[0].Cells {
			c := &section.Rows[0].Cells[i]
			low, high := *c.Value/3, *c.Value*3
			c.Low, c.High = &low, &high
		}
	}
	for width, shown := range map[int]bool{60: false, 200: true} {
		var out bytes.Buffer
		if err := Screen(&out, r, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		if explained := strings.Contains(out.String(), "the figure divided"); explained != shown {
			t.Errorf("at width %d, intervals explained: %v\n%s", width, explained, out.String())
		}
	}
}

// Arms that have no row in a table are named beneath it, with the reason that they share.
func TestFull_names_the_arms_without_a_figure(t *testing.T) {
	r := &model.Result{Tables: []model.Table{{Title: "survives a power cut (D3)", Phase: "insert",
		Absence: []model.Absent{{Arms: []string{"ash", "elm"}, Why: said("no trial ended")}}}}}
	var out bytes.Buffer
	if err := Full(&out, r, Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if want := "ash, elm: no trial ended"; !strings.Contains(out.String(), want) {
		t.Errorf("expected %q in\n%s", want, out.String())
	}
}

// Nothing that a store, a file or a user named moves a cursor, hides a line or reorders one.
func TestScreen_shows_no_control_character(t *testing.T) {
	for name, r := range map[string]*model.Result{"put-get": putGet(), "collapse": collapse()} {
		hostile.Poison(r, hostile.Text)
		comparison := column.Compared(&compare.Comparison{Verdict: said("Regression." + hostile.Text), Sides: []string{hostile.Text, "b"},
			Criteria: []compare.Criterion{{Text: "rate" + hostile.Text, Failed: 1}}}, true)
		for format, write := range map[string]func(*bytes.Buffer) error{
			"screen":                 func(out *bytes.Buffer) error { return Screen(out, r, Options{Width: 80}) },
			"brief":                  func(out *bytes.Buffer) error { return Brief(out, r, Options{Width: 80}) },
			"full":                   func(out *bytes.Buffer) error { return Full(out, r, Options{Width: 80}) },
			"markdown":               func(out *bytes.Buffer) error { return Markdown(out, r) },
			"comparison":             func(out *bytes.Buffer) error { return Comparison(out, &comparison, Options{Width: 80}) },
			"comparison as Markdown": func(out *bytes.Buffer) error { return ComparisonMarkdown(out, &comparison) },
		} {
			var out bytes.Buffer
			if err := write(&out); err != nil {
				t.Fatal(err)
			}
			for _, bad := range []string{"\x1b", "\u2028", "\u202e"} {
				if at := strings.Index(out.String(), bad); at >= 0 {
					t.Errorf("%s of %s has %q in %q", format, name, bad, out.String()[max(0, at-60):at])
				}
			}
			if !strings.Contains(out.String(), "alert(1)") {
				t.Errorf("%s of %s shows none of the texts", format, name)
			}
		}
	}
}

// Of many rows, those that are first in any column stay: also of a store that lacks the column that sorts.
func TestFastestStoreIsAmongTheRowsShown(t *testing.T) {
	value := func(v float64) model.SectionCell { return model.SectionCell{Value: &v} }
	rows := []model.SectionRow{
		{Arm: "a", Cells: []model.SectionCell{value(9), value(1)}}, {Arm: "b", Cells: []model.SectionCell{value(8), value(2)}},
		{Arm: "c", Cells: []model.SectionCell{value(7), value(3)}}, {Arm: "d", Cells: []model.SectionCell{value(6), value(4)}},
		{Arm: "first", Cells: []model.SectionCell{{}, value(5)}},
	}
	for kind, want := range map[string]string{"rate": "a b first", "latency": "a b d"} {
		var kept []string
		columns := []model.SectionColumn{{Kind: kind}, {Kind: kind}}
		for _, row := range leading(model.Section{Columns: columns, Rows: rows}, 3) {
			kept = append(kept, row.Arm)
		}
		if got := strings.Join(kept, " "); got != want {
			t.Errorf("of a %s kept %s, want %s", kind, got, want)
		}
	}
}
