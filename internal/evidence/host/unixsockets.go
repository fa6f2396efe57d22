package host

import (
	"path/filepath"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"assay/store"
)

// tcpEstablished is the state of a connected socket (include/net/tcp_states.h), which those of Unix
// sockets share.
const tcpEstablished = 0x01

// socketFile is the Unix socket of an endpoint, as the kernel knows it. A socket may be bound by another
// path than the endpoint's: a relative one, or one through a symbolic link.
type socketFile struct {
	paths         []string // the endpoint, and what it leads to
	inode, device uint32   // 0: the path is none
	endpoint      int      // position among the endpoints
}

// socketFiles returns those of the endpoints that are Unix sockets.
func socketFiles(endpoints []string) (files []socketFile) {
	for i, endpoint := range endpoints {
		if store.Network(endpoint) != "unix" {
			continue
		}
		f := socketFile{paths: []string{endpoint}, endpoint: i}
		if leads, err := filepath.EvalSymlinks(endpoint); err == nil {
			f.paths = append(f.paths, leads)
		}
		var at unix.Stat_t
		if unix.Stat(endpoint, &at) == nil {
			// The kernel reports the low half of the inode, and the device as it has it itself.
			f.inode, f.device = uint32(at.Ino), unix.Major(uint64(at.Dev))<<20|unix.Minor(uint64(at.Dev))
		}
		files = append(files, f)
	}
	return files
}

// has reports whether a socket is bound there, or was accepted there.
func (f socketFile) has(s unixSocket) bool {
	return s.name != "" && slices.Contains(f.paths, s.name) || f.inode != 0 && s.file == f.inode && s.fileDevice == f.device
}

// addListening adds the sockets that listen at Unix sockets to those of [listening].
func addListening(endpoints []string, sockets map[string][]int) {
	files := socketFiles(endpoints)
	if len(files) == 0 {
		return
	}
	add := func(s unixSocket) {
		for _, f := range files {
			if s.accepts && f.has(s) {
				sockets[socketLink(s.inode)] = append(sockets[socketLink(s.inode)], f.endpoint)
			}
		}
	}
	if eachUnixSocket(add) == nil {
		return
	}
	proc, err := procfs.NewDefaultFS() // unix_diag is a module, which containers may lack
	if err != nil {
		return
	}
	table, err := proc.NetUNIX()
	if err != nil {
		return
	}
	for _, row := range table.Rows {
		add(unixSocket{inode: uint32(row.Inode), name: row.Path, accepts: row.Flags&acceptsFlag != 0})
	}
}

// acceptsFlag is __SO_ACCEPTCON (include/linux/net.h), by which /proc/net/unix tells sockets that listen.
const acceptsFlag = 1 << 16

// socketLink is what the descriptor of a process that holds a socket links to.
func socketLink(inode uint32) string {
	return "socket:[" + strconv.FormatUint(uint64(inode), 10) + "]"
}

// connectedByFile adds the sockets that are connected to Unix sockets to those of [connections.connected].
func (c *connections) connectedByFile(inodes []uint32) ([]uint32, error) {
	if len(c.files) == 0 {
		return inodes, nil
	}
	err := eachUnixSocket(func(s unixSocket) {
		for _, f := range c.files {
			if s.isConnected && s.peer != 0 && f.has(s) {
				inodes = append(inodes, s.peer) // the client's end, which has no name
				c.at[f.endpoint]++
			}
		}
	})
	return inodes, err
}
