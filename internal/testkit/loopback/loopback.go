// Package loopback serves the connections of stand-ins for servers, in tests.
package loopback

import (
	"net"
	"sync"
	"testing"
)

// Listen serves each connection to a port of loopback until the test ends.
func Listen(t testing.TB, serve func(net.Conn)) (endpoint string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections sync.WaitGroup
	var open sync.Map
	connections.Go(func() {
		for {
			socket, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			open.Store(socket, nil)
			connections.Go(func() {
				defer open.Delete(socket)
				defer socket.Close()
				serve(socket)
			})
		}
	})
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Errorf("close stand-in: %v", err)
		}
		open.Range(func(socket, _ any) bool { _ = socket.(net.Conn).Close(); return true })
		connections.Wait()
	})
	return listener.Addr().String()
}
