package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/drivers"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/misbehave"
	"assay/internal/testkit/processes"
	"assay/internal/testkit/walstore"
	"assay/store"
	"assay/worker"
)

// The tests here use the command as a user does: as a program, by its arguments, what it writes,
// and its exit status.

// program is the command.
var program string

// The test binary is also the command, under its name, and a worker that hosts the stores that
// misbehave.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "assay" {
		main()
	}
	if len(os.Args) > 1 && os.Args[1] == "deaf-worker" {
		goDeafAtWork()
		os.Args[1] = "worker"
	}
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		os.Exit(worker.Main(slices.Concat(drivers.All(), misbehave.Drivers(), walstore.Drivers(),
			[]store.Driver{waits{}, asSet{}})...))
	}
	if len(os.Args) > 2 && os.Args[1] == "half-a-report" {
		os.Exit(writeHalf(os.Args[2]))
	}
	for _, one := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} { // by nohup, or by a shell in the background
		if signal.Ignored(one) { // what tests start would ignore it too
			signal.Notify(make(chan os.Signal, 1), one)
		}
	}
	os.Exit(withProgram(m))
}

// writeHalf writes the first half of an output, says so, and waits to be killed.
func writeHalf(path string) int {
	_ = writeTarget(path, os.Stdout, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		fmt.Println("written", err)
		time.Sleep(time.Hour)
		return err
	})
	return 1
}

// goDeafAtWork keeps the end of standard input from a worker whose store is open, so that it does
// not see its conductor die.
func goDeafAtWork() {
	requests := os.Stdin
	reader, writer, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	os.Stdin = reader
	go func() {
		last := ""
		for lines := bufio.NewScanner(requests); lines.Scan(); {
			last = lines.Text()
			fmt.Fprintln(writer, last)
		}
		if strings.Contains(last, `"describe"`) || strings.Contains(last, `"close"`) {
			_ = writer.Close() // its end is this process's end
		}
	}()
}

func withProgram(m *testing.M) int {
	directory, err := os.MkdirTemp("", "assay-command-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(directory)
	if err := os.Setenv("XDG_STATE_HOME", filepath.Join(directory, "state")); err != nil { // notes of what is made, apart from the user's
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := keepCacheApart(filepath.Join(directory, "cache")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program = filepath.Join(directory, "assay")
	if err := linkOwn(program); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	waitTogether()
	return m.Run()
}

// keepCacheApart keeps proofs apart from the user's, and Go's own cache where it is.
func keepCacheApart(directory string) error {
	if os.Getenv("GOCACHE") == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		if err := os.Setenv("GOCACHE", filepath.Join(cache, "go-build")); err != nil {
			return err
		}
	}
	return os.Setenv("XDG_CACHE_HOME", directory)
}

// linkOwn gives this program another name. Linking takes no time, where building the command would
// take a minute; what go build makes is the same code without the tests'.
func linkOwn(path string) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	return linkAs(own, path)
}

// linkAs gives a program another name.
func linkAs(from, path string) error {
	if os.Link(from, path) == nil {
		return nil
	}
	text, err := os.ReadFile(from) // on another file system
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o700)
}

// waitTogether lets more tests run at once than there are processors, unless -parallel says how
// many: most of a test is waiting for phases to end.
func waitTogether() {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		must(parallel.Value.Set("6"))
	}
}

// ended is what a command left behind.
type ended struct {
	stdout, stderr string
	status         int
}

const patience = 10 * time.Minute // no test waits for it unless something hangs

func assay(t *testing.T, arguments ...string) ended { return assayIn(t, "", "", arguments...) }

// assayIn runs the command in a directory, with a text on standard input.
func assayIn(t *testing.T, directory, input string, arguments ...string) ended {
	t.Helper()
	command := exec.Command(program, arguments...)
	command.Dir, command.Stdin = directory, strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	hung := time.AfterFunc(patience, func() { tellAndEnd(command.Process, done) })
	defer hung.Stop()
	err := command.Wait()
	close(done)
	return ended{stdout.String(), stderr.String(), statusOf(t, err)}
}

// statusOf returns the exit status, or 128 and the signal's number, as a shell does.
func statusOf(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		t.Fatal(err)
	}
	if s := exit.Sys().(syscall.WaitStatus); s.Signaled() {
		return 128 + int(s.Signal())
	}
	return exit.ExitCode()
}

// wants checks the status and that all parts were written to standard error. Other tests keep this machine
// busy: a run that ended well but for what the machine did has ended well.
func (e ended) wants(t *testing.T, status int, parts ...string) {
	t.Helper()
	if e.status != status && !(status == 0 && e.disturbed()) {
		t.Errorf("exit status %d, expected %d; standard error:\n%s", e.status, status, e.stderr)
	}
	wantParts(t, "standard error", e.stderr, parts...)
}

var marked = regexp.MustCompile(`assay report (\S+) --full shows why`)

