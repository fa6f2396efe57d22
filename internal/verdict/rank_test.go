package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/finding"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/record/recordtest"
	"assay/store"
)

// putRun is a run of a put phase of a minute, five blocks and an A/A arm, of stores that do so many operations a second with 2 % of noise.
func putRun(arms ...recordtest.Arm) *record.Run {
	for i := range arms {
		if arms[i].Noise == 0 {
			arms[i].Noise = 0.02
		}
	}
	run := recordtest.Run(recordtest.Shape{Name: "ranks", Classes: []store.Durability{store.D1}, Blocks: 5, Seconds: 60, Seed: 5, AA: true, Ceiling: true, Arms: arms})
	run.Experiment.Phases = run.Experiment.Phases[:2]
	return run
}

// setRates gives each block of an arm a rate of its own, without a change of level.
func setRates(run *record.Run, arm string, rates ...float64) {
	for _, t := range trials(run, arm) {
		total := uint64(0)
		for i := range run.Series[t.Plan.ID] {
			if s := &run.Series[t.Plan.ID][i]; s.Phase == "put" {
				s.Operations = uint64(rates[t.Plan.Block-1] * s.Seconds)
				total += s.Operations
			}
		}
		p := phaseOf(t, "put")
		p.Operations[0].OK, p.Attempted = total, total
	}
}

func ranksOf(t *Table) map[string]int {
	ranks := map[string]int{}
	for _, r := range t.Rows {
		if r.Role == plan.Measured {
			ranks[r.Arm] = r.Rank
		}
	}
	return ranks
}

// Arms that nothing tells apart have one rank, wherever they stand.
func TestEqualArmsHaveOneRankBelowTheFirst(t *testing.T) {
	run := putRun(recordtest.Arm{Name: "a", PutRate: 2e6}, recordtest.Arm{Name: "b", PutRate: 1e6}, recordtest.Arm{Name: "c", PutRate: 1e6}, recordtest.Arm{Name: "d", PutRate: 5e5})
	setRates(run, "a", 2.0e6, 2.02e6, 1.98e6, 2.01e6, 2.0e6)
	setRates(run, "b", 1.0e6, 1.02e6, 0.98e6, 1.01e6, 1.0e6)
	setRates(run, "c", 1.01e6, 1.0e6, 1.0e6, 1.0e6, 1.01e6)
	setRates(run, "d", 5.0e5, 5.05e5, 4.98e5, 5.0e5, 5.0e5)
	table := tableNamed(t, summarise(t, run), "put")
	if ranks := ranksOf(table); ranks["a"] != 1 || ranks["b"] != 2 || ranks["c"] != 2 || ranks["d"] != 4 {
		t.Errorf("ranks %v: %s", ranks, table.Sentence)
	}
	if !strings.HasPrefix(table.Sentence, "a is the fastest with ") {
		t.Error(table.Sentence)
	}
}

// What is shown to be slower than another shares no rank with it, though the first one is too loud to say.
func TestALoudBestTiesNobodyWhoIsShownToBeSlower(t *testing.T) {
	run := putRun(recordtest.Arm{Name: "loud", PutRate: 1.2e6}, recordtest.Arm{Name: "b", PutRate: 1e6}, recordtest.Arm{Name: "c", PutRate: 5e5})
	setRates(run, "loud", 3e6, 4e5, 2.5e6, 5e5, 2e6)
	setRates(run, "b", 1.0e6, 1.002e6, 0.999e6, 1.001e6, 1.0e6)
	setRates(run, "c", 5.0e5, 5.01e5, 4.99e5, 5.0e5, 5.0e5)
	run.Experiment.Baseline = "b"
	table := tableNamed(t, summarise(t, run), "put")
	if ranks := ranksOf(table); ranks["loud"] != 1 || ranks["b"] != 1 || ranks["c"] != 2 {
		t.Errorf("ranks %v", ranks)
	}
	if !strings.HasPrefix(table.Sentence, "No difference shown between loud and b, from ") || !strings.HasSuffix(table.Sentence, " 1 arm is slower than one of these.") {
		t.Error(table.Sentence)
	}
}

