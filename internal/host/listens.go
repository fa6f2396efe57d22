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
		read     func() (procfs.NetIPSocket, error)
	}{
		{"tcp", func() (procfs.NetIPSocket, error) { t, err := proc.NetTCP(); return procfs.NetIPSocket(t), err }},
		{"tcp", func() (procfs.NetIPSocket, error) { t, err := proc.NetTCP6(); return procfs.NetIPSocket(t), err }},
		{"udp", func() (procfs.NetIPSocket, error) { t, err := proc.NetUDP(); return procfs.NetIPSocket(t), err }},
		{"udp", func() (procfs.NetIPSocket, error) { t, err := proc.NetUDP6(); return procfs.NetIPSocket(t), err }},
	} {
		sockets, err := table.read()
		if err != nil {
			continue // a kernel without IPv6 has no such file
		}
		for _, l := range netLines(sockets) {
			waits := l.state == tcpListen || table.protocol == "udp" && l.state == udpUnconnected
			if waits && slices.ContainsFunc(pids, func(pid int) bool { return holds(pid, map[string]bool{l.link(): true}) }) {
				at = append(at, table.protocol+" "+net.JoinHostPort(l.address.String(), fmt.Sprint(l.port)))
			}
		}
	}
	slices.Sort(at)
	return slices.Compact(at), nil
}

// udpUnconnected is TCP_CLOSE, which a UDP socket without a peer has in /proc/net/udp.
const udpUnconnected = 0x07