// disturbed reports whether the status says no more than that the machine marked trials.
func (e ended) disturbed() bool {
	why := marked.FindStringSubmatch(e.stderr)
	if e.status != exitTrials || why == nil {
		return false
	}
	run, err := record.Open(why[1])
	if err != nil {
		return false
	}
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if trial == nil || trial.State != record.OK && trial.State != record.Marked ||
			slices.ContainsFunc(trial.Marks, func(m finding.Mark) bool { return !m.Machine() }) {
			return false
		}
	}
	return true
}

func wantParts(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s has no %q:\n%s", what, part, text)
		}
	}
}

// process is a command under way.
type process struct {
	*exec.Cmd
	stdout bytes.Buffer
	stderr transcript
	exited chan struct{}
	err    error
}

// transcript collects what a process writes, to be looked at meanwhile.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// start starts the command without waiting for it. change may alter how.
func start(t *testing.T, change func(*exec.Cmd), arguments ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(program, arguments...), exited: make(chan struct{})}
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if change != nil {
		change(p.Cmd)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.Cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		select {
		case <-p.exited:
			return
		default:
		}
		if !t.Failed() {
			_ = p.Process.Kill() // it ends just now, or is killed
			<-p.exited
			return
		}
		tellAndEnd(p.Process, p.exited)
		t.Logf("what it was at:\n%s", &p.stderr) // what is on a terminal, that one tells
	})
	return p
}

// tellAndEnd ends a process that hangs: it writes first where each of its goroutines is.
func tellAndEnd(p *os.Process, exited <-chan struct{}) {
	_ = p.Signal(syscall.SIGQUIT) // it may have ended just now, here and below
	select {
	case <-exited:
	case <-time.After(patience / 6):
		_ = p.Kill()
		<-exited
	}
}

func (p *process) send(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// end waits for the process to end by itself.
func (p *process) end(t *testing.T) ended {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatalf("it did not end; standard error:\n%s", &p.stderr)
	}
	return ended{p.stdout.String(), p.stderr.String(), statusOf(t, p.err)}
}

// shows waits until the process has written something to standard error.
func (p *process) shows(t *testing.T, part string) {
	t.Helper()
	eventually(t, func() bool { return strings.Contains(p.stderr.String(), part) },
		func() string { return fmt.Sprintf("%q was not written; standard error:\n%s", part, &p.stderr) })
}

func eventually(t *testing.T, holds func() bool, otherwise func() string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise())
		}
	}
}

// workers returns the process's children.
func (p *process) workers(t *testing.T) []int {
	t.Helper()
	return processes.Children(t, p.Process.Pid)
}

// written writes a file into a directory of the test and returns its path.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// hosted is the command of the worker that this test binary is, for an experiment file.
func hosted() string { return fmt.Sprintf("[%q, worker]", os.Args[0]) }

// oneStore is an experiment of three trials (store, A/A, null), each with a short phase. Tests run
// beside others, and look at ranks anyway.
const oneStore = `name: one
stores: [memory]
records: 500
values: {bytes: 100}
durability: D0
phases:
  - {name: load, load: true, batch: 100}
  - {name: update, mix: {update: 1}, order: uniform, operations: 1000}
blocks: 1
busy_machine: tell
step_timeout: 300s
`

// paced is the same for tests of how a run ends, which need its phases' length and not their rate:
// it takes a tenth of the processor, of which other tests have the rest.
var paced = strings.Replace(oneStore, "operations: 1000", "rate: 100, for: 1200ms", 1)

// readable holds a run directory against what a person needs of it after any end: the report can be
// shown, without internal words, and nothing of the store's data is left. It returns the run.
func readable(t *testing.T, directory string) *record.Run {
	t.Helper()
	shown := assay(t, "report", directory)
	if shown.status != 0 || shown.stdout == "" {
		t.Errorf("assay report: status %d\n%s", shown.status, shown.stderr)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// onlyMachines says if all marks of a run tell of the machine, of other processes on it or of a CPU
// quota, which tests can't keep away.
func onlyMachines(run *record.Run) bool {
	for _, trial := range run.Trials {
		for _, mark := range trial.Marks {
			if !mark.Machine() {
				return false
			}
		}
	}
	return true
}

// fine checks that a run went well: exit status 0, or 3 where other processes disturbed it.
func fine(t *testing.T, e ended, directory string) *record.Run {
	t.Helper()
	run := readable(t, directory)
	if e.status != 0 && !(e.status == exitTrials && onlyMachines(run)) {
		t.Errorf("exit status %d; standard error:\n%s", e.status, e.stderr)
	}
	if len(run.Trials) != len(run.Plan) {
		t.Errorf("%d of %d trials have a result", len(run.Trials), len(run.Plan))
	}
	for id, trial := range run.Trials {
		if trial.State == record.Failed || trial.State == record.Interrupted {
			t.Errorf("trial %s %s: %s", id, trial.State, trial.Error)
		}
	}
	return run
}

func parsed[T any](t *testing.T, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return value
}
