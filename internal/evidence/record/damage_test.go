package record_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

const (
	damagedTrial  = "b1-001-a"
	damagedSeries = "trials/" + damagedTrial + "/series.jsonl"
	damagedResult = "trials/" + damagedTrial + "/trial.json"
)

var (
	wholeOnce  sync.Once
	wholeFiles = map[string][]byte{}
)

// whole makes the directory of a run with three trials.
func whole(t testing.TB) (directory string) {
	t.Helper()
	wholeOnce.Do(func() { // syncing three trials takes longer than all that is done to a copy of them
		directory := t.TempDir()
		w := create(t, directory)
		_, trials := threeTrials()
		for _, trial := range trials {
			do(t, w, trial.ID, record.OK)
		}
		mustClose(t, w)
		if err := fs.WalkDir(os.DirFS(directory), ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			wholeFiles[path], err = os.ReadFile(filepath.Join(directory, path))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
	directory = t.TempDir()
	for path, text := range wholeFiles {
		path = filepath.Join(directory, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, string(text))
	}
	return directory
}

// edit changes a file by a regular expression, which must fit.
func edit(t testing.TB, directory, name, pattern, instead string) {
	t.Helper()
	path := filepath.Join(directory, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := regexp.MustCompile(pattern).ReplaceAllString(string(text), instead)
	if changed == string(text) {
		t.Fatalf("%s has no %s", name, pattern)
	}
	write(t, path, changed)
}

// reseal gives a trial's files, and the plan and the experiment, the digests that they have now: an
// attacker who can count.
func reseal(t testing.TB, directory string) {
	t.Helper()
	digest := func(name string) string { return digestOf(t, filepath.Join(directory, name)) }
	var sums strings.Builder
	for _, name := range []string{"trial.json", "series.jsonl", "worker.log"} {
		sums.WriteString(digest("trials/"+damagedTrial+"/"+name) + "  " + name + "\n")
	}
	write(t, filepath.Join(directory, "trials", damagedTrial, "SHA256SUMS"), sums.String())
	path := filepath.Join(directory, "run.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`"experiment_sha256": "\w+"`).ReplaceAll(text, []byte(`"experiment_sha256": "`+digest("experiment.json")+`"`))
	text = regexp.MustCompile(`"plan_sha256": \[[^]]*\]`).ReplaceAll(text, []byte(`"plan_sha256": [ "`+digest("plan.json")+`" ]`))
	text = regexp.MustCompile(`"sha256": "\w+"`).ReplaceAll(text, []byte(`"sha256": ""`))
	write(t, path, strings.Replace(string(text), `"sha256": ""`, fmt.Sprintf(`"sha256": "%x"`, sha256.Sum256(text)), 1))
}

func hasFault(run *record.Run, code, file string) bool {
	return slices.ContainsFunc(run.Faults, func(f record.Fault) bool { return f.Code == code && f.File == file })
}

// What a person edits, or a disk loses, is seen by its digest, whatever the edit is.
//
// Fault (run directory): experiment.json or plan.json was edited
// Assay: its digest is not in run.json: no trial is shown, and why
//
// Fault (run directory): environment.json or run.json was edited
// Assay: nothing of the environment is shown; run.json is reported
//
// Fault (run directory): a file of a trial was edited, cut or lost
// Assay: `damaged` (`file`), no rank: its digest is not in SHA256SUMS
func TestEditedFilesAreMarked(t *testing.T) {
	for name, c := range map[string]struct {
		file, pattern, instead string
		trials                 int // that are shown
	}{
		"a series cut at a line":      {damagedSeries, `[^\n]*\n$`, ``, 3},
		"operations multiplied":       {damagedSeries, `"ops":100`, `"ops":101`, 3},
		"a faster result":             {damagedResult, `"elapsed_ns": 3000000000`, `"elapsed_ns": 2000000000`, 3},
		"a mark taken away":           {damagedResult, `"state": "ok"`, `"state": "ok" `, 3},
		"a cleaned log":               {"trials/" + damagedTrial + "/worker.log", `hello`, `bye`, 3},
		"digests of something else":   {"trials/" + damagedTrial + "/SHA256SUMS", `^.`, `x`, 3},
		"another machine":             {"environment.json", `\{`, `{ `, 3},
		"another plan's digest":       {"run.json", `"plan_sha256": \[`, `"plan_sha256": [ "x",`, 3},
		"an interruption taken away":  {"run.json", `"created": "2`, `"created": "1`, 3},
		"a seal taken away":           {"run.json", `"sha256": "[0-9a-f]*"`, `"sha256": ""`, 3},
		"another experiment":          {"experiment.json", `"threads": 1`, `"threads": 2`, 0},
		"another plan":                {"plan.json", `"block": 1`, `"block": 2`, 0},
		"a plan with a store of −1":   {"plan.json", `"store": 0`, `"store": -1`, 0},
		"a null trial that is a rate": {"plan.json", `"role": "ceiling"`, `"role": "measured"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			directory := whole(t)
			edit(t, directory, c.file, c.pattern, c.instead)
			run := open(t, directory)
			if len(run.Trials) != c.trials || len(run.Plan) != c.trials {
				t.Errorf("%d trials, %d planned, want %d", len(run.Trials), len(run.Plan), c.trials)
			}
			if !slices.ContainsFunc(run.Faults, func(f record.Fault) bool { return f.Code == record.FaultChanged }) {
				t.Errorf("faults %+v", run.Faults)
			}
			for id, trial := range run.Trials {
				if marked := trial.State == record.Marked; marked != (id == damagedTrial && strings.HasPrefix(c.file, "trials/")) {
					t.Errorf("%s: %s %v", id, trial.State, trial.Marks)
				}
			}
		})
	}
}

// What can't be is seen even with right digests.
//
// Fault (run directory): a run directory was edited and sealed again: a store of −1, IDs twice,
// times that go back, more operations than the result has, a series that ends early
// Assay: what can't be is left out; a trial with it is marked
// With: record.FuzzOpen
func TestImpossibleRunsAreMarked(t *testing.T) {
	for name, c := range map[string]struct {
		file, pattern, instead string
		planned                int // trials
		result                 bool
	}{
		"a series cut at a line":    {damagedSeries, `[^\n]*\n[^\n]*\n$`, ``, 3, true},
		"a series cut in between":   {damagedSeries, `\n.*\n`, "\n", 3, true},
		"operations multiplied":     {damagedSeries, `"ops":200`, `"ops":2000`, 3, true},
		"a negative time":           {damagedSeries, `"dt":1`, `"dt":-1`, 3, true},
		"a time of 0":               {damagedSeries, `"dt":1`, `"dt":0`, 3, true},
		"times that go back":        {damagedSeries, `"t":3`, `"t":1`, 3, true},
		"a sample of null":          {damagedSeries, `\n.*\n`, "\nnull\n", 3, true},
		"a count beyond sums":       {damagedSeries, `"ops":200`, `"ops":18446744073709551615`, 3, true},
		"more outcomes":             {damagedResult, `"ok": 300`, `"ok": 3000`, 3, false},
		"more attempts":             {damagedResult, `"attempted": 300`, `"attempted": 301`, 3, false},
		"a negative length":         {damagedResult, `"elapsed_ns": 3000000000`, `"elapsed_ns": -3000000000`, 3, false},
		"an operation of no trace":  {damagedResult, `"name": "read",\s*"ok"`, `"name": "fly", "ok"`, 3, false},
		"a state that is none":      {damagedResult, `"state": "ok"`, `"state": "best"`, 3, false},
		"a result of null":          {damagedResult, `(?s).*`, `null`, 3, false},
		"a store of −1":             {"plan.json", `"store": 0`, `"store": -1`, 0, false},
		"a null trial, measured":    {"plan.json", `"role": "ceiling"`, `"role": "measured"`, 2, true},
		"another store's trial":     {"plan.json", `"arm": "a",`, `"arm": "b",`, 2, false},
		"a role that is none":       {"plan.json", `"role": "a/a"`, `"role": "best"`, 2, true},
		"block 0":                   {"plan.json", `"block": 1`, `"block": 0`, 0, false},
		"block 3e9":                 {"plan.json", `"block": 1`, `"block": 3000000000`, 0, false},
		"a phase of no experiment":  {damagedResult, `"name": "read",\s*"number"`, `"name": "reed", "number"`, 3, false},
		"threads beyond any":        {damagedResult, `"threads": \d+`, `"threads": 3000000000`, 3, false},
		"a query of no experiment":  {damagedResult, `"phases": `, `"plans": [{"phase": "read", "position": 7}], "phases": `, 3, false},
		"a path for an ID":          {"plan.json", `"id": "b1-001-a"`, `"id": "../../x"`, 2, false},
		"an ID twice":               {"plan.json", `"id": "b1-002-a-aa"`, `"id": "b1-001-a"`, 2, true},
		"a store without any trial": {"experiment.json", `(?s)"stores": \[\s*\{`, `"stores": [ {"name": "a"}, {`, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			directory := whole(t)
			edit(t, directory, c.file, c.pattern, c.instead)
			reseal(t, directory)
			run := open(t, directory)
			if len(run.Plan) != c.planned {
				t.Errorf("%d trials planned, want %d: %+v", len(run.Plan), c.planned, run.Faults)
			}
			if len(run.Faults) == 0 {
				t.Error("no fault")
			}
			trial := run.Trials[damagedTrial]
			if (trial != nil) != c.result {
				t.Errorf("the result: %+v; %+v", trial, run.Faults)
			}
			if c.file == damagedSeries && (trial.State != record.Marked || trial.Marks[0].Code != finding.MarkDamaged) {
				t.Errorf("%s, %+v", trial.State, trial.Marks)
			}
			for _, s := range run.Samples(damagedTrial, "") {
				if s.Seconds <= 0 || s.Operations > 1<<60 {
					t.Errorf("sample %+v", s)
				}
			}
		})
	}
}

// Nothing but regular files of a sensible size is read, so that a directory from elsewhere can
// neither hang a report nor put another file's content into it.
//
// Fault (run directory): symbolic links, named pipes, devices, giants in place of files
// Assay: not followed, not read
func TestOnlyPlainFilesAreRead(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "[]\n")
	for name, put := range map[string]func(path string) error{
		"a link out of it":  func(path string) error { return os.Symlink(outside, path) },
		"a link to a pipe":  func(path string) error { return os.Symlink("/dev/stdin", path) },
		"a named pipe":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"an endless device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a directory":       func(path string) error { return os.Mkdir(path, 0o700) },
		"a sparse giant": func(path string) error {
			file, err := os.Create(path)
			if err != nil {
				return err
			}
			defer file.Close()
			return file.Truncate(1 << 40)
		},
	} {
		for _, file := range []string{"run.json", "experiment.yaml", "experiment.json", "environment.json", "plan.json", "events.jsonl", damagedResult, damagedSeries, "trials/" + damagedTrial} {
			t.Run(name+" for "+file, func(t *testing.T) {
				directory := whole(t)
				path := filepath.Join(directory, file)
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				if err := put(path); err != nil {
					t.Fatal(err)
				}
				run, err := record.Open(directory)
				if file == "run.json" {
					if err == nil {
						t.Error("it was taken for a run")
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if name != "a directory" && len(run.Faults) == 0 && file != "trials/"+damagedTrial {
					t.Error("no fault")
				}
				if run.Trials[damagedTrial] != nil && run.Trials[damagedTrial].State == record.OK && file != "experiment.yaml" && file != "environment.json" && file != "events.jsonl" {
					t.Errorf("the trial is fine: %+v", run.Faults)
				}
			})
		}
	}
}

func TestFaultsNameTheFile(t *testing.T) {
	directory := whole(t)
	edit(t, directory, damagedSeries, `"ops":200`, `"ops":2000`)
	run := open(t, directory)
	if !hasFault(run, record.FaultChanged, damagedSeries) || !hasFault(run, record.FaultImpossible,
		damagedSeries) || len(run.Faults) != 2 {
		t.Errorf("%+v", run.Faults)
	}
}

// A run of a plan that was extended is still that run.
func TestExtend(t *testing.T) {
	directory := t.TempDir()
	w := create(t, directory)
	more := plan.Trial{ID: "b2-001-a", Block: 2, Arm: "a", Role: plan.Measured}
	if err := w.Extend([]plan.Trial{more}); err != nil {
		t.Fatal(err)
	}
	do(t, w, more.ID, record.OK)
	if err := w.Extend([]plan.Trial{more}); err == nil {
		t.Error("a trial was planned twice")
	}
	mustClose(t, w)
	run := open(t, directory)
	if len(run.Plan) != 4 || run.Trials[more.ID] == nil || len(run.Faults) > 0 {
		t.Errorf("%d trials, %+v", len(run.Plan), run.Faults)
	}
	// A kill between the writing of the two files.
	before, err := json.MarshalIndent(run.Plan[:3], "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(directory, "plan.json"), string(before)+"\n")
	if run := open(t, directory); len(run.Plan) != 3 || len(run.Faults) > 0 {
		t.Errorf("%d trials, %+v", len(run.Plan), run.Faults)
	}
}

func digestOf(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Fault (left): `.lock` in the directory of `--out` is another program's
// Assay: refused; it stays
func TestForeignLockStaysAsItIs(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "theirs")
	for name, put := range map[string]func(path string) error{
		"a text":      func(path string) error { return os.WriteFile(path, []byte("owner: another program\n"), 0o600) },
		"a long text": func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("1", 100)), 0o600) },
		"a hard link": func(path string) error {
			if err := os.WriteFile(elsewhere, []byte("12\n"), 0o600); err != nil {
				return err
			}
			return os.Link(elsewhere, path)
		},
		"a pipe": func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a link": func(path string) error { return os.Symlink(elsewhere, path) },
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			path := filepath.Join(directory, ".lock")
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			e, trials := threeTrials()
			if w, err := record.Create(directory, source, e, trials, record.Environment{}); err == nil {
				mustClose(t, w)
				t.Error("it was taken")
			}
			after, err := os.Lstat(path)
			entries, readErr := os.ReadDir(directory)
			if err != nil || readErr != nil || after.Size() != before.Size() || after.Mode() != before.Mode() ||
				len(entries) != 1 {
				t.Errorf("before %v, after %v, %d entries, %v", before, after, len(entries), err)
			}
		})
	}
}
