package host

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
)

// Parts of inet_diag_req and inet_diag_msg (include/uapi/linux/inet_diag.h). The newer request,
// inet_diag_req_v2, asks for one family alone: the kernel would walk its table twice.
const (
	tcpDiagGetSock   = 18
	diagRequestBytes = 60
	diagAskedPortAt  = 6
	diagStatesAt     = 52
	diagMessageBytes = 72
	diagLocalPortAt  = 4
	diagRemotePortAt = 6
	diagLocalAt      = 8
	diagRemoteAt     = 24
	diagInodeAt      = 68

	diagExtensionAt   = 3
	diagInfo          = 2   // INET_DIAG_INFO: the attribute that holds tcp_info
	tcpRTTAt          = 68  // of tcp_info (include/uapi/linux/tcp.h), us
	tcpRetransmitsAt  = 100 // tcpi_total_retrans
	tcpInfoBytesLeast = 104
)

// Parts of unix_diag_req and unix_diag_msg (include/uapi/linux/unix_diag.h). Attributes follow the
// message: each is its length and its type, 2 bytes each, and what it says.
const (
	diagByFamily         = 20
	unixRequestBytes     = 24
	unixStatesAt         = 4
	unixShowAt           = 12
	unixMessageBytes     = 16
	unixInodeAt          = 4
	unixShowNameFilePeer = 1 | 2 | 4
	unixName             = 0
	unixFile             = 1 // inode and device of the path
	unixPeer             = 2 // inode of the socket at the other end
	attributeHeadBytes   = 4
)

// diagPatience is far more than the kernel takes for a table of 100,000 sockets.
const diagPatience = 5 * time.Second

// tcpSocket is a TCP socket as the kernel lists it.
type tcpSocket struct {
	local, remote netip.AddrPort
	inode         uint32

	asked       bool // whether the kernel reported the following
	rttMicros   uint32
	retransmits uint32 // segments that were sent again since it was opened
}

// eachSocket visits the TCP sockets of this network namespace that are in one of some states, and
// connected to a port; 0: to any, or none. It asks the kernel by sock_diag(7): /proc/net/tcp is text,
// and has both ends of each connection of the last minute. IPv6 sockets at IPv4 addresses are among
// them, by these. With info it asks for what each tells of its path as well.
func eachSocket(states uint32, port uint16, info bool, visit func(tcpSocket)) error {
	asked := make([]byte, diagRequestBytes)
	if info {
		asked[diagExtensionAt] = 1 << (diagInfo - 1)
	}
	binary.NativeEndian.PutUint32(asked[diagStatesAt:], states)
	binary.BigEndian.PutUint16(asked[diagAskedPortAt:], port)
	return askSockets(tcpDiagGetSock, asked, func(message []byte) {
		if len(message) >= diagMessageBytes {
			s := tcpSocket{
				local:  endOf(message, diagLocalAt, diagLocalPortAt),
				remote: endOf(message, diagRemoteAt, diagRemotePortAt),
				inode:  binary.NativeEndian.Uint32(message[diagInodeAt:]),
			}
			eachAttribute(message[diagMessageBytes:], s.readInfo)
			visit(s)
		}
	})
}

// unixSocket is a Unix socket as the kernel lists it. One that a server has accepted has the name and
// the file of the socket that it listened at.
type unixSocket struct {
	inode       uint32
	name        string // as it was bound, which may be by a relative path
	file        uint32 // inode of the path; 0: none
	fileDevice  uint32
	peer        uint32 // inode of the socket at the other end; 0: none
	accepts     bool   // it listens
	isConnected bool
}

// eachUnixSocket visits the Unix sockets of this network namespace that listen or are connected.
func eachUnixSocket(visit func(unixSocket)) error {
	asked := make([]byte, unixRequestBytes)
	native := binary.NativeEndian
	asked[0] = unix.AF_UNIX
	native.PutUint32(asked[unixStatesAt:], 1<<tcpListen|1<<tcpEstablished)
	native.PutUint32(asked[unixShowAt:], unixShowNameFilePeer)
	return askSockets(diagByFamily, asked, func(message []byte) {
		if len(message) < unixMessageBytes {
			return
		}
		s := unixSocket{inode: native.Uint32(message[unixInodeAt:]), accepts: message[2] == tcpListen,
			isConnected: message[2] == tcpEstablished}
		eachAttribute(message[unixMessageBytes:], func(kind uint16, what []byte) {
			switch {
			case kind == unixName:
				name, _, _ := bytes.Cut(what, []byte{0})
				s.name = string(name)
			case kind == unixFile && len(what) >= 8:
				s.file, s.fileDevice = native.Uint32(what), native.Uint32(what[4:])
			case kind == unixPeer && len(what) >= 4:
				s.peer = native.Uint32(what)
			}
		})
		visit(s)
	})
}

