package main

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/experiment/read"
	"assay/internal/testkit/recordtest"
	"assay/store"
)

const tuneWorkload = `
name: much
stores: [pebble]
durability: D3
phases:
  - {name: load, load: true}
  - {name: update, mix: {update: 100}, for: 10s}
`

// newTuner returns a search for pebble's cache and memtable on which nothing is measured yet.
func newTuner(t *testing.T, seed string) *tuner {
	t.Helper()
	source := read.Source{Text: []byte(tuneWorkload), Changes: []read.Change{{Flag: "--set", Value: "seed=" + seed}}}
	loaded, err := source.Load(driverCatalogue())
	if err != nil {
		t.Fatal(err)
	}
	made := &tuner{tuneFlags: &tuneFlags{metric: "rate", time: 2 * time.Hour}, base: loaded}
	made.told.Workload, made.told.Directory = loaded.Experiment.Name, t.TempDir()
	options, err := tunedOptions(loaded.Experiment.Stores[0], []string{"cache_bytes", "memtable_bytes", "l0_compaction_sublevels"})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.prepare(options); err != nil {
		t.Fatal(err)
	}
	return made
}

// on measures variants by a surface with 3 % of noise.
func (t *tuner) on(seed uint64, surface func(options map[string]string) float64) {
	noise := rand.New(rand.NewPCG(seed, 5))
	t.measure = func(r tuningRound) (map[string][]float64, bool, error) {
		scores := map[string][]float64{}
		for _, v := range append(r.variants, read.Variant{Name: t.told.Store + " (A/A)"}) {
			for range r.blocks {
				scores[v.Name] = append(scores[v.Name], surface(v.Options)*math.Exp(0.03*noise.NormFloat64()))
			}
		}
		return scores, false, nil
	}
}

func TestTune_on_null_surfaces_claims_no_gain(t *testing.T) {
	for seed := range uint64(100) {
		made := newTuner(t, "1")
		made.on(seed, func(map[string]string) float64 { return 50_000 })
		if err := made.do(); err != nil {
			t.Fatal(err)
		}
		if made.told.Better {
			t.Errorf("seed %d: %v is reported as better: %+v", seed, made.told.Best, made.told.Confirmed)
		}
	}
}

func TestTune_reports_and_marks_a_better_setting(t *testing.T) {
	made := newTuner(t, "1")
	made.on(1, func(options map[string]string) float64 {
		if bytes, err := store.ParseBytes(options["memtable_bytes"]); err == nil && bytes > 8<<20 {
			return 60_000
		}
		return 50_000
	})
	if err := made.do(); err != nil {
		t.Fatal(err)
	}
	told := made.told
	if !told.Better || told.Confirmed == nil ||
		math.Abs(told.Confirmed.Value-1.2) > 0.06 || told.Blocks != confirmBlocks {
		t.Errorf("told %+v", told)
	}
	text, err := os.ReadFile(told.File)
	if err != nil {
		t.Fatal(err)
	}
	again, err := read.Load(text, told.File, nil, driverCatalogue())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	stores := again.Stores
	if len(stores) != 2 || stores[0].Tuned != "" || len(stores[0].Options) > 0 ||
		stores[1].Name != "pebble-tuned" || stores[1].Tuned != "much" ||
		stores[1].Options["memtable_bytes"] != told.Best["memtable_bytes"] || again.Baseline != "pebble" {
		t.Errorf("the file has the stores %+v", stores)
	}
	var kept tuned
	text, err = os.ReadFile(filepath.Join(told.Directory, "tune.json"))
	if err != nil || json.Unmarshal(text, &kept) != nil || !kept.Better || len(kept.Settings) < 24 {
		t.Errorf("tune.json: %v, %+v", err, kept)
	}
	var screen strings.Builder
	if err := printTuned(&screen, &told); err != nil {
		t.Fatal(err)
	}
	wantParts(t, "the screen", screen.String(), "pebble (D3) on much: ", "Best of the search: ", "Better than the defaults: 1.", "8 blocks on fresh seeds")
}

func TestTune_stopped_keeps_the_rounds_that_were_done(t *testing.T) {
	made := newTuner(t, "1")
	made.on(1, func(map[string]string) float64 { return 1000 })
	whole, rounds := made.measure, 0
	made.measure = func(r tuningRound) (map[string][]float64, bool, error) {
		rounds++
		scores, _, err := whole(r)
		return scores, rounds == 2, err
	}
	if err := made.do(); err != nil {
		t.Fatal(err)
	}
	if !made.told.Stopped || rounds != 2 || made.told.Best != nil {
		t.Errorf("after %d rounds: %+v", rounds, made.told)
	}
	if _, err := os.Stat(filepath.Join(made.told.Directory, "tune.json")); err != nil {
		t.Error(err)
	}
}

func TestTune_refuses_what_it_cannot_do(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"pebble", "--options", "cache_byte"}, `did you mean "cache_bytes"?`},
		{[]string{"pebble", "--options", "disable_wal"}, "no range of disable_wal that is safe to try"},
		{[]string{"pebbel"}, `did you mean "pebble"?`},
		{[]string{"pebble", "--threads", "1,8"}, "differ in threads"},
		{[]string{"pebble", "--rate", "1000"}, "--metric p99"},
		{[]string{"pebble", "--time", "10s"}, "at least 1m"},
		{[]string{"pebble", "--time", "1m", "--records", "1e8"}, "too short to try even 3 settings"},
		{[]string{"pebble", "--metric", "p98"}, "expected rate"},
		{[]string{"pebble", "--workload", "no-such.yaml"}, "there is no file no-such.yaml"},
		{[]string{"pebble", "--workload", "a.yaml", "--mix", "read"}, "workload"},
	} {
		r := assay(t, append([]string{"tune", "--dry-run"}, c.args...)...)
		r.wants(t, exitUsage)
		wantParts(t, strings.Join(c.args, " "), r.stderr, c.want)
	}
	r := assay(t, "tune", "pebble", "--mix", "read=95,update=5", "--options", "cache_bytes", "--dry-run")
	r.wants(t, 0)
	wantParts(t, "the plan", r.stdout, "cache_bytes", "1MiB", "1GiB", "confirm")
}

// Where the defaults fail, say at a memory limit, nothing is better or not better than they are.
func TestTune_says_that_the_defaults_failed(t *testing.T) {
	made := newTuner(t, "1")
	made.on(1, func(map[string]string) float64 { return 1000 })
	whole := made.measure
	made.measure = func(r tuningRound) (map[string][]float64, bool, error) {
		scores, stopped, err := whole(r)
		scores[made.told.Store] = []float64{math.NaN()}
		return scores, stopped, err
	}
	err := made.do()
	var status *exitError
	if !errors.As(err, &status) || status.status != exitTrials || !strings.Contains(err.Error(), "the defaults have no rate in round 1") {
		t.Errorf("ended with %v", err)
	}
	if _, err := os.Stat(filepath.Join(made.told.Directory, "tune.json")); err != nil {
		t.Error(err)
	}
	round := recordtest.Run(recordtest.Example())
	arm := round.Plan[0].Arm
	if why := whyNoRate(round, arm); why != "" {
		t.Errorf("where nothing failed: %q", why)
	}
	for _, planned := range round.Plan {
		if trial := round.Trials[planned.ID]; trial != nil {
			trial.Error = planned.Arm + " has no room."
		}
	}
	if why := whyNoRate(round, arm); why != "\n"+arm+" has no room" {
		t.Errorf("why: %q", why)
	}
}
