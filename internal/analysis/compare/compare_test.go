package compare_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/analysis/compare"
	"assay/internal/base/finding"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/model"
	"assay/internal/testkit/recordtest"
	"assay/internal/testkit/resulttest"
)

// another is a run of the clean experiment with another seed and something changed.
func another(seed uint64, change func(s *recordtest.Shape)) *record.Run {
	s := resulttest.Clean()
	s.Seed = seed
	change(&s)
	return resulttest.Built(s)
}

func compared(t *testing.T, runs ...*record.Run) *compare.Comparison {
	t.Helper()
	c, err := compare.Runs(runs, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(c); err != nil { // JSON has no NaN and no infinity
		t.Fatal(err)
	}
	return c
}

func outcomeOf(c *compare.Comparison, phase, arm, metric string) compare.Outcome {
	for _, r := range c.Rows {
		if r.Phase == phase && r.Arm == arm && r.Metric == metric {
			return r.Outcome
		}
	}
	return ""
}

func TestCompareRuns_decides(t *testing.T) {
	for _, c := range []struct {
		name string
		new  *record.Run
		want compare.Outcome
	}{
		{"the same", another(99, func(*recordtest.Shape) {}), compare.NoRegression},
		{"half as fast", another(99, func(s *recordtest.Shape) { s.Arms[1].PutRate *= 0.5 }), compare.Regression},
		{"a tenth slower", another(99, func(s *recordtest.Shape) { s.Arms[1].PutRate *= 0.8 }), compare.Regression},
		{"a fifth faster", another(99, func(s *recordtest.Shape) { s.Arms[1].PutRate *= 1.2 }), compare.Improvement},
		{"noise larger than the difference", another(99, func(s *recordtest.Shape) { s.Arms[1].BlockNoise = 0.3 }), compare.Inconclusive},
		{"one block", another(99, func(s *recordtest.Shape) { s.Blocks = 1 }), compare.Inconclusive},
		{"marked", another(99, func(s *recordtest.Shape) { s.Arms[1].Errors = 5 }), compare.Inconclusive},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := compared(t, resulttest.CleanRun(), c.new)
			if got.Outcome != c.want {
				t.Errorf("%s, want %s: %s", got.Outcome, c.want, finding.Text(got.Verdict))
				for _, r := range got.Rows {
					t.Logf("%s %s %s: %+v %s", r.Phase, r.Arm, r.Metric, r.Ratio, r.Outcome)
				}
			}
		})
	}
}

// Of runs that differ by nothing, at most one in twenty shows a regression.
func TestCompareRuns_rarely_finds_what_is_not_there(t *testing.T) {
	const pairs = 30
	regressions := 0
	for seed := range uint64(pairs) {
		short := func(s *recordtest.Shape) { s.Seconds, s.Blocks = 15, 3 }
		if compared(t, another(1000+seed, short), another(2000+seed, short)).Outcome == compare.Regression {
			regressions++
		}
	}
	if regressions > 4 { // more come by chance in fewer than 2 of 100 such tests at 5 %
		t.Errorf("%d regressions in %d pairs of equal runs", regressions, pairs)
	}
}