// The fastest is the fastest of those with a rank, and the sentence says who did more.
func TestWhoDidMoreWithoutARankIsNamed(t *testing.T) {
	run := putRun(recordtest.Arm{Name: "a", PutRate: 1e6}, recordtest.Arm{Name: "b", PutRate: 5e5}, recordtest.Arm{Name: "broken", PutRate: 3e6})
	for _, tr := range trials(run, "broken") {
		tr.State, tr.Marks = record.Marked, append(tr.Marks, finding.Mark{Message: finding.New(finding.MarkLost, "count", 3, "of", 100), Phase: "put"})
	}
	table := tableNamed(t, summarise(t, run), "put")
	if !strings.HasPrefix(table.Sentence, "a is the fastest") || strings.Contains(table.Sentence, "broken") {
		t.Errorf("a store that lost records did more work than one that did not: %s", table.Sentence)
	}
	restless := putRun(recordtest.Arm{Name: "a", PutRate: 1e6}, recordtest.Arm{Name: "b", PutRate: 5e5}, recordtest.Arm{Name: "steps", PutRate: 3e6, CliffAt: 30, CliffTo: 0.5})
	sentence := findTable(summarise(t, restless), "put").Sentence
	if !strings.HasPrefix(sentence, "a is the fastest with ") || !strings.HasSuffix(sentence, "steps (2.25 M/s) did more, and has no rank: its row says why.") {
		t.Error(sentence)
	}
}

func findTable(s *Summary, phase string) *Table {
	at := slices.IndexFunc(s.Tables, func(t Table) bool { return t.Phase == phase })
	return &s.Tables[at]
}

// Whether an arm needs a steady state is a matter of its own work, not of another arm's.
func TestFixedWorkIsEachArmsOwn(t *testing.T) {
	run := putRun(recordtest.Arm{Name: "a", PutRate: 1e6}, recordtest.Arm{Name: "b", PutRate: 1.2e6, CliffAt: 30, CliffTo: 0.8}, recordtest.Arm{Name: "c", PutRate: 1e5})
	run.Experiment.Phases[1].Operations = 60e6
	for _, ending := range []record.Ending{record.EndedOperations, record.EndedDuration, record.EndedQuota} {
		for _, tr := range run.Trials {
			phaseOf(tr, "put").EndedBy = record.EndedOperations
			if tr.Plan.Arm == "c" {
				phaseOf(tr, "put").EndedBy = ending
			}
		}
		s := summarise(t, run)
		table := tableNamed(t, s, "put")
		if ranks := ranksOf(table); table.Best != "b" || ranks["a"] != 2 {
			t.Errorf("c ended by %s: ranks %v, %s", ending, ranks, table.Sentence)
		}
		if c := table.rowOf(plan.Measured, "c"); c.FixedWork != (ending == record.EndedOperations) || table.FixedWork != c.FixedWork {
			t.Errorf("c ended by %s: fixed work %v, in the table %v", ending, c.FixedWork, table.FixedWork)
		}
		if part := find(s, FindPartWork); (part == nil) != (ending == record.EndedOperations) {
			t.Errorf("c ended by %s: %+v", ending, part)
		}
	}
}

