package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/jvmbuild"
	"assay/internal/testkit/processes"
)

// jvmWorker returns a program of workers/java, or skips where it is not built or a program of the JDK is missing.
func jvmWorker(t *testing.T, name string, needed ...string) string {
	t.Helper()
	return filepath.Join(jvmbuild.Folder(t, needed...), "assay-worker-"+name)
}

// A JVM that runs out of its heap is the trial's outcome, in the JVM's own words or, where these are
// lost because it exits while it writes them, by its status, 3; what it had done until then is counted.
func TestJVMThatRunsOutOfHeap(t *testing.T) {
	t.Parallel()
	worker := jvmWorker(t, jvmHost, "java")
	text := fmt.Sprintf(`name: heap
stores: [{driver: memory-java, worker: [%q, -Xmx8m, -XX:+UseSerialGC, -XX:+ExitOnOutOfMemoryError]}]
records: 200000
durability: D0
phases:
  - {name: load, load: true}
  - {name: read, mix: {read: 1}, operations: 100}
blocks: 1
busy_machine: tell
step_timeout: 3m
`, worker)
	directory := filepath.Join(t.TempDir(), "run")
	e := assay(t, "run", written(t, "heap.yaml", text), "--out", directory)
	e.wants(t, exitTrials, "2 of 4 trials failed")
	for _, trial := range trialsOf(t, readable(t, directory)) {
		told := strings.Contains(trial.Error, "OutOfMemoryError: Java heap space") || strings.Contains(trial.Error, "exit status 3")
		if trial.State != record.Failed || !told {
			t.Errorf("trial %s is %s: %s", trial.Plan.ID, trial.State, trial.Error)
		}
		wantIdentity(t, trial)
	}
}

// compiledClasses is testdata/failing, compiled once, whose jar is failing.jar. Tests only read it.
var compiledClasses = sync.OnceValues(func() (folder string, err error) {
	jars, err := filepath.Abs("../../bin/jvm/assay-host/jars")
	if err != nil {
		return "", err
	}
	folder = filepath.Join(filepath.Dir(program), "failing")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "failing"))); err != nil {
		return "", err
	}
	return folder, errors.Join(
		inFolder(folder, "javac", "--release", "17", "-Xlint:all", "-Werror", "-cp", filepath.Join(jars, "*"), "failing/FailingDriver.java"),
		inFolder(folder, "jar", "cf", "failing.jar", "failing", "META-INF"))
})

// failingClasses returns a copy of compiledClasses of the test's own.
func failingClasses(t *testing.T) (folder string) {
	t.Helper()
	compiled, err := compiledClasses()
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(compiled)); err != nil {
		t.Fatal(err)
	}
	return folder
}

func inFolder(folder, program string, arguments ...string) error {
	command := exec.Command(program, arguments...)
	command.Dir = folder
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", program, arguments, err, output)
	}
	return nil
}

// A JVM without direct memory, one that is killed and one that does nothing but collect garbage are
// outcomes of their trials, whose counts and reasons can be read; nothing of them is left running.
func TestJVMThatFails(t *testing.T) {
	t.Parallel()
	worker := jvmWorker(t, jvmHost, "java", "javac", "jar")
	jar := filepath.Join(failingClasses(t), "failing.jar")
	arms := ""
	fails := []string{"direct", "kill"}
	if os.Getenv("ASSAY_LONG") == "1" {
		fails = append(fails, "collect") // all the while that it is waited for
	}
	for _, by := range fails {
		arms += fmt.Sprintf("  - {driver: failing, name: %s, options: {by: %s}, worker: [%q, %q, -Xmx32m, -XX:MaxDirectMemorySize=2m, -XX:+UseSerialGC]}\n",
			by, by, worker, "--jars="+jar)
	}
	directory := filepath.Join(t.TempDir(), "run")
	e := assay(t, "run", written(t, "failing.yaml", `name: failing
stores:
`+arms+`baseline: direct
records: 100
durability: D0
phases:
  - {name: load, load: true}
  - {name: update, mix: {update: 1}, operations: 5}
blocks: 1
busy_machine: tell
step_timeout: 60s
`), "--out", directory)
	e.wants(t, exitTrials, "trials failed")
	wanted := map[string]struct {
		state record.State
		error string
	}{
		"direct": {record.Marked, "operations failed, most often with: java.lang.OutOfMemoryError: Cannot reserve 1048576 bytes of direct buffer memory"},
		"kill":   {record.Failed, "the worker died: signal: killed"},
		// How much of its time it collects is for it to tell, and it may have no time to.
		"collect": {record.Failed, "the worker did not answer: no operation ended for "},
	}
	for _, trial := range trialsOf(t, readable(t, directory)) {
		want, known := wanted[strings.TrimSuffix(trial.Plan.Arm, " (A/A)")]
		why := trial.Error
		for _, mark := range trial.Marks {
			why += finding.Text(mark.Message)
		}
		if !known || trial.State != want.state || !strings.Contains(why, want.error) {
			t.Errorf("trial %s is %s: %s; expected %s: %s", trial.Plan.ID, trial.State, why, want.state, want.error)
		}
		wantIdentity(t, trial)
	}
	if left := processes.WithArgument(t, "--jars="+jar); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// A JVM that does not start ends the command before anything runs, with what the JVM says.
func TestJVMThatDoesNotStart(t *testing.T) {
	t.Parallel()
	worker := jvmWorker(t, jvmHost, "java", "javac", "jar")
	folder := failingClasses(t)
	classes, err := filepath.Glob(filepath.Join(folder, "failing", "*.class"))
	if err != nil || len(classes) == 0 {
		t.Fatalf("no classes: %v", err)
	}
	for _, path := range classes {
		class, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		binary.BigEndian.PutUint16(class[6:], 99) // the class file's major version
		if err := os.WriteFile(path, class, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := inFolder(folder, "jar", "cf", "newer.jar", "failing", "META-INF"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ arguments, says string }{
		"option":      {"-XX:+NoSuch", "the worker died: exit status 1; it last wrote: Unrecognized VM option 'NoSuch'"},
		"heap":        {"-Xmx1k", "it last wrote: Too small maximum heap"},
		"version":     {"--jars=" + filepath.Join(folder, "newer.jar"), "UnsupportedClassVersionError: failing/FailingDriver has been compiled by a more recent version"},
		"missing jar": {"--jars=" + filepath.Join(folder, "gone.jar"), "it last wrote: no jar and no folder of jars: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := filepath.Join(t.TempDir(), "run")
			e := assay(t, "run", written(t, "start.yaml", fmt.Sprintf(`name: start
stores: [{driver: failing, worker: [%q, %q]}]
records: 100
durability: D0
phases: [{name: load, load: true}]
blocks: 1
`, worker, c.arguments)), "--out", directory)
			e.wants(t, exitUsage, `the driver "failing" can't be used`, c.says)
			if _, err := os.Stat(directory); err == nil {
				t.Error("there is a run directory")
			}
		})
	}
}
