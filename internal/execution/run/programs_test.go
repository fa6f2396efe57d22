package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/testkit/misbehave"
)

// A run is not resumed with another worker than the one that it began with, however the worker is
// started.
func TestAnotherWorkerIsNotResumed(t *testing.T) {
	ofFigures(t)
	stopped, cancel := context.WithCancel(context.Background())
	cancel() // before the first trial
	for name, worker := range map[string]string{"program": `[PLACE/worker]`, "interpreter": `[sh, PLACE/worker]`, "on the path": `[worker-of-this-test]`} {
		t.Run(name, func(t *testing.T) {
			place := t.TempDir()
			t.Setenv("PATH", place+":"+os.Getenv("PATH"))
			file := filepath.Join(place, "worker")
			if name == "on the path" {
				file += "-of-this-test"
			}
			write := func(end string) {
				if err := os.WriteFile(file, []byte("#!/bin/sh\nexec "+os.Args[0]+" worker\n"+end), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			write("")
			directory := filepath.Join(t.TempDir(), "run")
			if _, err := runText(stopped, anExperiment(misbehave.Honest, strings.ReplaceAll(worker, "PLACE", place)), directory); err != nil {
				t.Fatal(err)
			}
			write("# built anew\n")
			if _, err := Resume(stopped, options(directory)); err == nil || !strings.Contains(err.Error(), filepath.Base(file)+" (SHA-256)") {
				t.Errorf("resumed with another worker: %v", err)
			}
			write("")
			if _, err := Resume(stopped, options(directory)); err != nil {
				t.Errorf("not resumed with the same worker: %v", err)
			}
		})
	}
}

// Assay's own program is one of them, and a run that is older than the hashes is resumed.
func TestOwnProgramIsSealed(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runText(stopped, anExperiment(misbehave.Honest, own()), directory); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	was := run.Environment
	if hash := was.Programs[host.OwnProgram]; len(hash) != 64 || hash != was.Programs[os.Args[0]] {
		t.Errorf("programs: %v", was.Programs)
	}
	now := was
	now.Programs = map[string]string{host.OwnProgram: strings.Repeat("0", 64)}
	if changes := fmt.Sprint(host.Changes(was, now)); !strings.Contains(changes, "the program "+host.OwnProgram) {
		t.Errorf("changes: %s", changes)
	}
	was.Programs = nil
	if changes := host.Changes(was, now); len(changes) > 0 {
		t.Errorf("changes since a run without hashes: %v", changes)
	}
}
