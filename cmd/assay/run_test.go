package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/internal/execution/run"
	"assay/internal/presentation/model"
)

// shell runs a script with arguments $0, $1 …
func shell(t *testing.T, script string, arguments ...string) ended {
	t.Helper()
	command := exec.Command("bash", append([]string{"-c", "set -o pipefail; " + script}, arguments...)...)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	return ended{stdout.String(), stderr.String(), statusOf(t, err)}
}

var rateLine = regexp.MustCompile(`(?m)^Rate: [0-9]+ op/s  p99 (–|[0-9.]+ (ns|µs|ms|s))  errors [0-9]+  .+ [0-9.]+(/[0-9.]+)? s  trial [0-9]+/[0-9]+$`)

func TestRunSmoke(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "results", "smoke") // made with the directories above it
	e := assay(t, "run", "smoke", "--set", "blocks=1", "--set", "busy_machine=tell", "--out", directory)
	run := fine(t, e, directory)
	wantParts(t, "standard output", e.stdout, "(D0)", "(D1)", "bbolt", filepath.Join(directory, "report.html"))
	wantParts(t, "standard error", e.stderr, "Run: smoke  ", "Trial: 1/", "Run: all trials have been run\n")
	if strings.Contains(e.stdout, "Rate:") || len(rateLine.FindAllString(e.stderr, -1)) < 10 {
		t.Errorf("progress is not on standard error, or not as it should be:\n%s", e.stderr)
	}
	if empty := regexp.MustCompile(` 0/0 s|(?m)^Run: *$`).FindString(e.stderr); empty != "" {
		t.Errorf("%q says nothing", empty)
	}
	if again := assay(t, "report", directory); !strings.HasPrefix(e.stdout, again.stdout) {
		t.Error("assay report shows something else than the run's end did")
	}
	html, err := os.ReadFile(filepath.Join(directory, "report.html"))
	if err != nil || regexp.MustCompile(`(src|href)="(https?:)?//`).Match(html) {
		t.Errorf("%d bytes of HTML that should need no network, %v", len(html), err)
	}
	if left, err := os.ReadDir(filepath.Join(directory, "data")); err == nil && len(left) > 0 {
		t.Errorf("data is left: %v", left)
	}
	if len(run.Plan) < 10 {
		t.Errorf("%d trials", len(run.Plan))
	}

	before := assay(t, "report", directory, "--format", "json").stdout
	assay(t, "run", "smoke", "--out", directory).wants(t, exitUsage, `already holds a run of "smoke"`, "--resume "+directory)
	done := assay(t, "run", "--resume", directory)
	fine(t, done, directory)
	wantParts(t, "resuming what is done", done.stderr, fmt.Sprintf("%d done before", len(run.Plan)))
	if after := assay(t, "report", directory, "--format", "json").stdout; after != before {
		t.Error("a refused run, or resuming what is done, changed the results")
	}
	notEmpty := t.TempDir()
	if err := os.WriteFile(filepath.Join(notEmpty, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	assay(t, "run", "smoke", "--out", notEmpty).wants(t, exitFailed, "not empty", "--out")
}

func TestRunWithoutOutMakesADirectoryHere(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	text := strings.Replace(paced, "for: 1200ms", "for: 100ms", 1)
	e := assayIn(t, here, text, "run", "-", "--no-html")
	made, err := filepath.Glob(filepath.Join(here, "assay-one-*"))
	if err != nil || len(made) != 1 {
		t.Fatalf("%v, %v", made, err)
	}
	run := fine(t, e, made[0])
	if _, err := os.Stat(filepath.Join(made[0], "report.html")); err == nil {
		t.Error("--no-html wrote a page")
	}
	if string(run.Source) != text {
		t.Error("the experiment from standard input was not kept as it was given")
	}
	if rate := regexp.MustCompile(`0\.[0-9]{2}/0\.10 s`).FindString(e.stderr); rate == "" {
		t.Errorf("short phases are not shown in fractions of a second:\n%s", e.stderr)
	}
}

// Failed trials are results: the run goes on, says so, and ends with status 3.
func TestFailedTrialsAreReported(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(oneStore, "[memory]", "[{driver: crashes-exit, worker: "+hosted()+"}]")
	text = strings.ReplaceAll(text, "D0", "D1")
	directory := filepath.Join(t.TempDir(), "run")
	e := assay(t, "run", written(t, "crash.yaml", text), "--out", directory)
	e.wants(t, exitTrials, "2 of 4 trials failed", "exit status 3")
	readable(t, directory)
	wantParts(t, "standard output", e.stdout, "crashes-exit")
	wantParts(t, "the full report", assay(t, "report", directory, "--full").stdout, "exit status 3")
}

// Only what there is any of is counted.
func TestSpoiltTrialsAreCountedByKind(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]run.Result{
		"1 of 3 trials failed":                          {Planned: 3, Failed: 1},
		"2 of 3 trials marked and not ranked":           {Planned: 3, Marked: 2},
		"1 of 3 trials failed, 2 marked and not ranked": {Planned: 3, Failed: 1, Marked: 2},
	} {
		if got := spoiltTrials(r); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}

// A thousand threads, and ten thousand with ASSAY_LONG=1, on memory and on the null driver.
func TestManyThreads(t *testing.T) {
	t.Parallel()
	threads := 1000
	if os.Getenv("ASSAY_LONG") == "1" {
		threads = 10_000
	}
	text := strings.ReplaceAll(strings.ReplaceAll(oneStore, "blocks: 1", fmt.Sprintf("blocks: 1\nthreads: %d\nhandles: shared", threads)), "operations: 1000", "operations: 3000")
	text = strings.ReplaceAll(text, "records: 500", "records: 20000")
	directory := filepath.Join(t.TempDir(), "run")
	run := fine(t, assay(t, "run", written(t, "threads.yaml", text), "--out", directory, "--no-html"), directory)
	for id, trial := range run.Trials {
		if last := trial.Phases[len(trial.Phases)-1]; last.Threads != threads || last.Unfinished > 0 ||
			last.Attempted < uint64(threads) {
			t.Errorf("%s: %d threads, %d attempted, %d unfinished", id, last.Threads, last.Attempted, last.Unfinished)
		}
	}
}

// The command that a report prints makes the same trials, from whatever the run was made.
func TestPrintedCommandDoesTheRunAgain(t *testing.T) {
	t.Parallel()
	short := strings.ReplaceAll(paced, "1200ms", "50ms")
	for name, c := range map[string]struct {
		input     string
		arguments []string
	}{
		"a file":         {"", []string{"it is.yaml", "--set", "blocks=2"}},
		"standard input": {short, []string{"-", "--set=phases.update.for=20ms", "--set", "blocks=2", "--no-html"}},
		"with --data":    {"", []string{"--data", "stores", "--plain", "it is.yaml"}},
	} {
		here := t.TempDir()
		if err := os.WriteFile(filepath.Join(here, "it is.yaml"), []byte(short), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(here, "stores"), 0o755); err != nil {
			t.Fatal(err)
		}
		arguments := slices.Clip(append([]string{"run"}, c.arguments...))
		planned := assayIn(t, here, c.input, append(arguments, "--dry-run")...)
		planned.wants(t, 0)
		assayIn(t, here, c.input, append(arguments, "--out", "re sults")...).wants(t, 0)
		if err := os.Remove(filepath.Join(here, "it is.yaml")); err != nil { // the run directory needs nothing else
			t.Fatal(err)
		}
		command := parsed[model.Result](t, assayIn(t, here, "", "report", "re sults", "--format", "json").stdout).Runs[0].Command
		again := shell(t, `cd "$0" && `+command+" --dry-run", here)
		again.wants(t, 0)
		if want := trialLines(planned.stdout); want == "" || trialLines(again.stdout) != want {
			t.Errorf("%s: %s plans\n%s\nand the run was\n%s", name, command, again.stdout, planned.stdout)
		}
		for word, kept := range map[string]bool{"--set": strings.Contains(strings.Join(arguments, " "), "--set"), "--data": slices.Contains(arguments, "--data"), "--out": false} {
			if strings.Contains(command, word) != kept {
				t.Errorf("%s: whether %s is kept should be %t: %s", name, word, kept, command)
			}
		}
	}
}

// trialLines are the trials of a plan, without what it says of time and disk.
func trialLines(plan string) string {
	return strings.Join(regexp.MustCompile(`(?m)^b[0-9]+-.*$`).FindAllString(plan, -1), "\n")
}
