package server

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Ports are taken from a range from which the kernel gives none to connections. A connection that
// is given the server's port would keep it from listening; and one that is made to a port at which
// nothing listens yet, and is given that very port, meets itself.
const (
	portMin        = 20000
	portEnd        = 65536
	connectionsMin = 32768 // the kernel's own default, where its setting can't be read
	connectionsMax = 60999
	portGuesses    = 100
)

// freePort returns a port of loopback at which nothing listens now.
func freePort() (int, error) {
	low, high := connectionPorts("/proc/sys/net/ipv4/ip_local_port_range")
	below, above := max(0, low-portMin), max(0, portEnd-1-high)
	for range portGuesses {
		if below+above == 0 {
			break
		}
		port := portMin + rand.IntN(below+above)
		if port >= portMin+below {
			port += high + 1 - (portMin + below)
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(Host, strconv.Itoa(port)))
		if err == nil {
			return port, listener.Close()
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			return 0, fmt.Errorf("looking for a free port: %w", err)
		}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(Host, "0")) // all ports are given to connections
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// connectionPorts returns the first and the last port that the kernel gives to connections.
func connectionPorts(file string) (low, high int) {
	text, err := os.ReadFile(file)
	if err == nil {
		_, err = fmt.Sscan(string(text), &low, &high)
	}
	if err != nil || low < 1 || high < low || high >= portEnd {
		return connectionsMin, connectionsMax
	}
	return low, high
}
