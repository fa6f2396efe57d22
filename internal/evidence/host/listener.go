package host

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"
)

// tcpListen is the state of a listening socket in /proc/net/tcp (proc_net_tcp(5),
// include/net/tcp_states.h).
const tcpListen = 0x0a

// Listeners returns the processes of this machine that listen at TCP endpoints ("host:port"):
// servers under test, whose CPU time is not foreign to the trial. Of a process and those below it
// there is the topmost one. What can't be found is left out: a server elsewhere, behind a proxy, in
// another network namespace or of a user whose processes can't be looked into.
func Listeners(endpoints []string) []int {
	if len(endpoints) == 0 {
		return nil
	}
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil
	}
	sockets := listening(proc, endpoints)
	if len(sockets) == 0 {
		return nil
	}
	all, err := proc.AllProcs()
	if err != nil {
		return nil
	}
	parents := map[int]int{}
	for _, p := range all {
		if !holds(p.PID, sockets) {
			continue
		}
		stat, err := p.Stat()
		if err != nil {
			continue // it has ended
		}
		parents[p.PID] = stat.PPID
	}
	var pids []int
	for pid, parent := range parents {
		if _, below := parents[parent]; !below {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// listening returns the links under /proc/PID/fd of the sockets that listen at the endpoints.
func listening(proc procfs.FS, endpoints []string) map[string]bool {
	var lines []netLine
	//lint:ignore SA1019 netlink needs its diag modules, which containers often lack; a look is rare here
	if tcp, err := proc.NetTCP(); err == nil {
		lines = append(lines, netLines(procfs.NetIPSocket(tcp))...)
	}
	//lint:ignore SA1019 see above
	if tcp, err := proc.NetTCP6(); err == nil {
		lines = append(lines, netLines(procfs.NetIPSocket(tcp))...)
	}
	sockets := map[string]bool{}
	for _, endpoint := range endpoints {
		name, port, err := net.SplitHostPort(endpoint)
		if err != nil {
			continue
		}
		addresses, err := net.LookupIP(name)
		if err != nil {
			continue
		}
		for _, a := range addresses {
			for _, l := range lines {
				if l.state == tcpListen && strconv.FormatUint(l.port, 10) == port && (l.address.Equal(a) || l.address.IsUnspecified() && ours(a)) {
					sockets[l.link()] = true
				}
			}
		}
	}
	return sockets
}

type netLine struct {
	address            net.IP
	port, state, inode uint64
}

// link is what the descriptor of a process that holds the socket links to.
func (l netLine) link() string { return "socket:[" + strconv.FormatUint(l.inode, 10) + "]" }

func netLines(table procfs.NetIPSocket) (lines []netLine) {
	for _, l := range table {
		lines = append(lines, netLine{l.LocalAddr, l.LocalPort, l.St, l.Inode})
	}
	return lines
}

// ours says if an address is one of this machine's: a listener at any address hears only what is
// sent to those.
func ours(ip net.IP) bool {
	address, ok := netip.AddrFromSlice(ip)
	if !ok {
		return false
	}
	if address.Unmap().IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.Equal(ip)
	})
}

func holds(pid int, sockets map[string]bool) bool {
	directory := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	names, err := os.ReadDir(directory)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(names, func(e os.DirEntry) bool {
		link, err := os.Readlink(filepath.Join(directory, e.Name()))
		return err == nil && sockets[link]
	})
}
