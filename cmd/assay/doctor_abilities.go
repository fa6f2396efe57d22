package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/base/bounded"
	"assay/internal/base/owned"
	"assay/internal/evidence/host"
	"assay/internal/execution/powercut"
)

// ability is something that an experiment may ask of the machine, and what came of trying it here.
type ability struct {
	name   string // of its line
	state  string // what works, or that it does not
	lacks  string // a sentence: what can't be done, and why; "": all works
	remedy string
}

func (a ability) told() diagnosedAble { return diagnosedAble{a.name, a.state, a.lacks, a.remedy} }

// abilitiesOf tries what experiments may ask for. What it makes in directory, it removes.
func abilitiesOf(directory string) []ability {
	return []ability{
		memoryLimitAbility(host.CheckMemoryLimit()),
		quotaAbility(host.CheckQuotaMount(directory)),
		powerCutAbility(checkPowerCut(directory, powercut.DefaultFileSystem), checkPowerCut(directory,
			powercut.Strict)),
		coldAbility(dropFreshPages(directory)),
		writesAbility(host.CheckWriteCount(directory)),
		syncsAbility(host.CheckSyncCalls(directory)),
		nativeAbility(unusable(natives)),
		jvmAbility(unusable(jvmPrograms)),
		rustAbility(cargoVersion()),
	}
}

func memoryLimitAbility(err error) ability {
	a := ability{name: "memory limit", state: "can be set"}
	if err != nil {
		a.state = "can't be set"
		a.lacks = "Experiments with a memory_limit are refused: " + err.Error() + "."
		a.remedy = "Follow that message, or run without a limit: --memory-limit none."
	}
	return a
}

func quotaAbility(by, whyNotLoop string, err error) ability {
	a := ability{name: "disk quota", state: "mount (ext4 over a loop device) and stop"}
	switch {
	case err != nil:
		a.state = "stop only"
		a.lacks = "Experiments with disk_quota_by: mount are refused: " + err.Error() + "."
		a.remedy = "Run as root with e2fsprogs (in a container: --privileged), or use disk_quota_by: stop."
	case by == host.QuotaTmpfs:
		a.state = "mount (in memory only: tmpfs) and stop"
		a.lacks = "disk_quota_by: mount uses memory here: syncs are free, and memory_limit is refused with it. No loop device: " + whyNotLoop + "."
		a.remedy = "Run where loop devices can be set up (in a container: --privileged), or use disk_quota_by: stop."
	}
	return a
}

// checkPowerCut tries a power-cut rig with a file system.
func checkPowerCut(directory, fileSystem string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return powercut.Check(directory, fileSystem, "", []string{self, rigCommandName})
}

func powerCutAbility(err, strictErr error) ability {
	a := ability{name: "power cuts", state: "can be made: FUSE, a loop device and ext4 on it"}
	if err == nil {
		return a
	}
	a.lacks = "assay crash --kind power on ext4, xfs and btrfs is refused: " + err.Error() + "."
	a.remedy = "Run as root with /dev/fuse and e2fsprogs (in a container: --privileged). "
	if strictErr == nil {
		a.state = "can be made strictly by POSIX alone: FUSE"
		a.remedy += "--fs posix and --kind kill work without it."
		return a
	}
	a.state = "can't be made"
	a.lacks += " On posix too: " + strictErr.Error() + "."
	a.remedy += "Without root, --fs posix needs a /dev/fuse that the user may open, and fusermount3 (apt-get install fuse3). --kind kill works without it."
	return a
}

// freshBytes is how much is written to see if it can be taken out of the page cache again.
const freshBytes = 1 << 20

// dropFreshPages writes a file below directory and drops its pages.
func dropFreshPages(directory string) (left host.PageCache, err error) {
	place, err := owned.NewDirectory(directory, "cold")
	if err != nil {
		return left, err
	}
	defer func() { err = errors.Join(err, place.Remove()) }()
	if err := os.WriteFile(filepath.Join(place.Path, "pages"), make([]byte, freshBytes), 0o600); err != nil {
		return left, err
	}
	return host.DropPages(place.Path)
}

