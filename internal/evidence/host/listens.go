package host

import (
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
	waiting := map[string][]string{}
	add := func(protocol string, sockets []tcpSocket) {
		for _, s := range sockets {
			waiting[s.link()] = append(waiting[s.link()], protocol+" "+s.local.String())
		}
	}
	add("tcp", listeningSockets())
	for _, read := range []func() (procfs.NetUDP, error){proc.NetUDP, proc.NetUDP6} {
		table, err := read()
		if err != nil {
			continue // a kernel without IPv6 has no such file
		}
		add("udp", inState(procfs.NetIPSocket(table), udpUnconnected))
	}
	for _, pid := range pids {
		at = append(at, heldBy(pid, waiting)...)
	}
	slices.Sort(at)
	return slices.Compact(at), nil
}

// udpUnconnected is TCP_CLOSE, which a UDP socket without a peer has in /proc/net/udp.
const udpUnconnected = 0x07
