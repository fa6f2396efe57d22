package host

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"assay/internal/base/bounded"
)

// Links is what the network interfaces of the machine had carried at a moment; loopback, which has no
// limit of its own, is left out.
type Links map[string]link

// link is what an interface had carried.
type link struct {
	received, sent               uint64 // bytes
	receivedPackets, sentPackets uint64
	dropped                      uint64  // packets, of both directions
	bytesPerS                    float64 // its speed; 0: it does not report it, as virtual ones
}

// ReadLinks reads the interfaces; there are none where the kernel does not report them.
func ReadLinks() Links { return readLinks(kernelRoots) }

func readLinks(r roots) Links {
	all, err := readInterfaces(r)
	if err != nil {
		return nil
	}
	delete(all, "lo")
	for name, of := range all {
		of.bytesPerS = linkSpeed(r, name)
		all[name] = of
	}
	return all
}

// readInterfaces reads all interfaces of this network namespace, but for their speeds, which stand in files
// of their own.
func readInterfaces(r roots) (map[string]link, error) {
	proc, err := procfs.NewFS(r.proc)
	if err != nil {
		return nil, err
	}
	all, err := proc.NetDev()
	if err != nil {
		return nil, err
	}
	links := make(map[string]link, len(all))
	for name, of := range all {
		links[name] = link{received: of.RxBytes, sent: of.TxBytes, receivedPackets: of.RxPackets,
			sentPackets: of.TxPackets, dropped: of.RxDropped + of.TxDropped}
	}
	return links, nil
}

// linkSpeed is the speed of an interface in bytes a second; 0: not known.
func linkSpeed(r roots, name string) float64 {
	text, err := bounded.Kernel(filepath.Join(r.sys, "class", "net", name, "speed"))
	if err != nil {
		return 0 // virtual, or down: reading it fails
	}
	megabits, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil || !(megabits > 0) {
		return 0
	}
	return megabits * 1e6 / 8
}

// Since returns what was carried between two readings, over so many seconds: the share of its speed that
// the busiest interface used, and the bytes a second of the one that carried most. Both are of the
// busier direction. Nil: there is no interface, or none that tells its speed.
func (l Links) Since(now Links, seconds float64) (busy, bytesPerS *float64) {
	if seconds <= 0 {
		return nil, nil
	}
	for name, after := range now {
		before, known := l[name]
		if !known || after.received < before.received || after.sent < before.sent {
			continue
		}
		carried := float64(max(after.received-before.received, after.sent-before.sent)) / seconds
		if bytesPerS == nil || carried > *bytesPerS {
			bytesPerS = &carried
		}
		if share := carried / after.bytesPerS; after.bytesPerS > 0 && (busy == nil || share > *busy) {
			busy = &share
		}
	}
	return busy, bytesPerS
}
