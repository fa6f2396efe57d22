// Package host tells what the machine is and what it is doing: the environment that is sealed with
// a run, what a trial's processes use while they run, and a memory limit that counts the page
// cache. It knows Linux only.
//
// Sealed with a run:
//
//	environment.go  the machine and the programs; cpumodel_linux.go: its processor
//	machine.go      settings that are known to change figures
//	build.go        Assay's own version and libraries; loaded.go: the worker's files by digest
//	wakeup.go, disk.go  what it takes to wake a thread, and to sync
//
// What uses it while a trial runs:
//
//	sampler.go, process.go  a trial's processes, read together
//	catalogue.go    all series, with unit and meaning
//	telemetry.go    the series; telemetry_machine.go, telemetry_worker.go, telemetry_server.go: of whom
//	connections.go, unixsockets.go, sockdiag.go  a worker's connections; network.go: the way to its servers
//	links.go        what the interfaces of the machine carry
//	energy.go       what its processors use up
//	server.go, serverfiles.go, listener.go, listens.go  servers: their processes, files and addresses
//	container.go    what the cgroup of a server's container counts
//	syncs.go, synccalls.go, writecount.go, owndisk.go   syncs and writes, and what can be believed of them
//	pagecache.go    which of the files are cached
//
// Who else uses it:
//
//	bounds.go, users.go         foreign CPU time, and whose it is
//	throttle.go, confined.go    quotas, heat, and what other programs change
//	stopped.go, stopwatch.go    processes and machines that were stopped
//	rest.go         whether the machine is back where it was before a trial
//
// Limits that a trial is given: memory.go, cpus.go, files.go and quota_mount.go; room.go: those that
// change while its server runs.
//
// # Decisions
//
//   - A server on this machine is part of the trial. The processes that listen at a store's
//     endpoints are found in /proc, so that their CPU time is not foreign load.
package host

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/base/format"
	"assay/internal/base/mounts"
	"assay/internal/base/secret"
)

// Environment is the machine and the programs, sealed when the run begins: environment.json. "", 0
// or nil: not known.
type Environment struct {
	Assay   string            `json:"assay"`   // version and VCS revision
	Go      string            `json:"go"`      // version of Go that built it
	Modules map[string]string `json:"modules"` // library → version, from the build
	OS      string            `json:"os"`      // name of the distribution
	Kernel  string            `json:"kernel"`  // system, release and architecture
	CPU     string            `json:"cpu"`     // model of the first CPU
	CPUs    int               `json:"cpus"`    // that Assay may use

	Governor    string `json:"governor"`      // frequency governor of CPU 0
	ClockSource string `json:"clock_source"`  // the kernel's
	MemoryBytes uint64 `json:"memory_bytes"`  // of the machine
	Filesystem  string `json:"filesystem"`    // that holds the data directory
	Mount       string `json:"mount_options"` // of that file system
	Device      string `json:"device"`        // of that file system
	Container   string `json:"container"`     // the runtime, if its usual marks are there

	// The machine's settings, in words, as far as they can be read: SMT, turbo, "NUMA nodes", mitigations,
	// "transparent huge pages", "huge pages", swap, swappiness, hypervisor, disk (its model), "disk rotates",
	// "disk scheduler", "disk write cache", "disk read-ahead", "CPU limit" and "memory limit" (the least of
	// the cgroups' above Assay). `assay compare` names those that differ; a run is not resumed where one
	// does. Nil: of a run that is older than the field.
	Machine   map[string]string `json:"machine,omitempty"`
	Command   []string          `json:"command"`   // the command line as typed, but for secrets
	Directory string            `json:"directory"` // where data directories are made
	Host      string            `json:"host"`      // host name
	// µs: median of 20 appends of 4 KiB, each with fdatasync, in the data directory.
	SyncMicros float64 `json:"fdatasync_us"`
	// What waking a thread costs. Nil: not measured, or of a run that is older than the field.
	WakeUp *WakeUp `json:"wake_up,omitempty"`
	// Bytes that /proc/PID/io counts for each byte written in the data directory: 1 is true. See
	// docs/run-directory.md, "Host writes". Nil: it could not be tried.
	WriteCount *float64 `json:"write_count"`
	// Series of docs/run-directory/telemetry.csv → why this machine can't tell it.
	NotMeasured map[string]string `json:"not_measured,omitempty"`
	// Compressor → compressed size of 4 KiB blocks of values ÷ their size, measured. Nil where values have
	// several lengths, cell by cell.
	ValueRatio map[string]float64 `json:"value_compressed_share"`
	// The same for each of several lengths: "24 B" → compressor → share.
	ValueRatios map[string]map[string]float64 `json:"value_compressed_shares,omitempty"`
	// Program → SHA-256 of its file, in hexadecimal: each worker's program and an interpreter's script, as
	// written in the experiment ("assay": Assay's own), and each started server's binary. Nil: of a run that
	// is older than the field.
	Programs map[string]string `json:"programs_sha256,omitempty"`
}

// OwnProgram is the name of Assay's own program in Environment.Programs.
const OwnProgram = "assay"