func TestCompareRuns_skips_what_one_side_lacks_with_its_reason(t *testing.T) {
	refusing := func(class recordtest.Class) string { return "elm can't do " + string(class) }
	for _, c := range []struct {
		name     string
		old, new *record.Run
		code     finding.Code
		says     string
	}{
		{"no such arm", resulttest.CleanRun(), another(9, func(s *recordtest.Shape) { s.Arms = s.Arms[:2] }), "compare-skipped no-figure", "no such store"},
		{"refused", resulttest.CleanRun(), another(9, func(s *recordtest.Shape) { s.Arms[1].Refuses = refusing }), "compare-skipped no-figure", "elm can't do D1"},
		{"marked", resulttest.CleanRun(), another(9, func(s *recordtest.Shape) { s.Arms[1].Errors = 5 }), "compare-skipped no-figure", "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := compared(t, c.old, c.new)
			at := slices.IndexFunc(got.Skipped, func(s compare.Skipped) bool { return strings.HasPrefix(s.Phase, "put") })
			if at < 0 || got.Skipped[at].Why.Code != c.code || !strings.Contains(finding.Text(got.Skipped[at].Why),
				c.says) {
				t.Errorf("%+v", got.Skipped)
			}
			if got.Outcome != compare.Inconclusive {
				t.Errorf("%s", got.Outcome)
			}
		})
	}
	never := another(3, func(s *recordtest.Shape) { s.Arms[1].Refuses = refusing })
	if got := compared(t, never, another(9,
		func(s *recordtest.Shape) { s.Arms[1].Refuses = refusing })); len(got.Skipped) > 0 ||
		got.Outcome != compare.NoRegression {
		t.Errorf("what neither side supports is no part of it: %s %+v", got.Outcome, got.Skipped)
	}
}

// Each run has its own cells: CPUs are compared by their numbers.
func TestCompareRuns_on_the_same_CPUs(t *testing.T) {
	on := func(run *record.Run, cpus ...int) *record.Run {
		for i := range run.Experiment.Cells {
			run.Experiment.Cells[i].CPUs = &experiment.CPUs{Client: cpus}
		}
		return run
	}
	again := another(9, func(*recordtest.Shape) {})
	if got := compared(t, on(resulttest.CleanRun(), 0, 1), on(again, 0, 1)); len(got.Rows) == 0 {
		t.Errorf("the same CPUs: %+v", got)
	}
	others := []*record.Run{on(resulttest.CleanRun(), 0, 1), on(again, 0)}
	if got, err := compare.Runs(others, compare.Options{}); err == nil {
		t.Errorf("other CPUs: %+v", got)
	}
}

func TestCompareRuns_refuses(t *testing.T) {
	refused := func(change func(*experiment.Experiment)) error {
		other := resulttest.CleanRun()
		change(&other.Experiment)
		_, err := compare.Runs([]*record.Run{resulttest.CleanRun(), other}, compare.Options{})
		return err
	}
	one := resulttest.CleanRun().Experiment.Cells[0].Threads
	tasks := func(more int) string { return experiment.TasksText(one+more, 0) }
	for says, change := range map[string]func(*experiment.Experiment){
		fmt.Sprintf("(%s against %s and %s)", tasks(0), tasks(1), tasks(2)): func(e *experiment.Experiment) {
			e.Cells = []experiment.Cell{e.Cells[0], e.Cells[0]}
			e.Cells[0].Threads, e.Cells[1].Threads = one+1, one+2
		},
		"(phases put and get against phase 1 and phase 2)": func(e *experiment.Experiment) {
			e.Phases = slices.Clone(e.Phases)
			for i := range e.Phases {
				e.Phases[i].Name = fmt.Sprint("phase ", i)
			}
		},
	} {
		if err := refused(change); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("expected %q: %v", says, err)
		}
	}
	same := resulttest.CleanRun()
	same.Directory = "runs/a"
	if _, err := compare.Runs([]*record.Run{same, same}, compare.Options{}); err == nil {
		t.Error("a run was compared with itself")
	}
}

func TestCompareArms(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     compare.Outcome
	}{{"oak", "elm", compare.Regression}, {"elm", "oak", compare.Improvement}} {
		got, err := compare.Arms(resulttest.CleanRun(), c.old, c.new)
		if err != nil || outcomeOf(got, "put", c.new, "rate") != c.want {
			t.Errorf("%s to %s: %+v, %v", c.old, c.new, got, err)
		}
	}
	if _, err := compare.Arms(resulttest.CleanRun(), "oak", "yew"); err == nil || !strings.Contains(err.Error(), "oak, elm and ash") {
		t.Errorf("an arm that is not there: %v", err)
	}
}

