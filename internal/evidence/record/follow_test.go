package record_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"assay/internal/evidence/record"
	"assay/internal/testkit/recordtest"
	"assay/store"
)

// growing is a run of which nothing has been written but its plan.
func growing(t *testing.T) (*record.Run, *record.Writer) {
	t.Helper()
	run := recordtest.Run(recordtest.Shape{Name: "grows", Classes: []recordtest.Class{store.D1}, Blocks: 1, Seconds: 5, Seed: 1,
		Arms: []recordtest.Arm{{Name: "pebble", PutRate: 4e5, GetRate: 6e5}, {Name: "bbolt", PutRate: 4e4, GetRate: 1e6}}})
	w, err := record.Create(filepath.Join(t.TempDir(), "run"), run.Source, &run.Experiment, run.Plan, run.Environment)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return run, w
}

func TestFollowReportsProgress(t *testing.T) {
	run, w := growing(t)
	check := func(when string, writing bool, trial string, states int) {
		t.Helper()
		p, err := record.Follow(w.Directory())
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if p.Writing != writing || p.Trial != trial || len(p.States()) != states || len(p.Plan) != len(run.Plan) {
			t.Errorf("%s: writing %v, trial %q, %d states, %d planned", when, p.Writing, p.Trial, len(p.States()), len(p.Plan))
		}
	}
	check("before the first trial", true, "", 0)
	first, second := run.Plan[0].ID, run.Plan[1].ID
	trial, err := w.TrialStarted(first)
	must(t, err)
	check("in the first trial", true, first, 0)
	must(t, trial.End(run.Trials[first]))
	check("after it", true, "", 1)
	_, err = w.TrialStarted(second)
	must(t, err)
	must(t, w.Event(record.EventInterrupted, second, "SIGINT"))
	must(t, w.Close())
	check("interrupted", false, "", 1)

	if r, err := record.FollowTrial(w.Directory(), first); err != nil || r.State != run.Trials[first].State {
		t.Errorf("the first trial is %v, %v", r, err)
	}
	if _, err := record.FollowTrial(w.Directory(), second); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a trial that has no result gives %v", err)
	}
	if _, err := record.Follow(t.TempDir()); err == nil {
		t.Error("an empty directory is taken for a run")
	}
}

// A series that is written to: whole lines, each once, whatever part of the last one is there.
func TestFollowSamplesGivesEachSampleOnce(t *testing.T) {
	run, w := growing(t)
	id := run.Plan[0].ID
	if samples, next, err := record.FollowSamples(w.Directory(), id, 0); err != nil || samples != nil || next != 0 {
		t.Errorf("a trial that has not begun has %v, %d, %v", samples, next, err)
	}
	trial, err := w.TrialStarted(id)
	must(t, err)
	for _, s := range run.InMemory[id] {
		must(t, trial.Sample(s))
	}
	must(t, trial.End(run.Trials[id]))
	series := filepath.Join(w.Directory(), "trials", id, "series.jsonl")
	whole, err := os.ReadFile(series)
	must(t, err)

	var seen []record.Sample
	at := int64(0)
	for length := 0; length <= len(whole); length += 97 {
		must(t, os.WriteFile(series, whole[:min(length, len(whole))], 0o600))
		samples, next, err := record.FollowSamples(w.Directory(), id, at)
		must(t, err)
		if next < at || next > int64(length) {
			t.Fatalf("of %d bytes, %d were read after %d", length, next, at)
		}
		seen, at = append(seen, samples...), next
	}
	must(t, os.WriteFile(series, whole, 0o600))
	samples, next, err := record.FollowSamples(w.Directory(), id, at)
	must(t, err)
	seen = append(seen, samples...)
	if next != int64(len(whole)) || len(seen) != len(run.InMemory[id]) {
		t.Fatalf("%d of %d samples, %d of %d bytes", len(seen), len(run.InMemory[id]), next, len(whole))
	}
	for i, s := range seen {
		if s.At != run.InMemory[id][i].At || s.Phase != run.InMemory[id][i].Phase ||
			s.Operations != run.InMemory[id][i].Operations {
			t.Errorf("sample %d is %+v, want %+v", i, s, run.InMemory[id][i])
		}
	}
	must(t, os.WriteFile(series, append([]byte("{broken\n"), whole...), 0o600))
	if samples, _, err := record.FollowSamples(w.Directory(), id, 0); err != nil || len(samples) != len(seen) {
		t.Errorf("after a damaged line %d of %d samples are read, %v", len(samples), len(seen), err)
	}
}

// What follows a run reads that run's own files alone.
func TestFollowStaysInTheRun(t *testing.T) {
	run, w := growing(t)
	id := run.Plan[0].ID
	trial, err := w.TrialStarted(id)
	must(t, err)
	must(t, trial.End(run.Trials[id]))
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("{}\n"), 0o600))
	own := filepath.Join(w.Directory(), "trials", id)
	must(t, os.Remove(filepath.Join(own, "worker.log")))
	must(t, os.Symlink(secret, filepath.Join(own, "worker.log")))
	must(t, os.Symlink(filepath.Dir(secret), filepath.Join(w.Directory(), "trials", "elsewhere")))
	must(t, os.WriteFile(filepath.Join(filepath.Dir(secret), "trial.json"), []byte("{}"), 0o600))
	for _, c := range [][2]string{
		{id, "worker.log"}, {id, "../../experiment.json"}, {id, "secret"}, {"..", "trial.json"}, {"../trials/" + id, "trial.json"},
		{"", "trial.json"}, {".", "trial.json"}, {"/etc", "trial.json"}, {"elsewhere", "trial.json"},
	} {
		if data, err := record.TrialFile(w.Directory(), c[0], c[1]); err == nil {
			t.Errorf("%q of trial %q gives %q", c[1], c[0], data)
		}
	}
	if _, err := record.TrialFile(w.Directory(), id, "trial.json"); err != nil {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Samples that come after a run was opened belong to the next look at it.
func TestSamplesAreThoseOfTheOpenedRun(t *testing.T) {
	made, w := growing(t)
	id := made.Plan[0].ID
	trial, err := w.TrialStarted(id)
	must(t, err)
	all := made.InMemory[id]
	for _, s := range all[:len(all)-1] {
		must(t, trial.Sample(s))
	}
	run := open(t, w.Directory())
	must(t, trial.Sample(all[len(all)-1]))
	got := 0
	for _, phase := range made.Experiment.Phases {
		want := slices.DeleteFunc(slices.Clone(all[:len(all)-1]),
			func(s record.Sample) bool { return s.Phase != phase.Name })
		samples := run.Samples(id, phase.Name)
		if len(samples) != len(want) {
			t.Fatalf("phase %s has %d samples, want %d", phase.Name, len(samples), len(want))
		}
		for i, s := range samples {
			if s.At != want[i].At || s.Operations != want[i].Operations {
				t.Errorf("sample %d of %s is %+v, want %+v", i, phase.Name, s, want[i])
			}
		}
		got += len(samples)
	}
	if whole := run.Samples(id, ""); got == 0 || len(whole) != got || run.Sampled() != 1 || !run.HasSamples(id) {
		t.Errorf("%d samples by phase and %d in all, of %d trials", got, len(whole), run.Sampled())
	}
	must(t, os.RemoveAll(w.Directory()))
	if samples := run.Samples(id, ""); samples != nil {
		t.Errorf("a directory that is gone has %d samples", len(samples))
	}
	must(t, trial.Abandon())
}
