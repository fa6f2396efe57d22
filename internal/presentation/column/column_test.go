package column

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/analysis/compare"
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/presentation/model"
)

func known(v float64) *float64 { return &v }

func table() *model.Table {
	estimate := func(v float64) *model.Estimate {
		return &model.Estimate{Value: v, Low: known(0.9 * v), High: known(1.1 * v), Blocks: 3}
	}
	row := func(arm string, standing model.Standing, rate float64) model.Row {
		r := model.Row{Arm: arm, Ranking: model.Ranking{Standing: standing, Rate: estimate(rate)}}
		r.MemoryBytes, r.Course.Kind = known(1e6), "decline"
		return r
	}
	return &model.Table{Rows: []model.Row{row("oak", model.Ranked, 2000), row("elm", model.NotRanked, 1000),
		row("null", model.Reference, 1e7), {Arm: "ash", Ranking: model.Ranking{Standing: model.Failed}}},
		Absence: []model.Absent{{Arms: []string{"ash"}}}}
}

func headings(t *model.Table, in Grid) (names []string) {
	for _, d := range Filled(t, in, Lines(t, in)) {
		names = append(names, d.Heading)
	}
	return names
}

// Names are those of CSV: one that is there twice would be read as another column.
func TestAll_has_each_name_once_and_each_grid_a_column_that_never_goes(t *testing.T) {
	seen := map[string]bool{}
	stays := map[Grid]bool{}
	for _, c := range All(&model.Table{}) {
		if c.Name != "" && seen[c.Name] || c.Name == "" && c.In == Nowhere || c.In != Nowhere && c.Heading == "" {
			t.Errorf("%+v", c)
		}
		seen[c.Name] = true
		for _, grid := range []Grid{Speed, Course, Resources, Kinds} {
			stays[grid] = stays[grid] || c.In&grid != 0 && c.Drop == 0
		}
	}
	if len(stays) != 4 || !stays[Speed] || !stays[Course] || !stays[Resources] || !stays[Kinds] {
		t.Errorf("columns that stay: %v", stays)
	}
}

func TestFilled_leaves_out_what_no_line_has(t *testing.T) {
	made := table()
	if got := headings(made, Resources); !slices.Equal(got, []string{"Memory"}) {
		t.Errorf("resources %q", got)
	}
	before := headings(made, Speed)
	made.Rows[0].Miss = 3
	if after := headings(made, Speed); len(after) != len(before)+1 || !slices.Contains(after, "Misses") {
		t.Errorf("with a miss %q, before %q", after, before)
	}
}

func TestLines_are_those_that_a_grid_is_about(t *testing.T) {
	made := table()
	for grid, want := range map[Grid][]string{Speed: {"oak", "elm", "null"}, Resources: {"oak", "elm"}, Course: {"oak", "elm"}} {
		var got []string
		for _, l := range Lines(made, grid) {
			got = append(got, l.Arm)
		}
		if !slices.Equal(got, want) {
			t.Errorf("grid %d has %q, want %q", grid, got, want)
		}
	}
}

// One list decides which column goes first where there is no room: the interval stays longer than the
// maximum.
func TestAll_intervals_stay_longer_than_the_maximum(t *testing.T) {
	drops := map[string]Column{}
	for _, c := range All(&model.Table{}) {
		drops[c.Name] = c
	}
	if drops[Rate].Ranged >= drops["max_ns"].Drop || drops["p99_ns"].Drop != 0 {
		t.Errorf("rate's interval goes at %d, the maximum at %d, p99 at %d", drops[Rate].Ranged, drops["max_ns"].Drop, drops["p99_ns"].Drop)
	}
}

// Of one run that is held against limits there is no older side, and no ratio: the interval is the figure's.
func TestComparedOfOneRun(t *testing.T) {
	low, high := 4e6, 12e6
	c := compare.Comparison{Sides: []string{"results/gate"}, Outcome: compare.Regression, Verdict: finding.New(finding.CompareCriteriaFailedParams{Failed: 1, Criteria: []string{"p99 > 1ms"}}),
		Rows: []compare.ComparisonRow{{Arm: "pebble", Cell: "D3", Phase: "get", Metric: "p99", Outcome: compare.Regression, Values: []facts.Estimate{{Value: 7e6, Low: &low, High: &high}}}}}
	told := Compared(&c, false)
	if told.Run != "gate" || len(told.Rows) != 1 {
		t.Fatalf("%+v", told)
	}
	if got := strings.Join(told.Rows[0].Cells, "|"); got != "get D3|pebble|p99||7.00 ms||4.00 ms to 12.0 ms|" {
		t.Errorf("%s", got)
	}
}
