package tell_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/presentation/model"
	"assay/internal/testkit/golden"
	"assay/internal/testkit/recordtest"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// The screen of a run with something of everything, as it is printed.
func TestSummary_of_the_example(t *testing.T) {
	r := resulttest.ResultOf(t, recordtest.Run(recordtest.Example()))
	golden.Check(t, "example.txt", resulttest.ScreenOf(t, r))
	if titles := []string{r.Summary.Sections[0].Class, r.Summary.Sections[2].Class}; !slices.Equal(titles, []string{"D3", "D0"}) {
		t.Errorf("sections %v: the strongest class comes first", titles)
	}
}

// collapsing is a run of inserts: a store that breaks at its defaults, tuned ones whose break is
// cured, postponed and as before, and one that holds.
func collapsing() *record.Run {
	run := resulttest.RaceOf(3, resulttest.Runner("plain", 100e3), resulttest.Runner("cured", 100e3), resulttest.Runner("later", 100e3), resulttest.Runner("same", 100e3), resulttest.Runner("steady", 50e3))
	for i := range run.Experiment.Stores[:4] {
		run.Experiment.Stores[i].Driver, run.Experiment.Stores[i].Options = "oak", nil
		if i > 0 {
			run.Experiment.Stores[i].Options = map[string]string{"bnum": "9"}
		}
	}
	for arm, second := range map[string]int{"plain": 15, "plain (A/A)": 15, "later": 40, "same": 15} {
		resulttest.PaceAll(run, arm, "put", resulttest.From(second, 0.2))
	}
	run.Experiment.About = "Where does it break? Does tuning help?\nSome more words."
	return resulttest.Growing(run)
}

// Where stores don't hold their rate, that is the answer: where each broke, and what tuning did.
func TestSummary_says_where_stores_broke_and_what_tuning_did(t *testing.T) {
	r := resulttest.ResultOf(t, collapsing())
	golden.Check(t, "collapse.txt", resulttest.ScreenOf(t, r))
	s := r.Summary
	if len(s.Sections) != 1 || s.Sections[0].Unit != "" || len(s.Sections[0].Rows) != 5 {
		t.Fatalf("%+v", s.Sections)
	}
	var arms []string
	for _, row := range s.Sections[0].Rows {
		arms = append(arms, row.Arm)
	}
	if !s.Sections[0].Columns[1].Sorted || arms[0] != "cured" || arms[1] != "steady" {
		t.Errorf("rows %v: ordered by the late rate", arms)
	}
	if len(s.NotClear) > 0 || len(s.Clear) > 0 {
		t.Errorf("a rank is no question here: %+v %+v", s.Clear, s.NotClear)
	}
	told := s.Answer[0]
	if told.Code != finding.RateFate {
		t.Fatalf("%+v", s.Answer)
	}
	if at := told.Params["low"].(float64); at < 1.3e6 || at > 1.7e6 {
		t.Errorf("broke at %v records, planted at 1.5 M", at)
	}
	for effect, arm := range map[string]string{"cured": "cured", "postponed": "later", "same": "same"} {
		if got, _ := told.Params[effect].([]string); !slices.Equal(got, []string{arm}) {
			t.Errorf("%s: %v", effect, got)
		}
	}
}

// What must not be joined is not: each store has its own number of records; a setting that is too
// small comes before what moved, and of that three are named.
func TestSummary_says_why_a_store_broke(t *testing.T) {
	run := collapsing()
	for i := range run.Experiment.Stores {
		run.Experiment.Stores[i].Driver = []string{"tokyocabinet-hash", "a", "b", "c", "d"}[i]
	}
	tiny := store.Option{Name: "xmsiz_bytes", Type: store.Bytes, Default: "64MiB"}
	run.Experiment.Stores[0].Description.Options = []store.Option{tiny}
	var texts []string
	for _, m := range resulttest.ResultOf(t, run).Summary.Answer {
		texts = append(texts, finding.Text(m))
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{"plain (1.51 M records)", "later (3.98 M records)", "cured (5.99 M records)", "steady (3.00 M records)"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, all)
		}
	}
	for i := range run.Experiment.Stores[1:] {
		run.Experiment.Stores[i+1].Driver = "tokyocabinet-hash"
	}
	first := finding.Text(resulttest.ResultOf(t, run).Summary.Answer[0])
	if !strings.HasPrefix(first, "plain broke at 1.51 M records: xmsiz_bytes (64 MiB) too small, with host writes") {
		t.Errorf("%s", first)
	}
}

