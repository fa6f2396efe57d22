package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/base/owned"
	"assay/internal/execution/child"
	"assay/internal/testkit/processes"
	"assay/store"
)

// long is a patience that no test waits for; short one that is waited for.
const (
	long  = time.Minute
	short = 200 * time.Millisecond
)

func request(t *testing.T) Request {
	return Request{Directory: t.TempDir(), Log: io.Discard, Class: store.D1, Patience: long}
}

// start starts a fake server, and ends it with the test.
func start(t *testing.T, kind string, r Request) *Instance {
	t.Helper()
	i, err := Start(context.Background(), fake(kind), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Stop(0) }) // the test has looked at the error
	return i
}

// expectRunning waits for a process: a shell that has put it into the background may end before it
// has begun.
func expectRunning(t *testing.T, argument string) {
	t.Helper()
	for deadline := time.Now().Add(long); len(processes.WithArgument(t, argument)) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no process has the argument %s: this test proves nothing", argument)
		}
	}
}

// expectNothingLeft looks for the processes of servers in a directory, and for notes.
func expectNothingLeft(t *testing.T, directory string) {
	t.Helper()
	for _, pid := range processes.WithArgument(t, asServer) {
		where, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if err == nil && strings.HasPrefix(where, directory) {
			t.Errorf("process %d is left", pid)
		}
	}
	notes, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "assay", "owned", "*"))
	if err != nil || len(notes) > 0 {
		t.Errorf("notes are left: %v, %v", notes, err)
	}
}

