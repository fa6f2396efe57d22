package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"assay/internal/spec"
	"assay/store"
	"assay/storetest/misbehave"
)

// holdScratch is a conductor in the middle of making a trace: it tells its directory and stays until it is killed.
func holdScratch() {
	made, err := makeScratch(1 << 20)
	if err == nil {
		err = os.WriteFile(filepath.Join(made.directory, "trace"), make([]byte, 1<<20), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(made.directory)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or its parent has died; select {} would be a deadlock to Go
	runtime.KeepAlive(made)              // what nobody needs any more is closed, and its lock is gone
}

// What a conductor leaves that is killed while it makes a trace is removed by the next run, and not before it is dead.
func TestScratchOfAKilledConductorIsRemovedByTheNextRun(t *testing.T) {
	command := exec.Command(os.Args[0], "scratch")
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	held, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close(); _ = command.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	directory := strings.TrimSpace(line)
	stopped, cancel := context.WithCancel(context.Background())
	cancel() // no trial is needed: it is done when a run begins
	run := func() {
		if _, err := runText(stopped, experiment(misbehave.Honest, own()), filepath.Join(t.TempDir(), "run")); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if _, err := os.Stat(filepath.Join(directory, "trace")); err != nil {
		t.Fatalf("the trace of a live conductor was taken away: %v", err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // killed, as was wanted
	if _, err := os.Stat(directory); err != nil {
		t.Fatalf("a killed conductor leaves nothing, so that this test proves nothing: %v", err)
	}
	run()
	if _, err := os.Stat(directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", directory, err)
	}
}

// What does not bear the name, or is a link, is not Assay's to remove.
func TestOnlyScratchIsRemoved(t *testing.T) {
	elsewhere := t.TempDir()
	other, err := os.MkdirTemp(os.TempDir(), "assay-")
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(os.TempDir(), scratchPrefix+"a-link-"+filepath.Base(other))
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(os.Remove(other), os.Remove(link)) })
	removeOldScratch()
	for _, path := range []string{elsewhere, other, link} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

// A directory that its maker has lost to another between making and locking it is made anew.
func TestScratchIsLockedOnce(t *testing.T) {
	made, err := makeLocked(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer made.remove()
	if lock, err := lockDirectory(made.directory); err == nil {
		lock.Close()
		t.Error("two have the lock")
	}
	if err := os.Rename(made.directory, made.directory+"-gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := lockDirectory(made.directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is gone was locked: %v", err)
	}
	if err := os.Rename(made.directory+"-gone", made.directory); err != nil {
		t.Fatal(err)
	}
}

// A trace that can't be made is Assay's failure: the run ends, and no store has failed.
func TestATraceThatCantBeMadeIsNotTheStoresFailure(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "run")
	result, err := runChanged(t, experiment(misbehave.Honest, own()), directory, func(e *spec.Experiment) { e.Cells[0].Records = 1 << 40 })
	if err == nil || !strings.Contains(err.Error(), "says nothing of its store") || !strings.Contains(err.Error(), "making the trace") ||
		strings.Contains(err.Error(), "EntriesMax") {
		t.Errorf("the run ended with %v", err)
	}
	if result.Failed > 0 {
		t.Errorf("a store has failed: %+v", result)
	}
}

// Nor is one for which there is no room.
func TestATraceWithoutRoomIsNotTheStoresFailure(t *testing.T) {
	_, err := makeScratch(1 << 60)
	if err == nil || !strings.Contains(err.Error(), "make room") {
		t.Fatal(err)
	}
	if w := fmt.Errorf("phase load: %w", ownFault{err}); !errors.Is(w, errRunDirectory) || !errors.As(w, new(ownFault)) || !strings.HasSuffix(w.Error(), err.Error()) {
		t.Errorf("%v is not known for Assay's own", w)
	}
}

// runChanged runs an experiment that no file could give.
func runChanged(t *testing.T, text, directory string, change func(*spec.Experiment)) (Result, error) {
	t.Helper()
	e, err := spec.Load([]byte(text), "test.yaml", nil, spec.Drivers{Describe: func(s spec.Store) (store.Description, error) { return describe(s.Driver) }})
	if err != nil {
		t.Fatal(err)
	}
	change(e)
	return New(context.Background(), e, []byte(text), options(directory))
}