// Comparison and report tell the same figures of the same trials, whether a block is lost or not.
func TestCompare_prints_the_figures_of_the_report(t *testing.T) {
	example := func(seed uint64) *record.Run {
		s := recordtest.Example() // sqlite loses a block at D3
		s.Seed, s.Seconds = seed, 12
		for i := range s.Arms {
			s.Arms[i].BlockNoise = 0.3
		}
		return resulttest.Built(s)
	}
	old, new := example(1), example(2)
	arms, err := compare.Arms(old, "pebble", "sqlite")
	if err != nil {
		t.Fatal(err)
	}
	results := []*model.Result{resulttest.ResultOf(t, old), resulttest.ResultOf(t, new)}
	check := func(row compare.ComparisonRow, side int, arm string) {
		told := figureOfReport(results[side], row, arm)
		if told == nil {
			t.Errorf("%s of %s in %s %s: only the comparison has it", row.Metric, arm, row.Phase, row.Class)
			return
		}
		got := row.Values[side%len(row.Values)]
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9*b } // rows may be summed in another order
		same := near(got.Value, told.Value)
		if row.Metric != "rate" && got.Low != nil {
			same = same && told.Low != nil && near(*got.Low, *told.Low) && near(*got.High, *told.High)
		}
		if !same {
			t.Errorf("%s of %s in %s %s: %v compared, %v reported", row.Metric, arm, row.Phase, row.Class, got.Value, told.Value)
		}
	}
	latencies := 0
	for _, row := range compared(t, old, new).Rows {
		if row.Metric == "memory" || row.Metric == "disk" {
			continue
		}
		if row.Metric != "rate" {
			latencies++
		}
		for side := range results {
			check(row, side, row.Arm)
		}
	}
	for _, row := range arms.Rows {
		if row.Metric == "memory" || row.Metric == "disk" {
			continue
		}
		if row.Metric != "rate" {
			latencies++
		}
		check(row, 0, "pebble")
		row.Values = row.Values[1:]
		check(row, 0, "sqlite")
	}
	if latencies < 60 {
		t.Errorf("%d latencies compared", latencies)
	}
}

// figureOfReport finds what a report has for a row of a comparison; nil: nothing.
func figureOfReport(r *model.Result, of compare.ComparisonRow, arm string) *model.Estimate {
	for _, table := range r.Tables {
		if table.Class != of.Class || table.Phase != of.Phase {
			continue
		}
		for _, row := range table.Rows {
			if row.Arm != arm || row.Role != string(plan.Measured) {
				continue
			}
			if of.Metric == "rate" {
				return row.Rate
			}
			q := map[string]float64{"p50": 0.5, "p99": 0.99, "p99.9": 0.999}[of.Metric]
			for _, p := range row.Points {
				if p.Quantile == q {
					return &model.Estimate{Value: p.NS, Low: p.Low, High: p.High}
				}
			}
		}
	}
	return nil
}

// A series of runs in time order: the change is found where it is, whatever the order of arguments.
func TestCompareRuns_finds_the_change_in_a_series(t *testing.T) {
	var runs []*record.Run
	for i := range 12 {
		run := another(uint64(50+i), func(s *recordtest.Shape) {
			s.Seconds, s.Blocks = 12, 3
			if i >= 7 {
				s.Arms[0].PutRate *= 0.8
			}
		})
		run.Header.ID, run.Header.Created = fmt.Sprint("run", i), run.Header.Created.Add(time.Duration(i)*time.Hour)
		runs = append(runs, run)
	}
	slices.Reverse(runs)
	got := compared(t, runs...)
	for _, r := range got.Rows {
		if r.Metric != "rate" || r.Phase != "put" {
			continue
		}
		if found := len(r.Changes) == 1 && r.Changes[0].Side == 7 && r.Changes[0].After < 0.9*r.Changes[0].Before; found != (r.Arm == "oak") {
			t.Errorf("%s: changes %+v", r.Arm, r.Changes)
		}
	}
}