// A screen that shows where stores broke in one cell says how many others there are.
func TestSummary_counts_the_cells_that_it_leaves_out(t *testing.T) {
	s := resulttest.Clean()
	s.Classes = []store.Durability{store.D1, store.D3, store.D0}
	run := threeSizes(s)
	for _, arm := range []string{"oak", "elm", "ash"} {
		resulttest.PaceAll(run, arm, "put", resulttest.From(15, 0.2))
	}
	for _, trial := range run.Trials {
		trial.Phases = slices.DeleteFunc(trial.Phases, func(p record.Phase) bool { return p.Name == "get" })
	}
	sections := resulttest.ResultOf(t, resulttest.Growing(run)).Summary.Sections
	if len(sections) != 1 || sections[0].Unit != "" || len(sections[0].Changes) != 1 || finding.Text(sections[0].Changes[0]) != "2 other cells are in the full report." {
		t.Errorf("%+v", sections)
	}
}

// Updates in place that fall are no collapse: who is fastest is still the question.
func TestSummary_keeps_rates_where_nothing_grows(t *testing.T) {
	run := resulttest.CleanRun()
	resulttest.PaceAll(run, "elm", "put", resulttest.From(30, 0.3))
	s := resulttest.ResultOf(t, run).Summary
	if len(s.Sections) != 1 || s.Sections[0].Unit == "" || len(s.Answer) > 0 {
		t.Fatalf("%+v", s)
	}
	at := slices.IndexFunc(s.Sections[0].Rows, func(r model.SectionRow) bool { return r.Arm == "elm" })
	if put := s.Sections[0].Rows[at].Cells[0]; !put.Unsteady || put.Ranked || put.Value == nil {
		t.Errorf("%+v", put)
	}
}

// The same store's leads are one line, whose phases times classes are exactly the tables that it
// leads.
func TestSummary_names_a_leader_once(t *testing.T) {
	s := resulttest.Clean()
	s.Classes = []store.Durability{store.D0, store.D3}
	s.Arms[1].GetRate = 900e3 // elm reads fastest, oak writes fastest, in both classes
	clear := resulttest.ResultOf(t, resulttest.Built(s)).Summary.Clear
	if len(clear) != 2 {
		t.Fatalf("%+v", clear)
	}
	for _, m := range clear {
		if want := map[any]string{"oak": "put", "elm": "get"}[m.Params["arms"].([]string)[0]]; !slices.Equal(m.Params["phases"].([]string), []string{want}) ||
			!slices.Equal(m.Params["classes"].([]string), []string{"D3", "D0"}) {
			t.Errorf("%s", finding.Text(m))
		}
	}
}

