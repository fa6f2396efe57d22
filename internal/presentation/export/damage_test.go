package export_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/internal/evidence/record"
	"assay/internal/presentation/export"
	"assay/internal/presentation/html"
	"assay/internal/presentation/model"
	"assay/internal/presentation/tell"
	"assay/internal/presentation/text"
	"assay/internal/testkit/recordtest"
	"assay/store"
)

// damaged is a run directory of which single values are changed.
type damaged struct {
	directory string
	trial     string            // whose result is changed
	texts     map[string]string // of the files that are changed, as they were
}

func aRunDirectory(t testing.TB) damaged {
	t.Helper()
	run := recordtest.Run(recordtest.Shape{Name: "damaged", Classes: []store.Durability{store.D1}, Blocks: 1, Seconds: 3, Seed: 1, AA: true,
		Arms: []recordtest.Arm{{Name: "a", PutRate: 1e5, GetRate: 2e5, Noise: 0.05}}})
	d := damaged{directory: filepath.Join(t.TempDir(), "run"), trial: run.Plan[0].ID, texts: map[string]string{}}
	w, err := record.Create(d.directory, run.Source, &run.Experiment, run.Plan, run.Environment)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range run.Plan {
		trial, err := w.TrialStarted(p.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range run.InMemory[p.ID] {
			err = errors.Join(err, trial.Sample(s))
		}
		if err := errors.Join(err, trial.End(run.Trials[p.ID])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{d.result(), "plan.json", "experiment.json", "run.json", d.sums()} {
		d.texts[name] = d.read(t, name)
	}
	return d
}

func (d damaged) result() string { return "trials/" + d.trial + "/trial.json" }
func (d damaged) sums() string   { return "trials/" + d.trial + "/SHA256SUMS" }

func (d damaged) read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(d.directory, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (d damaged) write(t testing.TB, name, data string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.directory, name), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// change writes a file with right digests: what is in it is all that speaks against it.
func (d damaged) change(t testing.TB, name, data string) {
	t.Helper()
	for whole, text := range d.texts {
		d.write(t, whole, text)
	}
	d.write(t, name, data)
	sum := sha256.Sum256([]byte(data))
	digest := hex.EncodeToString(sum[:])
	header, sums := d.texts["run.json"], d.texts[d.sums()]
	switch name {
	case "plan.json":
		header = regexp.MustCompile(`"plan_sha256": \[[^]]*\]`).ReplaceAllString(header, `"plan_sha256": ["`+digest+`"]`)
	case "experiment.json":
		header = regexp.MustCompile(`"experiment_sha256": "\w+"`).ReplaceAllString(header, `"experiment_sha256": "`+digest+`"`)
	default:
		sums = regexp.MustCompile(`(?m)^\w+  trial.json`).ReplaceAllString(sums, digest+"  trial.json")
	}
	header = regexp.MustCompile(`"sha256": "\w+"`).ReplaceAllString(header, `"sha256": ""`)
	header = strings.Replace(header, `"sha256": ""`, fmt.Sprintf(`"sha256": "%x"`, sha256.Sum256([]byte(header))), 1)
	d.write(t, "run.json", header)
	d.write(t, d.sums(), sums)
}

// show opens the directory and writes it in every format. It returns how many trials have a result.
func (d damaged) show() (trials int, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v", fault)
		}
	}()
	run, err := record.Open(d.directory)
	if err != nil {
		return 0, fmt.Errorf("open: %w", err)
	}
	trials = len(run.Trials)
	result, err := tell.Result(run)
	if err != nil {
		return trials, nil // told, and not shown
	}
	return trials, inEachFormat(run, result, func(string) io.Writer { return io.Discard })
}

// inEachFormat writes a result in every format, each to a writer of its own.
func inEachFormat(run *record.Run, r *model.Result, to func(format string) io.Writer) (err error) {
	name := ""
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%s: panic: %v", name, fault)
		}
	}()
	for _, format := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"screen", func(w io.Writer) error { return text.Screen(w, r, text.Options{Width: 80}) }},
		{"brief", func(w io.Writer) error { return text.Brief(w, r, text.Options{Width: 80}) }},
		{"full", func(w io.Writer) error { return text.Full(w, r, text.Options{Width: 80}) }},
		{"markdown", func(w io.Writer) error { return text.Markdown(w, r) }},
		{"html", func(w io.Writer) error { return html.Write(w, r) }},
		{"json", func(w io.Writer) error { return export.JSON(w, r) }},
		{"csv", func(w io.Writer) error { return export.CSV(w, r) }},
		{"benchfmt", func(w io.Writer) error { return export.Benchfmt(w, r) }},
		{"what benchfmt leaves out", func(w io.Writer) error {
			_, err := io.WriteString(w, export.BenchfmtLeftOut(r))
			return err
		}},
		{"benchmark-action", func(w io.Writer) error { return export.BenchmarkAction(w, r) }},
		{"what benchmark-action leaves out", func(w io.Writer) error {
			_, err := io.WriteString(w, export.BenchmarkActionLeftOut(r))
			return err
		}},
		{"hlog", func(w io.Writer) error { return export.HLog(w, run) }},
	} {
		name = format.name
		if err := format.write(to(name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// leaf is a place in a JSON file, and what sets it.
type leaf struct {
	path string
	set  func(any)
	old  any
}

// leavesOf returns the first place of each kind: of a list's elements, one stands for all.
func leavesOf(value any, path string, set func(any), seen map[string]bool) (all []leaf) {
	if !seen[path] {
		seen[path] = true
		all = append(all, leaf{path, set, value})
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, leavesOf(v[name], path+"."+name, func(to any) { v[name] = to }, seen)...)
		}
	case []any:
		for i := range v {
			all = append(all, leavesOf(v[i], path+"[]", func(to any) { v[i] = to }, seen)...)
		}
	}
	return all
}

// wrong are values that can't be meant, or must not cost more than they say.
var wrong = []any{-1, 3_000_000_000, "x", nil, 1e300, []any{}, 0, map[string]any{}, uint64(1) << 63, ""}

// One value that somebody changed in a file, digests included, costs that trial at most, where it is a
// trial's, and never ends the reader.
//
// Fault (conductor): a value of a result, the plan or the experiment is changed, with its digest
// Assay: what can't be costs that trial; every format is written
// With: export.FuzzRun
func TestRun_with_one_value_changed(t *testing.T) {
	t.Parallel()
	d := aRunDirectory(t)
	whole, err := d.show()
	if err != nil || whole < 2 {
		t.Fatalf("as it was written: %d trials, %v", whole, err)
	}
	turn, every := 0, os.Getenv("ASSAY_LONG") != ""
	for _, name := range []string{d.result(), "plan.json", "experiment.json"} {
		var value any
		if err := json.Unmarshal([]byte(d.texts[name]), &value); err != nil {
			t.Fatal(err)
		}
		for _, l := range leavesOf(value, "", func(any) {}, map[string]bool{}) {
			values := wrong
			turn++
			switch { // the long tests try all
			case every:
			case strings.HasSuffix(l.path, ".phases[].name") || strings.HasSuffix(l.path, "[].block"):
				values = []any{3_000_000_000, "x"}
			case turn%6 > 0:
				continue
			default:
				values = []any{wrong[turn/6%len(wrong)]}
			}
			for _, to := range values {
				l.set(to)
				changed, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				d.change(t, name, string(changed))
				trials, err := d.show()
				if err != nil {
					t.Errorf("%s%s = %#v: %v", name, l.path, to, err)
				}
				if name == d.result() && trials < whole-1 {
					t.Errorf("%s%s = %#v cost %d trials", name, l.path, to, whole-trials)
				}
			}
			l.set(l.old)
		}
	}
}

// FuzzRun puts arbitrary bytes into a trial's result, the plan and the experiment, with right digests.
func FuzzRun(f *testing.F) {
	d := aRunDirectory(f)
	names := []string{d.result(), "plan.json", "experiment.json"}
	for i, name := range names {
		f.Add(uint8(i), []byte(d.texts[name]))
		f.Add(uint8(i), []byte(strings.Replace(d.texts[name], `"block": 1`, `"block": 3000000000`, 1)))
		f.Add(uint8(i), []byte(strings.Replace(d.texts[name], `"name": "put"`, `"name": "pot"`, 1)))
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		d.change(t, names[int(which)%len(names)], string(data))
		if _, err := d.show(); err != nil {
			t.Error(err)
		}
	})
}

