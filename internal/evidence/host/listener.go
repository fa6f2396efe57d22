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

// tcpListen is the state of a listening socket (proc_net_tcp(5), include/net/tcp_states.h).
const tcpListen = 0x0a

// Listeners returns the processes of this machine that listen at endpoints ("host:port", or the path of a
// Unix socket): servers under test, whose CPU time is not foreign to the trial. Of a process and those below it
// there is the topmost one. What can't be found is left out: a server elsewhere, behind a proxy, in
// another network namespace or of a user whose processes can't be looked into.
func Listeners(endpoints []string) []int {
	_, all := listeners(endpoints)
	return all
}

// listeners returns the processes that listen at each of some endpoints, and at any of them: of each
// list the topmost ones.
func listeners(endpoints []string) (at [][]int, all []int) {
	at = make([][]int, len(endpoints))
	sockets := listening(endpoints)
	if len(sockets) == 0 {
		return at, nil
	}
	pids, err := readNumbers("/proc")
	if err != nil {
		return at, nil
	}
	parents := map[int]int{}
	for _, pid := range pids {
		held := heldBy(pid, sockets)
		if len(held) == 0 {
			continue
		}
		parent, err := parentOf(pid)
		if err != nil {
			continue // it has ended
		}
		parents[pid] = parent
		all = append(all, pid)
		for _, endpoint := range held {
			if !slices.Contains(at[endpoint], pid) {
				at[endpoint] = append(at[endpoint], pid)
			}
		}
	}
	for i := range at {
		at[i] = topmost(at[i], parents)
	}
	return at, topmost(all, parents)
}

// topmost returns those of some processes whose parent is none of them, in order.
func topmost(pids []int, parents map[int]int) (top []int) {
	for _, pid := range pids {
		if !slices.Contains(pids, parents[pid]) {
			top = append(top, pid)
		}
	}
	slices.Sort(top)
	return top
}

func parentOf(pid int) (int, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := process.Stat()
	return stat.PPID, err
}

// listening returns the sockets that listen at some endpoints: of each, by the link under
// /proc/PID/fd of who holds it, at which of them.
func listening(endpoints []string) map[string][]int {
	if len(endpoints) == 0 {
		return nil
	}
	all := listeningSockets()
	sockets := map[string][]int{}
	addListening(endpoints, sockets)
	for i, endpoint := range endpoints {
		name, port, err := net.SplitHostPort(endpoint)
		if err != nil {
			continue
		}
		addresses, err := net.LookupIP(name)
		if err != nil {
			continue
		}
		for _, a := range addresses {
			address, ok := netip.AddrFromSlice(a)
			if !ok {
				continue
			}
			for _, s := range all {
				there := s.local.Addr() == address.Unmap() || s.local.Addr().IsUnspecified() && ours(address)
				if there && strconv.Itoa(int(s.local.Port())) == port {
					sockets[s.link()] = append(sockets[s.link()], i)
				}
			}
		}
	}
	return sockets
}

// listeningSockets returns the TCP sockets of this network namespace that listen.
func listeningSockets() []tcpSocket {
	all, err := askListening()
	if err != nil { // sock_diag is a module, which containers may lack
		all = readListening()
	}
	return all
}

// askListening asks the kernel for them, and readListening looks for them in its tables of all
// sockets, which are text.
func askListening() (all []tcpSocket, err error) {
	err = eachSocket(1<<tcpListen, 0, false, func(s tcpSocket) { all = append(all, s) })
	return all, err
}

func readListening() (all []tcpSocket) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil
	}
	//lint:ignore SA1019 this is what is left where netlink is refused
	for _, read := range []func() (procfs.NetTCP, error){proc.NetTCP, proc.NetTCP6} {
		table, err := read()
		if err != nil {
			continue // a kernel without IPv6 has no such file
		}
		all = append(all, inState(procfs.NetIPSocket(table), tcpListen)...)
	}
	return all
}

// inState returns those sockets of one of the kernel's tables that are in a state.
func inState(table procfs.NetIPSocket, state uint64) (all []tcpSocket) {
	for _, l := range table {
		if address, ok := netip.AddrFromSlice(l.LocalAddr); ok && l.St == state {
			local := netip.AddrPortFrom(address.Unmap(), uint16(l.LocalPort))
			all = append(all, tcpSocket{local: local, inode: uint32(l.Inode)})
		}
	}
	return all
}

// link is what the descriptor of a process that holds the socket links to.
func (s tcpSocket) link() string { return socketLink(s.inode) }

// ours says if an address is one of this machine's: a listener at any address hears only what is
// sent to those.
func ours(address netip.Addr) bool {
	if address.Unmap().IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		network, ok := a.(*net.IPNet)
		return ok && network.IP.Equal(address.AsSlice())
	})
}

// heldBy returns what stands in a map for the sockets that a process holds.
func heldBy[T any](pid int, sockets map[string][]T) (held []T) {
	directory := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	numbers, err := readNumbers(directory)
	if err != nil {
		return nil
	}
	for _, n := range numbers {
		if link, err := os.Readlink(directory + "/" + strconv.Itoa(n)); err == nil {
			held = append(held, sockets[link]...)
		}
	}
	return held
}
