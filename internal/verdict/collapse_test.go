package verdict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/stat"
)

func readFile(t *testing.T, path string) stat.Series {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s, _, err := ReadSeries(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheArticlesSentences(t *testing.T) {
	s := readFile(t, "testdata/article.csv")
	a := Analyze(s)
	var out bytes.Buffer
	if err := a.WriteText(&out, s); err != nil {
		t.Fatal(err)
	}
	for _, says := range []string{
		"The rate fell off a cliff at 30.0 s", "3.74 M records", "from 125 k/s to 26.2 k/s", "it lasted to the end",
		"goes to and fro between two levels, 46.5 k/s (54 % of the time) and 6.59 k/s (31 %)", "lowest 810/s", "C cliff, ! stall", "top: 144 k/s",
	} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("%q is not said in:\n%s", says, out.String())
		}
	}
	var kinds []string
	for _, m := range a.Marks {
		kinds = append(kinds, m.Kind)
	}
	if !slices.Equal(kinds, []string{"cliff", "oscillation", "stall", "stall"}) || a.Marks[0].At != 30 || math.Abs(*a.Marks[0].Records-3739214) > 1 {
		t.Errorf("marks %+v", a.Marks)
	}
}

// The article's experiment as this project measured it: no cliff, but a fall to less than a tenth, in bends.
func TestTheArticlesExperimentDone(t *testing.T) {
	a := Analyze(readFile(t, "testdata/tokyo-cabinet.csv"))
	if !slices.Equal(a.Shapes, []stat.Shape{stat.ShapeDecline}) || !strings.Contains(a.Sentences[0], "from 118 k/s to 10.4 k/s, as records pile up; half of the early rate is left at 2.22 M records") ||
		!strings.Contains(a.Sentences[0], "most steeply at") {
		t.Errorf("%v: %q", a.Shapes, a.Sentences)
	}
}

// TestPublishedSeries analyses logs that no one here made, where there are any.
func TestPublishedSeries(t *testing.T) {
	files, err := filepath.Glob("testdata/published/*.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("skipped: there is no series in testdata/published")
	}
	for _, path := range files {
		a := Analyze(readFile(t, path))
		if len(a.Sentences) == 0 {
			t.Errorf("%s: nothing is said", path)
			continue
		}
		t.Logf("%s: %v: %s", filepath.Base(path), a.Shapes, a.Sentences[0])
	}
}

func TestBadSeriesAreRefused(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"empty", "", "line 1: the file is empty"},
		{"no time", "time,rate\n1,2\n", `line 1: there is no column "time_s"; the columns are "time" and "rate"; rename "time"`},
		{"no rate", "time_s,rates,x\n", `there is no column "rate"; the columns are "time_s", "rates" and "x"; rename "rates"`},
		{"twice", "time_s,rate,rate\n", `line 1, field 3: a second column "rate"`},
		{"no name", "time_s,rate,\n", "line 1, field 3: a column without a name"},
		{"a word", "time_s,rate\n1,2\n2,fast\n", `line 3, column 3: rate is "fast"; expected a number of 0 or more`},
		{"negative", "time_s,rate\n1,-2\n", `line 2, column 3: rate is "-2"`},
		{"negative records", "time_s,rate,records\n1,2,-1\n", `line 2, column 5: records is "-1"`},
		{"infinite", "time_s,rate\n1,inf\n", `rate is "inf"`},
		{"not a number", "time_s,rate,x\n1,1,nan\n", `line 2, column 5: x is "nan"; expected a number, or nothing`},
		{"backwards", "time_s,rate\n1,2\n1,2\n", "line 3, column 1: time_s is 1, and was 1 on the line before"},
		{"no time in a line", "time_s,rate\n,2\n", "line 2, column 1: time_s is empty"},
		{"ragged", "time_s,rate\n1,2\n3\n", "line 3: the line has another number of fields"},
		{"a quote", "time_s,rate\n1,\"2\n", "line 2, column"},
		{"a line without an end", "time_s,rate\n" + strings.Repeat("1", csvLineBytesMax+1), "a line is longer than"},
		{"many columns", "time_s,rate" + strings.Repeat(",x", csvColumnsMax) + "\n", "258 columns; at most 256"},
	} {
		_, _, err := ReadSeries(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", c.name, err, c.says)
		}
	}
}

