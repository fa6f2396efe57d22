package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"assay/drivers"
	"assay/internal/conductor"
	"assay/internal/control"
	"assay/internal/keyval"
	"assay/internal/server"
	"assay/internal/trace"
	"assay/store"
)

//go:embed epoll/epoll.c
var epollSource []byte

const (
	serverRecords    = 100_000
	serverOperations = 200_000
)

// load is what clients of a server are timed at: gets of random keys that are there.
type load struct {
	server                *server.Instance
	connections, pipeline int
	operations            int
}

// client does a load and returns the CPU time that it took, in ns an operation; errCant if it can't.
type client struct {
	name string
	run  func(load) (float64, error)
}

var errCant = errors.New("this client can't do that")

// printServers prints the CPU time that clients use for a get, in µs and as a multiple of a bare C
// loop's. Clients take turns on one server, in each round; figures are medians over rounds. A
// client that is not installed has no column.
//
// The time of Assay's clients and of the C loop is that of the load alone, that of the others is
// their process's.
func printServers(rounds int, only string) error {
	scratch, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if err := os.Chmod(scratch, 0o711); err != nil { // a server may run as another user
		return err
	}
	clients, err := serverClients(scratch)
	if err != nil {
		return err
	}
	for _, name := range []string{"memcached", "redis"} {
		if only != "" && only != name {
			continue
		}
		if err := printServer(name, scratch, clients, rounds); err != nil {
			if errors.Is(err, server.ErrNotInstalled) {
				fmt.Printf("%s: not measured: %v\n", name, err)
				continue
			}
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func printServer(name, scratch string, clients []client, rounds int) (err error) {
	program, _ := drivers.Program(name)
	directory, err := os.MkdirTemp(scratch, name)
	if err != nil {
		return err
	}
	if err := os.Chmod(directory, 0o711); err != nil {
		return err
	}
	request := server.Request{Directory: directory, Log: io.Discard, Class: store.D0, Patience: stepTimeout}
	if name == "memcached" {
		request.Options = map[string]string{"connections_max": "2000"}
	}
	instance, err := server.Start(context.Background(), program, request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Stop(stepTimeout)) }()
	if err := loadServer(name, instance); err != nil {
		return err
	}
	fmt.Printf("CPU time of the client, µs a get on %s (multiple of the bare C loop's)\n  connections  pipeline", name)
	for _, c := range clients {
		fmt.Printf("  %18s", c.name)
	}
	fmt.Println()
	for _, connections := range []int{1, 50, 1000} {
		for _, pipeline := range []int{1, 16} {
			l := load{instance, connections, pipeline, serverOperations}
			if pipeline > 1 {
				l.operations *= 4
			}
			if connections*pipeline == 1 {
				l.operations /= 4
			}
			if err := printLoad(l, clients, rounds); err != nil {
				return err
			}
		}
	}
	return nil
}

func printLoad(l load, clients []client, rounds int) error {
	times := make([][]float64, len(clients))
	for round := range rounds {
		for turn := range clients {
			i := (round + turn) % len(clients)
			ns, err := clients[i].run(l)
			if errors.Is(err, errCant) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", clients[i].name, err)
			}
			times[i] = append(times[i], ns)
		}
	}
	fmt.Printf("  %11d  %8d", l.connections, l.pipeline)
	for i := range clients {
		switch {
		case times[i] == nil:
			fmt.Printf("  %18s", "–")
		case times[0] == nil:
			fmt.Printf("  %18.2f", median(times[i])/1e3)
		default:
			var ratios []float64
			for k := range times[i] {
				ratios = append(ratios, times[i][k]/times[0][k])
			}
			fmt.Printf("  %10.2f (%5.2f)", median(times[i])/1e3, median(ratios))
		}
	}
	fmt.Println()
	return nil
}

// serverClients returns what can be timed here, the bare C loop first.
func serverClients(scratch string) ([]client, error) {
	clients := []client{{"C loop", func(load) (float64, error) { return 0, errCant }}}
	if compiler, err := exec.LookPath("cc"); err == nil {
		source, binary := filepath.Join(scratch, "epoll.c"), filepath.Join(scratch, "epoll")
		if err := os.WriteFile(source, epollSource, 0o600); err != nil {
			return nil, err
		}
		if out, err := exec.Command(compiler, "-O2", "-o", binary, source).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("compiling epoll.c: %w: %s", err, out)
		}
		clients[0].run = func(l load) (float64, error) { return runC(binary, l) }
	}
	clients = append(clients,
		client{"Assay async", func(l load) (float64, error) { return runAssay(control.HandlesAsync, l) }},
		client{"Assay per_thread", func(l load) (float64, error) {
			if l.pipeline > 1 {
				return 0, errCant
			}
			return runAssay(control.HandlesPerThread, l)
		}})
	if binary, err := exec.LookPath("memtier_benchmark"); err == nil {
		clients = append(clients, client{"memtier_benchmark", func(l load) (float64, error) { return runMemtier(binary, l) }})
	}
	if binary, err := exec.LookPath("redis-benchmark"); err == nil {
		clients = append(clients, client{"redis-benchmark", func(l load) (float64, error) { return runRedisBenchmark(binary, l) }})
	}
	return clients, nil
}