// eachAttribute visits the attributes of a message of netlink(7).
func eachAttribute(rest []byte, visit func(kind uint16, what []byte)) {
	for len(rest) >= attributeHeadBytes {
		length := int(binary.NativeEndian.Uint16(rest))
		if length < attributeHeadBytes || length > len(rest) {
			return
		}
		visit(binary.NativeEndian.Uint16(rest[2:]), rest[attributeHeadBytes:length])
		rest = rest[min(aligned(length), len(rest)):]
	}
}

func aligned(length int) int { return (length + linux.NLMSG_ALIGNTO - 1) &^ (linux.NLMSG_ALIGNTO - 1) }

// askSockets asks the kernel for a list of sockets, and visits each message of its answer, which are of
// the kind that was asked for.
func askSockets(kind uint16, asked []byte, visit func(message []byte)) error {
	socket, err := unix.Socket(linux.AF_NETLINK, unix.SOCK_RAW|linux.SOCK_CLOEXEC, linux.NETLINK_SOCK_DIAG)
	if err != nil {
		return fmt.Errorf("open sock_diag: %w", err)
	}
	defer unix.Close(socket)
	patience := unix.NsecToTimeval(int64(diagPatience))
	if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience); err != nil {
		return fmt.Errorf("open sock_diag: %w", err)
	}
	request := make([]byte, linux.NLMSG_HDRLEN, linux.NLMSG_HDRLEN+len(asked))
	native := binary.NativeEndian
	native.PutUint32(request, uint32(cap(request)))
	native.PutUint16(request[4:], kind)
	native.PutUint16(request[6:], linux.NLM_F_REQUEST|linux.NLM_F_DUMP)
	if err := unix.Sendto(socket, append(request, asked...), 0,
		&linux.SockaddrNetlink{Family: linux.AF_NETLINK}); err != nil {
		return fmt.Errorf("ask sock_diag: %w", err)
	}
	answer := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(socket, answer, 0)
		if errors.Is(err, unix.EINTR) { // the runtime's own signals
			continue
		}
		if err != nil {
			return fmt.Errorf("read sock_diag: %w", err)
		}
		for rest := answer[:n]; len(rest) >= linux.NLMSG_HDRLEN; {
			length := int(native.Uint32(rest))
			if length < linux.NLMSG_HDRLEN || length > len(rest) {
				return errors.New("read sock_diag: a message of a wrong length")
			}
			message := rest[linux.NLMSG_HDRLEN:length]
			switch native.Uint16(rest[4:]) {
			case linux.NLMSG_DONE:
				return nil
			case linux.NLMSG_ERROR:
				if len(message) < 4 {
					return errors.New("ask sock_diag: it refuses")
				}
				return fmt.Errorf("ask sock_diag: %w", unix.Errno(-int32(native.Uint32(message))))
			case kind:
				visit(message)
			}
			rest = rest[min(aligned(length), len(rest)):]
		}
	}
}

// readInfo reads an attribute, if it is tcp_info.
func (s *tcpSocket) readInfo(kind uint16, what []byte) {
	if kind == diagInfo && len(what) >= tcpInfoBytesLeast {
		native := binary.NativeEndian
		s.asked, s.rttMicros, s.retransmits =
			true, native.Uint32(what[tcpRTTAt:]), native.Uint32(what[tcpRetransmitsAt:])
	}
}

// endOf returns the address and the port that stand at these places of a message.
func endOf(message []byte, at, portAt int) netip.AddrPort {
	bytes := message[at : at+16]
	if message[0] == unix.AF_INET {
		bytes = bytes[:4]
	}
	address, _ := netip.AddrFromSlice(bytes) // of 4 or 16 bytes
	return netip.AddrPortFrom(address.Unmap(), binary.BigEndian.Uint16(message[portAt:]))
}
