package csvseries

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"assay/internal/analysis/series"
)

func TestRead_refuses(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"empty", "", "line 1: the file is empty"},
		{"no time", "time,rate\n1,2\n", `line 1: there is no column "time_s"; the columns are "time" and "rate"; if that is it: --time-column time`},
		{"no CSV file", "2026-11-26 10:00:01:000 10 sec: 12345 operations; 1234.5 current ops/sec; [READ: Count=6172, Max=5000]\n",
			`there are no columns "time_s" and "rate"; the columns are "2026-11-26 10:00:01:000 10 sec: 12345 op…" and "Max=5000]"; a CSV file begins with a line such as time_s,rate`},
		{"no rate", "time_s,qps,x\n", `there is no column "rate"; the columns are "time_s", "qps" and "x"; if that is it: --rate-column qps`},
		{"twice", "time_s,rate,rate\n", `line 1, field 3: a second column "rate"`},
		{"a word", "time_s,rate\n1,2\n2,fast\n", `line 3, column 3: rate is "fast"; expected a number of 0 or more`},
		{"negative", "time_s,rate\n1,-2\n", `line 2, column 3: rate is "-2"`},
		{"negative records", "time_s,rate,records\n1,2,-1\n", `line 2, column 5: records is "-1"`},
		{"infinite", "time_s,rate\n1,inf\n", `rate is "inf"`},
		{"too large", "time_s,rate\n1,1e200\n", `rate is "1e200"; expected a number`},
		{"records in words", "time_s,rate,records\n1,1,many\n", `line 2, column 5: records is "many"`},
		{"an unknown date", "time_s,rate\n21st of May,2\n", `time_s is "21st of May"; expected the time in seconds, or a date like 2026`},
		{"dates, then seconds", "time_s,rate\n2026-11-21T08:50:46Z,2\n5,2\n", `line 3, column 1: time_s is "5"; expected a time like the first one`},
		{"both are missing", "elapsed,op/s\n1,2\n", `there are no columns "time_s" and "rate"; the columns are "elapsed" and "op/s"; if that is it: --time-column elapsed --rate-column op/s`},
		{"no time at all", "tps,latency\n1,2\n", "--rate-column tps, and name the other with --time-column, or give --interval SECONDS"},
		{"a mark for a time", "time_s,rate\nNaN,2\n", `line 2, column 1: time_s is "NaN"`},
		{"an empty time", "time_s,rate\n,2\n", `line 2, column 1: time_s is ""`},
		{"backwards", "time_s,rate\n2,2\n1,2\n", "line 3, column 1: time_s goes back, from 2 to 1: where a clock was set or a second run begins, cut the file"},
		{"decimal commas between commas", "time_s,rate\n1,2,5\n", "line 2: 3 fields; the first line has 2; if a comma is the decimal sign"},
		{"JSON that is no series", `{"a": 1}`, `there are no columns "time_s" and "rate"; the columns are "a"`},
		{"JSON that ends early", `[{"time_s": 1`, "line 1: JSON that can't be read"},
		{"JSON of numbers", `[1, 2]`, "line 1: this JSON is no time series"},
		{"JSON of an empty list", `[]`, "line 1: this JSON is no time series"},
		{"ragged", "time_s,rate\n1,2\n3\n", "line 3: 1 fields; the first line has 2"},
		{"a quote", "time_s,rate\n1,\"2\n", "line 2, column"},
		{"no line ends", "time_s,rate\n" + strings.Repeat("1", lineBytesMax+1), "a line is longer than"},
		{"many columns", "time_s,rate" + strings.Repeat(",x", columnsMax) + "\n", "258 columns; at most 256"},
		{"terminal escapes", "time_s,rate\n1,\x1b[31mred\n", "line 2, column 3: rate is"},
	} {
		_, _, err := Read(strings.NewReader(c.text), Columns{})
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v; want %q", c.name, err, c.says)
		}
	}
}

