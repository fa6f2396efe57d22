// Package servertest runs the real servers for tests, and does to them what happens to servers.
package servertest

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"assay/internal/execution/server"
	"assay/store"
)

// Patience is how long a server may take to start and to stop. No test waits for it.
const Patience = 5 * time.Minute

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

// Quick makes a server that takes long to start compile less, where it is Java's: a test has ended
// before the work of the JVM's second compiler pays.
func Quick(p server.Program) server.Program {
	if !p.Slow || !slices.Contains(p.Needs, "java") {
		return p
	}
	command := p.Command
	p.Command = func(i *server.Instance) (arguments, environment []string) {
		arguments, environment = command(i)
		return append([]string{"-XX:TieredStopAtLevel=1"}, arguments...), environment
	}
	return p
}

// SkipSlow skips a test of all servers where this one takes long to start, unless the long tests run.
func SkipSlow(t testing.TB, p server.Program) {
	t.Helper()
	if p.Slow && os.Getenv("ASSAY_LONG") == "" {
		t.Skipf("SKIPPED: %s takes long to start: ASSAY_LONG=1 runs this", p.Driver)
	}
}

// StartGroup is [Start] of several servers that make one store.
func StartGroup(t testing.TB, p server.Program, class store.Durability, options map[string]string,
	count int) *server.Group {
	t.Helper()
	return start(t, p, server.Request{Class: class, Options: options, Count: count})
}

// StartReplicas is [Start] of a server and replicas of it.
func StartReplicas(t testing.TB, p server.Program, class store.Durability, options map[string]string,
	replicas int) *server.Group {
	t.Helper()
	return start(t, p, server.Request{Class: class, Options: options, Replicas: replicas})
}

func start(t testing.TB, p server.Program, r server.Request) *server.Group {
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
	r.Directory, r.Log, r.Options, r.Patience = directory, t.Output(), WithoutLogin(p, r.Options), Patience
	g, err := server.StartGroup(context.Background(), Quick(p), r)
	if errors.Is(err, server.ErrNotInstalled) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(Patience); err != nil {
			t.Error(err)
		}
	})
	return g
}

// Freeze stops all processes of a server, and returns once none of their threads runs. They go on
// when thaw is called.
func Freeze(i *server.Instance) (thaw func()) {
	processes, err := i.Halt()
	if err != nil {
		return func() {} // it has ended
	}
	return func() {
		for _, pid := range processes {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// Crash is [server.Instance.Crash].
func Crash(t testing.TB, i *server.Instance) {
	t.Helper()
	if err := i.Crash(nil); err != nil {
		t.Fatal(err)
	}
}

// Restart is [server.Instance.Restart].
func Restart(t testing.TB, i *server.Instance) {
	t.Helper()
	if err := i.Restart(context.Background(), Patience); err != nil {
		t.Fatal(err)
	}
}