func TestCriteria(t *testing.T) {
	slower := another(99, func(s *recordtest.Shape) { s.Arms[1].PutRate *= 0.8 })
	for _, c := range []struct {
		texts string
		want  compare.Outcome
	}{
		{"rate < 0.95x", compare.Regression}, {"rate < 0.7x", compare.NoRegression}, {"rate<.8x", compare.Inconclusive},
		{"rate < 0.7x, memory > 1.5x", compare.NoRegression}, {"rate < 0.95x, memory > 1.5x", compare.Regression},
		{"p99 > 2x", compare.NoRegression},
	} {
		got, err := compare.Runs([]*record.Run{resulttest.CleanRun(), slower}, compare.Options{}, criteria(t, strings.Split(c.texts, ", ")...)...)
		if err != nil || got.Outcome != c.want {
			t.Errorf("%s: %v, want %s: %+v %v", c.texts, got.Outcome, c.want, got.Criteria, err)
		}
	}
	for _, wrong := range []string{"", "rate", "rate < 95%", "p98 > 1.1x", "rate < 0x", "rate == 1x", "rate < 1.1x; rm", "p99 > 10", "memory > 10", "disk > 1ms", "rate < 10ms", "rate < 0"} {
		if c, err := compare.ParseCriterion(wrong); err == nil {
			t.Errorf("%q was taken: %+v", wrong, c)
		}
	}
}

// The clean run's puts are some 100 k/s and more, its latencies microseconds: a limit on either side of
// a figure decides, one within its interval does not.
func TestLimits(t *testing.T) {
	run := resulttest.CleanRun()
	all, err := compare.Limits(run, criteria(t, "rate > 1", "p99 > 1ns")...)
	if err != nil || all.Outcome != compare.Regression || len(all.Sides) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	slowest := math.Inf(1)
	var at compare.ComparisonRow
	for _, r := range all.Rows {
		if r.Metric == "rate" && r.Values[0].Value < slowest {
			slowest, at = r.Values[0].Value, r
		}
	}
	for text, want := range map[string]compare.Outcome{
		fmt.Sprintf("rate < %.0f", *at.Values[0].Low*0.9):         compare.NoRegression,
		fmt.Sprintf("rate < %.3fk/s", *at.Values[0].High*1.1/1e3): compare.Regression,
		fmt.Sprintf("rate < %.0f", slowest):                       compare.Inconclusive,
		"p99 > 10s":                                               compare.NoRegression,
		"p99 > 1us":                                               compare.Regression,
		"memory > 1 TiB":                                          compare.NoRegression,
	} {
		got, err := compare.Limits(run, criteria(t, text)...)
		if err != nil || got.Outcome != want {
			t.Errorf("%s: %v, want %s; %+v %v", text, got.Outcome, want, got.Criteria, err)
		}
	}
	for _, blocks := range []int{1, 2} {
		few, err := compare.Limits(resulttest.RaceOf(blocks, recordtest.Arm{Name: "elm", PutRate: 100e3, BlockNoise: 0.3}),
			criteria(t, "rate < 90k")...)
		if err != nil || few.Outcome != compare.Inconclusive {
			t.Fatalf("%d blocks: %+v, %v", blocks, few, err)
		}
		if remedy := finding.Remedy(few.Verdict); remedy != "run it with 3 blocks" {
			t.Errorf("%d blocks: what to do is %q", blocks, remedy)
		}
	}
	for _, texts := range [][]string{nil, {"rate < 0.95x"}} {
		if got, err := compare.Limits(run, criteria(t, texts...)...); err == nil {
			t.Errorf("%q of one run: %+v", texts, got)
		}
	}
	// Of two runs, a limit is held against the newer.
	slower := another(99, func(s *recordtest.Shape) { s.Arms[1].PutRate *= 0.5 })
	limit := criteria(t, fmt.Sprintf("rate < %.0f", *at.Values[0].Low*0.9))
	if got, err := compare.Runs([]*record.Run{run, another(98, func(*recordtest.Shape) {})}, compare.Options{},
		limit...); err != nil || got.Outcome != compare.NoRegression {
		t.Errorf("the same again: %v %v", got.Outcome, err)
	}
	halved := criteria(t, fmt.Sprintf("rate < %.0f", 0.8*rateOf(run, slower)))
	if got, err := compare.Runs([]*record.Run{run, slower}, compare.Options{}, halved...); err != nil ||
		got.Outcome != compare.Regression {
		t.Errorf("half as fast: %v %v", got.Outcome, err)
	}
}

