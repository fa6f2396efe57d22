package run

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
	"assay/internal/testkit/misbehave"
)

// skewed writes a recording of n requests whose truth is known: 10 µs apart, half of them for a tenth of
// the keys. It returns how many of each operation there are, and the hit rate of a simulated cache that
// holds a fifth of the keys and drops what was not asked for the longest.
func skewed(t *testing.T, n, keys int) (file string, reads, writes, deletes uint64, hitRate float64) {
	t.Helper()
	var text strings.Builder
	text.WriteString("time_us,op,key,size\n")
	var cache []int
	asked, hits, state := 0, 0, uint64(1)
	for i := range n {
		state = state*6364136223846793005 + 1442695040888963407
		key := int(state>>33) % keys
		if state>>62 < 2 {
			key %= keys / 10
		}
		op, size := "get", 100+key%50
		switch i % 20 {
		case 5, 6:
			op, size = "set", 300+i%700 // longer than the first value of any key
			writes++
		case 11:
			op = "delete"
			deletes++
		default:
			reads++
		}
		fmt.Fprintf(&text, "%d,%s,key-%d,%d\n", 10*i, op, key, size)
		at := -1
		for k, held := range cache {
			if held == key {
				at = k
			}
		}
		if at >= 0 {
			cache = append(cache[:at], cache[at+1:]...)
		}
		if op != "delete" {
			if asked++; at >= 0 {
				hits++
			}
			cache = append([]int{key}, cache...)
			cache = cache[:min(len(cache), keys/5)]
		}
	}
	file = filepath.Join(t.TempDir(), "recording.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, reads, writes, deletes, float64(hits) / float64(asked)
}

// A store gets what was recorded, and the reported fidelity is right.
func TestReplaySendsWhatWasRecorded(t *testing.T) {
	t.Parallel()
	const n, keys = 20_000, 1000
	file, reads, writes, deletes, hitRate := skewed(t, n, keys)
	directory := filepath.Join(t.TempDir(), "run")
	text := `name: test
stores: [{driver: ` + misbehave.Honest + `, worker: ` + own() + `}]
threads: 3
durability: D1
phases:
  - {name: load, load: true, batch: 100}
  - {name: closed, replay: {file: ` + file + `, closed: true}}
  - {name: twice, replay: {file: ` + file + `, closed: true, loops: 2}}
  - {name: some, replay: {file: ` + file + `, closed: true, sample: 1/4}}
  - {name: open, replay: {file: ` + file + `, speed: 2}}
blocks: 1
step_timeout: 300s
busy_machine: tell
`
	if _, err := runText(context.Background(), text, directory); err != nil {
		t.Fatal(err)
	}
	trial := trialOf(t, directory, misbehave.Honest)
	if marks := codes(trial); len(marks) > 0 || trial.Error != "" || len(trial.Phases) != 5 {
		t.Fatalf("marks %v, error %q, %d phases", trial.Marks, trial.Error, len(trial.Phases))
	}
	for i, times := range map[int]uint64{1: 1, 2: 2, 4: 1} {
		p := trial.Phases[i]
		done := map[string]uint64{}
		for _, o := range p.Operations {
			done[o.Name] = o.Done()
		}
		if done["read"] != times*reads || done["upsert"] != times*writes || done["delete"] != times*deletes {
			t.Errorf("%s: %v, recorded %d reads, %d writes, %d deletes", p.Name, done, reads, writes, deletes)
		}
		f := p.Fidelity
		if f == nil || f.Sent != times*n || f.Recorded != times*n || f.Keys != keys || f.Mix > 1e-9 ||
			f.Sizes > 0.02 || f.Hits > 1e-9 || f.KeyLengths > 1e-9 || math.Abs(f.KeyBytes-f.KeyBytesRecorded) > 1e-9 ||
			f.KeyBytes < 5 {
			t.Fatalf("%s: %+v", p.Name, f)
		}
		if got := f.HitRates[3]; got.KeysShare != 0.2 || math.Abs(got.Sent-hitRate) > 0.005 {
			t.Errorf("%s: hit rate %v, simulated %v", p.Name, got, hitRate)
		}
	}
	some := trial.Phases[3].Fidelity
	if some.OneIn != 4 || some.Keys < keys/5 || some.Keys > keys/3 || some.Hits > 0.1 || some.Sent != some.Recorded {
		t.Errorf("sampled: %+v", some)
	}
	if open := trial.Phases[4]; !open.Open || open.Fidelity.Asked != 2 || open.Fidelity.Speed <= 0 ||
		open.Fidelity.Speed > 2 {
		t.Errorf("open: %+v", open.Fidelity)
	}
}

// Each key of a replay is as long as it was recorded, also where some of them are loaded, and scans find them
// in their order. A store that cuts keys is seen.
//
// Fault (values): a store cuts long keys, so that some become one
// Assay: `wrong-values`: another record's value is read
// With: storetest.TestLiesAreFound
func TestReplayOfKeysOfSeveralLengths(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	var text strings.Builder
	text.WriteString("time_us,op,key,key_size,size\n")
	for i := range 4000 {
		fmt.Fprintf(&text, "%d,%s,k%d,%d,%d\n", 10*i, []string{"get", "get", "set"}[i%3], i*i%600, 3+i*i%600%60, 100)
	}
	file := filepath.Join(t.TempDir(), "keys.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, marks := range map[string][]finding.Code{misbehave.Honest: nil, "lies-key-cut": {finding.MarkWrong}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := filepath.Join(t.TempDir(), "run")
			text := `name: test
stores: [{driver: ` + name + `, worker: ` + own() + `}]
threads: 2
records: 60
durability: D1
phases:
  - {name: load, load: true, batch: 10}
  - {name: replay, replay: {file: ` + file + `, closed: true}}
  - {name: scans, mix: {scan: 1}, scan: {min: 1, max: 20}, operations: 200}
blocks: 1
step_timeout: 300s
busy_machine: tell
`
			if _, err := runText(context.Background(), text, directory); err != nil {
				t.Fatal(err)
			}
			trial := trialOf(t, directory, name)
			if trial.Error != "" || len(marks) == 0 && len(codes(trial)) > 0 {
				t.Fatalf("error %q, marks %v", trial.Error, trial.Marks)
			}
			for _, mark := range marks {
				if !hasMark(trial, mark, nil) {
					t.Errorf("marks %v, expected %s", trial.Marks, mark)
				}
			}
			f := trial.Phases[1].Fidelity
			if f == nil || f.KeyLengths > 1e-9 || math.Abs(f.KeyBytes-f.KeyBytesRecorded) > 1e-9 || f.KeyBytes < 20 {
				t.Errorf("%+v", f)
			}
		})
	}
}

