package sqlkv

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// A library that gives a connection up may dial a request to cancel: that socket is no handle's, so
// that it neither takes the next operation's deadline nor counts as connecting anew.
func TestRequestToCancelHasASocketOfItsOwn(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var reconnects atomic.Uint64
	l := NewLink(time.Minute, &reconnects)
	connect := func(dial func(context.Context, string, string) (net.Conn, error)) net.Conn {
		c, err := dial(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() }) // some are closed by then
		return c
	}
	first := l.DialOnce()
	own, cancel := connect(first), connect(first)
	if l.socket != own || reconnects.Load() != 0 {
		t.Errorf("the handle's socket is %v, expected %v; %d reconnects", l.socket, own, reconnects.Load())
	}
	l.Drop()
	if _, err := own.Write([]byte("x")); err == nil {
		t.Error("the handle's socket is open after it was dropped")
	}
	if _, err := cancel.Write([]byte("x")); err != nil {
		t.Errorf("the other socket was dropped with it: %v", err)
	}
	if own := connect(l.DialOnce()); l.socket != own || reconnects.Load() != 1 {
		t.Errorf("after connecting anew the handle's socket is %v, expected %v; %d reconnects", l.socket, own, reconnects.Load())
	}
}
