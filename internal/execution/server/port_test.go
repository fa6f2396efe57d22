package server

import (
	"os"
	"path/filepath"
	"testing"
)

func TestServerPortsAreOutsideTheEphemeralRange(t *testing.T) {
	low, high := connectionPorts("/proc/sys/net/ipv4/ip_local_port_range")
	if low <= portMin && high >= portEnd-1 {
		t.Skip("SKIPPED: this kernel gives all ports to connections")
	}
	for range 1000 {
		port, err := freePort([]string{Host, "127.0.0.2"})
		if err != nil {
			t.Fatal(err)
		}
		if port >= low && port <= high || port < portMin || port >= portEnd {
			t.Fatalf("port %d; the kernel gives %d to %d to connections", port, low, high)
		}
	}
}

func TestConnectionPorts(t *testing.T) {
	for text, expected := range map[string][2]int{
		"1024\t60999\n": {1024, 60999}, "": {connectionsMin, connectionsMax}, "5 4": {connectionsMin, connectionsMax},
		"1 99999": {connectionsMin, connectionsMax}, "x y": {connectionsMin, connectionsMax},
	} {
		file := filepath.Join(t.TempDir(), "range")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if low, high := connectionPorts(file); low != expected[0] || high != expected[1] {
			t.Errorf("%q: %d to %d, expected %v", text, low, high, expected)
		}
	}
}
