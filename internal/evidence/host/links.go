package host

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"assay/internal/base/bounded"
)

// Links is what the network interfaces of the machine had carried at a moment; loopback, which has no
// limit of its own, is left out.
type Links struct {
	at    time.Time
	links map[string]link
}

type link struct {
	received, sent uint64
	bytesPerS      float64 // its speed; 0: it does not tell it, as virtual ones
}

// ReadLinks reads the interfaces; there are none where the kernel does not tell of them.
func ReadLinks() Links { return readLinks(kernelRoots) }

func readLinks(r roots) Links {
	l := Links{at: time.Now(), links: map[string]link{}}
	proc, err := procfs.NewFS(r.proc)
	if err != nil {
		return l
	}
	all, err := proc.NetDev()
	if err != nil {
		return l
	}
	for name, of := range all {
		if name == "lo" {
			continue
		}
		l.links[name] = link{of.RxBytes, of.TxBytes, linkSpeed(r, name)}
	}
	return l
}

// linkSpeed is the speed of an interface in bytes a second; 0: not known.
func linkSpeed(r roots, name string) float64 {
	text, err := bounded.Kernel(filepath.Join(r.sys, "class", "net", name, "speed"))
	if err != nil {
		return 0 // virtual, or down: reading it fails
	}
	megabits, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || megabits <= 0 {
		return 0
	}
	return float64(megabits) * 1e6 / 8
}

// Since returns what was carried between two readings, over so many seconds: the share of its speed that
// the busiest interface used, and the bytes a second of the one that carried most. Both are of the
// busier direction. Nil: there is no interface, or none that tells its speed.
func (l Links) Since(now Links, seconds float64) (busy, bytesPerS *float64) {
	if seconds <= 0 {
		return nil, nil
	}
	for name, after := range now.links {
		before, known := l.links[name]
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