// With due times that are kept, gaps are the recorded ones: 2 % at 100,000 a second. Where threads are busy
// with the requests before, or the harness is late, they differ.
func TestReplayedGaps(t *testing.T) {
	file, _, _, _, _ := skewed(t, 20_000, 1000)
	selection := recording.Selection{File: file}
	sum, err := selection.Summarize(nil)
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := selection.ShapeOf(sum.Keys, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	replay := &experiment.Replay{Selection: selection, Summary: *sum, Speed: 1, Loops: 1}
	generated, err := trace.Generate(trace.Spec{Replay: replay.ForTrace(), Records: sum.Keys, Fresh: sum.Keys,
		Threads: 4, Rate: 1e5, Seed: 1,
		Mix: []trace.Share{{Operation: trace.Read, Weight: 1}}, Order: trace.Order{Distribution: trace.Recorded},
		Sizes: []trace.Size{{Bytes: 9, Weight: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	attempted := []uint64{sum.Requests / 4, sum.Requests / 4, sum.Requests / 4, sum.Requests / 4}
	gaps := func(late []uint64, tookNS uint64) float64 {
		service := histogram.New()
		service.Record(tookNS)
		times := sentTimes{threads: generated.Threads, attempted: attempted, late: newLateDraw(late, sum.Requests, 1),
			service: newServiceDraws([]record.Operation{{Name: "read", Service: service}, {Name: "upsert", Service: service},
				{Name: "delete", Service: service}}, 1)}
		sent, n, last := recording.NewShape(float64(sum.Keys), 1, true), uint64(0), int64(0)
		times.each(func(ns int64) {
			if n++; ns < last {
				t.Fatalf("request %d was sent before the one before it", n)
			}
			last = ns
			sent.AddTime(ns)
		})
		if n != sum.Requests {
			t.Fatalf("%d of %d requests have a time", n, sum.Requests)
		}
		d, _ := recording.Compare(recorded, sent.Done())
		return d.Gaps
	}
	late := make([]uint64, 25)
	if d := gaps(late, 30_000); d > 0.02 {
		t.Errorf("gaps of requests in time differ by %v", d)
	}
	// Of 4 threads each is free again after 60 µs, and has the next request after 40: three of four gaps stay
	// at 10 µs, and the fourth is of 30.
	if d := gaps(late, 60_000); d < 0.24 || d > 0.26 {
		t.Errorf("gaps of requests that wait for busy threads differ by %v, not by a quarter", d)
	}
	late[8] = sum.Requests / 2 // half of them 32 to 65 µs late
	if d := gaps(late, 30_000); d < 0.2 {
		t.Errorf("gaps of late requests differ by no more than %v", d)
	}
}
