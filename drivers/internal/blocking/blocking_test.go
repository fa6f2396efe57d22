package blocking

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"assay/store"
)

// pair returns both ends of a TCP connection over loopback, which block.
func pair() (a, b net.Conn, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, nil, err
	}
	defer listener.Close()
	if a, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		return nil, nil, nil, err
	}
	if b, err = listener.Accept(); err != nil {
		return nil, nil, nil, err
	}
	a, errA := Take(a)
	b, errB := Take(b)
	return a, b, func() { a.Close(); b.Close() }, errors.Join(errA, errB)
}

// What package net promises of a connection holds: deadlines that pass, lie in the past or are
// moved, closing while others read and write, races of all of it.
func TestIsAConnection(t *testing.T) { nettest.TestConn(t, pair) }

func mustPair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	a, b, stop, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return a, b
}

func TestClosingEndsARead(t *testing.T) {
	a, _ := mustPair(t)
	ended := make(chan error, 1)
	go func() {
		_, err := a.Read(make([]byte, 1))
		ended <- err
	}()
	time.Sleep(2 * slice) // the read is most likely in the kernel; either way it must end
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the read ends with %v", err)
	}
	if err := a.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
}

func TestDeadlineBeyondASlice(t *testing.T) {
	a, b := mustPair(t)
	begun := time.Now()
	if err := a.SetReadDeadline(begun.Add(3 * slice)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) < 3*slice {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
	// One that waits has its deadline moved.
	if err := a.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(2*slice, func() { a.SetReadDeadline(time.Now()) })
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a moved deadline: %v", err)
	}
	// And it goes on.
	if err := a.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(2*slice, func() { b.Write([]byte("x")) })
	if n, err := a.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("after a deadline: %d, %v", n, err)
	}
}

// Libraries look whether the other end has hung up by a read that must not block.
func TestLookDoesNotBlock(t *testing.T) {
	a, b := mustPair(t)
	look := func() (n int, err error) {
		raw, rawErr := a.(syscall.Conn).SyscallConn()
		if rawErr != nil {
			t.Fatal(rawErr)
		}
		if rawErr := raw.Read(func(fd uintptr) bool {
			n, err = syscall.Read(int(fd), make([]byte, 1))
			return true
		}); rawErr != nil {
			t.Fatal(rawErr)
		}
		return n, err
	}
	if _, err := look(); !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("nothing has come: %v", err)
	}
	b.Write([]byte("x"))
	if n, err := a.Read(make([]byte, 1)); n != 1 || err != nil { // it blocks again
		t.Errorf("a read after a look: %d, %v", n, err)
	}
	b.Close()
	if n, err := a.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("the other end is closed: %d, %v", n, err)
	}
	if n, err := look(); n != 0 || err != nil {
		t.Errorf("a look after it: %d, %v", n, err)
	}
}

func TestSuits(t *testing.T) {
	most := min(connectionsMax, runtime.GOMAXPROCS(0))
	for _, c := range []struct {
		threads, handles int
		suits            bool
	}{{1, 1, true}, {most, most, true}, {most + 1, 1, false}, {1, most + 1, false}} {
		if got := Suits(store.Config{Threads: c.threads, Handles: c.handles}); got != c.suits {
			t.Errorf("%d threads, %d handles: %v", c.threads, c.handles, got)
		}
	}
}
