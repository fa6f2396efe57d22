package drivertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/server"
	"assay/store"
)

// Shared are servers that a package's tests use together, because they take seconds to start. A
// test uses a name space of its own in them. TestMain ends them.
type Shared struct {
	lock    sync.Mutex
	running map[string]*server.Instance
	made    []string // directories
}

// Get returns the server that a class needs, and skips the test visibly where it is not installed.
func (s *Shared) Get(t testing.TB, p server.Program, class store.Durability) *server.Instance {
	t.Helper()
	s.lock.Lock()
	defer s.lock.Unlock()
	options, reached := p.Class(class)
	if !reached {
		t.Fatalf("%s can't be started in class %s", p.Driver, class)
	}
	name := fmt.Sprint(p.Driver, options)
	if i := s.running[name]; i != nil {
		return i
	}
	directory, err := os.MkdirTemp("", "assay-server-")
	if err != nil {
		t.Fatal(err)
	}
	s.made = append(s.made, directory)
	if err := os.Chmod(directory, 0o711); err != nil {
		t.Fatal(err)
	}
	i, err := server.Start(context.Background(), p, server.Request{Directory: directory, Log: io.Discard,
		Class: class, Patience: patience})
	if errors.Is(err, server.ErrNotInstalled) {
		t.Skipf("SKIPPED: %v, so that the driver is not tested against the real server", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if s.running == nil {
		s.running = map[string]*server.Instance{}
	}
	s.running[name] = i
	return i
}

// End ends all servers, when no test runs any more. It returns the exit status: code, or 1 if a
// server could not be ended.
func (s *Shared) End(code int) int {
	for _, i := range s.running {
		if err := i.Stop(patience); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	for _, directory := range s.made {
		if err := os.RemoveAll(directory); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
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
		for alive(pid) {
			time.Sleep(time.Millisecond)
		}
	}
}

// alive says if a process runs: one that is not waited for stays as a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
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
		_ = c.Process.Signal(i.Program.StopSignal) // it may have ended by itself
		_ = c.Wait()                               // and says by which signal
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