// Seal measures and reads everything that is known of the machine, for stores whose files stand
// under dataDirectory, which must exist. It writes and removes one small file there, to learn what
// fdatasync costs. What can't be had stays empty; ValueRatio, ValueRatios, Programs and WriteCount
// are the caller's to fill.
func Seal(dataDirectory string, command []string) Environment {
	e := Environment{
		Go:          runtime.Version(),
		OS:          osRelease("/etc/os-release"),
		CPU:         cpuModel(),
		CPUs:        runtime.NumCPU(),
		Governor:    firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		ClockSource: firstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		MemoryBytes: memoryBytes(),
		Container:   container(),
		Command:     secret.Words(command),
		Directory:   dataDirectory,
	}
	e.Assay, e.Modules = build()
	e.Machine = machineOf(kernelRoots, dataDirectory, os.Getpid())
	if least := MemoryBytes(); least > 0 && least < e.MemoryBytes {
		e.Machine["memory limit"] = format.Bytes(float64(least))
	}
	e.Host, _ = os.Hostname()
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		e.Kernel = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:]) + " " +
			unix.ByteSliceToString(name.Machine[:])
	}
	if absolute, err := filepath.Abs(dataDirectory); err == nil {
		e.Directory = absolute
	}
	if m, err := mounts.Of(dataDirectory); err == nil {
		e.Filesystem, e.Mount, e.Device = m.FileSystem, m.Options, m.Source
	}
	if cost, err := SyncCost(dataDirectory); err == nil {
		e.SyncMicros = float64(cost.Nanoseconds()) / 1e3
	}
	if cost, err := wakeUpHere(); err == nil {
		e.WakeUp = cost
	}
	e.NotMeasured = NotMeasured(dataDirectory)
	return e
}

// Changes names, as "kernel: A → B", what differs between two environments in a way that forbids
// comparing trials of both: programs, machine and file system. Measured costs, the command line and
// paths are not compared.
func Changes(was, now Environment) []string {
	var changes []string
	note := func(what, was, now string) {
		if was != now {
			changes = append(changes, fmt.Sprintf("%s: %s → %s", what, cmp.Or(was, "not known"), cmp.Or(now, "not known")))
		}
	}
	note("assay", was.Assay, now.Assay)
	note("go", was.Go, now.Go)
	for _, module := range sortedKeys(was.Modules, now.Modules) {
		note(module, was.Modules[module], now.Modules[module])
	}
	if was.Programs != nil && now.Programs != nil {
		for _, program := range sortedKeys(was.Programs, now.Programs) {
			note("the program "+program+" (SHA-256)", was.Programs[program], now.Programs[program])
		}
	}
	note("host", was.Host, now.Host)
	note("os", was.OS, now.OS)
	note("kernel", was.Kernel, now.Kernel)
	note("cpu", was.CPU, now.CPU)
	note("cpus", fmt.Sprint(was.CPUs), fmt.Sprint(now.CPUs))
	note("memory bytes", fmt.Sprint(was.MemoryBytes), fmt.Sprint(now.MemoryBytes))
	note("governor", was.Governor, now.Governor)
	note("clock source", was.ClockSource, now.ClockSource)
	note("file system", was.Filesystem, now.Filesystem)
	note("mount options", was.Mount, now.Mount)
	note("device", was.Device, now.Device)
	for _, what := range MachineChanges(was, now) {
		note(what, was.Machine[what], now.Machine[what])
	}
	return changes
}

// MachineChanges names what of Environment.Machine is not the same; none where one of both is older than
// that.
func MachineChanges(was, now Environment) (names []string) {
	if was.Machine == nil || now.Machine == nil {
		return nil
	}
	for _, what := range sortedKeys(was.Machine, now.Machine) {
		if was.Machine[what] != now.Machine[what] {
			names = append(names, what)
		}
	}
	return names
}

func sortedKeys(maps ...map[string]string) []string {
	var keys []string
	for _, m := range maps {
		for key := range m {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// osRelease returns PRETTY_NAME of an os-release file (freedesktop.org, os-release(5)).
func osRelease(path string) string {
	text, err := bounded.Kernel(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, found := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); found {
			return strings.Trim(name, `"'`)
		}
	}
	return ""
}

func memoryBytes() uint64 {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	memory, err := fs.Meminfo()
	if err != nil || memory.MemTotal == nil {
		return 0
	}
	return *memory.MemTotal << 10
}

func firstLine(path string) string {
	text, err := bounded.Kernel(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

// container tells by the usual marks whether this is a container, and of which kind. There is no
// mark that all runtimes leave, so "" means "none seen".
func container() string {
	if exists("/.dockerenv") {
		return "docker"
	}
	if exists("/run/.containerenv") {
		return "podman"
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return "kubernetes"
	}
	return containerOfCgroups(readString("/proc/1/cgroup"))
}

// containerOfCgroups finds the runtime in the paths of /proc/1/cgroup.
func containerOfCgroups(text string) string {
	for _, mark := range []string{"kubepods", "docker", "libpod", "lxc", "containerd", "garden"} {
		if strings.Contains(text, mark) {
			return mark
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func readString(path string) string {
	text, err := bounded.Kernel(path)
	if err != nil {
		return ""
	}
	return string(text)
}
