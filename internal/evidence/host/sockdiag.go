package host

import (
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

// diagPatience is far more than the kernel takes for a table of 100,000 sockets.
const diagPatience = 5 * time.Second

// tcpSocket is a TCP socket as the kernel lists it.
type tcpSocket struct {
	local, remote netip.AddrPort
	inode         uint32

	asked       bool // whether the kernel told the following
	rttMicros   uint32
	retransmits uint32 // segments that were sent again since it was opened
}

// eachSocket visits the TCP sockets of this network namespace that are in one of some states, and
// connected to a port; 0: to any, or none. It asks the kernel by sock_diag(7): /proc/net/tcp is text,
// and has both ends of each connection of the last minute. IPv6 sockets at IPv4 addresses are among
// them, by these. With info it asks for what each tells of its path as well.
func eachSocket(states uint32, port uint16, info bool, visit func(tcpSocket)) error {
	socket, err := unix.Socket(linux.AF_NETLINK, unix.SOCK_RAW|linux.SOCK_CLOEXEC, linux.NETLINK_SOCK_DIAG)
	if err != nil {
		return fmt.Errorf("open sock_diag: %w", err)
	}
	defer unix.Close(socket)
	patience := unix.NsecToTimeval(int64(diagPatience))
	if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience); err != nil {
		return fmt.Errorf("open sock_diag: %w", err)
	}
	request := make([]byte, linux.NLMSG_HDRLEN+diagRequestBytes)
	native := binary.NativeEndian
	native.PutUint32(request, uint32(len(request)))
	native.PutUint16(request[4:], tcpDiagGetSock)
	native.PutUint16(request[6:], linux.NLM_F_REQUEST|linux.NLM_F_DUMP)
	asked := request[linux.NLMSG_HDRLEN:]
	native.PutUint32(asked[diagStatesAt:], states)
	if info {
		asked[diagExtensionAt] = 1 << (diagInfo - 1)
	}
	binary.BigEndian.PutUint16(asked[diagAskedPortAt:], port)
	if err := unix.Sendto(socket, request, 0, &linux.SockaddrNetlink{Family: linux.AF_NETLINK}); err != nil {
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
			case tcpDiagGetSock:
				if len(message) >= diagMessageBytes {
					s := tcpSocket{
						local:  endOf(message, diagLocalAt, diagLocalPortAt),
						remote: endOf(message, diagRemoteAt, diagRemotePortAt),
						inode:  native.Uint32(message[diagInodeAt:]),
					}
					s.readInfo(message[diagMessageBytes:])
					visit(s)
				}
			}
			rest = rest[min((length+linux.NLMSG_ALIGNTO-1)&^(linux.NLMSG_ALIGNTO-1), len(rest)):]
		}
	}
}

// readInfo reads tcp_info, where it is among the attributes of a message.
func (s *tcpSocket) readInfo(attributes []byte) {
	const header = 4
	native := binary.NativeEndian
	for len(attributes) >= header {
		length := int(native.Uint16(attributes))
		if length < header || length > len(attributes) {
			return
		}
		if value := attributes[header:length]; native.Uint16(attributes[2:]) == diagInfo && len(value) >= tcpInfoBytesLeast {
			s.asked, s.rttMicros, s.retransmits = true, native.Uint32(value[tcpRTTAt:]), native.Uint32(value[tcpRetransmitsAt:])
			return
		}
		attributes = attributes[min((length+linux.NLMSG_ALIGNTO-1)&^(linux.NLMSG_ALIGNTO-1), len(attributes)):]
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