func TestSummary_next(t *testing.T) {
	loud := func(blocks int) *record.Run {
		return resulttest.RaceOf(blocks, recordtest.Arm{Name: "elm", PutRate: 100e3, BlockNoise: 0.1}, recordtest.Arm{Name: "ash", PutRate: 104e3, BlockNoise: 0.1})
	}
	limited := resulttest.RaceOf(1, resulttest.Runner("elm", 100e3), resulttest.Runner("ash", 200e3))
	limited.Experiment.Time = 3 * time.Minute
	for _, c := range []struct {
		name string
		run  *record.Run
		want string // a part of the first command; "": there is none
	}{
		{"more blocks than the time held", limited, "--blocks 5 --time 19m"},
		{"all clear", resulttest.RaceOf(5, resulttest.Runner("elm", 100e3), resulttest.Runner("ash", 200e3)), ""},
		{"undecided", loud(3), "--blocks "},
		{"one block", resulttest.RaceOf(1, resulttest.Runner("elm", 100e3), resulttest.Runner("ash", 200e3)), "--blocks 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := resulttest.ResultOf(t, c.run).Summary.Next
			if c.want == "" && len(next) > 0 || c.want != "" && (len(next) == 0 || !strings.Contains(next[0].Command, c.want)) {
				t.Errorf("%+v", next)
			}
			if len(next) > 0 && (strings.Contains(next[0].Command, "blocks=3") || strings.Contains(next[0].Command, "--blocks 3")) {
				t.Errorf("%s: the old number of blocks is still there", next[0].Command)
			}
		})
	}
	noisy := resulttest.RaceOf(3, recordtest.Arm{Name: "elm", PutRate: 100e3, BlockNoise: 0.6}, recordtest.Arm{Name: "ash", PutRate: 104e3, BlockNoise: 0.6})
	for _, seconds := range []int{5, 60} {
		for i := range noisy.Experiment.Phases {
			noisy.Experiment.Phases[i].Duration = time.Duration(seconds) * time.Second
		}
		next := resulttest.ResultOf(t, noisy).Summary.Next
		if want := map[int]string{5: "--set phases.get.for=20s", 60: "assay doctor"}[seconds]; len(next) != 1 || !strings.HasSuffix(next[0].Command, want) {
			t.Errorf("no number of blocks helps, phases of %d s: %+v", seconds, next)
		}
	}
	broken := resulttest.RaceOf(3, resulttest.Runner("elm", 100e3), resulttest.Runner("ash", 200e3))
	broken.Directory = "runs/a b"
	for _, trial := range broken.Trials {
		resulttest.MarkedBy(trial, resulttest.OthersBusy())
	}
	resulttest.MarkedBy(resulttest.Trials(broken, "ash")[0], resulttest.LostRecords())
	if next := resulttest.ResultOf(t, broken).Summary.Next; len(next) != 2 || next[0].Command != "assay report 'runs/a b' --full" || next[1].Command != "assay doctor" {
		t.Errorf("a store failed, and the machine was busy: %+v", next)
	}
	busy := resulttest.RaceOf(3, resulttest.Runner("elm", 100e3), resulttest.Runner("ash", 200e3))
	for _, trial := range busy.Trials {
		resulttest.MarkedBy(trial, resulttest.OthersBusy())
	}
	if s := resulttest.ResultOf(t, busy).Summary; len(s.Next) == 0 || s.Next[0].Command != "assay doctor" || len(s.NotClear) == 0 {
		t.Errorf("%+v %+v", s.Next, s.NotClear)
	}
}

// A machine that disturbed a few of many trials is reported, but gives no next step.
func TestSummary_few_disturbed_trials(t *testing.T) {
	for each, want := range map[int]bool{1: false, 3: true} {
		run := resulttest.RaceOf(12, resulttest.Runner("elm", 100e3), resulttest.Runner("ash", 200e3))
		for _, name := range []string{"elm", "ash"} {
			for _, trial := range resulttest.Trials(run, name)[:each] {
				resulttest.MarkedBy(trial, resulttest.OthersBusy())
			}
		}
		s := resulttest.ResultOf(t, run).Summary
		doctor := slices.ContainsFunc(s.Next, func(n model.Next) bool { return n.Command == "assay doctor" })
		if doctor != want || len(s.Trust) == 0 {
			t.Errorf("%d disturbed trials of each: next %+v, trust %+v", each, s.Next, s.Trust)
		}
	}
}

// What Trust tells is not told again as the reason why nothing is ranked; any other reason is.
func TestSummary_states_a_reason_once(t *testing.T) {
	busy := resulttest.RaceOf(3, resulttest.Runner("elm", 100e3), resulttest.Runner("ash", 200e3))
	idle := resulttest.RaceOf(3, resulttest.Runner("elm", 100e3), resulttest.Runner("ash", 200e3))
	for _, trial := range busy.Trials {
		resulttest.MarkedBy(trial, resulttest.OthersBusy())
	}
	for _, trial := range append(resulttest.Trials(idle, "elm"), resulttest.Trials(idle, "ash")...) {
		trial.State, trial.Cause, trial.Error = record.Interrupted, finding.CauseInterrupted, "stopped by the user"
	}
	for code, run := range map[finding.Code]*record.Run{"": busy, "no-rank interrupted": idle} {
		s := resulttest.ResultOf(t, run).Summary
		if len(s.NotClear) != 1 || s.NotClear[0].Code != "verdict no-rank" || len(s.Trust) == 0 {
			t.Fatalf("%+v %+v", s.NotClear, s.Trust)
		}
		if why, _ := s.NotClear[0].Params["why"].(finding.Message); why.Code != code {
			t.Errorf("why nothing is ranked: %v, want %q", why, code)
		}
	}
}

