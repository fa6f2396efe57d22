package host

import (
	"path/filepath"
	"strconv"
	"strings"

	"assay/internal/base/bounded"
)

// Energy is what the processors of the machine had used up at a moment, by package, as RAPL counts it.
type Energy map[string]energy

// energy is a counter in microjoules, which begins again at 0 after most.
type energy struct{ used, most uint64 }

// ReadEnergy reads the counters of all packages. There are none where the kernel has no RAPL, as in most
// virtual machines, and where this user may not read it: Linux lets root alone.
func ReadEnergy() Energy { return readEnergy(kernelRoots) }

func readEnergy(r roots) Energy {
	zones, err := filepath.Glob(filepath.Join(r.sys, "class", "powercap", "intel-rapl:*"))
	if err != nil {
		return nil
	}
	all := Energy{}
	for _, zone := range zones {
		// Parts of a package, such as core and dram, and psys, which has packages in it, count twice.
		name, err := bounded.Kernel(filepath.Join(zone, "name"))
		if err != nil || !strings.HasPrefix(string(name), "package") {
			continue
		}
		used, isCounter := microjoules(zone, "energy_uj")
		most, isBounded := microjoules(zone, "max_energy_range_uj")
		if isCounter && isBounded {
			all[zone] = energy{used, most}
		}
	}
	return all
}

func microjoules(zone, name string) (n uint64, known bool) {
	text, err := bounded.Kernel(filepath.Join(zone, name))
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// Since returns the mean power in watts between two readings, over so many seconds: of all packages, with
// whatever else ran on them; nil: not measured. A counter began again once at most.
func (e Energy) Since(now Energy, seconds float64) *float64 {
	if seconds <= 0 || len(e) == 0 || len(e) != len(now) {
		return nil
	}
	sum := 0.0
	for zone, after := range now {
		before, known := e[zone]
		if !known {
			return nil
		}
		if after.used >= before.used {
			sum += float64(after.used - before.used)
		} else {
			sum += float64(before.most-min(before.used, before.most)) + float64(after.used)
		}
	}
	watts := sum / 1e6 / seconds
	return &watts
}
