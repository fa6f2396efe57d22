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

// A store that does next to nothing is as fast as the null driver, and in some blocks faster.
func TestNoOperationIsMoreThanAllHarness(t *testing.T) {
	for _, c := range []struct {
		null   float64 // its rate ÷ that of the clean run
		driver string
		worker []string
		want   string // of the sentence
		remedy string
	}{
		{200e3 / 21e6 * 0.9, "oak", nil, "oak in put at D1 is as fast as the null driver: all of it is harness, so", "use larger values, or a slower order of keys"},
		{200e3 / 21e6 * 1.03, "oak", nil, " is as fast as the null driver: all of it is harness, so", "use larger values, or a slower order of keys"},
		{200e3 / 21e6 * 1.25, "oak", nil, " % of each operation is the harness, so", "use larger values, or a slower order of keys"},
		{200e3 / 21e6 * 1.25, "sqlite", nil, " % of each operation is the harness, so", "or its native driver, sqlite-c (make native)"},
	} {
		run := cleanRun()
		slow(run, "null", c.null)
		run.Experiment.Stores[0].Driver, run.Experiment.Stores[0].Worker = c.driver, c.worker
		s := summarise(t, run)
		f := find(s, FindHarnessBound)
		if f == nil || !strings.Contains(f.Sentence, c.want) || !strings.Contains(f.Remedy, c.remedy) || strings.Contains(f.Remedy, "native") != (c.driver == "sqlite") {
			t.Errorf("%+v: %+v", c, f)
		}
		reasons := strings.Join(table(t, s, "put").rowOf("measured", "oak").Reasons, "; ")
		if strings.Contains(reasons, "as fast as the null driver") == strings.Contains(reasons, "% of each operation") {
			t.Errorf("%+v: the row has no rank for %q", c, reasons)
		}
	}
}
