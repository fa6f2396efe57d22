package read_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/internal/experiment/trace"
)

func TestRatesOverTime(t *testing.T) {
	const second = time.Second
	ramp := trace.Segment{Form: trace.FormRamp, From: 1000, To: 20_000}
	lasting := func(s trace.Segment, d time.Duration) trace.Segment { s.Duration = d; return s }
	for text, want := range map[string]struct {
		segments []trace.Segment
		lasts    time.Duration
		mean     float64
	}{
		"rate: [{from: 1000, to: 20k, over: 60s}]":     {[]trace.Segment{lasting(ramp, 60*second)}, 60 * second, 10_500},
		"rate: {from: 1000, to: 20000}, for: 8s":       {[]trace.Segment{lasting(ramp, 8*second)}, 8 * second, 10_500},
		"rate: 1k..20k, for: 8s":                       {[]trace.Segment{lasting(ramp, 8*second)}, 8 * second, 10_500},
		"rate: [{at: 500, for: 1s}, {at: 0, for: 1s}]": {[]trace.Segment{{Form: trace.FormStep, To: 500, Duration: second}, {Form: trace.FormStep, Duration: second}}, 2 * second, 250},
		"rate: [{at: 500, for: 1s}, {at: 100}], for: 4s": {[]trace.Segment{{Form: trace.FormStep, To: 500, Duration: second}, {Form: trace.FormStep, To: 100, Duration: 3 * second}},
			4 * second, 200},
		"rate: [{burst: 50000, every: 10s, for: 500ms, above: 2000}], for: 20s": {[]trace.Segment{{Form: trace.FormBurst, From: 2000, To: 50_000,
			Every: 10 * second, Length: second / 2, Duration: 20 * second}}, 20 * second, 4400},
		"rate: [{sine: {low: 1000, high: 9000, period: 5s}, over: 10s}]": {[]trace.Segment{{Form: trace.FormSine, From: 1000, To: 9000, Every: 5 * second, Duration: 10 * second}},
			10 * second, 5000},
	} {
		e := mustLoad(t, "name: x\nstores: [bbolt]\nphases:\n  - {name: load, load: true}\n  - {name: r, mix: {read: 1}, "+text+"}\n")
		p := e.Phases[1]
		if !reflect.DeepEqual(p.Segments, want.segments) || p.Duration != want.lasts || p.Rate < want.mean-1e-6 ||
			p.Rate > want.mean+1e-6 {
			t.Errorf("%s: segments %+v for %s, mean %v", text, p.Segments, p.Duration, p.Rate)
		}
		if p.Arrivals != trace.Poisson || !p.ChangesRate() {
			t.Errorf("%s: arrivals %q", text, p.Arrivals)
		}
	}
	e := mustLoad(t, "name: x\nstores: [bbolt]\nphases:\n  - {name: load, load: true}\n  - {name: p, for: 9s, groups: [{name: g, mix: {read: 1}, from: 2s, rate: 10..20}, {name: h, mix: {read: 1}}]}\n")
	if g := e.Phases[1].Groups[0]; g.Duration != 7*second || g.Segments[0].Duration != 7*second ||
		!e.Phases[1].ChangesRate() {
		t.Errorf("a group's ramp goes on to the phase's end: %+v", g)
	}
	half := e.Phases[1].Lasting(9 * second / 2)
	if s := half.Groups[0].Segments[0]; s.Duration != 7*second/2 || s.To != 20 {
		t.Errorf("half of the time: %+v", s)
	}
}

