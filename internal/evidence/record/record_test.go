package record_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

var source = []byte("name: three\n# a comment that only the source keeps\n")

func threeTrials() (*experiment.Experiment, []plan.Trial) {
	e := &experiment.Experiment{Name: "three", Stores: []experiment.Store{{Name: "a"}}, Cells: []experiment.Cell{{Records: 10, Threads: 1}},
		Phases: []experiment.Phase{{Name: "read"}}}
	return e, []plan.Trial{
		{ID: "b1-001-a", Block: 1, Arm: "a", Role: plan.Measured},
		{ID: "b1-002-a-aa", Block: 1, Arm: "a (A/A)", Role: plan.AA},
		{ID: "b1-003-null", Block: 1, Arm: "null", Role: plan.Ceiling, Store: -1},
	}
}

func create(t testing.TB, directory string) *record.Writer {
	t.Helper()
	e, trials := threeTrials()
	w, err := record.Create(directory, source, e, trials, record.Environment{Kernel: "Linux test"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func result(state record.State) *record.Trial {
	h := histogram.New()
	h.Counts[histogram.Bucket(1234)] = 300
	return &record.Trial{State: state, Seconds: 4, Phases: []record.Phase{{Name: "read", ElapsedNS: 3e9, Attempted: 300,
		Operations: []record.Operation{{Name: "read", OK: 300, Service: h}}}}}
}

func do(t testing.TB, w *record.Writer, id string, state record.State) {
	t.Helper()
	trial, err := w.TrialStarted(id)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := trial.Sample(record.Sample{Phase: "read", At: float64(i + 1), Seconds: 1, Operations: uint64(100 * i)}); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintln(trial.Log(), "the worker says hello")
	ended := result(state)
	ended.Phases[0].SampleNS = 1e9
	if err := trial.End(ended); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, directory string) *record.Run {
	t.Helper()
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func mustClose(t testing.TB, w *record.Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestRunDirectoryIsReadAsWritten(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "new", "run")
	w := create(t, directory)
	e, trials := threeTrials()
	for _, trial := range trials {
		do(t, w, trial.ID, record.OK)
	}
	if err := w.Event(record.EventEnded, "", ""); err != nil {
		t.Fatal(err)
	}
	mustClose(t, w)

	run := open(t, directory)
	if len(run.Missing) > 0 {
		t.Errorf("missing: %q", run.Missing)
	}
	if string(run.Source) != string(source) || run.Experiment.Name != e.Name || run.Environment.Kernel != "Linux test" || !reflect.DeepEqual(run.Plan, trials) {
		t.Errorf("read back: %+v", run)
	}
	for _, trial := range trials {
		got := run.Trials[trial.ID]
		if got == nil || !reflect.DeepEqual(got.Plan, trial) || got.State != record.OK ||
			got.Phases[0].Operations[0].Service.Count() != 300 {
			t.Errorf("trial %s: %+v", trial.ID, got)
		}
		if len(run.Samples(trial.ID, "")) != 3 || run.Samples(trial.ID, "")[2].Operations != 200 {
			t.Errorf("series of %s: %+v", trial.ID, run.Samples(trial.ID, ""))
		}
		log, err := os.ReadFile(filepath.Join(directory, "trials", trial.ID, "worker.log"))
		if err != nil || string(log) != "the worker says hello\n" {
			t.Errorf("log: %q, %v", log, err)
		}
	}
	var kinds []string
	for _, event := range run.Events {
		kinds = append(kinds, event.Kind)
	}
	want := []string{"started", "trial-started", "trial-ended", "trial-started", "trial-ended", "trial-started", "trial-ended", "ended"}
	if !slices.Equal(kinds, want) {
		t.Errorf("events %q, want %q", kinds, want)
	}
	if _, err := os.Stat(filepath.Join(directory, ".reserve")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the reserve was left behind: %v", err)
	}
}

func TestCreateRefuses(t *testing.T) {
	e, trials := threeTrials()
	try := func(directory string) error {
		w, err := record.Create(directory, source, e, trials, record.Environment{})
		if err == nil {
			w.Close()
		}
		return err
	}
	t.Run("a directory with something else in it", func(t *testing.T) {
		directory := t.TempDir()
		write(t, filepath.Join(directory, "thesis.tex"), "years of work")
		wantError(t, try(directory), "not empty", "Assay did not make it", "thesis.tex", "--out")
		entries, _ := os.ReadDir(directory)
		if len(entries) != 1 {
			t.Errorf("something was left in it: %v", entries)
		}
	})
	t.Run("a run that ended", func(t *testing.T) {
		directory := t.TempDir()
		mustClose(t, create(t, directory))
		wantError(t, try(directory), "already holds a run", `"three"`, "--out", "--resume "+directory)
	})
	t.Run("a file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, "")
		wantError(t, try(path), "make the run directory")
	})
	t.Run("trial IDs that are not names", func(t *testing.T) {
		for _, id := range []string{"", "..", ".hidden", "a/b", "../../etc", strings.Repeat("x", 201)} {
			_, err := record.Create(t.TempDir(), source, e, []plan.Trial{{ID: id}}, record.Environment{})
			wantError(t, err, "ID")
		}
	})
}

func TestOneWriterAtATime(t *testing.T) {
	directory := t.TempDir()
	w := create(t, directory)
	_, _, err := record.Resume(directory)
	wantError(t, err, "is being written by process "+fmt.Sprint(os.Getpid()))
	open(t, directory) // reading is always possible
	mustClose(t, w)
	w, _, err = record.Resume(directory)
	if err != nil {
		t.Fatalf("after the first writer has closed: %v", err)
	}
	mustClose(t, w)
}

// Another Assay may be removing what a killed run left in the directory that is to be resumed.
func TestWriterWaitsForACleaner(t *testing.T) {
	directory := t.TempDir()
	mustClose(t, create(t, directory))
	path := filepath.Join(directory, ".lock")
	const pidMax = 1 << 22 // no process has this number
	if err := os.WriteFile(path, fmt.Appendln(nil, pidMax), 0o644); err != nil {
		t.Fatal(err)
	}
	cleaner, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(cleaner.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	resumed := make(chan error, 1)
	go func() {
		w, _, err := record.Resume(directory)
		if err == nil {
			err = record.CleanRun(directory) // another one cleans meanwhile: it leaves the run alone
			if text, readErr := os.ReadFile(path); readErr != nil || string(text) != fmt.Sprintln(os.Getpid()) {
				err = errors.Join(err, readErr, fmt.Errorf("the lock says %q", text))
			}
			err = errors.Join(err, w.Close())
		}
		resumed <- err
	}()
	select {
	case err := <-resumed:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := cleaner.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-resumed; err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	_, err := record.Open(filepath.Join(t.TempDir(), "nowhere"))
	wantError(t, err, "no such file")
	_, err = record.Open(t.TempDir())
	wantError(t, err, "not a run directory", "run.json")
	for text, parts := range map[string][]string{
		`{"assay_run_format": 99}`:       {"format 99", "newer"},
		`{"id": "x"}`:                    {"no assay_run_format"},
		"{\n\"assay_run_format\": 1,\n,": {"run.json:3"},
		"":                               {"run.json:1"},
	} {
		directory := t.TempDir()
		write(t, filepath.Join(directory, "run.json"), text)
		_, err := record.Open(directory)
		wantError(t, err, parts...)
	}
}

func TestOpenReportsWhatIsMissing(t *testing.T) {
	trialJSON := "trials/b1-001-a/trial.json"
	cases := map[string]struct {
		damage func(path func(string) string)
		want   string
		check  func(t *testing.T, run *record.Run)
	}{
		"half a line of a series": {
			func(path func(string) string) { appendTo(t, path("trials/b1-001-a/series.jsonl"), `{"phase":"re`) },
			"trials/b1-001-a/series.jsonl: the last line was written by half",
			func(t *testing.T, run *record.Run) {
				wantLength(t, run.Samples("b1-001-a", ""), 3)
				wantLength(t, run.Missing, 3) // the others: its digest, trials without result
			},
		},
		"a damaged line of a series": {
			func(path func(string) string) {
				appendTo(t, path("trials/b1-001-a/series.jsonl"), "\x00\x00\n{\"phase\":\"read\"}\n")
			},
			"trials/b1-001-a/series.jsonl: 1 of 5 lines are damaged and left out: trials/b1-001-a/series.jsonl:4",
			func(t *testing.T, run *record.Run) { wantLength(t, run.Samples("b1-001-a", ""), 3) }, // a sample without time is none
		},
		"half an event": {
			func(path func(string) string) { appendTo(t, path("events.jsonl"), `{"at`) },
			"events.jsonl: the last line was written by half",
			func(t *testing.T, run *record.Run) { wantLength(t, run.Events, 3) },
		},
		"a damaged result": {
			func(path func(string) string) { write(t, path(trialJSON), "{\n\n\"state\": 7}") },
			trialJSON + ":3",
			func(t *testing.T, run *record.Run) {
				if run.Trials["b1-001-a"] != nil {
					t.Error("a damaged result was taken")
				}
			},
		},
		"another trial's result": {
			func(path func(string) string) { write(t, path(trialJSON), `{"plan": {"id": "other"}}`) },
			"not the result of this trial", nil,
		},
		"no environment": {
			func(path func(string) string) { os.Remove(path("environment.json")) },
			"environment.json: it is not there", nil,
		},
		"no source": {func(path func(string) string) { os.Remove(path("experiment.yaml")) }, "experiment.yaml: it is not there", nil},
		"no plan": {
			func(path func(string) string) { os.Remove(path("plan.json")) },
			"plan.json: it is not there", func(t *testing.T, run *record.Run) { wantLength(t, run.Plan, 0) },
		},
		"no experiment": {
			func(path func(string) string) { os.Remove(path("experiment.json")) },
			"experiment.json: it is not there", func(t *testing.T, run *record.Run) { wantLength(t, run.Plan, 0) },
		},
		"trials without result": {func(func(string) string) {}, "2 of 3 trials have no result", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			w := create(t, directory)
			do(t, w, "b1-001-a", record.OK)
			mustClose(t, w)
			c.damage(func(name string) string { return filepath.Join(directory, name) })
			run := open(t, directory)
			if !strings.Contains(strings.Join(run.Missing, "\n"), c.want) {
				t.Errorf("missing: %q, without %q", run.Missing, c.want)
			}
			if c.check != nil {
				c.check(t, run)
			}
		})
	}
}

func TestOpenReadOnlyAndWhileWriting(t *testing.T) {
	directory := t.TempDir()
	w := create(t, directory)
	do(t, w, "b1-001-a", record.OK)
	trial, err := w.TrialStarted("b1-002-a-aa")
	if err != nil {
		t.Fatal(err)
	}
	if err := trial.Sample(record.Sample{Phase: "load", At: 1, Seconds: 1}); err != nil {
		t.Fatal(err)
	}
	before := listing(t, directory)
	run := open(t, directory)
	if len(run.Trials) != 1 || len(run.Samples("b1-002-a-aa", "")) != 1 {
		t.Errorf("%d trials, series %+v", len(run.Trials), run.Samples("b1-002-a-aa", ""))
	}
	if after := listing(t, directory); !slices.Equal(before, after) {
		t.Errorf("reading changed the directory: %q, before %q", after, before)
	}
	if err := trial.Abandon(); err != nil {
		t.Fatal(err)
	}
	mustClose(t, w)
}

func TestResume(t *testing.T) {
	directory := t.TempDir()
	w := create(t, directory)
	do(t, w, "b1-001-a", record.Failed)
	do(t, w, "b1-002-a-aa", record.Interrupted)
	trial, err := w.TrialStarted("b1-003-null")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(trial.Sample(record.Sample{Phase: "load", At: 1, Seconds: 1}), trial.Abandon()); err != nil {
		t.Fatal(err)
	}
	mustClose(t, w)
	appendTo(t, filepath.Join(directory, "events.jsonl"), `{"at": "20`)

	for try := 1; try <= 2; try++ {
		w, left, err := record.Resume(directory)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) != 2 || left[0].ID != "b1-002-a-aa" || left[1].ID != "b1-003-null" {
			t.Fatalf("left: %+v", left)
		}
		aside := filepath.Join(directory, "trials", fmt.Sprintf("b1-003-null.interrupted-%d", try), "series.jsonl")
		if text, err := os.ReadFile(aside); err != nil || !strings.Contains(string(text), "load") {
			t.Errorf("what was recorded was not moved aside: %q, %v", text, err)
		}
		trial, err := w.TrialStarted("b1-003-null")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(trial.Sample(record.Sample{Phase: "load", At: 1, Seconds: 1}), trial.Abandon()); err != nil {
			t.Fatal(err)
		}
		mustClose(t, w)
	}
	w, left, err := record.Resume(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range left {
		do(t, w, trial.ID, record.OK)
	}
	mustClose(t, w)
	run := open(t, directory)
	if len(run.Missing) > 0 || len(run.Trials) != 3 || run.Trials["b1-001-a"].State != record.Failed {
		t.Errorf("missing %q, trials %+v", run.Missing, run.Trials)
	}
	w, left, err = record.Resume(directory)
	if err != nil || len(left) != 0 {
		t.Fatalf("a whole run: left %v, %v", left, err)
	}
	mustClose(t, w)
}

func TestResumeRefuses(t *testing.T) {
	damage := map[string]struct {
		do    func(directory string)
		parts []string
	}{
		"a changed experiment": {func(d string) { appendTo(t, filepath.Join(d, "experiment.json"), " ") }, []string{"not what the run began with", "SHA-256"}},
		"no experiment":        {func(d string) { os.Remove(filepath.Join(d, "experiment.json")) }, []string{"begin again"}},
		"no plan":              {func(d string) { os.Remove(filepath.Join(d, "plan.json")) }, []string{"begin again"}},
		"a damaged plan":       {func(d string) { write(t, filepath.Join(d, "plan.json"), "[") }, []string{"plan.json", "not what the run began with"}},
		"a plan of another experiment": {
			func(d string) { write(t, filepath.Join(d, "plan.json"), `[{"id":"x","cell":5}]`) }, []string{"not what the run began with"},
		},
		"not a run":      {func(d string) { os.Remove(filepath.Join(d, "run.json")) }, []string{"not a run directory"}},
		"a newer format": {func(d string) { write(t, filepath.Join(d, "run.json"), `{"assay_run_format":2}`) }, []string{"newer"}},
	}
	for name, c := range damage {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			mustClose(t, create(t, directory))
			c.do(directory)
			_, _, err := record.Resume(directory)
			wantError(t, err, c.parts...)
			// A refusal must not keep the lock.
			_, _, again := record.Resume(directory)
			wantError(t, again, c.parts...)
		})
	}
}

// A killed process leaves the directory readable and unlocked.
func TestKilledWriter(t *testing.T) {
	if directory := os.Getenv("ASSAY_TEST_KILLED_WRITER"); directory != "" {
		w := create(t, directory)
		do(t, w, "b1-001-a", record.OK)
		trial, err := w.TrialStarted("b1-002-a-aa")
		if err != nil {
			t.Fatal(err)
		}
		for at := 1.0; ; at++ {
			if err := trial.Sample(record.Sample{Phase: "read", At: at, Seconds: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	directory := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
	child.Env = append(os.Environ(), "ASSAY_TEST_KILLED_WRITER="+directory)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	series := filepath.Join(directory, "trials", "b1-002-a-aa", "series.jsonl")
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(series); err == nil && info.Size() > 1000 {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatal("the child did not begin to write")
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	child.Wait()
	run := open(t, directory)
	if len(run.Trials) != 1 || len(run.Samples("b1-002-a-aa", "")) == 0 {
		t.Errorf("%d trials and %d samples of the killed one", len(run.Trials), len(run.Samples("b1-002-a-aa", "")))
	}
	w, left, err := record.Resume(directory)
	if err != nil || len(left) != 2 {
		t.Fatalf("left %v, %v", left, err)
	}
	mustClose(t, w)
}

func TestFullDisk(t *testing.T) {
	directory := smallDisk(t, 4<<20)
	w := create(t, filepath.Join(directory, "run"))
	do(t, w, "b1-001-a", record.OK)
	trial, err := w.TrialStarted("b1-002-a-aa")
	if err != nil {
		t.Fatal(err)
	}
	samples := 0
	for ; err == nil; samples++ {
		err = trial.Sample(record.Sample{Phase: strings.Repeat("x", 8000), At: float64(samples + 1), Seconds: 1})
	}
	wantError(t, err, "series.jsonl", "no space left", "disk is full", "--resume")
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("%v does not wrap ENOSPC", err)
	}
	fmt.Fprint(trial.Log(), strings.Repeat("y", 2<<20)) // more than is kept in memory
	if !trial.MetFullDisk() {
		t.Error("the trial does not know that its disk is full")
	}
	// The reserve lets the end be recorded, though the disk stays full. What was lost is counted.
	if err := trial.End(result(record.Failed)); err != nil {
		t.Errorf("the reserve did not help: %v", err)
	}
	if err := w.Event(record.EventInterrupted, "", "disk full"); err != nil {
		t.Errorf("the reserve did not help: %v", err)
	}
	mustClose(t, w)
	run := open(t, filepath.Join(directory, "run"))
	ended := run.Trials["b1-002-a-aa"]
	if ended == nil || ended.State != record.Failed || len(run.Samples("b1-002-a-aa", ""))+int(ended.SamplesMissing) != samples || ended.SamplesMissing == 0 {
		t.Errorf("%+v, %d samples of %d; missing %q", ended, len(run.Samples("b1-002-a-aa", "")), samples, run.Missing)
	}
	info, err := os.Stat(filepath.Join(directory, "run", "trials", "b1-002-a-aa", "worker.log"))
	if err != nil || uint64(info.Size())+ended.LogBytesMissing != 2<<20 || ended.LogBytesMissing < 1<<19 {
		t.Errorf("%d bytes of the log are there, LogBytesMissing is %d; %v", info.Size(), ended.LogBytesMissing, err)
	}
	all := strings.Join(run.Missing, "; ")
	if len(run.Missing) != 3 || !strings.Contains(all, "1 of 3 trials have no result") || !strings.Contains(all, fmt.Sprintf("%d samples of trial b1-002-a-aa could not be written", ended.SamplesMissing)) ||
		!strings.Contains(all, "bytes of the worker's log of trial b1-002-a-aa") {
		t.Errorf("it says that this is missing: %q", run.Missing)
	}
	if last := run.Events[len(run.Events)-1]; last.Kind != record.EventInterrupted {
		t.Errorf("last event: %+v", last)
	}
}

// Once something was removed, what a full disk had kept back is there, in its order, and so is the
// reserve.
func TestRoomIsMadeOnAFullDisk(t *testing.T) {
	const samples, wide = 50, 1000 // more than what the last page of the file has room for
	for name, roomAt := range map[string]int{"after the last sample": samples, "between samples": samples / 2} {
		t.Run(name, func(t *testing.T) {
			disk := smallDisk(t, 8<<20)
			directory, others := filepath.Join(disk, "run"), filepath.Join(disk, "others")
			w := create(t, directory)
			trial, err := w.TrialStarted("b1-001-a")
			if err != nil {
				t.Fatal(err)
			}
			refused := 0
			for i := range samples {
				switch i {
				case 1:
					if err := os.WriteFile(others, make([]byte, 16<<20), 0o644); !errors.Is(err, unix.ENOSPC) {
						t.Fatalf("the disk did not get full: %v", err)
					}
				case roomAt:
					makeRoom(t, w, disk, others)
				}
				fmt.Fprintf(trial.Log(), "line %d %s\n", i, strings.Repeat("x", wide))
				if err := trial.Sample(record.Sample{Phase: strings.Repeat("x", wide), At: float64(i + 1), Seconds: 1, Operations: uint64(i)}); record.IsFull(err) {
					refused++
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if refused < roomAt/2 || refused > roomAt-1 || !trial.MetFullDisk() {
				t.Errorf("%d of %d samples found no room", refused, roomAt)
			}
			if end, err := trial.LogEnd(wide); err != nil || len(end) != wide || !strings.HasSuffix(string(end), "x\n") {
				t.Errorf("the end of the log: %d bytes, %v", len(end), err)
			}
			if end, err := trial.LogEnd(1 << 20); err != nil || !strings.HasPrefix(string(end), "line 0 ") || !strings.Contains(string(end), "\nline 49 ") {
				t.Errorf("the whole log: %d bytes, %v", len(end), err)
			}
			if roomAt == samples {
				makeRoom(t, w, disk, others)
			}
			if err := trial.End(result(record.OK)); err != nil {
				t.Fatal(err)
			}
			mustClose(t, w)
			run := open(t, directory)
			ended, series := run.Trials["b1-001-a"], run.Samples("b1-001-a", "")
			if ended == nil || ended.SamplesMissing > 0 || ended.LogBytesMissing > 0 || len(series) != samples ||
				len(run.Missing) != 1 {
				t.Fatalf("%+v, %d of %d samples, missing %q", ended, len(series), samples, run.Missing)
			}
			text, err := os.ReadFile(filepath.Join(directory, "trials", "b1-001-a", "worker.log"))
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			wantLength(t, lines, samples)
			for i, line := range lines {
				if series[i].Operations != uint64(i) || !strings.HasPrefix(line, fmt.Sprintf("line %d ", i)) || !strings.HasSuffix(line, "xx") {
					t.Fatalf("in the place of sample and line %d: %d, %.30q", i, series[i].Operations, line)
				}
			}
		})
	}
}

// makeRoom removes what others had filled the disk with, and looks at what EnsureRoom says before
// and after.
func makeRoom(t *testing.T, w *record.Writer, disk, others string) {
	t.Helper()
	err := w.EnsureRoom("")
	wantError(t, err, w.Directory(), "something else fills it", "free some space")
	if !record.IsFull(err) {
		t.Error("that is not the error of a full disk")
	}
	reserve := filepath.Join(w.Directory(), ".reserve") // as if it had been given up for the trial before
	if err := errors.Join(os.Remove(reserve), os.Remove(others)); err != nil {
		t.Fatal(err)
	}
	if err := w.EnsureRoom(disk); err != nil {
		t.Errorf("there is room: %v", err)
	}
	if info, err := os.Stat(reserve); err != nil || info.Size() != 1<<20 {
		t.Errorf("the reserve was not set aside again: %v", err)
	}
	if left, err := os.ReadDir(disk); err != nil || len(left) != 1 {
		t.Errorf("on the disk: %v, %v", left, err)
	}
}

// Room is looked for on the disk of the data, too.
func TestNoRoomForData(t *testing.T) {
	disk := smallDisk(t, 512<<10)
	w := create(t, t.TempDir())
	defer mustClose(t, w)
	if err := w.EnsureRoom(""); err != nil {
		t.Errorf("the run directory has room: %v", err)
	}
	wantError(t, w.EnsureRoom(disk), disk, "something else fills it")
	if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
		t.Errorf("on the disk: %v, %v", left, err)
	}
}

// smallDisk mounts a file system of so many bytes, for as long as the test runs.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	directory := t.TempDir()
	if err := unix.Mount("assay-test", directory, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("a small file system can't be mounted (needs root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(directory, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return directory
}

func TestLogIsBounded(t *testing.T) {
	directory := t.TempDir()
	w := create(t, directory)
	trial, err := w.TrialStarted("b1-001-a")
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1<<20+7)
	for range 20 {
		if n, err := trial.Log().Write(block); n != len(block) || err != nil {
			t.Fatalf("wrote %d bytes: %v", n, err)
		}
	}
	if err := trial.End(result(record.OK)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, w)
	text, err := os.ReadFile(filepath.Join(directory, "trials", "b1-001-a", "worker.log"))
	if err != nil || len(text) > 16<<20+100 || !strings.Contains(string(text[16<<20:]), "cut here") {
		t.Errorf("log of %d bytes, %v", len(text), err)
	}
}

func TestTrialIsStartedOnceAndPlanned(t *testing.T) {
	w := create(t, t.TempDir())
	defer w.Close()
	_, err := w.TrialStarted("b9-unknown")
	wantError(t, err, "not in the plan")
	do(t, w, "b1-001-a", record.OK)
	_, err = w.TrialStarted("b1-001-a")
	wantError(t, err, "exists")
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(old)+text)
}

func wantLength[T any](t *testing.T, list []T, want int) {
	t.Helper()
	if len(list) != want {
		t.Errorf("%d of %T, want %d", len(list), list, want)
	}
}

func listing(t *testing.T, directory string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		names = append(names, fmt.Sprint(path, info.Size(), info.ModTime()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
