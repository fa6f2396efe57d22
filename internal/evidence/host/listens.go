package host

import (
	"fmt"
	"net"
	"slices"

	"github.com/prometheus/procfs"
)

// Processes returns a process and all below it. Ones that end meanwhile may be missing.
func Processes(pid int) []int { return tree(kernelRoots, pid) }

// ListensAt returns where processes of this machine wait for others, as "tcp 127.0.0.1:11211": TCP
// sockets that listen, and UDP sockets that are bound and not connected.
func ListensAt(pids []int) (at []string, err error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, err
	}
	for _, table := range []struct {
		protocol string
		read     func() ([]netLine, error)
	}{
		//lint:ignore SA1019 netlink needs its diag modules, which containers often lack; a look is rare here
		{"tcp", sockets(proc.NetTCP)}, {"tcp", sockets(proc.NetTCP6)},
		{"udp", sockets(proc.NetUDP)}, {"udp", sockets(proc.NetUDP6)},
	} {
		lines, err := table.read()
		if err != nil {
			continue // a kernel without IPv6 has no such file
		}
		for _, l := range lines {
			waits := l.state == tcpListen || table.protocol == "udp" && l.state == udpUnconnected
			link := map[string]bool{l.link(): true}
			if waits && slices.ContainsFunc(pids, func(pid int) bool { return holds(pid, link) }) {
				at = append(at, table.protocol+" "+net.JoinHostPort(l.address.String(), fmt.Sprint(l.port)))
			}
		}
	}
	slices.Sort(at)
	return slices.Compact(at), nil
}

// sockets reads one of the kernel's tables.
func sockets[T procfs.NetTCP | procfs.NetUDP](read func() (T, error)) func() ([]netLine, error) {
	return func() ([]netLine, error) {
		table, err := read()
		return netLines(procfs.NetIPSocket(table)), err
	}
}

// udpUnconnected is TCP_CLOSE, which a UDP socket without a peer has in /proc/net/udp.
const udpUnconnected = 0x07
