package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
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

// scriptProgram writes a script that runs some lines and then becomes memcached.
func scriptProgram(t *testing.T, path, before string) {
	t.Helper()
	memcached, _ := memcachedProgram(t)
	binary, err := memcached.Find()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+before+"\nexec "+binary+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// What is named as a server's program and is none ends the run before a trial or a directory is made.
//
// Fault (servers): `program` names no program, another kind of server, or one that ends at once
// Assay: the run ends before its first trial, with its last lines
// With: server.TestIdentify, read.TestStoresAreNamedByTheirPrograms
func TestProgramThatIsNoServerIsRefusedBeforeTheRun(t *testing.T) {
	t.Parallel()
	p, _ := memcachedProgram(t)
	for name, c := range map[string]struct{ script, want string }{
		"another program": {`[ "$1" = --version ] && exec echo "other 1.2"`, `is another program than memcached: asked for its version, it prints "other 1.2"`},
		"no version":      {`[ "$1" = --version ] && exec echo "memcached of a kind"`, `no version in "memcached of a kind"`},
		"fails":           {`echo no licence >&2; exit 3`, "exit status 3; it last wrote: no licence"},
		"ends at once":    {`[ "$1" = --version ] || { echo first; echo out of luck; exit 7; }`, "the server died: memcached: exit status 7; it last wrote: first | out of luck"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := t.TempDir()
			if err := os.Chmod(filepath.Dir(here), 0o711); err != nil { // a server may run as another user
				t.Fatal(err)
			}
			path := filepath.Join(here, "program")
			scriptProgram(t, path, c.script)
			text := strings.NewReplacer("WORKER", own(), "{start: true,", "{start: true, program: "+path+",").Replace(startedRun)
			e, programs, err := experimentOn(p, text)
			if err != nil {
				t.Fatal(err)
			}
			o := options(filepath.Join(here, "run"))
			o.Program = programs
			if _, err := New(t.Context(), e, []byte(text), o); !errors.Is(err, ErrProgram) ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
			left, err := os.ReadDir(here)
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range left {
				if entry.Name() != "program" && entry.Name() != "run" {
					t.Errorf("%s is left", entry.Name())
				}
			}
			if _, err := record.Open(o.Directory); err == nil {
				t.Error("a run directory was written")
			}
		})
	}
}

