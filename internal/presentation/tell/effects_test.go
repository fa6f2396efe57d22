package tell_test

import (
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
	var effects []model.Effect
	add := func(to string, cases int, ratio float64) {
		for range cases {
			effects = append(effects, model.Effect{Effect: facts.Effect{Axes: []string{"threads"}, From: []string{"1 thread"}, To: []string{to},
				Ratio: facts.Ratio{Estimate: facts.Estimate{Value: ratio}, Significant: ratio != 1}}})
		}
	}
	for _, to := range []string{"2 threads", "4 threads", "8 threads"} {
		add(to, 2, 1)
	}
	add("16 threads", 2, 1.5)
	add("32 threads", 1, 1)
	says := func() (lines []string) {
		for _, m := range tell.EffectLines(effects) {
			lines = append(lines, finding.Text(m))
		}
		return lines
	}
	want := []string{"2, 4 and 8 threads instead of 1 thread: no significant difference in 2 cases (store and phase)",
		"16 threads instead of 1 thread: 1.50× the rate where significant, in 2 of 2 cases (store and phase)",
		"32 threads instead of 1 thread: no significant difference in 1 case (store and phase)"}
	if got := says(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	add("64 threads", 1, 2)
	add("128 threads", 1, 2)
	if got := says(); got != nil {
		t.Errorf("too many lines: %q", got)
	}
}