// expectEnded looks for a server's socket, too.
func expectEnded(t *testing.T, i *Instance) {
	t.Helper()
	expectNothingLeft(t, i.Directory)
	listener, err := net.Listen("tcp", i.Endpoint())
	if err != nil {
		t.Fatalf("its port is still taken: %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
}

func TestServerIsStartedAskedAndStopped(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, kind := range []string{honest, slow} {
		t.Run(kind, func(t *testing.T) {
			var log bytes.Buffer
			r := request(t)
			r.Log, r.Class = &log, store.D3
			r.Options, r.Settings = map[string]string{"memory_bytes": "2MiB"}, map[string]string{"colour": "blue"}
			i := start(t, kind, r)
			if i.Version != "1.2.3-fake" || i.Died() != nil || i.Took <= 0 {
				t.Errorf("version %q, died %v, took %v", i.Version, i.Died(), i.Took)
			}
			for name, expected := range map[string]string{"memory": "2097152", "sync": "true", "colour": "blue"} {
				if i.Settings[name] != expected {
					t.Errorf("it tells %s = %q, expected %q", name, i.Settings[name], expected)
				}
			}
			if where, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", i.PID())); err != nil || where != i.Directory {
				t.Errorf("it runs in %s, %v: what looks for processes there proves nothing", where, err)
			}
			if pids := i.Processes(); !slices.Equal(pids, []int{i.PID()}) {
				t.Errorf("its processes are %v, expected %d alone", pids, i.PID())
			}
			if err := i.Stop(long); err != nil {
				t.Error(err)
			}
			expectEnded(t, i)
			if !strings.Contains(log.String(), "fake: fake server begins\n") {
				t.Errorf("the log has %q", log.String())
			}
		})
	}
}

// Fault (servers): a started server never listens, or never answers
// Assay: the trial fails after `step_timeout`, with its last lines
//
// Fault (servers): a started server ends at once, or goes into the background
// Assay: the trial fails, with its exit status and last lines
// With: run.TestServerThatDoesNotStartFailsTheTrial
//
// Fault (servers): a started server reports other settings than it was asked for, or lacks one
// Assay: the trial fails, with both values
//
// Fault (servers): a started server listens at another address too
// Assay: the trial fails
func TestServerThatCantBeUsedIsRefused(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, c := range []struct {
		kind, name string
		change     func(*Program, *Request)
		expected   []string
		is         error
	}{
		{kind: silent, name: "it never answers", change: func(_ *Program, r *Request) { r.Patience = short },
			expected: []string{"fake 1.2.3-fake", "did not answer within 200ms"}},
		{kind: deaf, name: "it never listens", change: func(_ *Program, r *Request) { r.Patience = short },
			expected: []string{"did not answer within 200ms"}},
		{kind: broken, name: "it ends at once", is: ErrDied,
			expected: []string{"exit status 3", "FATAL: no such luck | HINT: try again"}},
		{kind: daemon, name: "it goes into the background", is: ErrDied, expected: []string{"went into the background"}},
		{kind: liar, name: "it tells other settings",
			expected: []string{`asked for memory = "1048576", and reports "4096"`, `asked for sync = "false", and reports "maybe"`}},
		{kind: honest, name: "it does not tell a setting", change: func(p *Program, _ *Request) {
			asked := p.Asked
			p.Command = func(i *Instance) ([]string, []string) {
				return []string{asServer, honest, i.Host, strconv.Itoa(i.Port), "0"}, nil
			}
			p.Asked = func(i *Instance) map[string]string { return asked(i) }
		}, expected: []string{"does not tell it"}},
		{kind: wide, name: "it listens elsewhere too", expected: []string{"also listens at tcp 127.0.0.1:"}},
		{kind: honest, name: "a class that no setting gives", is: store.ErrRefused,
			change: func(_ *Program, r *Request) { r.Class = store.D4 }, expected: []string{"no setting of fake gives D4"}},
		{kind: honest, name: "an option that it does not have",
			change: func(_ *Program, r *Request) { r.Options = map[string]string{"memry": "1"} }, expected: []string{`"memry"`}},
		{kind: honest, name: "it is not installed", is: ErrNotInstalled,
			change:   func(p *Program, _ *Request) { p.Binaries = []string{"no-such-server", "/no/such/*/server"} },
			expected: []string{"fake is not installed", "apt-get install", "fake-server"}},
		{kind: honest, name: "its directory can't be prepared", change: func(p *Program, _ *Request) {
			p.Prepare = func(ctx context.Context, i *Instance) error {
				return i.Run(ctx, "/bin/sh", "-c", "echo no room >&2; exit 4")
			}
		}, expected: []string{"preparing its directory", "exit status 4", "no room"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, r := fake(c.kind), request(t)
			if c.change != nil {
				c.change(&p, &r)
			}
			i, err := Start(context.Background(), p, r)
			if err == nil {
				_ = i.Stop(0)
				t.Fatal("it was started")
			}
			for _, part := range c.expected {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error is %q, expected %q in it", err, part)
				}
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("the error %q is not %q", err, c.is)
			}
			expectNothingLeft(t, r.Directory)
		})
	}
}

func TestDeadServerIsReportedWithItsLastWords(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	i := start(t, honest, request(t))
	_, _ = askFake(context.Background(), i, "die") // it closes the connection
	<-i.Exited()
	err := i.Died()
	if !errors.Is(err, ErrDied) || !strings.Contains(err.Error(), "exit status 9") || !strings.Contains(err.Error(), "asked to die") {
		t.Errorf("it died of %v", err)
	}
	if err := i.Stop(long); err != nil {
		t.Error(err)
	}
	expectEnded(t, i)
}

// Fault (servers): a server ignores its stop signal
// Assay: killed after 10 s (2 s after Ctrl-C), and reported
func TestServerThatIgnoresTheSignalIsKilled(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	i := start(t, stubborn, request(t))
	if err := i.Stop(short); err == nil || !strings.Contains(err.Error(), "did not end within 200ms") {
		t.Errorf("stopping gave %v", err)
	}
	if err := i.Stop(short); err != nil {
		t.Errorf("stopping it again gave %v", err)
	}
	expectEnded(t, i)
}

