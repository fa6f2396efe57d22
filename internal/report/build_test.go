package report

import (
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"assay/internal/histogram"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/record/recordtest"
	"assay/internal/verdict"
)

func TestBuildShowsEveryPlannedArm(t *testing.T) {
	run := recordtest.Run(recordtest.Example())
	v := exampleView(t)
	if len(v.Tables) != 6 {
		t.Fatalf("there are %d tables, want two phases of three classes", len(v.Tables))
	}
	standings := map[string]Standing{}
	for _, table := range v.Tables {
		if len(table.Rows) != 10 {
			t.Errorf("%s has %d rows, want 10", table.ID, len(table.Rows))
		}
		for _, row := range table.Rows {
			standings[table.Class+" "+table.Phase+" "+row.Arm] = row.Standing
			if row.Standing != Ranked && row.Standing != Reference && len(row.Reasons) == 0 {
				t.Errorf("%s: %s is %s for no reason", table.ID, row.Arm, row.Standing)
			}
			if row.Standing == Ranked && (row.Rank == 0 || row.Rate == nil || len(row.Latency) != len(quantiles)) {
				t.Errorf("%s: %s is ranked %d with a rate of %v and %d percentiles", table.ID, row.Arm, row.Rank, row.Rate, len(row.Latency))
			}
		}
	}
	for what, want := range map[string]Standing{
		"D0 put pebble": Ranked, "D1 put bbolt": Refused, "D0 put pogreb": NotRanked, "D3 put sqlite": NotRanked,
		"D0 put null": Reference, "D0 put pebble (A/A)": Reference,
	} {
		if standings[what] != want {
			t.Errorf("%s is %q, want %q", what, standings[what], want)
		}
	}
	var squares []string
	for _, row := range v.Matrix.Rows {
		for _, square := range row.Squares {
			squares = append(squares, square...)
		}
	}
	for _, planned := range run.Plan {
		if !slices.Contains(squares, planned.ID) {
			t.Errorf("the matrix lacks %s", planned.ID)
		}
	}
}

func TestBuildMarksWhatHappened(t *testing.T) {
	v := exampleView(t)
	happened := map[string]float64{}
	warmups := 0
	for _, s := range v.Tables[0].Series {
		for _, m := range s.Marks {
			happened[m.Kind+" "+s.Arm] = m.At
		}
		if s.Arm == "pebble" && s.Warmup > 0 {
			warmups++
		}
	}
	if at := happened["stall goleveldb"]; at != 37 {
		t.Errorf("the stall at 37 s is shown at %g", at)
	}
	if at := happened["cliff badger"]; at != 41 {
		t.Errorf("the cliff at 41 s is shown at %g", at)
	}
	if warmups == 0 {
		t.Error("no warm-up of pebble is cut, though it climbs for 8 s")
	}
}

func TestEveryMarkOfTheVerdictIsShown(t *testing.T) {
	run := recordtest.Run(recordtest.Example())
	summary, err := verdict.Summarise(run)
	if err != nil {
		t.Fatal(err)
	}
	v := exampleView(t)
	marked := 0
	for i, table := range summary.Tables {
		for _, row := range table.Rows {
			for _, o := range row.Trials {
				if o.Course == nil {
					continue
				}
				for _, s := range v.Tables[i].Series {
					if s.Trial != o.Trial {
						continue
					}
					marked += len(s.Marks)
					want := len(o.Course.Marks)
					if o.Course.Sunken() != nil {
						want++
					}
					if len(s.Marks) != want {
						t.Errorf("%s in %s has %d marks of %d", o.Trial, table.Phase, len(s.Marks), want)
					}
				}
			}
		}
	}
	if marked == 0 {
		t.Error("no trial of the example has marks, so nothing was checked")
	}
}

// Under open load a latency counts from the due time: service times would hide the queue.
func TestLatencyOfOpenLoadIsResponseTime(t *testing.T) {
	service, response := histogram.New(), histogram.New()
	service.Record(1_000)
	response.Record(5_000_000)
	p := record.Phase{Open: true, Operations: []record.Operation{{Name: "read", OK: 1, MaxNS: 1_000, Service: service, Response: response}}}
	for _, point := range latenciesOf(verdict.Refusal{}, &p).Latency {
		if point.NS < 4.9e6 {
			t.Errorf("the quantile %g is %g ns, want the response time of 5 ms", point.Quantile, point.NS)
		}
	}
	if points := latenciesOf(verdict.Refusal{}, &record.Phase{}).Latency; points != nil {
		t.Errorf("a phase without operations has percentiles: %v", points)
	}
}

// What was not measured is nil and shown as a dash: never zero.
func TestNotMeasuredIsNeverZero(t *testing.T) {
	for _, row := range exampleView(t).Tables[0].Rows {
		switch row.Arm {
		case "tokyo-hash":
			if row.AllocBytes != nil || row.Allocs != nil {
				t.Error("a native worker has allocations of Go's")
			}
		case "pogreb":
			if row.AllocBytes == nil || *row.AllocBytes != 0 {
				t.Error("a measured zero is lost")
			}
		case "null":
			if row.DiskBytes != nil {
				t.Error("the null driver has disk bytes")
			}
		}
	}
	if text := maybe(nil, bytesText); text != absent {
		t.Errorf("what was not measured is shown as %q", text)
	}
}

func TestBuildOfUnfinishedRun(t *testing.T) {
	run := recordtest.Run(recordtest.Example())
	for i, planned := range run.Plan {
		if i > 4 {
			delete(run.Trials, planned.ID)
			delete(run.Series, planned.ID)
		}
	}
	v, err := Build(run)
	if err != nil {
		t.Fatal(err)
	}
	planned := 0
	for _, trial := range v.Trials {
		if trial.State == "planned" && trial.Link == "" {
			planned++
		}
	}
	if planned != len(run.Plan)-5 {
		t.Errorf("%d trials are shown as planned, want %d", planned, len(run.Plan)-5)
	}
	if html := htmlOf(t, v); !strings.Contains(html, `class="square planned"`) {
		t.Error("the page does not show the trials that have not begun")
	}
}

