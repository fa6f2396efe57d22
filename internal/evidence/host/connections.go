package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// connections counts the sockets of the worker's processes that are connected to its store's
// servers.
type connections struct {
	servers   []netip.AddrPort
	files     []socketFile // of endpoints that are Unix sockets
	of        []int        // of each of servers: the endpoint that it is an address of
	endpoints int

	at          []int            // connections to each endpoint that were seen last, of all processes
	owned       map[uint32]bool  // of the sockets seen last, by inode: whether they are the worker's
	descriptors map[int][]uint32 // of each process: the inodes of its connections, by descriptor

	path        []tcpSocket // what connections told of their path when they were seen last, of all processes
	link        string      // interface on the way to the first server; "": it is not known
	linkWhy     error
	retransmits uint64            // of all connections so far
	resent      map[uint32]uint32 // of each connection that is there, by inode
}

// WorkerConnections is the series of the connections that a worker has to its store.
const WorkerConnections = "worker.connections"

// WatchConnections makes worker.connections count the worker's connections to endpoints
// ("host:port", or the path of a Unix socket). A name that can't be resolved is left out.
func (s *Sampler) WatchConnections(endpoints []string) {
	s.telemetry.connections = connections{endpoints: len(endpoints), files: socketFiles(endpoints)}
	for i, endpoint := range endpoints {
		name, portText, err := net.SplitHostPort(endpoint)
		if err != nil {
			continue
		}
		port, err := strconv.ParseUint(portText, 10, 16)
		if err != nil {
			continue
		}
		addresses, err := net.LookupIP(name)
		if err != nil {
			continue
		}
		for _, a := range addresses {
			if address, ok := netip.AddrFromSlice(a); ok {
				c := &s.telemetry.connections
				c.servers = append(c.servers, netip.AddrPortFrom(address.Unmap(), uint16(port)))
				c.of = append(c.of, i)
			}
		}
	}
}

func (c *connections) watched() bool { return len(c.servers)+len(c.files) > 0 }

func (t *telemetry) readConnections(v values, pids []int) {
	c := &t.connections
	if !c.watched() || t.why[WorkerConnections] != "" {
		return
	}
	count, err := c.count(t.roots.proc, pids)
	if err != nil {
		v.missing(err, WorkerConnections)
		return
	}
	v.gauge(WorkerConnections, float64(count))
	for i := range c.endpoints {
		v.gauge(ServerSeries("server.connections", i+1, c.endpoints), float64(c.at[i]))
	}
	t.readPath(v)
}

// Connections returns how many connections to its servers the worker's processes have now. It is
// not known where nothing is watched, or where the kernel does not report.
func (s *Sampler) Connections() (n int, known bool) {
	c := &s.telemetry.connections
	if !c.watched() || s.telemetry.why[WorkerConnections] != "" || s.procError != nil {
		return 0, false
	}
	s.Sample() // finds the processes that there are now
	n, err := c.count(s.roots.proc, s.tree)
	return n, err == nil
}

// count counts those of the processes.
func (c *connections) count(proc string, pids []int) (n int, err error) {
	sockets, err := c.connected()
	if err != nil {
		return 0, fmt.Errorf("the kernel does not list connections: %w", err)
	}
	if err := c.findOwners(proc, pids, sockets); err != nil {
		return 0, err
	}
	for _, inode := range sockets {
		if c.owned[inode] {
			n++
		}
	}
	return n, nil
}

// connected returns the inodes of the sockets that are connected to a server, of all processes.
func (c *connections) connected() (inodes []uint32, err error) {
	c.at, c.path = make([]int, c.endpoints), c.path[:0]
	var ports []uint16
	for _, server := range c.servers {
		if !slices.Contains(ports, server.Port()) {
			ports = append(ports, server.Port())
		}
	}
	for _, port := range ports {
		err := eachSocket(connectedStates, port, true, func(s tcpSocket) {
			if server := slices.Index(c.servers, s.remote); s.inode != 0 && server >= 0 { // 0: closed by its process
				inodes = append(inodes, s.inode)
				c.at[c.of[server]]++
				c.path = append(c.path, s)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return c.connectedByFile(inodes)
}

// findOwners finds out which sockets are the worker's, by its processes' descriptors. They are read
// after the kernel's table: a connection that was closed in between, and the one that follows it,
// are not both counted. Reading 10,000 descriptors takes far longer than the table. So they are read
// only where a socket was not there before, and only those that had no socket which still is.
func (c *connections) findOwners(proc string, pids []int, sockets []uint32) error {
	before := c.owned
	c.owned = make(map[uint32]bool, len(sockets))
	unknown := map[string]uint32{}
	for _, inode := range sockets {
		owned, known := before[inode]
		c.owned[inode] = owned
		if !known {
			unknown["socket:["+strconv.FormatUint(uint64(inode), 10)+"]"] = inode
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	descriptors := make(map[int][]uint32, len(pids))
	for _, pid := range pids {
		table, directory := c.descriptors[pid], filepath.Join(proc, strconv.Itoa(pid), "fd")
		for n := 0; len(unknown) > 0 && n < len(table)+len(unknown)+descriptorsBetween; n++ {
			table = c.look(directory, table, n, unknown)
		}
		descriptors[pid] = table
	}
	for _, pid := range pids {
		if len(unknown) == 0 {
			break
		}
		directory := filepath.Join(proc, strconv.Itoa(pid), "fd")
		numbers, err := readNumbers(directory)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // the process has ended
		}
		if err != nil {
			return err
		}
		for _, n := range numbers {
			descriptors[pid] = c.look(directory, descriptors[pid], n, unknown)
		}
	}
	c.descriptors = descriptors
	return nil
}

// descriptorsBetween is how many other descriptors may stand between sockets before the directory of
// all is read, which takes the kernel longer than to look at each. A new one has the lowest number
// that is free.
const descriptorsBetween = 64

// look looks whether a process's descriptor n is one of the unknown sockets, and notes it in its
// table.
func (c *connections) look(directory string, table []uint32, n int, unknown map[string]uint32) []uint32 {
	if n < len(table) && c.owned[table[n]] {
		return table
	}
	target, err := os.Readlink(directory + "/" + strconv.Itoa(n))
	inode, found := unknown[target]
	if err != nil || !found {
		return table
	}
	delete(unknown, target)
	c.owned[inode] = true
	for len(table) <= n {
		table = append(table, 0)
	}
	table[n] = inode
	return table
}

func readNumbers(directory string) (numbers []int, err error) {
	d, err := os.Open(directory)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers, err
}

// The states of sockets that are connected, and not waiting without a process for their end
// (include/net/tcp_states.h): TCP_ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT, LAST_ACK, CLOSING.
const connectedStates = 1<<1 | 1<<4 | 1<<5 | 1<<8 | 1<<9 | 1<<11