// Fault (servers): a server starts processes that leave its group, session or environment
// Assay: killed with it
func TestChildrenOfAServerEndWithIt(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	sleeps := []string{"4600", "4601", "4602", "4603"}
	i := start(t, family, request(t))
	for _, sleep := range sleeps {
		expectRunning(t, sleep)
	}
	if err := i.Stop(long); err != nil {
		t.Error(err)
	}
	for _, sleep := range sleeps {
		if pids := processes.WithArgument(t, sleep); len(pids) > 0 {
			t.Errorf("sleep %s is left: %v", sleep, pids)
		}
	}
	expectEnded(t, i)
}

func TestStartThatIsInterruptedLeavesNothing(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r := request(t)
	ctx, cancel := context.WithCancel(context.Background())
	p := fake(deaf)
	ready := p.Ready
	p.Ready = func(asking context.Context, i *Instance) error {
		cancel()
		return ready(asking, i)
	}
	if _, err := Start(ctx, p, r); !errors.Is(err, context.Canceled) {
		t.Errorf("starting gave %v", err)
	}
	expectNothingLeft(t, r.Directory)
}

// Another process may take the port between the moment when it was free and that of the server's.
//
// Fault (servers): another process takes a started server's port first
// Assay: the next port is tried
func TestPortThatIsTakenIsLeftToItsOwner(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	taken := map[int]net.Listener{}
	p := fake(honest)
	p.Prepare = func(_ context.Context, i *Instance) error {
		if len(taken) < 2 {
			listener, err := net.Listen("tcp", i.Endpoint())
			if err != nil {
				return err
			}
			taken[i.Port] = listener
		}
		return nil
	}
	r := request(t)
	i, err := Start(context.Background(), p, r)
	if err != nil {
		t.Fatal(err)
	}
	if _, is := taken[i.Port]; is || len(taken) != 2 {
		t.Errorf("it runs at %d, but %d ports are taken", i.Port, len(taken))
	}
	if err := i.Stop(long); err != nil {
		t.Error(err)
	}
	expectEnded(t, i)
	for _, listener := range taken {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A killed owner can't end what its server has started. The next cleaning does, by the mark of what
// has kept its environment, and by the directory of what has not.
func TestServersOfAKilledOwnerAreEnded(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	directory := t.TempDir()
	owner := exec.Command(os.Args[0], asOwner, directory)
	owner.Stderr = os.Stderr
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	for _, sleep := range []string{"4601", "4602"} {
		expectRunning(t, sleep)
	}
	if left := owned.Left(); len(left) > 0 {
		t.Fatalf("the owner lives, but %v is taken for left", left[0].Thing)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // killed, as was wanted
	left := owned.Left()
	if len(left) != 1 || left[0].Kind != owned.Server {
		t.Fatalf("the notes tell of %v", left)
	}
	child.EndLeft()
	if len(processes.WithArgument(t, "4602")) == 0 {
		t.Error("sleep 4602 has no environment, and was found by its mark: this test proves nothing")
	}
	if ended, err := child.EndLeftIn(left[0].Path); err != nil || len(ended) == 0 {
		t.Errorf("ended %v, %v", ended, err)
	}
	left[0].Done()
	for _, sleep := range []string{"4601", "4602"} {
		if pids := processes.WithArgument(t, sleep); len(pids) > 0 {
			t.Errorf("sleep %s is left: %v", sleep, pids)
		}
	}
	for deadline := time.Now().Add(long); len(processes.WithArgument(t, asServer)) > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // the kernel ends the server itself
	}
	expectNothingLeft(t, directory)
	for _, pid := range processes.WithArgument(t, "4603") { // no sign is left on it: the price of having none
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestNewestBinaryIsFound(t *testing.T) {
	directory := t.TempDir()
	for _, version := range []string{"9.6", "15", "13"} {
		place := filepath.Join(directory, version, "bin")
		if err := os.MkdirAll(place, 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o755)
		if version == "15" {
			mode = 0o644 // not a program
		}
		if err := os.WriteFile(filepath.Join(place, "serve"), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	p := Program{Binaries: []string{filepath.Join(directory, "*", "bin", "serve")}}
	if found, err := p.Find(); err != nil || found != filepath.Join(directory, "13", "bin", "serve") {
		t.Errorf("found %s, %v", found, err)
	}
}
