package tell_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
	"assay/internal/presentation/model"
	"assay/internal/presentation/text"
	"assay/internal/testkit/recordtest"
	"assay/internal/testkit/resulttest"
)

// A store that answers late above a rate, one that does not, and one that never drains what it owes:
// the screen and the findings say which, and nothing says that a rate did not hold.
func TestLoadOverTimeIsAnswered(t *testing.T) {
	shape := resulttest.Clean()
	shape.Blocks = 3
	run := resulttest.Built(shape)
	segments := []trace.Segment{{Form: trace.FormRamp, From: 1000, To: 10_000, Duration: 10 * time.Second},
		{Form: trace.FormBurst, From: 1000, To: 12_000, Every: 10 * time.Second, Length: time.Second,
			Duration: 20 * time.Second}}
	service := map[string]func(time.Duration, float64) time.Duration{
		"oak": func(_ time.Duration, rate float64) time.Duration {
			if rate > 6000 {
				return 9 * time.Millisecond
			}
			return 100 * time.Microsecond
		},
		"elm": func(time.Duration, float64) time.Duration { return 200 * time.Microsecond },
		"ash": func(at time.Duration, _ float64) time.Duration {
			if at > 27*time.Second {
				return time.Second
			}
			return 200 * time.Microsecond
		},
	}
	recordtest.OverTime(run, "put", segments, func(arm string) recordtest.Queue {
		of := service[strings.TrimSuffix(arm, " (A/A)")]
		if of == nil {
			of = service["elm"]
		}
		return recordtest.Queue{Threads: 200, Service: of}
	})
	r := resulttest.ResultOf(t, run)
	var answers []string
	for _, m := range slices.Concat(r.Summary.Answer, r.Summary.Trust) {
		answers = append(answers, finding.Text(m))
	}
	all := strings.Join(answers, "\n")
	for _, want := range []string{"p99 in put (D1) rises above: ", "oak 5.9", "No rise of p99 up to ", "elm (at most ", "After bursts of 12.0 k/s in put (D1), response times were as before: ",
		"ash never drained its backlog in put (D1): it ended "} {
		if !strings.Contains(all, want) {
			t.Errorf("no answer has %q:\n%s", want, all)
		}
	}
	found := map[finding.Code]string{}
	for _, f := range r.Findings {
		if f.Where.Phase == "put" {
			found[f.Code] += f.Where.Arm + " "
		}
	}
	for code, want := range map[finding.Code]string{finding.LatencyRises: "oak ", finding.BacklogLeft: "ash ", finding.FellBehind: ""} {
		if found[code] != want {
			t.Errorf("%s is found of %q, expected %q", code, found[code], want)
		}
	}
	for i := range r.Tables {
		if doing := finding.Text(r.Tables[i].Doing); r.Tables[i].Phase == "put" && !strings.Contains(doing, "open load at 1.00 k/s to 10.0 k/s for 10.0 s, then 1.00 k/s, bursts of 12.0 k/s for 20.0 s") {
			t.Errorf("Doing: %s", doing)
		}
	}
	for _, name := range []string{"segment", "1: 1.00 k/s to 10.0 k/s", "2: 12.0 k/s, 2 bursts", "2: 1.00 k/s, between bursts", "asked rate", "recovered"} {
		if full := fullOf(t, r); !strings.Contains(full, name) {
			t.Errorf("the full report lacks %q", name)
		}
	}
}

func fullOf(t *testing.T, r *model.Result) string {
	t.Helper()
	var out bytes.Buffer
	if err := text.Full(&out, r, text.Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// How far a replay differs from its recording is reported once for all stores, by the worst.
func TestReplay_reports_the_worst_difference(t *testing.T) {
	run := resulttest.CleanRun()
	for i, arm := range []string{"elm", "oak", "ash"} {
		for _, trial := range resulttest.Trials(run, arm) {
			resulttest.PhaseOf(trial, "put").Fidelity = &recording.Fidelity{Recorded: 1_000_000, Sent: 1_000_000, Asked: 1, Speed: 1,
				Distances: recording.Distances{Gaps: 0.004 / float64(i+1), Hits: 0.001 * float64(i)}, Left: []recording.LeftOut{{Why: "a negative time", Count: 2}}}
		}
	}
	r := resulttest.ResultOf(t, run)
	var answers []string
	for _, m := range r.Summary.Answer {
		answers = append(answers, finding.Text(m))
	}
	const want = "Replayed 1,000,000 of 1,000,000 requests in put (D1), at 1.00 times their speed; gaps differ by 0.4 %, hit rates by at most 0.2 points. " +
		"Left out: 2 lines or requests (a negative time)."
	if !slices.Contains(answers, want) {
		t.Errorf("%q lack %q", answers, want)
	}
}
