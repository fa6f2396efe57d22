// Package servertest runs the real servers for tests, and does to them what happens to servers.
package servertest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/execution/server"
	"assay/store"
)

// patience is how long a server may take to start and to stop. No test waits for it.
const patience = 5 * time.Minute

// Start runs the real server until the test ends, and skips the test visibly where it is not
// installed. Options are the program's; class is what acknowledged writes must reach.
func Start(t testing.TB, p server.Program, class store.Durability, options map[string]string) *server.Instance {
	t.Helper()
	return StartGroup(t, p, class, options, 1).Members[0]
}

// WithoutLogin adds to a program's options that it demands no login, where an experiment has to say
// so: a test connects by the endpoint alone, as to a server that somebody else has started.
func WithoutLogin(p server.Program, options map[string]string) map[string]string {
	for _, o := range p.Options {
		if _, given := options[o.Name]; o.Name != server.OptionLogin || given {
			continue
		}
		options = maps.Clone(options)
		if options == nil {
			options = map[string]string{}
		}
		options[o.Name] = "false"
	}
	return options
}

// SkipSlow skips a test of all servers where this one takes long to start, unless the long tests run.
func SkipSlow(t testing.TB, p server.Program) {
	t.Helper()
	if p.Slow && os.Getenv("ASSAY_LONG") == "" {
		t.Skipf("SKIPPED: %s takes long to start: ASSAY_LONG=1 runs this", p.Driver)
	}
}

// StartGroup is [Start] of several servers that make one store.
func StartGroup(t testing.TB, p server.Program, class store.Durability, options map[string]string, count int) *server.Group {
	t.Helper()
	// The server may run as another user, who can't enter t.TempDir.
	directory, err := os.MkdirTemp("", "assay-server-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(directory); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(directory, 0o711); err != nil {
		t.Fatal(err)
	}
	g, err := server.StartGroup(context.Background(), p, server.Request{
		Directory: directory, Log: t.Output(), Class: class, Options: WithoutLogin(p, options), Patience: patience,
		Count: count,
	})
	if errors.Is(err, server.ErrNotInstalled) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(patience); err != nil {
			t.Error(err)
		}
	})
	return g
}

// Freeze stops all processes of a server, and returns once none of their threads runs. They go on
// when thaw is called.
func Freeze(i *server.Instance) (thaw func()) {
	processes := i.Processes()
	for left := processes; len(left) > 0; { // a signal takes its time, and a process may have begun another one
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended by itself
		}
		time.Sleep(time.Millisecond)
		processes = i.Processes()
		left = slices.DeleteFunc(slices.Clone(processes), func(pid int) bool { return !runs(pid, "TZ") })
	}
	return func() {
		for _, pid := range processes {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// Crash kills a server with all of its processes. The first one is stopped before the others are
// killed, so that it can't write down what it knows.
func Crash(t testing.TB, i *server.Instance) {
	t.Helper()
	if err := syscall.Kill(i.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	processes := i.Processes()
	slices.Reverse(processes)
	for _, pid := range processes {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
	}
	<-i.Exited()
	for _, pid := range processes {
		for runs(pid, "Z") {
			time.Sleep(time.Millisecond)
		}
	}
}

// runs says if one of a process' threads is in none of some states, which are letters of proc(5).
func runs(pid int, states string) bool {
	names, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat") // fails for a bad pattern only
	return slices.ContainsFunc(names, func(name string) bool {
		stat, err := os.ReadFile(name)
		_, state, found := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ") // after the name in parentheses
		return err == nil && found && !strings.Contains(states, state[:1])
	})
}

// Restart runs a crashed server on the same directory and port, as an operator would, until the
// test ends.
func Restart(t testing.TB, i *server.Instance) {
	t.Helper()
	arguments, environment := i.Program.Command(i)
	c := exec.Command(i.Binary, arguments...)
	c.Dir = i.Directory
	c.Env = append([]string{"LC_ALL=C", "HOME=" + i.Directory}, environment...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		info, err := os.Stat(i.Directory)
		if err != nil {
			t.Fatal(err)
		}
		owner := info.Sys().(*syscall.Stat_t)
		c.SysProcAttr.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(cmp.Or(i.Program.StopSignal, syscall.SIGTERM)) // it may have ended by itself
		_ = c.Wait()                                                        // and says by which signal
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := i.Program.Ready(ctx, i)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s does not answer: %v", i.Program.Driver, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