// Where the harness began operations late, the store's own latency is not above what was measured: an upper limit
// beyond that is kept, a nearer one stays open, and none is broken.
func TestLimitIsKeptByAnUpperBound(t *testing.T) {
	run := resulttest.CleanRun()
	run.Experiment.Phases[1].Rate = 50e3
	for _, trial := range run.Trials {
		p := resulttest.PhaseOf(trial, "put")
		if p == nil {
			continue
		}
		p.Open, p.Operations[0].Response, p.Late = true, p.Operations[0].Service, make([]uint64, counters.LatenessWords)
		p.LatenessMaxNS, p.Late[counters.LatenessWord(2_500_000)] = 8_000_000, p.Operations[0].Done()
	}
	for text, want := range map[string]compare.Outcome{
		"p99 > 10s": compare.NoRegression, "p99 > 1ns": compare.Inconclusive, "p99 < 10s": compare.Inconclusive,
	} {
		got, err := compare.Limits(run, criteria(t, text)...)
		if err != nil {
			t.Fatal(err)
		}
		bounds := 0
		for _, r := range got.Rows {
			if r.Phase != "put" {
				continue
			}
			if bounds++; !r.AtMost || r.Outcome != want {
				t.Errorf("%s: %+v, want %s of an upper bound", text, r, want)
			}
		}
		if bounds < 3 || want == compare.NoRegression && got.Outcome != want {
			t.Errorf("%s: %d bounds, %s", text, bounds, got.Outcome)
		}
	}
}

// rateOf is the rate in a run of the store that is slower in another.
func rateOf(run *record.Run, other *record.Run) float64 {
	c, err := compare.Runs([]*record.Run{run, other}, compare.Options{})
	if err != nil {
		return 0
	}
	least := 0.0
	for _, r := range c.Rows {
		if r.Metric == "rate" && r.Outcome == compare.Regression && (least == 0 || r.Values[0].Value < least) {
			least = r.Values[0].Value
		}
	}
	return least
}

func criteria(t *testing.T, texts ...string) (made []compare.Criterion) {
	t.Helper()
	for _, text := range texts {
		criterion, err := compare.ParseCriterion(text)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, criterion)
	}
	return made
}