func TestRatesOfAFile(t *testing.T) {
	folder := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "rates.csv"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func() (*experiment.Experiment, error) {
		source := read.Source{Name: filepath.Join(folder, "x.yaml"), Folder: folder,
			Text: []byte("name: x\nstores: [bbolt]\nphases:\n  - {name: load, load: true}\n  - {name: r, mix: {read: 1}, rate: [{file: rates.csv}, {at: 5, for: 1s}]}\n")}
		loaded, err := source.Load(fakeDrivers())
		if err != nil {
			return nil, err
		}
		return loaded.Experiment, nil
	}
	write("\ufeffrate, time_s ,other\r\n100,1700000000,x\r\n300,1700000001.5,\r\n50,1700000001.5,\n150,1700000002,\n\n")
	e, err := load()
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Point{{At: 0, Rate: 100}, {At: 1500 * time.Millisecond, Rate: 300},
		{At: 1500 * time.Millisecond, Rate: 50}, {At: 2 * time.Second, Rate: 150}}
	if p := e.Phases[1]; !reflect.DeepEqual(p.Segments[0].Points, want) || p.Duration != 3*time.Second ||
		p.Rate*3 < 354 || p.Rate*3 > 356 {
		t.Errorf("%+v", p)
	}
	many := strings.Builder{}
	many.WriteString("time_s,rate\n")
	for i := range trace.PointsMax + 1 {
		fmt.Fprintf(&many, "%d,1\n", i)
	}
	for text, says := range map[string]string{
		"":                             "does not name the columns",
		"time,rate\n0,1\n1,2\n":        "does not name the columns time_s and rate",
		"time_s,rate\n0,1\n":           "1 line of time",
		"time_s,rate\n0,1\n0,2\n":      "2 lines of time",
		"time_s,rate\n0,1\n1\n":        "line 3 has 1 column, line 1 has 2",
		"time_s,rate\n0,1\n1,NaN\n":    "line 3 is no time and rate",
		"time_s,rate\n0,1\n2,1\n1,1\n": "line 4 is before the line above it",
		"time_s,rate\n0,1\n-1,1\n":     "line 3 is before the line above it",
		"time_s,rate\n0,-1\n1,1\n":     "line 2 has a rate of -1",
		"time_s,rate\n0,1\n1e300,1\n":  "after the first",
		many.String():                  "more than 20000 lines",
		strings.Repeat("x", 2<<20):     "can't be read",
	} {
		write(text)
		if _, err := load(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: error %v, expected %q", text, err, says)
		}
	}
}

func TestThreadsThatComeAndGo(t *testing.T) {
	const second = time.Second
	e := mustLoad(t, "name: x\nstores: [bbolt]\nphases:\n  - {name: load, load: true}\n"+
		"  - {name: r, mix: {read: 1}, threads: [{from: 1, to: 3, over: 6s}, {from: 2, to: 1, over: 2s}, {at: 5}], for: 10s}\n"+
		"  - {name: g, for: 9s, groups: [{name: a, mix: {read: 1}, from: 2s, threads: [{at: 2, for: 1s}, {at: 1}]}]}\n")
	want := []experiment.ThreadStep{{Threads: 1, Duration: 2 * second}, {Threads: 2, Duration: 2 * second},
		{Threads: 3, Duration: 2 * second},
		{Threads: 2, Duration: second}, {Threads: 1, Duration: second}, {Threads: 5, Duration: 2 * second}}
	if p := e.Phases[1]; !reflect.DeepEqual(p.Staircase, want) || p.Threads != 7 || p.Duration != 10*second {
		t.Errorf("%d threads for %s: %+v", p.Threads, p.Duration, p.Staircase)
	}
	if g := e.Phases[2].Groups[0]; g.Threads != 2 || g.Duration != 7*second || g.Staircase[1].Duration != 6*second {
		t.Errorf("a group's: %+v", g)
	}
}

// A rate of the file is an axis: each measured phase that says nothing else is done at it.
func TestRate_as_an_axis(t *testing.T) {
	const phases = "name: x\nstores: [pebble]\nphases:\n  - {name: load, load: true}\n  - {name: warm, mix: {read: 1}, for: 1s, unmeasured: true}\n"
	e, err := read.Load([]byte(phases+"  - {name: own, mix: {read: 1}, for: 1s, rate: 7}\n"+
		"  - {name: asked, mix: {read: 1}, for: 1s, arrivals: constant}\nrate: [0, 1000, 5k]\n"), "x.yaml", nil, fakeDrivers())
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for i, want := range []float64{0, 1000, 5000} {
		c := e.Cells[i]
		labels = append(labels, c.Label(e))
		for k, rate := range []float64{0, 0, 7, want} {
			if got := e.Phases[k].In(c); got.Rate != rate {
				t.Errorf("%s is done at %v in the cell of %v", got.Name, got.Rate, want)
			}
		}
		arrivals := map[bool]string{false: "", true: "constant"}[want > 0]
		if got := e.Phases[3].In(c).Arrivals; string(got) != arrivals {
			t.Errorf("arrivals %q at %v", got, want)
		}
	}
	if got := strings.Join(labels, "; "); !strings.HasSuffix(got, "no rate of all phases; D3 · 1,000/s asked; D3 · 5,000/s asked") {
		t.Errorf("the cells are %s", got)
	}
	for text, says := range map[string]string{
		phases + "  - {name: own, mix: {read: 1}, for: 1s, rate: 7}\nrate: 1000\n": "the rate has no effect",
		phases + "  - {name: r, mix: {read: 1}, for: 1s}\nrate: 1e10\n":            "at most 1e9",
	} {
		if _, err := read.Load([]byte(text), "x.yaml", nil, fakeDrivers()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, expected %q", err, says)
		}
	}
}