func runC(binary string, l load) (float64, error) {
	out, err := exec.Command(binary, l.server.Program.Driver, strconv.Itoa(l.server.Port), strconv.Itoa(l.connections),
		strconv.Itoa(l.pipeline), strconv.Itoa(l.operations), strconv.Itoa(serverRecords)).Output()
	if err != nil {
		return 0, err
	}
	var operations, ns float64
	if _, err := fmt.Sscan(string(out), &operations, &ns); err != nil {
		return 0, fmt.Errorf("%q: %w", out, err)
	}
	return ns / operations, nil
}

// runMemtier counts the operations that the arguments ask for: each connection does as many.
func runMemtier(binary string, l load) (float64, error) {
	protocol := map[string]string{"memcached": "memcache_text", "redis": "redis"}[l.server.Program.Driver]
	each := max(l.operations/l.connections, 1)
	return ofProcess(each*l.connections, binary, "-s", server.Host, "-p", strconv.Itoa(l.server.Port), "-P", protocol, "-t", "1",
		"-c", strconv.Itoa(l.connections), "--pipeline", strconv.Itoa(l.pipeline), "-n", strconv.Itoa(each), "--ratio", "0:1",
		"--key-prefix", "mem:", "--key-minimum", "1", "--key-maximum", strconv.Itoa(serverRecords-1), "--key-pattern", "R:R",
		"--distinct-client-seed", "--hide-histogram")
}

func runRedisBenchmark(binary string, l load) (float64, error) {
	if l.server.Program.Driver != "redis" {
		return 0, errCant
	}
	return ofProcess(l.operations, binary, "-h", server.Host, "-p", strconv.Itoa(l.server.Port), "-c", strconv.Itoa(l.connections),
		"-P", strconv.Itoa(l.pipeline), "-n", strconv.Itoa(l.operations), "-r", strconv.Itoa(serverRecords), "-q", "GET", "key:__rand_int__")
}

// ofProcess returns the CPU time that a program took, in ns an operation.
func ofProcess(operations int, binary string, arguments ...string) (float64, error) {
	command := exec.Command(binary, arguments...)
	if out, err := command.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, lastLine(out))
	}
	used := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return float64(used) / float64(operations), nil
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// withWorker opens a store in a fresh worker for a while.
func withWorker(w work, do func(process *conductor.Worker, call func(control.Request) error) error) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	process, err := conductor.Start([]string{self, "worker"}, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.End(stepTimeout)) }()
	call := func(r control.Request) error { return process.Call(r, 2*time.Minute, nil) }
	if err := call(w.open("")); err != nil {
		return err
	}
	return do(process, call)
}

// keysOf are the keys of the C loop and of redis-benchmark, or those of memtier_benchmark.
func keysOf(memtier bool) keyval.KeyShape {
	if memtier {
		return keyval.KeyShape{Format: keyval.Decimal, Prefix: "mem:"}
	}
	return keyval.KeyShape{Format: keyval.Decimal, Prefix: "key:", Digits: 12}
}

func serverWork(driver string, i *server.Instance) work {
	return work{driver: driver, durability: store.D0, endpoint: i.Endpoint(), operation: trace.Read, records: serverRecords, verify: true}
}

func loadServer(driver string, i *server.Instance) error {
	w := serverWork(driver, i)
	w.threads, w.handles, w.pipeline = 10, control.HandlesAsync, 16
	return withWorker(w, func(_ *conductor.Worker, call func(control.Request) error) error {
		for number, memtier := range []bool{false, true} {
			p := prepareDefault()
			p.Phase, p.Number, p.ZeroVersions, p.Keys = "load", number, true, keysOf(memtier)
			s := trace.Spec{Load: true, Records: w.records, Fresh: w.records, Order: trace.Order{Distribution: "sequential"},
				Sizes: []trace.Size{{Bytes: valueBytes, Weight: 1}}, Threads: w.threads}
			if _, err := w.phase(call, s, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// runAssay verifies each value, as a run does.
func runAssay(handles string, l load) (ns float64, err error) {
	w := serverWork(l.server.Program.Driver, l.server)
	w.threads, w.handles = l.connections, handles
	if handles == control.HandlesAsync {
		w.pipeline = l.pipeline
	}
	err = withWorker(w, func(process *conductor.Worker, call func(control.Request) error) error {
		p, s := prepareDefault(), w.spec()
		p.Phase, p.Number, p.Keys, p.LoadedRecords, p.Verify = "timed", 1, keysOf(false), w.records, true
		s.ThreadEntries, s.Limit = max(l.operations/l.connections, 1), uint64(l.operations)
		timed := func(r control.Request) error {
			if r.Command != control.CommandRun {
				return call(r)
			}
			before, err := cpuNS(process.PID())
			if err != nil {
				return err
			}
			if err := call(r); err != nil {
				return err
			}
			after, err := cpuNS(process.PID())
			ns = float64(after-before) / float64(l.operations)
			return err
		}
		_, err := w.phase(timed, s, p)
		return err
	})
	return ns, err
}

// cpuNS returns the CPU time of a process, by its CPU clock: clock_getcpuclockid(3).
func cpuNS(pid int) (int64, error) {
	var t unix.Timespec
	const scheduled = 2
	if err := unix.ClockGettime(int32(^pid)<<3|scheduled, &t); err != nil {
		return 0, fmt.Errorf("the CPU clock of process %d: %w", pid, err)
	}
	return t.Nano(), nil
}