// threeSizes makes one class of three, with a number of records each.
func threeSizes(s recordtest.Shape) *record.Run {
	run := resulttest.Built(s)
	cells := run.Experiment.Cells
	cells[1].Durability, cells[2].Durability, cells[0].Records, cells[2].Records = store.D1, store.D1, 10, 1000
	return run
}

// Of an axis of two levels both are on the screen, and what is clear says at which.
func TestSummary_shows_both_levels_of_an_axis(t *testing.T) {
	s := resulttest.Clean()
	s.Classes = []store.Durability{store.D1, store.D3}
	run := resulttest.Built(s)
	run.Experiment.Cells[1].Durability, run.Experiment.Cells[0].Records = store.D1, 10
	summary := resulttest.ResultOf(t, run).Summary
	var cells []string
	for _, section := range summary.Sections {
		cells = append(cells, section.Cell)
	}
	if !slices.Equal(cells, []string{"10 records", "1,000,000 records"}) {
		t.Errorf("cells %q", cells)
	}
	for _, m := range summary.Clear {
		if text := finding.Text(m); !strings.Contains(text, "(D1 10 and 1,000,000 records)") {
			t.Errorf("%s", text)
		}
	}
	if len(summary.Clear) == 0 {
		t.Error("nothing is clear")
	}
}

// A lead whose interval spans more than fourfold is significant, and its size is open.
func TestSummary_wide_interval_is_not_clear(t *testing.T) {
	for noise, wide := range map[float64]bool{0.02: false, 0.45: true} {
		run := resulttest.RaceOf(3, recordtest.Arm{Name: "elm", PutRate: 10e3, BlockNoise: noise},
			recordtest.Arm{Name: "ash", PutRate: 300e3, BlockNoise: noise})
		s := resulttest.ResultOf(t, run).Summary
		is := func(code finding.Code) func(finding.Message) bool {
			return func(m finding.Message) bool { return m.Code == code }
		}
		if clear, open := slices.ContainsFunc(s.Clear, is("verdict fastest")), slices.ContainsFunc(s.NotClear, is("verdict wide")); clear == wide || open != wide {
			t.Errorf("noise %v: clear %v, wide %v: %+v %+v", noise, clear, open, s.Clear, s.NotClear)
		}
	}
}

// The screen says what changes from cell to cell, and draws one cell. A cell whose trials have not been
// run is neither counted among those with the same leaders, nor drawn.
func TestSummary_says_what_changes_between_cells(t *testing.T) {
	s := resulttest.Clean()
	s.Classes = []store.Durability{store.D1, store.D3, store.D0}
	s.Arms[1].ClassCost = map[store.Durability]float64{store.D3: 5} // elm leads there
	run := threeSizes(s)
	sections := resulttest.ResultOf(t, run).Summary.Sections
	if len(sections) != 1 || sections[0].Cell == "" || len(sections[0].Changes) == 0 || sections[0].Changes[0].Code != "section leaders" {
		t.Fatalf("%+v", sections)
	}
	if leaders := finding.Text(sections[0].Changes[0]); !strings.Contains(leaders, "oak at 10 records") || !strings.Contains(leaders, "elm at 1,000,000 records") {
		t.Errorf("%s", leaders)
	}
	maps.DeleteFunc(run.Trials, func(_ string, trial *record.Trial) bool { return trial.Plan.Cell != 0 })
	sections = resulttest.ResultOf(t, run).Summary.Sections
	if len(sections) != 1 || sections[0].Cell != "10 records" || len(sections[0].Rows) == 0 || len(sections[0].Changes) != 0 {
		t.Errorf("without trials of a million records: %+v", sections)
	}
}

