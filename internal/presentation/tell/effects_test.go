package tell_test

import (
	"fmt"
	"slices"
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/presentation/model"
	"assay/internal/presentation/tell"
)

// Levels that differ from one nowhere are one line; those of other numbers of cases, and a significant one, have
// lines of their own. More lines than a screen bears are none.
func TestLevelsWithoutADifferenceAreOneLine(t *testing.T) {
	type level struct {
		threads, cases int
		ratio          float64 // 1: not significant
	}
	const none, inCases = "no significant difference in 2 cases", " (store and phase)"
	for _, c := range []struct {
		levels []level
		want   []string
	}{
		{[]level{{2, 2, 1}, {4, 2, 1}, {8, 2, 1}, {16, 2, 1.5}, {32, 1, 1}}, []string{
			"2, 4 and 8 threads instead of 1 thread: " + none + inCases,
			"16 threads instead of 1 thread: 1.50× the rate in each of 2 cases" + inCases,
			"32 threads instead of 1 thread: no significant difference"}},
		{[]level{{2, 2, 1}, {4, 2, 1}, {8, 2, 1}, {16, 2, 1}, {32, 2, 1}}, []string{
			"2, 4, 8, 16 and 32 threads instead of 1 thread: " + none + inCases}},
		{[]level{{2, 2, 1}, {4, 2, 1}, {8, 2, 1}, {16, 2, 1}, {32, 2, 1}, {64, 2, 1}}, []string{
			"2, 4, 8, 16 threads and 2 more instead of 1 thread: " + none + inCases}},
		{[]level{{2, 1, 2}, {4, 1, 2}, {8, 1, 2}, {16, 1, 2}, {32, 1, 2}}, nil},
	} {
		var effects []model.Effect
		for _, l := range c.levels {
			for range l.cases {
				effects = append(effects, model.Effect{Effect: facts.Effect{Axes: []string{"threads"},
					From: []string{"1 thread"}, To: []string{fmt.Sprint(l.threads, " threads")},
					Ratio: facts.Ratio{Estimate: facts.Estimate{Value: l.ratio}, Significant: l.ratio != 1}}})
			}
		}
		var got []string
		for _, m := range tell.EffectLines(effects) {
			got = append(got, finding.Text(m))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: got %q", c.levels, got)
		}
	}
}
