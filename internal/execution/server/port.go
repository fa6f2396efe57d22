package server

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
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

// choosePorts takes the ports of the store's first server where all members have the same, and
// otherwise free ones. hosts are the addresses of the members.
func (i *Instance) choosePorts(hosts []string) (err error) {
	if i.Program.Several == Cluster && len(i.Peers) > 0 && i.Primary == nil {
		i.Port, i.PeerPort = i.Peers[0].Port, i.Peers[0].PeerPort
		return nil
	}
	if i.Port, err = freePort(hosts); err != nil || !i.Program.PeerPort {
		return err
	}
	for i.PeerPort = i.Port; i.PeerPort == i.Port && err == nil; {
		i.PeerPort, err = freePort(hosts)
	}
	return err
}

// freePort returns a port at which nothing listens now on any of some addresses of loopback.
func freePort(hosts []string) (int, error) {
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
		err := tryPort(hosts, port)
		if err == nil {
			return port, nil
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

func tryPort(hosts []string, port int) error {
	for _, host := range hosts {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			err = listener.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// connectionPorts returns the first and the last port that the kernel gives to connections.
func connectionPorts(file string) (low, high int) {
	text, err := bounded.Kernel(file)
	if err == nil {
		_, err = fmt.Sscan(string(text), &low, &high)
	}
	if err != nil || low < 1 || high < low || high >= portEnd {
		return connectionsMin, connectionsMax
	}
	return low, high
}
