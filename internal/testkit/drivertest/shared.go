package drivertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"assay/internal/execution/server"
	"assay/internal/testkit/servertest"
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
	name := p.Driver
	if p.Class != nil { // otherwise one server gives them all
		options, reached := p.Class(class)
		if !reached {
			t.Fatalf("%s can't be started in class %s", p.Driver, class)
		}
		name = fmt.Sprint(p.Driver, options)
	}
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
	i, err := server.Start(context.Background(), servertest.Quick(p), server.Request{Directory: directory,
		Log:   io.Discard,
		Class: class, Options: servertest.WithoutLogin(p, nil), Patience: patience})
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