func TestRead_takes_what_others_write(t *testing.T) {
	for name, text := range map[string]string{
		"spaces, capitals, byte order mark": "\uFEFF Time_s, RATE, engine.flushes, faults\n 1, 10, 1, 5\n 2, 20, , 6\n 3, , , \n 4, 30, 3, 7\n",
		"semicolons":                        "time_s;rate;engine.flushes;faults\n1;10;1;5\n2;20;;6\n3;;;\n4;30;3;7\n",
		"tabs, another order":               "faults\trate\ttime_s\tengine.flushes\r\n5\t10\t1\t1\r\n6\t20\t2\t\r\n\t\t3\t\r\n7\t30\t4\t3\r\n",
	} {
		s, notes, err := Read(strings.NewReader(text), Columns{})
		if err != nil || !slices.Equal(s.Ends, []float64{1, 2, 3, 4}) || !same(s.Rates, []float64{10, 20,
			math.NaN(), 30}) || s.Begin != 0 || len(s.Resources) != 2 {
			t.Errorf("%s: %+v, %v", name, s, err)
			continue
		}
		for _, r := range s.Resources {
			if r.Engine != (r.Name == "flushes") || r.Engine && !same(r.Values, []float64{1, math.NaN(), math.NaN(), 3}) {
				t.Errorf("%s: resource %+v", name, r)
			}
		}
		if len(notes) != 1 || notes[0] != "1 line without a rate: taken as not measured" {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}

// same is equality in which NaN equals NaN.
func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
}

func TestRead_leaves_out_what_is_no_number(t *testing.T) {
	s, notes, err := Read(strings.NewReader("host,time_s,rate,,cpu,records,io,io,swap\n"+
		"web1,1,10,0,1.5,-,-,7,NA\nweb1,2,-,1,NaN,20,3,8,NA\nweb1,3,NaN,2,-nan,,null,9,NA\nweb2,4,0,3,2.5,N/A,0,x,na\n"), Columns{})
	if err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	if !same(s.Rates, []float64{10, nan, nan, 0}) || !same(s.Records, []float64{nan, 20, nan, nan}) ||
		len(s.Resources) != 2 ||
		!same(s.Resources[0].Values, []float64{1.5, nan, nan, 2.5}) || !same(s.Resources[1].Values, []float64{nan,
		3, nan, 0}) {
		t.Errorf("%+v", s)
	}
	want := []string{"line 1, field 4: a column without a name is left out", `line 1, field 8: a second column "io" is left out`,
		`column "host" is left out: on line 2 it is "web1", which is no number`, "2 lines without a rate: taken as not measured",
		`column "swap" holds no number`}
	if !slices.Equal(notes, want) {
		t.Errorf("notes %q", notes)
	}
	if _, notes, err := Read(strings.NewReader("time_s,rate,record\n1,2,3\n"), Columns{}); err != nil || len(notes) != 1 || !strings.Contains(notes[0], `rename "record"`) {
		t.Errorf("%q, %v", notes, err)
	}
}

// No sample can have ended at 0. A line there without a rate is no sample; else times are
// beginnings.
func TestRead_beginning_at_zero(t *testing.T) {
	for _, c := range []struct {
		name, text  string
		begin       float64
		ends, rates []float64
		notes       int
	}{
		{"nothing done", "0,0,0\n1,10,10\n2,20,30\n", 0, []float64{1, 2}, []float64{10, 20}, 1},
		{"nothing measured", "0,,0\n1,10,10\n2,20,30\n", 0, []float64{1, 2}, []float64{10, 20}, 1},
		{"beginnings", "0,5,0\n1,10,10\n3,20,30\n", 0, []float64{1, 3, 5}, []float64{5, 10, 20}, 1},
		{"a short first sample", "0.5,5,0\n1.5,10,10\n2.5,20,30\n", 0, []float64{0.5, 1.5, 2.5}, []float64{5, 10, 20}, 0},
		{"a clock that began before", "-1,5,0\n0,10,10\n1,20,30\n", -2, []float64{-1, 0, 1}, []float64{5, 10, 20}, 0},
	} {
		s, notes, err := Read(strings.NewReader("time_s,rate,records\n"+c.text), Columns{})
		if err != nil || s.Begin != c.begin || !slices.Equal(s.Ends, c.ends) || !slices.Equal(s.Rates, c.rates) ||
			len(s.Records) != len(s.Ends) || len(notes) != c.notes {
			t.Errorf("%s: %+v, notes %q, %v", c.name, s, notes, err)
		}
	}
}

func TestRead_times_in_another_unit(t *testing.T) {
	for _, c := range []struct {
		first, step float64
		want        string
	}{
		{1, 1, ""}, {600, 600, ""}, {3600, 3600, ""},
		{1.7e9, 1, "time_s is a date, or counts from a day"},
		{1.7e12, 1000, "time_s is a date, or counts from a day"},
		{1.7e15, 1e6, "time_s is a date, or counts from a day"},
		{1.7e18, 1e9, "time_s is a date, or counts from a day"},
		{1000, 1000, "samples are 1000 s long: if time_s is in milliseconds, divide it by 1000"},
		{250, 250, "samples are 250 s long"},
	} {
		var b strings.Builder
		b.WriteString("time_s,rate\n")
		for i := range 20 {
			fmt.Fprintf(&b, "%.0f,%d\n", c.first+float64(i)*c.step, 1000+i%3)
		}
		s, notes, err := Read(strings.NewReader(b.String()), Columns{})
		if c.first >= epochMin && (s.Begin != 0 || math.Abs(s.Ends[19]-20) > 1e-3) {
			t.Errorf("from %v: %v to %v, want 0 to 20", c.first, s.Begin, s.Ends[19])
		}
		if all := strings.Join(notes, "\n"); err != nil || !strings.Contains(all, c.want) || (c.want == "") != (all == "") || len(notes) > 1 {
			t.Errorf("from %v in steps of %v: %q, want %q (%v)", c.first, c.step, all, c.want, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"time_s,rate\n1,2\n", "time_s;rate;x\n1;2;\n2;;4\n", "\uFEFFtime_s\trate\n0\t1e300\n1\t\"2\"\n",
		"time_s,rate,host,\n0,5,a,\n1,-,b,\n2,7,c,\n", "time_s,rate,x\n0,0,NaN\n1,2,x\n", "rate,time_s\n\"1\n\",2\n", "time_s,rate,records\n-5,0,1e18\n-4,1,2"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, _, err := Read(bytes.NewReader(text), Columns{})
		if err != nil {
			if !strings.Contains(err.Error(), "line") {
				t.Fatalf("an error without a place: %v", err)
			}
			return
		}
		for i, rate := range s.Rates {
			if rate < 0 || math.IsInf(rate, 0) || !(s.Ends[i] > beginOf(s, i)) {
				t.Fatalf("sample %d: %v at %v", i, rate, s.Ends[i])
			}
		}
		series.Analyze(s)
	})
}

// Lines of a long file are joined, and a note says so: sums, counters and levels stay.
//
// Fault (watchers): a series has millions of lines
// Assay: neighbouring lines are joined; a note says which events are too short to be found
func TestRead_joins_the_lines_of_long_files(t *testing.T) {
	const atMost, width = 4096, 0.5
	const lines, fallsAt = 5*atMost/2 + 7, 7000
	for _, begins := range []bool{false, true} {
		var text bytes.Buffer
		text.WriteString("time_s,rate,engine.flushes,gauge\n")
		var done float64
		for i := range lines {
			rate, time := 1000+i%7, width*float64(i+1)
			if begins {
				time -= width
			}
			if i >= fallsAt {
				rate = 100 + i%3
			}
			if i%1000 == 500 {
				fmt.Fprintf(&text, "%g,,%d,%d\n", time, i, i%2)
				continue
			}
			fmt.Fprintf(&text, "%g,%d,%d,%d\n", time, rate, i, i%2)
			done += width * float64(rate)
		}
		s, notes, err := readAtMost(&text, Columns{}, atMost)
		if err != nil {
			t.Fatal(err)
		}
		n := len(s.Ends)
		if n > atMost || n < atMost/2 || s.Begin != 0 || s.Ends[n-1] != width*lines ||
			s.Resources[0].Values[n-1] != lines-1 {
			t.Errorf("%d samples from %v to %v, counter %v", n, s.Begin, s.Ends[n-1], s.Resources[0].Values[n-1])
		}
		if at := s.Resources[1].Values[1]; at != 0.5 {
			t.Errorf("a gauge of 0 and 1 in turn has a mean of %v", at)
		}
		var sum float64
		for i, rate := range s.Rates {
			if !math.IsNaN(rate) {
				sum += rate * (s.Ends[i] - beginOf(s, i))
			}
		}
		// lines without a rate are taken like those they are joined with
		if extra := sum/done - 1; extra < 0 || extra > 5e-3 {
			t.Errorf("%v were done, %v in samples", done, sum)
		}
		if !strings.Contains(strings.Join(notes, "\n"), "each 4 are joined to one sample, so that what lasts less than 4") {
			t.Errorf("notes %q", notes)
		}
		cliff := (&series.Shape{Events: series.Analyze(s).Events}).Cliff()
		if cliff == nil || math.Abs(cliff.From-width*fallsAt) > 4 {
			t.Errorf("the fall at %v s: %+v", width*fallsAt, cliff)
		}
	}
}

func beginOf(s series.Series, i int) float64 {
	if i == 0 {
		return s.Begin
	}
	return s.Ends[i-1]
}

func analyzed(t *testing.T, path string) series.Shape {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s, _, err := Read(file, Columns{})
	if err != nil {
		t.Fatal(err)
	}
	return series.Analyze(s)
}

func only(t *testing.T, s series.Shape, kind series.Kind) series.Event {
	t.Helper()
	events := s.Of(kind)
	if len(events) != 1 {
		t.Fatalf("%d events of kind %s in %+v", len(events), kind, s.Events)
	}
	return events[0]
}

func TestPublishedCollapse(t *testing.T) {
	s := analyzed(t, "testdata/article.csv")
	cliff, turns := s.Cliff(), only(t, s, series.Oscillation)
	if cliff == nil || cliff.From != 30 || cliff.To != 30 || *cliff.Records != 3739214 || s.Kind != series.Step ||
		!s.Has(series.Oscillation) {
		t.Fatalf("%+v", s)
	}
	if turns.From != 30 || turns.To != 43 || math.Abs(turns.Turns.High-46.5e3) > 1e3 || s.Half.Seconds != 30 ||
		s.Rate != nil {
		t.Errorf("%+v, half %+v", turns.Turns, s.Half)
	}
}

// The same experiment as this project measured it: a decline, then a fall within some seconds.
func TestMeasuredCollapse(t *testing.T) {
	s := analyzed(t, "testdata/tokyo-cabinet.csv")
	if c := s.Cliff(); c == nil || c.From < 38 || c.To > 56 || c.To-c.From > 10 || c.Left.High > 0.6 {
		t.Errorf("cliff %+v", c)
	}
	if d := only(t, s, series.Decline); d.From != 0 || d.To > 45 {
		t.Errorf("decline %+v", d)
	}
}

// Fault (watchers): a series is mostly zeros: dead for two thirds of the time, or stalled in six of
// ten samples
// Assay: a cliff to 0 or a stall, with its time
// With: series.TestErrorRates
//
// Fault (watchers): one sample of a series is absurd (a counter that wrapped)
// Assay: the median around it counts in its place
// With: series.TestErrorRates
func TestFilesOfUsers(t *testing.T) {
	if s := analyzed(t, "testdata/absurd.csv"); s.Rate == nil || s.Kind != series.Steady || math.Abs(s.Rate.Value/1e5-1) > 0.02 || s.Mean > 1.1e5 {
		t.Errorf("one absurd sample: %+v, mean %v", s.Rate, s.Mean)
	}
	s := analyzed(t, "testdata/half-at-the-step.csv")
	if step := only(t, s, series.Step); step.From != 60 || s.Half == nil || s.Half.Seconds != step.From {
		t.Errorf("a step at %v, half at %+v", step.From, s.Half)
	}
	for _, name := range []string{"fifteen", "ten"} {
		if s := analyzed(t, "testdata/"+name+".csv"); s.Kind != series.Steady {
			t.Errorf("%s steady samples: %s, %+v", name, s.Kind, s.Why)
		}
	}
	s = analyzed(t, "testdata/outage-of-ten.csv")
	if d := only(t, s, series.Drops).Drops; d.Stalls != 1 || d.All[0].From != 1 || d.Longest != 6 {
		t.Errorf("an outage: %+v", d)
	}
	s = analyzed(t, "testdata/dead.csv")
	if c := s.Cliff(); c == nil || c.From != 20 || c.After != 0 || s.Half.Seconds != 20 {
		t.Errorf("dead from 20 s on: %+v", c)
	}
}
