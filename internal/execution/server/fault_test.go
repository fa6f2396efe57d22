package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"assay/internal/evidence/host"
)

func TestFaultsAreDoneAndUndone(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	i := start(t, honest, request(t))
	before, endpoint := i.PID(), i.Endpoint()
	if err := i.Crash(nil); err != nil {
		t.Fatal(err)
	}
	if pids := host.Listeners([]string{endpoint}); len(pids) > 0 || i.Died() != nil {
		t.Errorf("it was killed on purpose, and %v listen; died: %v", pids, i.Died())
	}
	if err := i.Revive(context.Background(), long); err != nil {
		t.Fatal(err)
	}
	if i.PID() == before || i.Endpoint() != endpoint || !slices.Equal(host.Listeners([]string{endpoint}),
		[]int{i.PID()}) {
		t.Errorf("process %d at %s, was %d at %s", i.PID(), i.Endpoint(), before, endpoint)
	}
	stopped := host.NewStopped(i.PID())
	if err := i.Freeze(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "it stands still", func() bool { return stopped.Look() == host.StoppedBySignal })
	if err := i.Revive(context.Background(), long); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "it goes on", func() bool { return stopped.Look() == "" })
	if _, err := askFake(context.Background(), i, "die"); err != nil {
		t.Log(err) // it dies before it answers
	}
	waitFor(t, "Died reports a death of its own", func() bool { return i.Died() != nil })
}

// A frozen server ends when it is stopped.
func TestFrozenServerIsStopped(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	i := start(t, honest, request(t))
	if err := i.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := i.Stop(long); err != nil {
		t.Error(err)
	}
	expectEnded(t, i)
}

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(long); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestProxyCutsAndHeals(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() { // echoes lines
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); _, _ = io.Copy(c, c) }()
		}
	}()
	p, err := NewProxy(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dial := func() (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", p.Endpoint())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c, bufio.NewReader(c)
	}
	ask := func(c net.Conn, r *bufio.Reader, line string, patience time.Duration) error {
		if _, err := fmt.Fprintln(c, line); err != nil {
			return err
		}
		_ = c.SetReadDeadline(time.Now().Add(patience))
		got, err := r.ReadString('\n')
		if err == nil && got != line+"\n" {
			err = fmt.Errorf("%q came back as %q", line, got)
		}
		return err
	}
	c, r := dial()
	if err := ask(c, r, "one", long); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	p.Cut()
	if err := ask(c, r, "two", 50*time.Millisecond); err == nil {
		t.Error("it answers, though it is cut off")
	}
	late, lateR := dial()
	if err := ask(late, lateR, "new", 50*time.Millisecond); err == nil {
		t.Error("a new connection is answered, though it is cut off")
	}
	p.Heal()
	for _, one := range []struct {
		c    net.Conn
		r    *bufio.Reader
		line string
	}{{c, r, "two\n"}, {late, lateR, "new\n"}} {
		_ = one.c.SetReadDeadline(time.Now().Add(long))
		if got, err := one.r.ReadString('\n'); got != one.line {
			t.Errorf("what was sent while it was cut off came back as %q: %v", got, err)
		}
	}
	p.Cut()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.ReadString('\n'); err == nil {
		t.Error("a connection outlives the proxy")
	}
}
