package verdict

import (
	"strings"
	"testing"

	"assay/internal/record"
)

// Of a block that is too short to tell, nothing is said but that.
func TestTheOtherBlocksAreSteadyOnlyWhereTheyWereFoundSo(t *testing.T) {
	for _, c := range []struct {
		short, failed []int // positions of elm's trials; the first never settles
		want          string
	}{
		{nil, nil, "in 1 of 5 blocks: the other blocks were steady."},
		{[]int{1}, nil, "in 1 of 5 blocks: 3 of the other 4 blocks were steady, of the rest it can't be told."},
		{[]int{1, 2, 3}, nil, "in 1 of 5 blocks: 1 of the other 4 blocks was steady, of the rest it can't be told."},
		{[]int{1, 2, 3, 4}, nil, "in 1 of 5 blocks: of the other blocks it can't be told."},
		{nil, []int{4}, "in 1 of 5 blocks: 3 of the other 4 blocks were steady, of the rest it can't be told."},
	} {
		run := cleanRun()
		elm := trials(run, "elm")
		scale(run, elm[0], "put", 30, 60, 0.7)
		for _, i := range c.short {
			shorten(run, elm[i], 5)
		}
		for _, i := range c.failed {
			elm[i].State, elm[i].Error, elm[i].Phases = record.Failed, "the worker died", nil
			delete(run.Series, elm[i].Plan.ID)
		}
		if f := find(summarise(t, run), FindUnsteady); f == nil || f.Severity != Notice || !strings.HasSuffix(f.Sentence, c.want) {
			t.Errorf("%v short, %v failed: %+v, want %q", c.short, c.failed, f, c.want)
		}
	}
}