// A table in which nothing ended well has bars and no figures, and none of them is NaN.
func TestNothingEndedWell(t *testing.T) {
	shape := recordtest.Example()
	shape.Blocks, shape.Seconds, shape.Classes, shape.Ceiling, shape.AA = 1, 3, shape.Classes[:1], false, false
	shape.Arms = []recordtest.Arm{{Name: "still", Errors: 1}}
	v, err := Build(recordtest.Run(shape))
	if err != nil {
		t.Fatal(err)
	}
	if html := htmlOf(t, v); strings.Contains(strings.ReplaceAll(html, pageScript, ""), "NaN") {
		t.Error("the page has a NaN")
	}
	textOfView(t, v)
	if err := JSON(io.Discard, v); err != nil {
		t.Error(err)
	}
}

func textOfView(t *testing.T, v View) string { return textAt(t, v, 100) }

// textAt is the text report at a width.
func textAt(t *testing.T, v View, width int) string {
	t.Helper()
	var text strings.Builder
	if err := Text(&text, v, false, width); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestBuildOfSeveralRuns(t *testing.T) {
	first, second := recordtest.Run(recordtest.Example()), recordtest.Run(recordtest.Example())
	first.Directory, second.Directory = "runs/one", "runs/two"
	second.Header.ID = "other"
	v, err := Build(first, second)
	if err != nil {
		t.Fatal(err)
	}
	ids, keys := map[string]bool{}, map[string]bool{}
	for _, table := range v.Tables {
		ids[table.ID] = true
	}
	for _, trial := range v.Trials {
		keys[trial.Key] = true
	}
	if len(ids) != 12 || len(keys) != 2*len(first.Plan) {
		t.Errorf("two runs have %d tables and %d trials, want 12 and %d", len(ids), len(keys), 2*len(first.Plan))
	}
	if err := v.Locate("runs/report.html"); err != nil {
		t.Fatal(err)
	}
	links := []string{}
	for _, trial := range v.Trials {
		if trial.ID == first.Plan[0].ID {
			links = append(links, trial.Link)
		}
	}
	want := []string{"one/trials/" + first.Plan[0].ID + "/", "two/trials/" + first.Plan[0].ID + "/"}
	if !slices.Equal(links, want) {
		t.Errorf("the links are %q, want %q", links, want)
	}
	if err := v.Locate("elsewhere/report.html"); err != nil {
		t.Fatal(err)
	}
	if base := v.Runs[0].Base; base != "../runs/one/" {
		t.Errorf("from another folder, the run is at %q", base)
	}
	if link := v.Trials[0].Link; !strings.HasPrefix(link, "../runs/one/trials/") {
		t.Errorf("from another folder, a trial is at %q", link)
	}
	htmlOf(t, v)
}

func TestBuildRefusesNothing(t *testing.T) {
	if _, err := Build(); err == nil {
		t.Error("a report of no run is made")
	}
	if _, err := Build(&record.Run{Plan: []plan.Trial{}}); err == nil {
		t.Error("a report of a run without a plan is made")
	}
}

func TestShellCommandReadsBack(t *testing.T) {
	words := []string{"assay", "run", "it's", "", "a b", "$HOME", "--set", "x=1", `"\`}
	got, err := exec.Command("sh", "-c", `set -- `+shellCommand(words)+`; printf '%s\n' "$@"`).Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(words, "\n") + "\n"; string(got) != want {
		t.Errorf("the shell reads %q, want %q", got, want)
	}
}

func TestCostOfTelemetry(t *testing.T) {
	run := recordtest.Run(recordtest.Example())
	if got := telemetryCost(run); got != "not measured" {
		t.Errorf("a cost that nobody measured is told as %q", got)
	}
	for _, trial := range run.Trials {
		for i := range trial.Phases {
			trial.Phases[i].Telemetry = &record.Telemetry{CPUSeconds: float64(trial.Phases[i].ElapsedNS) / 1e9 / 200}
		}
	}
	if got := telemetryCost(run); got != "0.50 % of one core" {
		t.Errorf("half a percent of a core is told as %q", got)
	}
}

// The command of a report names the experiment file of the run directory, and keeps what changes the experiment or where stores stand.
func TestTheCommandDoesTheRunAgain(t *testing.T) {
	run := recordtest.Run(recordtest.Example())
	run.Directory = "some where/r3"
	for _, c := range []struct {
		given []string
		want  string
	}{
		{[]string{"assay", "run", "e3.yaml", "--out", "r3"}, "assay run 'some where/r3/experiment.yaml'"},
		{[]string{"assay", "run", "-", "--out=r3", "--plain", "--set", "blocks=2", "--set=a=b c"}, "assay run 'some where/r3/experiment.yaml' --set blocks=2 '--set=a=b c'"},
		{[]string{"bin/assay", "run", "--data", "/mnt/d", "--no-html", "--out", "--set", "put-get"}, "bin/assay run 'some where/r3/experiment.yaml' --data /mnt/d"},
		{nil, ""},
	} {
		run.Environment.Command = c.given
		if got := againCommand(run); got != c.want {
			t.Errorf("%q is done again by %s, want %s", c.given, got, c.want)
		}
	}
	run.Environment.Command, run.Source = []string{"assay", "run", "e3.yaml"}, nil
	if got := viewOf(t, run).Runs[0].Command; got != "" {
		t.Errorf("without its experiment file a run is done again by %s", got)
	}
}
