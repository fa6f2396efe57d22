package record_test

import (
	"testing"

	"assay/internal/evidence/history"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/internal/testkit/recordtest"
)

// What was verified is counted over the trials of stores alone, once, and a trial that wrote and was
// not looked at is counted.
func TestVerified(t *testing.T) {
	fresh := func() (*record.Run, *record.Trial) {
		s := recordtest.Example()
		s.Seconds = 5
		run := recordtest.Run(s)
		for _, p := range run.Plan {
			if trial := run.Trials[p.ID]; p.Role == plan.Measured && trial != nil && trial.State == record.OK &&
				trial.Final != nil {
				return run, trial
			}
		}
		t.Fatal("no trial of the example has a final check")
		return nil, nil
	}
	run, _ := fresh()
	clean := run.Verified()
	if clean.Values == 0 || clean.Right != clean.Values || clean.ReadBack == 0 ||
		clean.Lost+clean.Stale+clean.NotRead != 0 || clean.Trials == 0 || clean.NotChecked != 0 {
		t.Fatalf("the example: %+v", clean)
	}
	for name, c := range map[string]struct {
		do   func(*record.Run, *record.Trial)
		want func(record.Verified) bool
	}{
		"a wrong value in a phase": {func(_ *record.Run, t *record.Trial) {
			for i := range t.Phases {
				for j := range t.Phases[i].Operations {
					if o := &t.Phases[i].Operations[j]; o.Name == "read" {
						o.OK, o.Wrong = o.OK-2, 2
					}
				}
			}
		}, func(v record.Verified) bool { return v.Values == clean.Values && v.Right < v.Values }},
		"old values and misses in a phase": {func(_ *record.Run, t *record.Trial) {
			for i := range t.Phases {
				p := &t.Phases[i]
				for j := range p.Operations {
					if o := &p.Operations[j]; o.Name == "read" {
						p.History, o.Lost = &record.History{Consistency: history.Consistency{Stale: 2}}, 3
						return
					}
				}
			}
		}, func(v record.Verified) bool {
			return v.Values == clean.Values && v.Right == v.Values-2 && v.Old == 2 && v.Missed == 3
		}},
		"records that could not be judged": {func(_ *record.Run, t *record.Trial) {
			t.Final.Right, t.Final.Unknown, t.Final.Errors = t.Final.Right-5, 3, 2
		}, func(v record.Verified) bool {
			return v.ReadBack == clean.ReadBack && v.ReadRight == clean.ReadRight-5 &&
				v.NotJudged == clean.NotJudged+5 && v.Lost == 0
		}},
		"records lost, stale and not read": {func(_ *record.Run, t *record.Trial) {
			t.Final.Right, t.Final.Lost, t.Final.Stale, t.Final.NotRead = t.Final.Right-5, 3, 2, 7
		}, func(v record.Verified) bool {
			return v.Lost == 3 && v.Stale == 2 && v.NotRead == 7 && v.ReadBack == clean.ReadBack
		}},
		"a failed trial": {func(_ *record.Run, t *record.Trial) { t.State = record.Failed },
			func(v record.Verified) bool { return v.Trials == clean.Trials-1 && v.Values < clean.Values }},
		"values are not checked": {func(run *record.Run, _ *record.Trial) { run.Experiment.Verify = false },
			func(v record.Verified) bool { return v.Values == v.ReadBack && v.NotChecked == 0 }},
		"nothing is checked": {func(run *record.Run, _ *record.Trial) {
			run.Experiment.Verify = false
			for _, t := range run.Trials {
				t.Final = nil
			}
		}, func(v record.Verified) bool { return v.Values+v.ReadBack == 0 && v.NotChecked > v.Trials/2 }},
	} {
		run, trial := fresh()
		c.do(run, trial)
		if v := run.Verified(); !c.want(v) {
			t.Errorf("%s: %+v, and %+v without", name, v, clean)
		}
	}
}
