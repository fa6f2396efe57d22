package detect_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/presentation/model"
	"assay/internal/presentation/text"
	"assay/internal/testkit/resulttest"
)

// TestCauses plants a cause with its effects, and what only looks like one.
func TestCauses(t *testing.T) {
	failed := func(e *record.Trial) {
		e.State, e.Cause, e.Error, e.Final = record.Failed, finding.CauseDied, "signal killed", nil
	}
	unfinished := func(e *record.Trial) {
		p := resulttest.PhaseOf(e, "put")
		p.Attempted, p.Unfinished = p.Attempted+1, 1
	}
	full := func(e *record.Trial) {
		p := resulttest.PhaseOf(e, "put")
		p.Operations[0].OK, p.Operations[0].Errors = p.Operations[0].OK-40, 40
		e.State, e.Marks = record.Marked, []finding.Mark{{Message: finding.New(finding.FullDiskParams{Code: finding.MarkDiskFull}), Phase: "put"}}
	}
	for _, c := range []struct {
		name  string
		plant func(run *record.Run)
		want  []string // the groups that are no notices, with their effects
	}{
		{"a crash leaves operations unfinished", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "elm") {
				failed(e)
				unfinished(e)
			}
		}, []string{"grave trial-failed: unfinished"}},
		{"a full disk fails operations, and then the trial", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "elm") {
				full(e)
				e.State, e.Cause, e.Final.Unknown = record.Failed, finding.CauseDiskFull, 9
			}
		}, []string{"grave disk-full: errors trial-failed unverified"}},
		{"a crash in another block than the full disk", func(run *record.Run) {
			failed(resulttest.Trials(run, "elm")[0])
			full(resulttest.Trials(run, "elm")[1])
		}, []string{"grave trial-failed:", "grave disk-full: errors"}},
		{"a full disk excuses no loss", func(run *record.Run) {
			full(resulttest.Trials(run, "elm")[0])
			resulttest.Trials(run, "elm")[0].Final.Right, resulttest.Trials(run, "elm")[0].Final.Lost = 9_990, 10
		}, []string{"grave lost-values:", "grave disk-full: errors"}},
		{"another store's full disk", func(run *record.Run) {
			full(resulttest.Trials(run, "elm")[0])
			unfinished(resulttest.Trials(run, "ash")[0])
		}, []string{"grave unfinished:", "grave disk-full: errors"}},
		{"the twin as its store", func(run *record.Run) {
			unfinished(resulttest.Trials(run, "oak")[0])
			unfinished(resulttest.Trials(run, "oak (A/A)")[2])
		}, []string{"grave unfinished: unfinished"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := resulttest.CleanRun()
			c.plant(run)
			r := resulttest.ResultOf(t, run)
			var got []string
			for _, g := range r.Groups {
				if g.Severity != finding.Notice {
					got = append(got, groupWords(r, g))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func groupWords(r *model.Result, g model.Group) string {
	words := []string{string(g.Severity), string(g.Code) + ":"}
	for _, i := range g.Effects {
		words = append(words, string(r.Findings[i].Code))
		if r.Findings[i].Cause != g.Code {
			words = append(words, "without its cause")
		}
	}
	return strings.Join(words, " ")
}

// The twin is named where it differs from its store, and only there.
func TestCauses_names_the_twin_where_it_differs(t *testing.T) {
	for _, both := range []bool{true, false} {
		run := resulttest.CleanRun()
		for _, arm := range []string{"oak", "oak (A/A)"} {
			if arm == "oak" && !both {
				continue
			}
			p := resulttest.PhaseOf(resulttest.Trials(run, arm)[0], "put")
			p.Attempted, p.Unfinished = p.Attempted+1, 1
		}
		told := resulttest.ResultOf(t, run).Summary.Trust
		if len(told) != 1 || strings.Contains(finding.Text(told[0]), "(A/A)") == both {
			t.Errorf("both %v: %+v", both, told)
		}
	}
}

// What a cause explains is not on the screen, and beneath the cause in the full report, with the
// store's own words.
func TestCauses_effects_are_in_the_full_report(t *testing.T) {
	run := resulttest.CleanRun()
	e := resulttest.Trials(run, "elm")[0]
	p := resulttest.PhaseOf(e, "put")
	p.Operations[0].OK, p.Operations[0].Errors = p.Operations[0].OK-40, 40
	p.Messages = []record.Message{{Operation: "update", Outcome: "error", Text: "no space left on device", Count: 40}}
	e.State, e.Marks = record.Marked, []finding.Mark{{Message: finding.New(finding.FullDiskParams{Code: finding.MarkDiskFull}), Phase: "put"}}
	r := resulttest.ResultOf(t, run)
	var full bytes.Buffer
	if err := text.Full(&full, r, text.Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	_, findings, _ := strings.Cut(strings.Join(strings.Fields(full.String()), " "), "── Findings ──")
	for _, want := range []string{"elm filled the disk", "elm had 40 failed operations", "no space left on device"} {
		if !strings.Contains(findings, want) {
			t.Errorf("the full report lacks %q:\n%s", want, findings)
		}
		if strings.Contains(resulttest.ScreenOf(t, r), want) != (want == "elm filled the disk") {
			t.Errorf("%q on the screen:\n%s", want, resulttest.ScreenOf(t, r))
		}
	}
}
