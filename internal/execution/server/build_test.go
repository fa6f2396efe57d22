package server

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/experiment"
)

// repository makes a repository of two commits: "one" and "two" are what its program prints.
func repository(t *testing.T) (directory string, run func(arguments ...string) string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	directory = t.TempDir()
	run = func(arguments ...string) string {
		t.Helper()
		said, err := exec.Command("git", append([]string{"-C", directory, "-c", "user.name=a", "-c", "user.email=a@b"}, arguments...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", arguments, err, said)
		}
		return strings.TrimSpace(string(said))
	}
	run("init", "--quiet")
	for _, text := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(directory, "text"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		run("add", "text")
		run("commit", "--quiet", "-m", text)
		run("tag", text)
	}
	return directory, run
}

// contents are the paths of all files below a directory, with what is in them.
func contents(t *testing.T, directory string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, path+": "+string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const makeScript = `echo made >> "$MADE"; mkdir -p bin; printf '#!/bin/sh\necho "server of %s, version 1.2"\n' "$(cat text)" > bin/server; chmod +x bin/server`

func TestBuild(t *testing.T) {
	source, git := repository(t)
	cache, made := t.TempDir(), filepath.Join(t.TempDir(), "made")
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("MADE", made)
	t.Setenv(CommitVariable, "")
	before := contents(t, source)
	var said []string
	build := func(commit string) (experiment.Built, string) {
		t.Helper()
		built, err := Build(t.Context(), experiment.Build{Git: source, Commit: commit, Make: makeScript, Programs: []string{"bin/other", "bin/server"}},
			func(text string) { said = append(said, text) })
		if err != nil {
			t.Fatal(err)
		}
		printed, err := exec.Command(built.Path).Output()
		if err != nil {
			t.Fatal(err)
		}
		return built, string(printed)
	}
	head := git("rev-parse", "HEAD")
	if built, printed := build("one"); !strings.Contains(printed, "server of one") || built.Commit != git("rev-parse", "one") {
		t.Errorf("%+v prints %s", built, printed)
	}
	if built, printed := build(""); !strings.Contains(printed, "server of two") || built.Commit != head {
		t.Errorf("what is checked out is %+v, prints %s", built, printed)
	}
	build("two") // is what is checked out
	t.Setenv(CommitVariable, git("rev-parse", "one"))
	if _, printed := build(""); !strings.Contains(printed, "server of one") {
		t.Errorf("by the variable it prints %s", printed)
	}
	if text, err := os.ReadFile(made); err != nil || strings.Count(string(text), "made") != 2 || len(said) != 2 {
		t.Errorf("two commits were built as %q, %v; said %q", text, err, said)
	}
	if after := contents(t, source); !slices.Equal(before, after) {
		t.Errorf("the repository was\n%q\nand is\n%q", before, after)
	}
	expectOnlyBuilds(t, cache, 2)
}

// expectOnlyBuilds looks for what builds have left beside those that are kept.
func expectOnlyBuilds(t *testing.T, cache string, kept int) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(cache, "assay", "builds", "*"))
	hidden, hiddenErr := filepath.Glob(filepath.Join(cache, "assay", "builds", ".*"))
	if err != nil || hiddenErr != nil || len(left) != kept || len(hidden) > 0 {
		t.Errorf("builds: %q, and %q", left, hidden)
	}
}

// Fault (servers): the build of a server's commit fails, is stopped, or makes no program
// Assay: the run ends before its first trial, with the build's last lines; nothing is left
// With: server.TestBuildIsStopped, run.TestArmsOfTwoCommits
func TestBuildsThatFail(t *testing.T) {
	source, _ := repository(t)
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	before := contents(t, source)
	for name, c := range map[string]struct {
		commit, make string
		want         []string
	}{
		"its last lines": {"one", "for i in $(seq 100); do echo line $i; done; echo server.c:7: no such type >&2; exit 2",
			[]string{"building one of " + source, "exit status 2; its last lines:\n", "\n  line 99\n  line 100\n  server.c:7: no such type"}},
		"no commit":  {"three", "true", []string{`"three" is no commit of the repository`}},
		"no program": {"one", "true", []string{"true made no program at bin/server"}},
		"an option":  {"--all", "true", []string{`"--all" is no commit of the repository`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Build(t.Context(), experiment.Build{Git: source, Commit: c.commit, Make: c.make, Programs: []string{"bin/server"}}, func(string) {})
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %s", err, want)
				}
			}
			if err != nil && strings.Contains(err.Error(), "line 50\n") {
				t.Errorf("all lines are shown: %v", err)
			}
		})
	}
	t.Run("no repository", func(t *testing.T) {
		_, err := Build(t.Context(), experiment.Build{Git: t.TempDir(), Make: "true", Programs: []string{"x"}}, func(string) {})
		if err == nil || !strings.Contains(err.Error(), "not a git repository") {
			t.Error(err)
		}
	})
	if after := contents(t, source); !slices.Equal(before, after) {
		t.Errorf("the repository was\n%q\nand is\n%q", before, after)
	}
	expectOnlyBuilds(t, cache, 0)
}

// A build that is stopped ends with all that it has started, and leaves nothing.
func TestBuildIsStopped(t *testing.T) {
	source, _ := repository(t)
	cache, begun := t.TempDir(), filepath.Join(t.TempDir(), "begun")
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("BEGUN", begun)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for deadline := time.Now().Add(long); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(begun); err == nil {
				break
			}
		}
		cancel()
	}()
	_, err := Build(ctx, experiment.Build{Git: source, Commit: "one", Make: `sleep 1000 & touch "$BEGUN"; wait`, Programs: []string{"x"}}, func(string) {})
	if err == nil || ctx.Err() == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("%v", err)
	}
	expectOnlyBuilds(t, cache, 0)
}
