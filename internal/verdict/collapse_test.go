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

// The article's experiment as this project measured it: a decline, and a fall within some seconds.
func TestTheArticlesExperimentDone(t *testing.T) {
	a := Analyze(readFile(t, "testdata/tokyo-cabinet.csv"))
	if !slices.Equal(a.Shapes, []stat.Shape{stat.ShapeCliff, stat.ShapeDecline}) || !strings.Contains(a.Sentences[0], "The rate fell between 40.0 s and 55.0 s, at 3.13 M records") ||
		!strings.Contains(strings.Join(a.Sentences, " "), "From 0 s to 42.0 s the rate declines, from 120 k/s at 3.00 s to 45.7 k/s, as records pile up") {
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
		{"a word", "time_s,rate\n1,2\n2,fast\n", `line 3, column 3: rate is "fast"; expected a number of 0 or more`},
		{"negative", "time_s,rate\n1,-2\n", `line 2, column 3: rate is "-2"`},
		{"negative records", "time_s,rate,records\n1,2,-1\n", `line 2, column 5: records is "-1"`},
		{"infinite", "time_s,rate\n1,inf\n", `rate is "inf"`},
		{"beyond all measure", "time_s,rate\n1,1e200\n", `rate is "1e200"; expected a number`},
		{"records in words", "time_s,rate,records\n1,1,many\n", `line 2, column 5: records is "many"; expected a number of 0 or more, or nothing`},
		{"a date", "time_s,rate\n2026-11-21T08:50:46Z,2\n", `time_s is "2026-11-21T08:50:46Z"; expected the time in seconds`},
		{"a mark for a time", "time_s,rate\nNaN,2\n", `line 2, column 1: time_s is "NaN"; expected the time in seconds`},
		{"backwards", "time_s,rate\n1,2\n1,2\n", "line 3, column 1: time_s is 1, and was 1 on the line before"},
		{"no time in a line", "time_s,rate\n,2\n", "line 2, column 1: time_s is empty"},
		{"ragged", "time_s,rate\n1,2\n3\n", "line 3: the line has another number of fields (1) than the first line has columns (2)"},
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

// Nothing is refused for a column that nobody needs, and what was not measured is never zero.
func TestColumnsThatAreNoNumbers(t *testing.T) {
	s, notes, err := ReadSeries(strings.NewReader("host,time_s,rate,,cpu,records,io,io,swap\n" +
		"web1,1,10,0,1.5,-,-,7,NA\nweb1,2,-,1,NaN,20,3,8,NA\nweb1,3,NaN,2,-nan,,null,9,NA\nweb2,4,0,3,2.5,N/A,0,x,na\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Ends, []float64{1, 4}) || !slices.Equal(s.Rates, []float64{10, 0}) || s.Records != nil {
		t.Errorf("ends %v, rates %v, records %v", s.Ends, s.Rates, s.Records)
	}
	var names []string
	for _, r := range s.Resources {
		names = append(names, r.Name)
		switch {
		case r.Name == "cpu" && slices.Equal(r.Values, []float64{1.5, 2.5}):
		case r.Name == "io" && math.IsNaN(r.Values[0]) && r.Values[1] == 0:
		default:
			t.Errorf("resource %+v", r)
		}
	}
	want := []string{"line 1, field 4: a column without a name is left out", `line 1, field 8: a second column "io" is left out`,
		`column "host" is left out: on line 2 it is "web1", which is no number`, "2 lines without a rate left out", `column "records" holds no number on any line with a rate`,
		`column "swap" holds no number on any line with a rate`}
	if !slices.Equal(names, []string{"cpu", "io"}) || !slices.Equal(notes, want) {
		t.Errorf("resources %q, notes %q", names, notes)
	}
}

// A word far down takes its column with it, and no other.
func TestAColumnIsLeftOutLate(t *testing.T) {
	var text strings.Builder
	text.WriteString("time_s,a,rate,b\n")
	const lines = csvSamplesMax + 1001
	for i := 1; i < lines; i++ {
		fmt.Fprintf(&text, "%d,%d,10,%d\n", i, 2*i, 3*i)
	}
	fmt.Fprintf(&text, "%d,bad,10,%d\n", lines, 3*lines)
	s, notes, err := ReadSeries(strings.NewReader(text.String()))
	if err != nil || len(s.Resources) != 1 || s.Resources[0].Name != "b" || len(s.Resources[0].Values) != len(s.Ends) || s.Resources[0].Values[0] != 4.5 {
		t.Fatalf("%d ends, resources %+v, %v", len(s.Ends), s.Resources, err)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], `column "a" is left out: on line 8202 it is "bad"`) {
		t.Errorf("notes %q", notes)
	}
}

// No sample can have ended at 0. A line there with nothing done is no sample; else the times are those of beginnings.
func TestSeriesThatBeginAtZero(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		begin        float64
		ends, rates  []float64
		records      []float64
		notes, noted int
	}{
		{"nothing done", "0,0,0\n1,10,10\n2,20,30\n", 0, []float64{1, 2}, []float64{10, 20}, []float64{10, 30}, 1, 0},
		{"nothing measured", "0,,0\n1,10,10\n2,20,30\n", 0, []float64{1, 2}, []float64{10, 20}, []float64{10, 30}, 1, 0},
		{"at once", "0.004,0,0\n1.004,10,10\n2,20,30\n", 0.008, []float64{1.004, 2}, []float64{10, 20}, []float64{10, 30}, 1, 0},
		{"beginnings", "0,5,0\n1,10,10\n3,20,30\n", 0, []float64{1, 3, 5}, []float64{5, 10, 20}, []float64{0, 10, 30}, 1, 0},
		{"beginnings, one missing", "0,5,0\n1,,10\n2,20,30\n", 0, []float64{1, 3}, []float64{5, 20}, []float64{0, 30}, 2, 0},
		{"a short first sample", "0.5,5,0\n1.5,10,10\n2.5,20,30\n", 0, []float64{0.5, 1.5, 2.5}, []float64{5, 10, 20}, []float64{0, 10, 30}, 0, 0},
		{"a clock that began before", "-1,5,0\n0,10,10\n1,20,30\n", -2, []float64{-1, 0, 1}, []float64{5, 10, 20}, []float64{0, 10, 30}, 0, 0},
	} {
		s, notes, err := ReadSeries(strings.NewReader("time_s,rate,records\n" + c.text))
		if err != nil || math.Abs(s.Begin-c.begin) > 1e-9 || !slices.Equal(s.Ends, c.ends) || !slices.Equal(s.Rates, c.rates) || !slices.Equal(s.Records, c.records) || len(notes) != c.notes {
			t.Errorf("%s: %+v, notes %q, %v", c.name, s, notes, err)
		}
	}
}

// The lines after the last whole sample are not lost: they are a sample of their own, or, if they are few, part of the last one.
func TestTheLastLinesOfALongSeries(t *testing.T) {
	for _, c := range []struct {
		lines, samples int
		last           float64 // rate of the last sample, where each line's is its number
		says           string
	}{
		{csvSamplesMax, csvSamplesMax / 2, csvSamplesMax - 0.5, "2 lines were merged into each sample"},
		{csvSamplesMax + 1, csvSamplesMax/2 + 1, csvSamplesMax + 1, "2 lines were merged into each sample, 1 into the last one"},
		{2*csvSamplesMax + 1, csvSamplesMax / 2, 2*csvSamplesMax - 1, "4 lines were merged into each sample, 5 into the last one"},
		{2*csvSamplesMax + 3, csvSamplesMax/2 + 1, 2*csvSamplesMax + 2, "4 lines were merged into each sample, 3 into the last one"},
	} {
		var text strings.Builder
		text.WriteString("time_s,rate,records\n")
		for i := 1; i <= c.lines; i++ {
			fmt.Fprintf(&text, "%d,%d,%d\n", i, i, 10*i)
		}
		s, notes, err := ReadSeries(strings.NewReader(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		n := len(s.Ends)
		if n != c.samples || s.Ends[n-1] != float64(c.lines) || s.Records[n-1] != float64(10*c.lines) || s.Rates[n-1] != c.last || len(notes) != 1 || !strings.HasSuffix(notes[0], c.says) {
			t.Errorf("%d lines: %d samples to %v s, %v records, last rate %v, notes %q", c.lines, n, s.Ends[n-1], s.Records[n-1], s.Rates[n-1], notes)
		}
		for _, w := range Analyze(s).Warnings {
			t.Errorf("%d lines: %+v", c.lines, w)
		}
	}
}

// stepped writes a series as a file: n samples, step seconds apart, at one rate and then at another, with a little noise.
func stepped(t *testing.T, n int, step, before, after float64) stat.Series {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("time_s,rate,records\n")
	records := 0.0
	for i := 1; i <= n; i++ {
		level := before
		if i > n/2 {
			level = after
		}
		done := level * (1 + 0.03*r.NormFloat64())
		records += done * step
		fmt.Fprintf(&text, "%.6g,%g,%.0f\n", float64(i)*step, done, records)
	}
	s, _, err := ReadSeries(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Times are told to the sample, and records so far that the ends of an interval differ.
func TestDigitsTellSamplesApart(t *testing.T) {
	for _, c := range []struct {
		step float64
		says string
	}{
		{0.001, "at 0.030 s (0.029 to 0.031 s)"}, {0.01, "at 0.30 s (0.29 to 0.31 s)"}, {0.025, "at 0.750 s (0.725 to 0.775 s)"}, {0.1, "at 3.00 s (2.90 to 3.10 s)"},
		{1, "at 30.0 s (29.0 to 31.0 s)"}, {7.5, "at 225.0 s (217.5 to 232.5 s)"}, {60, "at 1800 s (1740 to 1860 s)"},
	} {
		s := stepped(t, 60, c.step, 100_000, 40_000)
		a := Analyze(s)
		if !strings.Contains(a.Sentences[0], c.says) {
			t.Errorf("every %v s: %q, want %q", c.step, a.Sentences[0], c.says)
		}
	}
	s := stepped(t, 7000, 1, 100_000, 40_000)
	if a := Analyze(s); strings.Contains(a.Sentences[0], "351 M records (350 M to 350 M)") || !strings.Contains(a.Sentences[0], ",") || a.Cliffs[0].RecordsInterval.Low >= a.Cliffs[0].RecordsInterval.High {
		t.Errorf("%q", a.Sentences[0])
	}
}

func TestWhatIsSaidOfASteadyRate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	file := func(level func(i int) float64) stat.Series {
		var text strings.Builder
		text.WriteString("time_s,rate\n")
		for i := 1; i <= 120; i++ {
			fmt.Fprintf(&text, "%d,%g\n", i, level(i)*(1+0.01*r.NormFloat64()))
		}
		s, _, err := ReadSeries(strings.NewReader(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	warmup := Analyze(file(func(i int) float64 {
		if i <= 20 {
			return 0
		}
		return 99_500
	})).Sentences[0]
	if !strings.Contains(warmup, "The rate is steady from 20.0 s on, 99.") || !strings.Contains(warmup, "k/s on average") || !strings.Contains(warmup, "Before 20.0 s it was 0/s on average") {
		t.Errorf("%q", warmup)
	}
	last := Analyze(file(func(i int) float64 {
		if i > 117 {
			return 20_000
		}
		return 100_000
	})).Sentences[0]
	if !strings.Contains(last, "The rate fell at 117 s, from 100 k/s to 20.") || !strings.Contains(last, "too few to tell a cliff from a stall. Until then it is steady") {
		t.Errorf("%q", last)
	}
}

// Of a count of few things, an empty sample is no stall, and none and one are no two levels; a fall is still one.
func TestCountsOfFewThings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	poisson := func(mean float64) (count int) {
		for at := r.ExpFloat64(); at < mean; at += r.ExpFloat64() {
			count++
		}
		return count
	}
	analysis := func(n int, count func(i int) int) Analysis {
		var text strings.Builder
		text.WriteString("time_s,rate\n")
		for i := 1; i <= n; i++ {
			fmt.Fprintf(&text, "%d,%g\n", 10*i, float64(count(i))/10)
		}
		s, _, err := ReadSeries(strings.NewReader(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		return Analyze(s)
	}
	for _, mean := range []float64{0.5, 3, 8} {
		if a := analysis(300, func(int) int { return poisson(mean) }); a.Has(stat.ShapeStalls) || a.Has(stat.ShapeOscillation) || a.Has(stat.ShapeCliff) {
			t.Errorf("%v things a sample: %v", mean, a.Sentences)
		}
	}
	fall := analysis(300, func(i int) int {
		if i > 150 {
			return poisson(1.5)
		}
		return poisson(8)
	})
	if len(fall.Cliffs) != 1 || math.Abs(fall.Cliffs[0].Seconds-1500) > 50 || fall.Has(stat.ShapeStalls) {
		t.Errorf("%v", fall.Sentences)
	}
	clockwork := analysis(200, func(i int) int {
		if i%50 == 0 {
			return 0
		}
		return 12
	})
	if !clockwork.Has(stat.ShapeStalls) {
		t.Errorf("12 each time, and then none: %v", clockwork.Sentences)
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
	for _, seed := range []string{"time_s,rate\n1,2\n", "time_s;rate;x\n1;2;\n2;;4\n", "\uFEFFtime_s\trate\n0\t1e300\n1\t\"2\"\n", "time_s,rate,host,\n0,5,a,\n1,-,b,\n2,7,c,\n", "time_s,rate,x\n0,0,NaN\n1,2,x\n", "rate,time_s\n\"1\n\",2\n", "time_s,rate,records\n-5,0,1e18\n-4,1,2"} {
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
	put := tableNamed(t, s, "put")
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
	if f := find(s, FindDecline); f == nil || f.Where.Arm != "elm" || !strings.Contains(strings.Join(f.Evidence, " "), "as records pile up; half of that first rate is left at") {
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
	put := tableNamed(t, summarise(t, run), "put")
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

// A collapse of Tokyo Cabinet's table as it was measured, in k/s: it declines, and falls within ten seconds.
var tableCollapse = []float64{183, 152, 164, 110, 105, 136, 151, 136, 112, 88, 87, 83, 88, 87, 87, 82, 80, 82, 75, 73, 76, 73, 74, 75, 74, 71, 73, 71, 62, 70,
	73, 75, 72, 52, 51, 44, 38, 31, 26, 30, 22, 21, 20, 21, 20, 16, 18, 16, 16, 16, 20, 21, 20, 17, 21, 18, 20, 17, 18, 15}

// slowCollapse is the same with a fall of twenty seconds: steps so near one another that they can't be told from a random walk.
var slowCollapse = []float64{88, 87, 83, 88, 87, 87, 82, 80, 82, 75, 73, 76, 73, 74, 75, 74, 71, 73, 71, 62, 70, 73, 75, 72, 66, 68, 60, 57, 52, 54,
	47, 44, 40, 41, 36, 33, 30, 31, 27, 25, 23, 22, 22, 21, 20, 21, 20, 16, 18, 16, 16, 16, 20, 21, 20, 17, 21, 18, 20, 17}

func TestAMeasuredCollapseInWords(t *testing.T) {
	var b strings.Builder
	b.WriteString("time_s,rate\n")
	for i, rate := range tableCollapse {
		fmt.Fprintf(&b, "%d,%g\n", i+1, 1000*rate)
	}
	s, _, err := ReadSeries(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	a := Analyze(s)
	if len(a.Sentences) != 2 || !strings.HasPrefix(a.Sentences[0], "The rate fell between 30.0 s and 44.0 s: from 77.3 k/s to 18.3 k/s, by 76 %") ||
		!strings.HasPrefix(a.Sentences[1], "From 0 s to 32.0 s the rate declines") {
		t.Errorf("%q", a.Sentences)
	}
}

func TestWhatComesAfterAFallInWords(t *testing.T) {
	for _, c := range []struct {
		name string
		rate func(i int) int
		want []string
	}{
		{"back in part", func(i int) int { return []int{100, 40, 70}[i/40] }, []string{"from 100 k/s to 40.0 k/s, by 60 % (60 % to 60 %), and it lasted 40.0 s; from 80.0 s on it is back at 70.0 k/s."}},
		{"back for a while", func(i int) int { return []int{100, 40, 40, 70, 40, 40}[i/20] }, []string{"and it lasted 40.0 s; from 60.0 s to 80.0 s it is back at 70.0 k/s."}},
		{"to and fro for a part", func(i int) int {
			if i >= 40 && i < 80 && i%8 < 4 {
				return 20
			}
			return 100
		}, []string{"From 36.0 s to 80.0 s it goes to and fro", "Outside of this it does not: from 0 s to 36.0 s it is 100 k/s and from 80.0 s to 120 s it is 100 k/s on average."}},
	} {
		var b strings.Builder
		b.WriteString("time_s,rate\n")
		for i := range 120 {
			fmt.Fprintf(&b, "%d,%d\n", i+1, 1000*c.rate(i)+i%7*10)
		}
		s, _, err := ReadSeries(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		a := Analyze(s)
		for _, want := range c.want {
			if !strings.Contains(strings.Join(a.Sentences, " "), want) {
				t.Errorf("%s: %q is not said in %q", c.name, want, a.Sentences)
			}
		}
	}
}

func TestASunkenRateIsAFinding(t *testing.T) {
	for _, c := range []struct {
		name  string
		rates []float64
		sank  bool
	}{
		{"slowly", slowCollapse, true},
		{"as measured, at once", tableCollapse, false},
		{"upside down", slices.Sorted(slices.Values(slowCollapse)), false},
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

// dipping is a file of a rate that falls to a third for three samples in each thirty, once its first minute is over.
func dipping(samples int, falls func(i int) bool) string {
	var b strings.Builder
	b.WriteString("time_s,rate\n")
	for i := range samples {
		rate := 90_000 + i*i%1009
		if falls(i) {
			rate /= 3
		}
		fmt.Fprintf(&b, "%d,%d\n", i+1, rate)
	}
	return b.String()
}

func TestDipsInWords(t *testing.T) {
	text := func(falls func(i int) bool) string {
		s, _, err := ReadSeries(strings.NewReader(dipping(240, falls)))
		if err != nil {
			t.Fatal(err)
		}
		a := Analyze(s)
		var b strings.Builder
		if err := a.WriteText(&b, s); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	often := text(func(i int) bool { return i >= 60 && i%30 < 3 })
	for _, want := range []string{"But for its dips the rate is steady from ", "84.6 k/s on average with them", "It dips 6 times between 60.0 s and 213 s, for 3.00 s at the median, to 3", "(lowest 3", "in all 7.5 % of the time, and comes back; every 30.0 s (",
		"v dip", "v       "} {
		if !strings.Contains(often, want) {
			t.Errorf("%q is not said in:\n%s", want, often)
		}
	}
	once := text(func(i int) bool { return i >= 100 && i < 104 })
	if want := "It dips once, from 100 s to 104 s, to 3"; !strings.Contains(once, want) || !strings.Contains(once, "and came back.") {
		t.Errorf("%q is not said in:\n%s", want, once)
	}
}

// A terminal has no room for a hundred levels: it says where they are.
func TestManyLevelsAreCutShort(t *testing.T) {
	s, _, err := ReadSeries(strings.NewReader(dipping(3000, func(i int) bool { return i%60 < 20+i%7 })))
	if err != nil {
		t.Fatal(err)
	}
	a := Analyze(s)
	var b strings.Builder
	if err := a.WriteText(&b, s); err != nil {
		t.Fatal(err)
	}
	if more := fmt.Sprintf("… %d levels more: --format json has all\n", len(a.Segments)-levelRowsMax); len(a.Segments) < 2*levelRowsMax || !strings.Contains(b.String(), more) {
		t.Errorf("%d levels, and %q is not said in:\n%s", len(a.Segments), more, b.String())
	}
}

// What sank all the way, and is too short or too loud to place or to draw a line through, is said to have sunk.
func TestAShortCollapseIsSaidToHaveSunk(t *testing.T) {
	analysis := func(rates []float64) Analysis {
		s := stat.Series{Rates: rates}
		for i := range rates {
			s.Ends = append(s.Ends, float64(i+1)/2)
		}
		return Analyze(s)
	}
	// Tokyo Cabinet's hash under a memory limit, as it was measured, in k/s.
	measured := []float64{261, 255, 270, 258, 262, 295, 255, 290, 218, 205, 215, 160, 120, 140, 135, 118, 102, 108, 110, 112, 98, 84, 62, 40, 38, 35, 60, 75, 72, 92, 80, 94}
	a := analysis(measured)
	if a.Has(stat.ShapeTooShort) && (a.Sunken() == nil || !strings.Contains(strings.Join(a.Sentences, " "), "It sank all the same: from 268/s in the first 4.00 s to 68.2/s from 12.0 s on.")) {
		t.Errorf("%v: %q", a.Shapes, a.Sentences)
	}
	a.Course.Shapes = []stat.Shape{stat.ShapeTooShort}
	a.Segments = a.Segments[:1]
	if s := a.Sunken(); s == nil || s.Text != "from 268/s in the first 4.00 s to 68.2/s from 12.0 s on" {
		t.Errorf("%+v", s)
	}
	mixed := slices.Clone(measured)
	mixed[31] = 300
	a = analysis(mixed)
	a.Course.Shapes, a.Segments = []stat.Shape{stat.ShapeTooShort}, a.Segments[:1]
	if s := a.Sunken(); s != nil {
		t.Errorf("quarters that overlap: %+v", s)
	}
}