// Each of these changes what is measured: half the rate is then no regression.
func TestCompareRuns_does_not_compare_other_work(t *testing.T) {
	put := func(r *record.Run) *experiment.Phase { return resulttest.PhaseNamedIn(r, "put") }
	preceded := func(r *record.Run, p experiment.Phase) {
		r.Experiment.Phases = slices.Insert(r.Experiment.Phases, 1, p)
	}
	for what, change := range map[string]func(*record.Run){
		"keys.bytes (old: 16, new: 500)":                           func(r *record.Run) { r.Experiment.Keys.Bytes = 500 },
		"sizes (old: none, new: ":                                  func(r *record.Run) { r.Experiment.Values.Sizes = []experiment.Size{{Bytes: 1000, Weight: 1}} },
		"repeated (old: 0.5, new: 0.501)":                          func(r *record.Run) { r.Experiment.Values.RepeatedPermille++ },
		"latency (old: all, new: sampled(100))":                    func(r *record.Run) { r.Experiment.TimedEvery = 100 },
		"verify (old: true, new: false)":                           func(r *record.Run) { r.Experiment.Verify = false },
		"clock (old: tsc, new: monotonic)":                         func(r *record.Run) { r.Experiment.Clock = "monotonic" },
		"cache (old: warm, new: cold)":                             func(r *record.Run) { r.Experiment.Cache = "cold" },
		"mix.read (old: none, new: 1)":                             func(r *record.Run) { put(r).Mix = map[string]float64{"read": 1} },
		"order.distribution (old: uniform, new: latest)":           func(r *record.Run) { put(r).Order.Distribution = "latest" },
		"batch (old: 1, new: 100)":                                 func(r *record.Run) { put(r).Batch = 100 },
		"threads (old: 8, new: 1)":                                 func(r *record.Run) { put(r).Threads = 1 },
		"for (old: 1m0s, new: 10m0s)":                              func(r *record.Run) { put(r).Duration *= 10 },
		"load.order.distribution (old: shuffled, new: sequential)": func(r *record.Run) { r.Experiment.Phases[0].Order.Distribution = "sequential" },
		"phases (old: load and put, new: load, grow and put)":      func(r *record.Run) { preceded(r, experiment.Phase{Name: "grow", Unmeasured: true}) },
	} {
		old, new := resulttest.RaceOf(5, resulttest.Runner("oak", 100e3), resulttest.Runner("elm", 130e3)), resulttest.RaceOf(5, resulttest.Runner("oak", 50e3), resulttest.Runner("elm", 65e3))
		change(new)
		c := compared(t, old, new)
		if outcomeOf(c, "put", "oak", "rate") != "" {
			t.Errorf("%q: compared", what)
		}
		if !slices.ContainsFunc(c.Skipped, func(s compare.Skipped) bool {
			return strings.HasPrefix(s.Phase, "put") && strings.Contains(finding.Text(s.Why), what)
		}) {
			t.Errorf("%q: %+v", what, c.Skipped)
		}
	}
	for what, change := range map[string]func(*record.Run){
		"nothing":                   func(*record.Run) {},
		"a longer phase":            func(r *record.Run) { put(r).Duration *= 2 },
		"a phase after it":          func(r *record.Run) { resulttest.PhaseNamedIn(r, "get").Batch = 7 },
		"what was the default":      func(r *record.Run) { put(r).Threads, put(r).Batch, r.Experiment.Cache = 8, 1, experiment.CacheWarm },
		"the clock that auto takes": func(r *record.Run) { r.Experiment.Clock = "tsc" },
	} {
		old, new := resulttest.RaceOf(5, resulttest.Runner("oak", 100e3)), resulttest.RaceOf(5, resulttest.Runner("oak", 50e3))
		change(new)
		if c := compared(t, old, new); outcomeOf(c, "put", "oak", "rate") != compare.Regression {
			t.Errorf("%s: %+v", what, c.Rows)
		}
	}
}

