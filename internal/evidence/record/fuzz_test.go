package record_test

import (
	"os"
	"path/filepath"
	"testing"

	"assay/internal/evidence/record"
)

// FuzzOpen puts arbitrary bytes into each file that Open reads. Open must not fail for any but
// run.json, must not panic, and what it returns must hang together.
func FuzzOpen(f *testing.F) {
	base := f.TempDir()
	w := create(f, base)
	do(f, w, "b1-001-a", record.OK)
	mustClose(f, w)
	names := []string{
		"trials/b1-001-a/series.jsonl", "trials/b1-001-a/trial.json", "events.jsonl", "plan.json", "experiment.json", "environment.json", "run.json",
	}
	for i, name := range names {
		text, err := os.ReadFile(filepath.Join(base, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), text)
		f.Add(uint8(i), text[:len(text)/2])
		f.Add(uint8(i), append(text[:len(text)/2:len(text)/2], 0, '\n'))
		f.Add(uint8(i), []byte("null\n"))
		resealed := uint8(128 + (i+len(names)-128%len(names))%len(names))
		f.Add(resealed, text)
		f.Add(resealed, []byte("null\n"))
	}
	f.Add(uint8(1), []byte(`{"plan":{"id":"b1-001-a"},"phases":[{"operations":[{"service_ns":[9999,1]}]}]}`))
	f.Add(uint8(3), []byte(`[{"id":"../../x"},{"id":"b1-001-a","cell":-1},{"id":"b1-001-a","store":7}]`))
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		directory := t.TempDir()
		if err := os.CopyFS(directory, os.DirFS(base)); err != nil {
			t.Fatal(err)
		}
		name := names[int(which)%len(names)]
		write(t, filepath.Join(directory, name), string(text))
		if name != "run.json" && which >= 128 {
			reseal(t, directory) // with right digests, what is in the file is all that speaks against it
		}
		run, err := record.Open(directory)
		if err != nil {
			if name != "run.json" {
				t.Fatalf("damage to %s: %v", name, err)
			}
			return
		}
		planned := map[string]bool{}
		for _, trial := range run.Plan {
			planned[trial.ID] = true
			_ = trial.CellOf(&run.Experiment)
			if trial.Store >= 0 {
				_ = run.Experiment.Stores[trial.Store]
			}
		}
		for id := range planned {
			for _, s := range run.Samples(id, "") {
				if s.Seconds <= 0 || s.At < 0 {
					t.Errorf("sample of %s: %+v", id, s)
				}
			}
		}
		for id, trial := range run.Trials {
			if !planned[id] || trial.Plan.ID != id {
				t.Errorf("trial %q is not in the plan, or is %q", id, trial.Plan.ID)
			}
		}
	})
}
