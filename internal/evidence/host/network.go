package host

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/bounded"
)

// Series of the network between the worker and its servers.
const (
	NetworkReceived   = "network.received"
	NetworkSent       = "network.sent"
	NetworkCapacity   = "network.capacity"
	NetworkRTT        = "network.rtt"
	NetworkRTTMax     = "network.rtt_max"
	NetworkResent     = "network.resent"
	NetworkSegments   = "network.segments"
	NetworkOverflows  = "network.overflows"
	NetworkDelayedACK = "network.delayed_acks"
)

// readPath tells what the connections that were just listed know of their path.
func (t *telemetry) readPath(v values) {
	c := &t.connections
	var micros []uint32
	now := make(map[uint32]uint32, len(c.path))
	for _, s := range c.path {
		if s.asked {
			micros = append(micros, s.rttMicros)
			now[s.inode] = s.retransmits
			c.retransmits += uint64(s.retransmits - min(c.resent[s.inode], s.retransmits))
		}
	}
	c.resent = now
	if len(micros) == 0 {
		return
	}
	slices.Sort(micros)
	v.gauge(NetworkRTT, float64(micros[len(micros)/2])/1e3)
	v.gauge(NetworkRTTMax, float64(micros[len(micros)-1])/1e3)
	v.rate(NetworkResent, float64(c.retransmits))
}

// readNetwork reads the interface on the way to the servers, and what the kernel counts of TCP, of
// all processes of this network namespace.
func (t *telemetry) readNetwork(v values) {
	c := &t.connections
	if len(c.servers) == 0 {
		return
	}
	if c.link == "" && c.linkWhy == nil {
		c.link, c.linkWhy = linkTo(c.servers[0])
	}
	if c.linkWhy != nil {
		v.missing(c.linkWhy, linkSeries...)
	} else {
		t.readLink(v, c.link)
	}
	t.readTCP(v)
}

func (t *telemetry) readLink(v values, name string) {
	all, err := readInterfaces(t.roots)
	of, there := all[name]
	if !there {
		v.missing(errors.Join(fmt.Errorf("the kernel does not report what the interface %s carries", name), err), linkSeries...)
		return
	}
	v.rate(NetworkReceived, float64(of.received))
	v.rate(NetworkSent, float64(of.sent))
	v.rate("network.packets_received", float64(of.receivedPackets))
	v.rate("network.packets_sent", float64(of.sentPackets))
	v.rate("network.dropped", float64(of.dropped))
	speed := linkSpeed(t.roots, name)
	if speed == 0 {
		v.missing(fmt.Errorf("the interface %s does not report its speed", name), NetworkCapacity)
		return
	}
	v.gauge(NetworkCapacity, speed)
}

// linkSeries are those of an interface.
var linkSeries = []string{NetworkReceived, NetworkSent, "network.packets_received", "network.packets_sent",
	"network.dropped", NetworkCapacity}

// tcpCounters are series by file of /proc/net and name there. Both files have a line of names and, below
// it, one of values, each behind the protocol's own name.
var tcpCounters = []struct{ file, protocol, name, series string }{
	{"snmp", "Tcp", "OutSegs", NetworkSegments},
	{"netstat", "TcpExt", "ListenOverflows", NetworkOverflows},
	{"netstat", "TcpExt", "DelayedACKs", NetworkDelayedACK},
}

func (t *telemetry) readTCP(v values) {
	for _, file := range []string{"snmp", "netstat"} {
		text, err := bounded.Kernel(filepath.Join(t.roots.proc, "net", file))
		counts := protocolCounts(string(text))
		for _, c := range tcpCounters {
			if c.file != file {
				continue
			}
			if n, told := counts[c.protocol+" "+c.name]; told && err == nil {
				v.rate(c.series, n)
			} else {
				v.missing(errors.Join(fmt.Errorf("/proc/net/%s has no %s", file, c.name), err), c.series)
			}
		}
	}
}

// protocolCounts reads pairs of lines, "Tcp: Name Name" and "Tcp: 1 2".
func protocolCounts(text string) map[string]float64 {
	counts := map[string]float64{}
	var names []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if names == nil || names[0] != fields[0] || len(names) != len(fields) {
			names = fields
			continue
		}
		for i, field := range fields[1:] {
			if n, err := strconv.ParseFloat(field, 64); err == nil {
				counts[strings.TrimSuffix(fields[0], ":")+" "+names[i+1]] = n
			}
		}
		names = nil
	}
	return counts
}

// linkTo finds the interface from which an address is reached: that which has the address that the kernel
// would send from. Nothing is sent.
func linkTo(server netip.AddrPort) (name string, err error) {
	connection, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(server))
	if err != nil {
		return "", fmt.Errorf("find the interface on the way to %s: %w", server, err)
	}
	local := connection.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap().WithZone("")
	if err := connection.Close(); err != nil {
		return "", err
	}
	links, err := net.Interfaces()
	if err != nil {
		return "", fmt.Errorf("find the interface on the way to %s: %w", server, err)
	}
	for _, link := range links {
		addresses, err := link.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addresses {
			prefix, err := netip.ParsePrefix(a.String())
			if err == nil && prefix.Addr().Unmap().WithZone("") == local || err == nil && local.IsLoopback() && prefix.Contains(local) {
				return link.Name, nil
			}
		}
	}
	return "", fmt.Errorf("no interface has the address %s, from which %s is reached", local, server)
}
