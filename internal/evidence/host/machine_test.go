package host

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The kernel's files are described in words; what is not there is left out, and not guessed.
func TestMachineIsReadOfTheKernelsFiles(t *testing.T) {
	for name, c := range map[string]struct{ files, want map[string]string }{
		"a server": {
			map[string]string{
				"sys/devices/system/cpu/smt/active": "1", "sys/devices/system/cpu/intel_pstate/no_turbo": "1",
				"sys/devices/system/node/node0/x": "", "sys/devices/system/node/node1/x": "", "sys/devices/system/node/possible": "0-1",
				"sys/devices/system/cpu/vulnerabilities/mds": "Mitigation: Clear", "sys/devices/system/cpu/vulnerabilities/l1tf": "Vulnerable",
				"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
				"proc/meminfo":           "MemTotal: 16 kB\nSwapTotal:  2097152 kB\nHugePages_Total:      10\nHugepagesize:       2048 kB\n",
				"proc/sys/vm/swappiness": "60", "proc/cpuinfo": "processor: 0\nflags\t\t: fpu vme\n",
			},
			map[string]string{"SMT": "on", "turbo": "off", "NUMA nodes": "2", "mitigations": "none against l1tf", "transparent huge pages": "madvise",
				"swap": "2.15 GB", "huge pages": "21.0 MB", "swappiness": "60", "hypervisor": "none", "CPU limit": "none"},
		},
		"a guest": {
			map[string]string{
				"sys/devices/system/cpu/smt/active": "0", "sys/devices/system/cpu/cpufreq/boost": "1", "sys/devices/system/cpu/vulnerabilities/mds": "Not affected",
				"proc/cpuinfo": "processor: 0\nflags\t\t: fpu hypervisor\n", "sys/class/dmi/id/sys_vendor": "QEMU", "sys/class/dmi/id/product_name": "Standard PC",
			},
			map[string]string{"SMT": "off", "turbo": "on", "mitigations": "on", "hypervisor": "QEMU Standard PC", "CPU limit": "none"},
		},
		"no file": {nil, map[string]string{"CPU limit": "none"}},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got := machineOf(roots{filepath.Join(root, "proc"), filepath.Join(root, "sys")}, root, 1)
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The disk of this machine, if the directory has one, is described as the kernel describes it.
func TestMachineHere(t *testing.T) {
	got := machineOf(kernelRoots, t.TempDir(), os.Getpid())
	disk := deviceOf(kernelRoots, t.TempDir()).disk
	if disk == "" {
		t.Skip("SKIPPED: the directory is on no disk")
	}
	rotates := map[string]string{"1": "yes", "0": "no"}[strings.TrimSpace(readString("/sys/block/"+disk+"/queue/rotational"))]
	if got["disk rotates"] != rotates || rotates == "" {
		t.Errorf("disk %s rotates: %q, the kernel says %q", disk, got["disk rotates"], rotates)
	}
}

func TestMachineChanges(t *testing.T) {
	was := Environment{Machine: map[string]string{"SMT": "on", "swap": "0 B", "turbo": "on"}}
	now := Environment{Machine: map[string]string{"SMT": "off", "swap": "0 B", "disk scheduler": "none"}}
	if names := MachineChanges(was, now); !slices.Equal(names, []string{"SMT", "disk scheduler", "turbo"}) {
		t.Errorf("%q", names)
	}
	if changes := Changes(was, now); !slices.Equal(changes, []string{"SMT: on → off", "disk scheduler: not known → none", "turbo: on → not known"}) {
		t.Errorf("%q", changes)
	}
	if names := MachineChanges(Environment{}, now); len(names) > 0 {
		t.Errorf("of a run that is older than the field: %q", names)
	}
}