// A run directory that was damaged in any way is written in every format, or refused; a figure that is still
// ranked is the one that was measured.
//
// Fault (run directory): a run directory was damaged at random
// Assay: every format is written and every page served, or the run is refused; a figure that is
// still ranked is the measured one
// With: serve.TestRunDirectoriesThatAreDamagedAreServed
func TestRunDirectoriesThatAreDamaged(t *testing.T) {
	t.Parallel()
	d := aRunDirectory(t)
	figures := func(directory string) (of map[string]string) {
		of = map[string]string{}
		run, err := record.Open(directory)
		if err != nil {
			return nil
		}
		for id, trial := range run.Trials {
			if trial.State != record.OK {
				continue
			}
			text, err := json.Marshal(trial.Phases)
			if err != nil {
				t.Fatal(err)
			}
			of[id] = run.Experiment.Name + string(text)
		}
		return of
	}
	was, refused, kept := figures(d.directory), 0, 0
	for seed := range recordtest.DamagesOf() {
		place := filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(place, os.DirFS(d.directory)); err != nil {
			t.Fatal(err)
		}
		what := recordtest.Damage(t, place, seed)
		is := figures(place)
		if is == nil {
			refused++
			continue
		}
		for id, figure := range is {
			if kept++; figure != was[id] {
				t.Errorf("%d: %s: the figures of %s have changed, and are still those of a good trial", seed, what, id)
			}
		}
		if _, err := (damaged{directory: place}).show(); err != nil {
			t.Errorf("%d: %s: %v", seed, what, err)
		}
		if err := os.RemoveAll(place); err != nil {
			t.Fatal(err)
		}
	}
	if kept == 0 || refused == int(recordtest.DamagesOf()) {
		t.Errorf("%d refused, %d trials kept: the test looks at nothing", refused, kept)
	}
	t.Logf("%d refused, %d trials kept", refused, kept)
}
