package verdict

import (
	"strings"
	"testing"

	"assay/internal/plan"
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
		reasons := strings.Join(tableNamed(t, s, "put").rowOf(plan.Measured, "oak").Reasons, "; ")
		if strings.Contains(reasons, "as fast as the null driver") == strings.Contains(reasons, "% of each operation") {
			t.Errorf("%+v: the row has no rank for %q", c, reasons)
		}
	}
}

// A quota is no fault of a store, and to run for longer what a quota ends is no help.
func TestAPhaseThatItsQuotaEndedIsToldSo(t *testing.T) {
	quickly := func(run *record.Run, arm string, seconds int, by record.Ending) {
		for _, trial := range trials(run, arm) {
			shorten(run, trial, seconds)
			phaseOf(trial, "put").EndedBy = by
			phaseOf(trial, "get").ElapsedNS = 60e9
		}
	}
	for _, c := range []struct {
		name             string
		plant            func(run *record.Run)
		sentence         string // of the quota; "": none
		severity         Severity
		short, undecided string // remedies; "": no such finding
	}{
		{"one", func(run *record.Run) { quickly(run, "elm", 3, record.EndedQuota) }, "Phase put reached its disk quota of 40 MiB after 3.00 s (elm), and ended.", Warning, "", "raise disk_quota, so that the phase runs longer"},
		{"two", func(run *record.Run) {
			quickly(run, "elm", 3, record.EndedQuota)
			quickly(run, "oak", 12, record.EndedQuota)
		}, "Phase put reached its disk quota of 40 MiB after 3.00 s to 12.0 s (elm and oak), and ended.", Warning, "", "raise disk_quota, so that the phase runs longer"},
		{"late", func(run *record.Run) { quickly(run, "elm", 40, record.EndedQuota) }, "Phase put reached its disk quota of 40 MiB after 40.0 s (elm), and ended.", Notice, "", ""},
		{"one, beside one that was short", func(run *record.Run) {
			quickly(run, "elm", 3, record.EndedQuota)
			quickly(run, "oak", 4, record.EndedDuration)
		}, "(elm), and ended.", Warning, "run it for a minute or more before drawing conclusions", "run the phase longer"},
		{"a full disk", func(run *record.Run) { quickly(run, "elm", 3, record.EndedDiskFull) }, "", "", "", "give the store more disk, so that the phase runs longer"},
	} {
		run := cleanRun()
		run.Experiment.Cells[0].DiskQuota = 40 << 20
		c.plant(run)
		s := summarise(t, run)
		f := find(s, FindQuotaEnded)
		if (f != nil) != (c.sentence != "") || f != nil && (!strings.HasSuffix(f.Sentence, c.sentence) || f.Severity != c.severity || f.Remedy != "raise disk_quota" || !strings.Contains(f.Evidence[0], " s of 60.0 s")) {
			t.Errorf("%s: %+v", c.name, f)
		}
		for code, want := range map[string]string{FindShortRun: c.short, FindUndecided: c.undecided} {
			remedy := ""
			if g := find(s, code); g != nil {
				remedy = g.Remedy
			}
			if remedy != want {
				t.Errorf("%s: the remedy of %s is %q, want %q", c.name, code, remedy, want)
			}
		}
		for _, w := range tableNamed(t, s, "put").rowOf(plan.Measured, "elm").Warnings {
			if strings.Contains(w.Evidence, "-elm-") && f != nil && w.Remedy == "run the phase longer" {
				t.Errorf("%s: %+v", c.name, w)
			}
		}
	}
}
