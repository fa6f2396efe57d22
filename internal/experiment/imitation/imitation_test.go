package imitation_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/experiment/imitation"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
)

// A recording drawn from a zipfian is recognized as one, and its imitation is like it.
func TestZipfianIsFoundAndImitated(t *testing.T) {
	const n, keys, theta = 200_000, 5000, 0.8
	file, err := trace.Generate(trace.Spec{Mix: []trace.Share{{Operation: trace.Read, Weight: 9},
		{Operation: trace.Upsert, Weight: 1}}, Records: keys, Fresh: keys,
		Order: trace.Order{Distribution: trace.Zipfian, Theta: theta}, Sizes: []trace.Size{{Bytes: 100, Weight: 3},
			{Bytes: 1000, Weight: 1}},
		Threads: 1, Seed: 9, Limit: n, ThreadEntries: n + 2, Rate: 50_000, Arrivals: trace.Poisson})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString("time_ns,op,key,size\n")
	for i, e := range file.Threads[0].Entries[:n] {
		op := "get"
		if e.Operation() == trace.Upsert {
			op = "set"
		}
		size := 100
		if e.Index()%4 == 0 {
			size = 1000
		}
		fmt.Fprintf(&text, "%d,%s,%d,%d\n", file.Threads[0].Due[i], op, e.Index(), size)
	}
	name := filepath.Join(t.TempDir(), "zipf.csv")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := imitation.Of(recording.Selection{File: name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(p.Keys.Theta-theta) > 0.01 || p.Keys.Off > 0.01 {
		t.Errorf("theta %v, off by %v", p.Keys.Theta, p.Keys.Off)
	}
	if math.Abs(p.Rate/50_000-1) > 0.01 || p.Bursts[0].WidthS != 0.01 || math.Abs(p.Bursts[0].Dispersion-1) > 0.2 {
		t.Errorf("rate %v, bursts %+v", p.Rate, p.Bursts)
	}
	i := p.Imitation
	if i.Mix > 0.005 || i.Distances.Sizes > 0.05 || i.Gaps > 0.02 || i.Hits > 0.01 || len(i.Steps) != 1 {
		t.Errorf("the imitation is off: %+v", i)
	}
	if math.Abs(p.Values.Mean-325) > 10 || p.Values.P50 != 100 || p.Values.Max != 1000 {
		t.Errorf("lengths %+v", p.Values)
	}
}

// A rate that doubles is imitated in steps, and bursts are reported.
func TestUnevenRateIsImitatedInSteps(t *testing.T) {
	var text strings.Builder
	text.WriteString("time_ms,op,key,size\n")
	for ms := 0; ms < 60_000; ms += 10 {
		for range 1 + ms/30_000*9 {
			fmt.Fprintf(&text, "%d,get,k%d,10\n", ms, ms%700)
		}
	}
	name := filepath.Join(t.TempDir(), "steps.csv")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := imitation.Of(recording.Selection{File: name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	steps := p.Imitation.Steps
	if len(steps) != 30 || math.Abs(steps[0].Rate-100) > 5 || math.Abs(steps[29].Rate-1000) > 50 {
		t.Errorf("%d steps: %+v", len(steps), steps)
	}
	if b := p.Bursts[len(p.Bursts)-1]; b.Dispersion < 10 {
		t.Errorf("bursts %+v", p.Bursts)
	}
	if yaml := p.Experiment([]string{"memory"}); strings.Count(yaml, "{at: ") != 30 {
		t.Error(yaml)
	}
}