func TestSeriesAreReadGenerously(t *testing.T) {
	for name, text := range map[string]string{
		"spaces, capitals, byte order mark": "\uFEFF Time_s, RATE, engine.flushes, faults\n 1, 10, 1, 5\n 2, 20, , 6\n 3, , , \n 4, 30, 3, 7\n",
		"semicolons":                        "time_s;rate;engine.flushes;faults\n1;10;1;5\n2;20;;6\n3;;;\n4;30;3;7\n",
		"tabs, another order":               "faults\trate\ttime_s\tengine.flushes\r\n5\t10\t1\t1\r\n6\t20\t2\t\r\n\t\t3\t\r\n7\t30\t4\t3\r\n",
	} {
		s, notes, err := ReadSeries(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(s.Ends, []float64{1, 2, 4}) || !slices.Equal(s.Rates, []float64{10, 20, 30}) || s.Begin != 0 || len(s.Resources) != 2 {
			t.Errorf("%s: %+v", name, s)
			continue
		}
		for _, r := range s.Resources {
			switch {
			case r.Name == "flushes" && r.Engine && r.Values[0] == 1 && math.IsNaN(r.Values[1]) && r.Values[2] == 3:
			case r.Name == "faults" && !r.Engine && slices.Equal(r.Values, []float64{5, 6, 7}):
			default:
				t.Errorf("%s: resource %+v", name, r)
			}
		}
		if len(notes) != 1 || notes[0] != "1 line without a rate left out" {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
	_, notes, err := ReadSeries(strings.NewReader("time_s,rate,record\n1,2,3\n"))
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "if it is records, rename it") {
		t.Errorf("%q, %v", notes, err)
	}
}

// A long file is thinned out while it is read; its mean, its end and its shape stay.
func TestLongSeriesAreMerged(t *testing.T) {
	var text strings.Builder
	text.WriteString("time_s,rate,records\n")
	const lines = 4*csvSamplesMax + 100
	r := rand.New(rand.NewPCG(1, 1))
	for i := 1; i <= lines; i++ {
		level := 1000.0
		if i > lines/2 {
			level = 300
		}
		fmt.Fprintf(&text, "%d,%.1f,%d\n", i, level*(1+0.05*r.NormFloat64()), 10*i)
	}
	s, notes, err := ReadSeries(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	n := len(s.Rates)
	if n > csvSamplesMax || n < csvSamplesMax/2 || len(notes) != 1 || !strings.Contains(notes[0], "lines were merged into each sample") {
		t.Fatalf("%d samples, notes %q", n, notes)
	}
	if s.Records[n-1] != 10*s.Ends[n-1] || math.Abs(stat.Mean(s.Rates)-650) > 5 {
		t.Errorf("last %v records at %v, mean rate %v", s.Records[n-1], s.Ends[n-1], stat.Mean(s.Rates))
	}
	if a := Analyze(s); !slices.Equal(a.Shapes, []stat.Shape{stat.ShapeCliff}) || math.Abs(a.Cliffs[0].Seconds-lines/2) > 20 {
		t.Errorf("%v: %v", a.Shapes, a.Sentences)
	}
}

func FuzzReadSeries(f *testing.F) {
	for _, seed := range []string{"time_s,rate\n1,2\n", "time_s;rate;x\n1;2;\n2;;4\n", "\uFEFFtime_s\trate\n0\t1e300\n1\t\"2\"\n", "rate,time_s\n\"1\n\",2\n", "time_s,rate,records\n-5,0,1e18\n-4,1,2"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, _, err := ReadSeries(bytes.NewReader(text))
		if err != nil {
			if !strings.Contains(err.Error(), "line") {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		if len(s.Ends) != len(s.Rates) || len(s.Rates) > csvSamplesMax {
			t.Fatalf("%d ends, %d rates", len(s.Ends), len(s.Rates))
		}
		for i, r := range s.Rates {
			if !(r >= 0) || math.IsInf(r, 0) || !(s.Ends[i] > beginning(s, i)) && i > 0 {
				t.Fatalf("sample %d: %v at %v", i, r, s.Ends[i])
			}
		}
		if len(s.Rates) > 400 {
			return
		}
		a := Analyze(s)
		if _, err := json.Marshal(a); err != nil {
			t.Fatal(err)
		}
		if err := a.WriteText(&bytes.Buffer{}, s); err != nil || len(a.Sentences) == 0 {
			t.Fatalf("%v, sentences %q", err, a.Sentences)
		}
	})
}

// grow gives the samples of a trial's phase records that pile up as they are written.
func grow(run *record.Run, t *record.Trial, phase string) {
	var stored uint64
	samples := run.Series[t.Plan.ID]
	for i := range samples {
		if samples[i].Phase == phase {
			stored += samples[i].Operations
			samples[i].Records = pointer(stored)
		}
	}
}

func TestFindingsSayAtHowManyRecordsAndWithWhat(t *testing.T) {
	run := cleanRun()
	for _, e := range trials(run, "elm") {
		scale(run, e, "put", 40, 60, 0.3)
		grow(run, e, "put")
		second := 0
		samples := run.Series[e.Plan.ID]
		for i := range samples {
			if samples[i].Phase != "put" {
				continue
			}
			second++
			stalls := 2.0 + float64(second%3)
			if second > 41 {
				stalls += 100
			}
			samples[i].Stats = map[string]float64{"write_stalls": stalls}
		}
	}
	s := summarise(t, run)
	f := find(s, FindCliff)
	if f == nil {
		t.Fatalf("found %v", codes(s))
	}
	text := f.Sentence + strings.Join(f.Evidence, "\n")
	for _, says := range []string{"elm fell off a cliff in put at D1 in 5 of 5 blocks: by 70 %, first at 40.0 s and 4.0", "M records", "It coincides with a change of the store's own write_stalls", "k/s"} {
		if !strings.Contains(text, says) {
			t.Errorf("%q is not said in:\n%s", says, text)
		}
	}
	put := table(t, s, "put")
	for _, r := range put.Rows {
		for _, o := range r.Trials {
			if r.Arm == "elm" && r.Role == "measured" && (o.Course == nil || len(o.Course.Marks) != 1 || o.Course.Marks[0].Kind != "cliff" || o.Course.Marks[0].Records == nil) {
				t.Errorf("%s: marks %+v", o.Trial, o.Course)
			}
		}
	}
}

func TestDeclineAndOscillationAreFindings(t *testing.T) {
	run := cleanRun()
	for _, e := range trials(run, "elm") {
		for second := range 60 {
			scale(run, e, "put", second, second+1, math.Exp(-0.02*float64(second)))
		}
		grow(run, e, "put")
	}
	for _, e := range trials(run, "ash") {
		for second := 0; second < 60; second += 6 {
			scale(run, e, "get", second, second+3, 0.2)
		}
	}
	s := summarise(t, run)
	if f := find(s, FindDecline); f == nil || f.Where.Arm != "elm" || !strings.Contains(strings.Join(f.Evidence, " "), "as records pile up; half of the early rate is left at") {
		t.Errorf("decline: %+v among %v", f, codes(s))
	}
	if f := find(s, FindOscillation); f == nil || f.Where.Arm != "ash" || !strings.Contains(f.Evidence[0], "(50 % of the time)") || !strings.Contains(f.Evidence[0], "every 6.00 s") {
		t.Errorf("oscillation: %+v among %v", f, codes(s))
	}
}

// Where an arm falls all the way, the cut for its warm-up hangs on chance: the rate is of the whole phase, and so is that of its second self.
func TestARateThatNeverSettlesIsOfTheWholePhase(t *testing.T) {
	run := cleanRun()
	baseline := run.Experiment.Baseline
	var everything []record.Sample
	for _, e := range trials(run, baseline) {
		for second := range 60 {
			scale(run, e, "put", second, second+1, math.Exp(-0.03*float64(second)))
		}
		everything = append(everything, run.Series[e.Plan.ID]...)
	}
	operations, length := 0.0, 0.0
	for _, sample := range everything {
		if sample.Phase == "put" {
			operations, length = operations+float64(sample.Operations), length+sample.Seconds
		}
	}
	put := table(t, summarise(t, run), "put")
	fell, again := put.rowOf(plan.Measured, baseline), put.rowOf(plan.AA, "")
	if fell.Ranked || again == nil {
		t.Fatalf("ranked %v, second self %v", fell.Ranked, again)
	}
	for _, r := range []*Row{fell, again} {
		for _, o := range r.Trials {
			if o.Basis != WholePhase {
				t.Errorf("%s: its rate is of %s", o.Trial, o.Basis)
			}
		}
	}
	if mean := operations / length; math.Abs(fell.Rate.Value/mean-1) > 0.02 {
		t.Errorf("%.0f operations a second, of the whole phase there were %.0f", fell.Rate.Value, mean)
	}
	for i := range put.Rows {
		if r := &put.Rows[i]; r != fell && r != again && r.Trials[0].Basis != AfterWarmup {
			t.Errorf("%s settled, and its warm-up is in its rate", r.Arm)
		}
	}
}

// A collapse of Tokyo Cabinet's table as it was measured, in k/s: steps so near one another that they can't be told from a random walk.
var tableCollapse = []float64{183, 152, 164, 110, 105, 136, 151, 136, 112, 88, 87, 83, 88, 87, 87, 82, 80, 82, 75, 73, 76, 73, 74, 75, 74, 71, 73, 71, 62, 70,
	73, 75, 72, 52, 51, 44, 38, 31, 26, 30, 22, 21, 20, 21, 20, 16, 18, 16, 16, 16, 20, 21, 20, 17, 21, 18, 20, 17, 18, 15}

func TestASunkenRateIsAFinding(t *testing.T) {
	for _, c := range []struct {
		name  string
		rates []float64
		sank  bool
	}{
		{"as measured", tableCollapse, true},
		{"upside down", slices.Sorted(slices.Values(tableCollapse)), false},
	} {
		run := cleanRun()
		for _, e := range trials(run, "elm") {
			for second, rate := range c.rates {
				scale(run, e, "put", second, second+1, rate/183)
			}
			grow(run, e, "put")
		}
		f := find(summarise(t, run), FindSank)
		if (f != nil) != c.sank {
			t.Errorf("%s: %+v", c.name, f)
		}
		if f != nil && (f.Where.Arm != "elm" || !strings.Contains(f.Evidence[0], "M records") || !strings.Contains(f.Sentence, "5 of 5 blocks")) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