// A store that became so slow that its time is over first is the worst of regressions.
func TestCompareRuns_finds_a_regression_that_ran_out_of_time(t *testing.T) {
	slowed := func(rate float64) *record.Run {
		run := resulttest.RaceOf(5, resulttest.Runner("oak", 100e3), resulttest.Runner("elm", rate))
		resulttest.FixedWork(run, func(p plan.Trial) record.Ending {
			if p.Arm == "elm" && rate < 130e3 {
				return record.EndedDuration
			}
			return record.EndedOperations
		})
		return run
	}
	declining := slowed(26e3)
	resulttest.PaceAll(declining, "elm", "put", func(second int) float64 { return 1 - float64(second)/90 })
	for what, c := range map[string]struct {
		old, new *record.Run
		want     compare.Outcome
	}{
		"slower":               {slowed(130e3), slowed(26e3), compare.Regression},
		"slower and declining": {slowed(130e3), declining, compare.Regression},
		"faster":               {slowed(26e3), slowed(130e3), compare.Improvement},
		"both in time":         {slowed(130e3), slowed(130e3), compare.NoRegression},
	} {
		if got := outcomeOf(compared(t, c.old, c.new), "put", "elm", "rate"); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

// What is set up in another way on the same machine is named, and nothing of a run that did not note it.
func TestCompareNamesHowTheMachineWasSetUp(t *testing.T) {
	on := func(machine map[string]string) *record.Run {
		run := another(99, func(*recordtest.Shape) {})
		run.Environment.Machine = machine
		return run
	}
	told := func(old, new *record.Run) (all string) {
		for _, note := range compared(t, old, new).Notes {
			all += finding.Text(note) + "\n"
		}
		return all
	}
	was := on(map[string]string{"SMT": "on", "turbo": "on", "disk scheduler": "none"})
	if got := told(was, on(map[string]string{"SMT": "off", "turbo": "on"})); !strings.Contains(got, "The machines differ: SMT and disk scheduler.") {
		t.Errorf("it says\n%s", got)
	}
	for _, other := range []*record.Run{was, on(nil)} {
		if got := told(was, other); strings.Contains(got, "The machines differ") {
			t.Errorf("it says\n%s", got)
		}
	}
}

// A ratio of two machines is no regression of the store; another kernel is the same machine.
func TestCompareRuns_of_two_machines(t *testing.T) {
	on := func(change func(*record.Environment)) *record.Run {
		run := another(99, func(s *recordtest.Shape) { s.Arms[1].PutRate *= 0.5 })
		change(&run.Environment)
		return run
	}
	for name, change := range map[string]func(*record.Environment){
		"processor": func(e *record.Environment) { e.CPU = "another" },
		"CPUs":      func(e *record.Environment) { e.CPUs++ },
		"memory":    func(e *record.Environment) { e.MemoryBytes *= 2 },
	} {
		runs := []*record.Run{resulttest.CleanRun(), on(change)}
		criterion, err := compare.ParseCriterion("rate < 0.95x")
		if err != nil {
			t.Fatal(err)
		}
		for _, criteria := range [][]compare.Criterion{nil, {criterion}} {
			if got, err := compare.Runs(runs, compare.Options{}, criteria...); err != nil || got.Outcome != compare.Inconclusive || outcomeOf(got, "put", "elm", "rate") == compare.Regression {
				t.Errorf("another %s: %+v, %v", name, got, err)
			}
			if got, err := compare.Runs(runs, compare.Options{AcrossMachines: true}, criteria...); err != nil ||
				got.Outcome != compare.Regression {
				t.Errorf("another %s, across: %+v, %v", name, got, err)
			}
		}
	}
	if got := compared(t, resulttest.CleanRun(), on(func(e *record.Environment) { e.Kernel = "another" })); got.Outcome != compare.Regression {
		t.Errorf("another kernel: %s", got.Outcome)
	}
}

// Where earlier runs of the machine moved by a tenth although nothing was changed, a tenth is no regression;
// where they did not move, less is one than by the assumption alone.
func TestEarlierRunsSayWhatTwoRunsDifferBy(t *testing.T) {
	outcome := func(factor, moved float64) compare.Outcome {
		var earlier []float64
		for range 20 {
			earlier = append(earlier, moved*moved)
		}
		slower := another(99, func(s *recordtest.Shape) { s.Arms[1].PutRate *= factor })
		got, err := compare.Runs([]*record.Run{resulttest.CleanRun(), slower}, compare.Options{Earlier: earlier})
		if err != nil {
			t.Fatal(err)
		}
		return outcomeOf(got, "put", "elm", "rate")
	}
	if got := outcome(0.85, 0); got != compare.Regression {
		t.Errorf("a fall by 15 %% where runs don't move: %s", got)
	}
	if got := outcome(0.85, 0.12); got == compare.Regression {
		t.Errorf("a fall by 15 %% where runs move by 12 %%: %s", got)
	}
}