func coldAbility(left host.PageCache, err error) ability {
	a := ability{name: "cold caches", state: "supported: pages can be dropped"}
	switch {
	case err != nil:
		a.state = "not supported"
		a.lacks = "Experiments with cache: cold fail here: " + err.Error() + "."
		a.remedy = "Name another directory with --data."
	case left.ResidentBytes > 0:
		a.state = fmt.Sprintf("pages stay: %d of %d KiB", left.ResidentBytes>>10, left.FileBytes>>10)
		a.lacks = "With cache: cold, files here stay in memory; the report says so."
		a.remedy = "Name a directory on a disk with --data."
	}
	return a
}

func writesAbility(perByte *float64, why string) ability {
	a := ability{name: "host writes", state: "not measured"}
	if perByte != nil {
		a.state = fmt.Sprintf("measured: the kernel counts %.3g bytes for each byte written", *perByte)
	}
	if why != "" {
		a.state = "not measured"
		a.lacks = "Host writes and write amplification are not measured here: " + why + "."
		a.remedy = "disk_quota_by: mount gives each trial a loop device with an exact counter."
	}
	return a
}

func syncsAbility(err error) ability {
	a := ability{name: "sync calls", state: "counted by the kernel's tracepoints"}
	if err != nil {
		a.state = "not counted"
		a.lacks = "What a store says to have synced is held against the disk's own counters alone: " + err.Error() + "."
		a.remedy = "Run as root on ext4, XFS or btrfs (in a container: --privileged), or let the user read a tracefs: mount -t tracefs tracefs /sys/kernel/tracing."
	}
	return a
}

func unusable(programs []sideProgram) (missing []sideProgram) {
	return slices.DeleteFunc(slices.Clone(programs), sideProgram.usable)
}

// jvmAbility tells of the clients for the JVM: one install line helps all that are missing.
func jvmAbility(missing []sideProgram) ability {
	a := ability{name: "JVM", state: fmt.Sprintf("%d of %d workers built", len(jvmPrograms)-len(missing), len(jvmPrograms))}
	if len(missing) > 0 {
		names := make([]string, len(missing))
		for i, n := range missing {
			names[i] = n.program
		}
		a.lacks = "These workers for the JVM can't be used: " + strings.Join(names, ", ") + "."
		a.remedy = missing[0].remedy() + "."
	}
	return a
}

func nativeAbility(missing []sideProgram) ability {
	a := ability{name: "native", state: fmt.Sprintf("%d of %d workers built", len(natives)-len(missing), len(natives))}
	if len(missing) > 0 {
		names := make([]string, len(missing))
		for i, n := range missing {
			names[i] = n.program
		}
		a.lacks = "These native workers are not built: " + strings.Join(names, ", ") + "."
		a.remedy = "Run make native; assay drivers shows what each one needs."
	}
	return a
}

// cargoPatience is how long the Rust toolchain may take to say its version.
const cargoPatience = 5 * time.Second

// cargoVersion returns what cargo says of itself: "cargo 1.90.0 (…)".
func cargoVersion() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), cargoPatience)
	defer cancel()
	version, err := bounded.Output(exec.CommandContext(ctx, "cargo", "--version"))
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(version)), nil
}

func rustAbility(version string, err error) ability {
	a := ability{name: "Rust", state: version}
	redb, _ := hostedOf("redb")
	switch {
	case err == nil:
	case redb.built():
		a.state = "no toolchain; redb's worker is built"
	default:
		a.state = "no toolchain"
		a.lacks = "The worker of redb can't be built: " + err.Error() + "."
		a.remedy = "apt-get install " + redb.packages + ", then make native."
	}
	return a
}
