package drivertest

import (
	"net"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// StartMemcached runs the real server on a free port of loopback until the test ends, and skips the test visibly where
// it is not installed.
func StartMemcached(t testing.TB) (endpoint string) {
	t.Helper()
	program, err := exec.LookPath("memcached")
	if err != nil {
		t.Skip("SKIPPED: memcached is not installed, so that the driver is not tested against the real server")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	// -u: it refuses to run as root otherwise.
	server := exec.Command(program, "-l", "127.0.0.1", "-p", strconv.Itoa(port), "-U", "0", "-m", "64", "-u", "nobody")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Process.Kill(); err != nil {
			t.Errorf("stop memcached: %v", err)
		}
		_ = server.Wait() // "signal: killed" is what was asked for
	})
	endpoint = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		socket, err := net.Dial("tcp", endpoint)
		if err == nil {
			if err := socket.Close(); err != nil {
				t.Fatal(err)
			}
			return endpoint
		}
		if time.Now().After(deadline) {
			t.Fatalf("memcached does not listen: %v", err)
		}
	}
}