// Of one phase that was measured along one parameter, each size has a column, with who leads there.
func TestSummary_shows_each_size_of_an_axis(t *testing.T) {
	s := resulttest.Clean()
	s.Classes = []store.Durability{store.D1, store.D3, store.D0}
	s.Arms[1].ClassCost = map[store.Durability]float64{store.D3: 5} // elm leads there
	run := threeSizes(s)
	measured := 0
	for i := range run.Experiment.Phases {
		if p := &run.Experiment.Phases[i]; !p.Load && !p.Unmeasured {
			measured++
			p.Unmeasured = measured > 1
		}
	}
	summary := resulttest.ResultOf(t, run).Summary
	if len(summary.Sections) != 1 || len(summary.Sections[0].Changes) != 0 {
		t.Fatalf("%+v", summary.Sections)
	}
	section := summary.Sections[0]
	if titles := columnTitles(section); !slices.Equal(titles, []string{"10 records", "1,000,000", "1,000"}) || section.Of() != section.Columns[0].Phase {
		t.Errorf("columns %q of %q", titles, section.Cell)
	}
	var leaders []string
	for at := range section.Columns {
		for _, row := range section.Rows {
			if row.Cells[at].Best {
				leaders = append(leaders, row.Arm)
			}
		}
	}
	if !slices.Equal(leaders, []string{"oak", "elm", "oak"}) {
		t.Errorf("leaders %q", leaders)
	}
	// At rates that the experiment set, it is p99, the shortest first.
	for i := range run.Experiment.Phases {
		if p := &run.Experiment.Phases[i]; !p.Load && !p.Unmeasured {
			p.Rate = 1000
		}
	}
	section = resulttest.ResultOf(t, run).Summary.Sections[0]
	if section.Unit != "p99 latency" || section.Columns[2].Kind != "latency" || len(section.Rows) < 2 {
		t.Fatalf("%+v", section)
	}
	for i, row := range section.Rows {
		if v := row.Cells[0].Value; v == nil || *v <= 0 || *v > 1e9 || i > 0 && *v < *section.Rows[i-1].Cells[0].Value {
			t.Errorf("row %d: %+v", i, row.Cells[0])
		}
	}
	// Along two parameters it is one cell with what changes between them.
	run.Experiment.Cells[1].Threads = 2
	if sections := resulttest.ResultOf(t, run).Summary.Sections; len(sections) != 1 || len(sections[0].Columns) != 1 {
		t.Errorf("two parameters: %+v", sections)
	}
}

// Cells in which nothing is known to be faster have no leaders that could be others elsewhere.
func TestSummary_names_no_leaders_of_a_tie(t *testing.T) {
	s := resulttest.Clean()
	s.Blocks, s.Classes = 1, []store.Durability{store.D1, store.D3, store.D0}
	s.Arms[1].ClassCost = map[store.Durability]float64{store.D3: 5} // the order of rates is another there
	run := threeSizes(s)
	sections := resulttest.ResultOf(t, run).Summary.Sections
	if len(sections) != 1 || len(sections[0].Rows) < 2 || len(sections[0].Changes) != 1 ||
		sections[0].Changes[0].Code != finding.SectionUndecided {
		t.Errorf("%+v", sections)
	}
}

func TestSummary_of_many_arms_and_cells_fits(t *testing.T) {
	s := recordtest.Example()
	s.Seconds, s.Blocks = 12, 2
	for len(s.Arms) < 40 {
		arm := s.Arms[len(s.Arms)%8]
		arm.Name += strings.Repeat("x", len(s.Arms)/8)
		s.Arms = append(s.Arms, arm)
	}
	resulttest.ScreenOf(t, resulttest.ResultOf(t, recordtest.Run(s)))
}