// A program that is replaced between two trials, or tells another version, ends the run: trials of both
// are no blocks of one comparison. The trials before stay, with the program's digest and version.
//
// Fault (servers): a server's program is replaced, has another version, or goes away in a run
// Assay: the run ends, with both versions and digests; the trials before it stay
func TestProgramThatChangesEndsTheRun(t *testing.T) {
	t.Parallel()
	memcached, _ := memcachedProgram(t)
	for name, c := range map[string]struct{ first, then, want string }{
		"digest":  {"", "# built anew", "SHA-256"},
		"version": {`[ "$1" = --version ] && exec cat VERSION`, "", "memcached 2.0.1"},
		"gone":    {"", "GONE", "can't be used any more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := t.TempDir()
			if err := os.Chmod(filepath.Dir(here), 0o711); err != nil {
				t.Fatal(err)
			}
			path, version := filepath.Join(here, "program"), filepath.Join(here, "version")
			write := func(text string) {
				if err := os.WriteFile(version, []byte("memcached "+text+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write("2.0.0")
			before := func(text string) string { return strings.ReplaceAll(text, "VERSION", version) }
			scriptProgram(t, path, before(c.first))
			text := strings.NewReplacer("WORKER", own(), "{start: true,", "{start: true, program: "+path+",", "blocks: 1", "blocks: 2").Replace(startedRun)
			e, programs, err := experimentOn(memcached, text)
			if err != nil {
				t.Fatal(err)
			}
			o, done := options(filepath.Join(here, "run")), 0
			o.Program = programs
			o.conduct = func(ctx context.Context, trial *trial) error {
				if done++; done == 2 {
					switch {
					case c.then == "GONE":
						if err := os.Remove(path); err != nil {
							t.Error(err)
						}
					case c.then != "":
						scriptProgram(t, path, c.then)
					}
					write("2.0.1")
				}
				return trial.conduct(ctx)
			}
			_, err = New(t.Context(), e, []byte(text), o)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "its store is not at fault") {
				t.Fatalf("%v, after %d trials\nwant %s", err, done, c.want)
			}
			run, err := record.Open(o.Directory)
			if err != nil {
				t.Fatal(err)
			}
			first := run.Trials[run.Plan[0].ID]
			if first == nil || first.Server == nil || len(first.Server.SHA256) != 64 || first.Server.Product != "memcached" || first.Server.Version == "" {
				t.Errorf("the first trial is %+v", first)
			}
			if len(run.Trials) > 1 && run.Trials[run.Plan[1].ID] != nil {
				t.Errorf("the second trial has a result: %+v", run.Trials[run.Plan[1].ID])
			}
		})
	}
}

// Two commits of a server are two arms of one run, each by a program that is built of it; a build that
// fails ends the run before its first trial.
func TestArmsOfTwoCommits(t *testing.T) {
	memcached, _ := memcachedProgram(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	binary, err := memcached.Find()
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(here, "cache"))
	if err := os.Chmod(filepath.Dir(here), 0o711); err != nil { // a server may run as another user
		t.Fatal(err)
	}
	source := filepath.Join(here, "source")
	git := func(arguments ...string) string {
		t.Helper()
		said, err := exec.Command("git", append([]string{"-C", source, "-c", "user.name=a", "-c", "user.email=a@b"}, arguments...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", arguments, err, said)
		}
		return strings.TrimSpace(string(said))
	}
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "--quiet")
	for _, text := range []string{"threads=1", "threads=2", "broken ("} {
		if err := os.WriteFile(filepath.Join(source, "memcached.sh"), []byte("#!/bin/sh\n"+text+"\nexec "+binary+" \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		git("add", ".")
		git("commit", "--quiet", "-m", text)
	}
	const arm = "{driver: memcached, worker: WORKER, server: {start: true, build: {git: SOURCE, commit: COMMIT, make: 'sh -n memcached.sh && mkdir bin && mv memcached.sh bin/memcached', program: bin/memcached}}}"
	run := func(name string, commits ...string) (*record.Run, error) {
		t.Helper()
		arms := make([]string, len(commits))
		for i, commit := range commits {
			arms[i] = strings.ReplaceAll(arm, "COMMIT", commit)
		}
		text := strings.Replace(startedRun, "{driver: memcached, worker: WORKER, server: {start: true, options: {threads: 2}}}", strings.Join(arms, ", "), 1)
		text = strings.NewReplacer("WORKER", own(), "SOURCE", source).Replace(text)
		e, programs, err := experimentOn(memcached, text)
		if err != nil {
			t.Fatal(err)
		}
		o := options(filepath.Join(here, name))
		o.Program = programs
		if _, err := New(t.Context(), e, []byte(text), o); err != nil {
			return nil, err
		}
		return record.Open(o.Directory)
	}
	recorded, err := run("run", "HEAD~2", "HEAD~1")
	if err != nil {
		t.Fatal(err)
	}
	commits := map[string]string{}
	for _, planned := range recorded.Plan {
		trial := recorded.Trials[planned.ID]
		if trial.Server == nil || len(trial.Server.SHA256) != 64 {
			t.Fatalf("%s: %s %+v", planned.ID, trial.Error, trial.Server)
		}
		commits[planned.Arm] = trial.Server.Commit
	}
	if want := map[string]string{"memcached-HEAD-2": git("rev-parse", "HEAD~2"), "memcached-HEAD-1": git("rev-parse", "HEAD~1")}; !maps.Equal(commits, want) {
		t.Errorf("%v, want %v", commits, want)
	}
	_, err = run("broken", "HEAD~1", "HEAD")
	if !errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), "its last lines:\n") || !strings.Contains(err.Error(), "memcached.sh: 3: Syntax error") {
		t.Errorf("%v", err)
	}
	if state := git("status", "--porcelain"); state != "" || git("worktree", "list") != source+"  "+git("rev-parse", "HEAD")[:len(git("rev-parse", "--short", "HEAD"))]+" ["+git("branch", "--show-current")+"]" {
		t.Errorf("the repository is left as\n%s\n%s", state, git("worktree", "list"))
	}
}