// A phase that the disk quota ended after a moment is the beginning of one.
func TestAPhaseThatTheQuotaEndedAtOnceIsNotRanked(t *testing.T) {
	run := putRun(recordtest.Arm{Name: "a", PutRate: 1e6}, recordtest.Arm{Name: "b", PutRate: 2e6})
	for _, tr := range trials(run, "b") {
		p := phaseOf(tr, "put")
		p.EndedBy, p.ElapsedNS, p.Operations[0].OK, p.Attempted, p.Operations[0].Service = record.EndedQuota, 80e6, 160e3, 160e3, nil
		run.Series[tr.Plan.ID] = []record.Sample{{Phase: "put", At: 0.08, Seconds: 0.08, Operations: 160e3}}
	}
	table := tableNamed(t, summarise(t, run), "put")
	b := table.rowOf(plan.Measured, "b")
	if b.Ranked || len(b.Reasons) != 1 || !strings.HasPrefix(b.Reasons[0], "its disk quota ended the phase before there were ") || !strings.HasSuffix(b.Reasons[0], "in 5 of 5 blocks") {
		t.Errorf("ranked %v: %q", b.Ranked, b.Reasons)
	}
	if table.Best != "a" {
		t.Error(table.Sentence)
	}
}

// Records a second are those of the operations that the rate is of.
func TestRecordsAreOfTheSameStretchAsTheRate(t *testing.T) {
	run := putRun(recordtest.Arm{Name: "a", PutRate: 1e3}, recordtest.Arm{Name: "b", PutRate: 1e3})
	for _, tr := range trials(run, "a") {
		scale(run, tr, "put", 0, 8, 0.3)
		p := phaseOf(tr, "put")
		p.Operations[0].Items = 100 * p.Operations[0].OK
	}
	a := tableNamed(t, summarise(t, run), "put").rowOf(plan.Measured, "a")
	if a.Trials[0].Basis != AfterWarmup || a.Records == nil || math.Abs(a.Records.Value-100*a.Rate.Value) > 1e-6*a.Records.Value {
		t.Errorf("%s: %v records a second in %v operations of 100", a.Trials[0].Basis, a.Records, a.Rate)
	}
}

// Nothing begins once a phase's time is over: waiting for what is under way then is no rate, no stall and no cliff.
func TestWaitingForTheLastOperationsIsNoRate(t *testing.T) {
	run := putRun(recordtest.Arm{Name: "a", PutRate: 1e3}, recordtest.Arm{Name: "b", PutRate: 1e3})
	run.Experiment.Phases[1].Duration = 60 * time.Second
	want := tableNamed(t, summarise(t, run), "put").rowOf(plan.Measured, "a").Rate.Value
	for _, tr := range trials(run, "a") {
		for second := range 20 {
			run.Series[tr.Plan.ID] = append(run.Series[tr.Plan.ID], record.Sample{Phase: "put", At: 61 + float64(second), Seconds: 1})
		}
		phaseOf(tr, "put").ElapsedNS += 20e9
	}
	s := summarise(t, run)
	a := tableNamed(t, s, "put").rowOf(plan.Measured, "a")
	if math.Abs(a.Rate.Value-want) > 0.001*want || *a.WorstSample < want/2 || a.Trials[0].Cliff != nil || len(a.Trials[0].Stalls) > 0 {
		t.Errorf("%.0f/s in place of %.0f, at worst %.0f, stalls %v", a.Rate.Value, want, *a.WorstSample, a.Trials[0].Stalls)
	}
	if plotted := Sampled(run, a.Trials[0].Trial, "put"); plotted.Ends[len(plotted.Ends)-1] > 60.5 {
		t.Errorf("the plot goes on to %v s", plotted.Ends[len(plotted.Ends)-1])
	}
}

// A store that died is shown with what it did until then.
func TestAFailedTrialsRateIsOfAllThatItDid(t *testing.T) {
	run := putRun(recordtest.Arm{Name: "a", PutRate: 1e3}, recordtest.Arm{Name: "b", PutRate: 1e3})
	for _, tr := range trials(run, "a") {
		tr.State, tr.Error = record.Failed, "it died"
		scale(run, tr, "put", 10, 60, 0)
	}
	a := tableNamed(t, summarise(t, run), "put").rowOf(plan.Measured, "a")
	if a.Rate == nil || a.Rate.Value < 100 {
		t.Errorf("%+v", a.Rate)
	}
}