// Where no store was measured, the first screen has each store's own words, and so has the next step;
// what the machine did to a null driver is none.
func TestRefusalReasonIsOnTheFirstScreen(t *testing.T) {
	run := resulttest.RaceOf(3, resulttest.Runner("elm", 100e3), resulttest.Runner("ash", 200e3))
	run.Directory = "runs/a"
	for _, trial := range run.Trials {
		resulttest.MarkedBy(trial, resulttest.OthersBusy())
	}
	for arm, end := range map[string]struct {
		state record.State
		cause finding.Code
		said  string
	}{
		"elm": {record.Refused, finding.CauseRefused, "opening redis: elm is a replica: it takes no writes: can't be done"},
		"ash": {record.Failed, finding.CauseStore, "opening redis: NOAUTH Authentication required."},
	} {
		for _, trial := range resulttest.Trials(run, arm) {
			trial.State, trial.Cause, trial.Error, trial.Phases, trial.Marks = end.state, end.cause, end.said, nil, nil
		}
	}
	s := resulttest.ResultOf(t, run).Summary
	var missing []string
	for _, m := range s.Sections[0].Missing {
		missing = append(missing, finding.Text(m))
	}
	if want := []string{"Refused: elm (elm is a replica: it takes no writes).", "No figure: ash (the store returned an error: NOAUTH Authentication required)."}; !slices.Equal(missing, want) {
		t.Errorf("%q, want %q", missing, want)
	}
	if len(s.Next) != 1 || s.Next[0].Command != "assay report runs/a --full" || !strings.Contains(finding.Text(s.Next[0].Why), "NOAUTH") {
		t.Errorf("next: %+v", s.Next)
	}
}

// Where several stores lead all others and are not significantly different from each other, that is clear,
// and by how much. A field of equals, and a chain in which each is near the next, have no leaders.
func TestSummary_says_which_group_leads(t *testing.T) {
	group := func(arms ...recordtest.Arm) *finding.Message {
		for _, m := range resulttest.ResultOf(t, resulttest.RaceOf(5, arms...)).Summary.Clear {
			if m.Code == finding.VerdictGroup {
				return &m
			}
		}
		return nil
	}
	m := group(resulttest.Runner("bbolt", 600e3), resulttest.Runner("sqlite", 27e3), resulttest.Runner("boltdb", 601e3), resulttest.Runner("pogreb", 599e3), resulttest.Runner("pebble", 130e3))
	if m == nil {
		t.Fatal("no group leads")
	}
	if arms := m.Params["arms"].([]string); len(arms) != 3 || slices.Contains(arms, "pebble") {
		t.Errorf("%v lead", arms)
	}
	if least, most, low := m.Params["factor"].(float64), m.Params["most"].(float64), m.Params["low"].(float64); least < 4.2 || least > 4.8 || most < 20 || most > 24 || low > least || low < 3.5 {
		t.Errorf("%v to %v times, from %v", least, most, low)
	}
	if m := group(resulttest.Runner("a", 100e3), resulttest.Runner("b", 100.2e3), resulttest.Runner("c", 100.1e3)); m != nil {
		t.Errorf("equals: %+v", m)
	}
	if m := group(resulttest.Runner("a", 100e3), resulttest.Runner("b", 99.5e3), resulttest.Runner("c", 92e3)); m != nil {
		t.Errorf("a lead of a tenth: %+v", m)
	}
	if m := group(resulttest.Runner("a", 100e3), resulttest.Runner("b", 20e3)); m != nil {
		t.Errorf("one leads: %+v", m)
	}
}

// The versions of one store are held against the one that the file names as its baseline, first of all.
// Other stores are not, and neither are those of a file that names no baseline.
func TestSummary_begins_with_the_ratio_to_the_baseline(t *testing.T) {
	run := resulttest.RaceOf(5, resulttest.Runner("v1", 100e3), resulttest.Runner("v2", 80e3), resulttest.Runner("other", 90e3))
	run.Experiment.Stores[0].Driver, run.Experiment.Stores[1].Driver, run.Experiment.Stores[2].Driver = "elm", "elm", "oak"
	if m := resulttest.ResultOf(t, run).Summary.Answer; len(m) > 0 {
		t.Errorf("without a baseline: %+v", m)
	}
	run.Experiment.BaselineNamed = true
	answer := resulttest.ResultOf(t, run).Summary.Answer
	if len(answer) != 1 || answer[0].Params["arm"] != "v2" || answer[0].Params["baseline"] != "v1" {
		t.Fatalf("%+v", answer)
	}
	if slower, _ := answer[0].Params["slower"].([]string); len(slower) != 2 || answer[0].Params["faster"] != nil {
		t.Errorf("%+v", answer[0])
	}
	if least := answer[0].Params["least"].(float64); least < 0.78 || least > 0.82 {
		t.Errorf("%v times", least)
	}
}
