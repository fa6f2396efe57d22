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
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/drivers"
	"assay/internal/base/bounded"
	"assay/internal/base/format"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/internal/testkit/servertest"
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
func printServers(rounds int, only, parts, placed string, connections int) error {
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
	if slices.Contains(strings.Split(parts, ","), "peers") {
		if err := printPeers(rounds, only, placed, scratch); err != nil {
			return err
		}
	}
	if err := host.RaiseFiles(connectionsMost + 1000); err != nil {
		return err
	}
	for _, name := range []string{"memcached", "redis"} {
		if only != "" && only != name {
			continue
		}
		if err := printServer(name, scratch, parts, clients, rounds, connections); err != nil {
			if errors.Is(err, server.ErrNotInstalled) {
				fmt.Printf("%s: not measured: %v\n", name, err)
				continue
			}
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func printServer(name, scratch, parts string, clients []client, rounds, connections int) error {
	apart := apartHere()
	for _, part := range []struct {
		name  string
		cpus  experiment.CPUs
		print func(*server.Instance) error
	}{
		{"table", experiment.CPUs{}, func(i *server.Instance) error { return printTable(i, clients, rounds, connections) }},
		{"growth", experiment.CPUs{}, func(i *server.Instance) error { return printGrowth(i, clients, rounds) }},
		{"late", experiment.CPUs{}, func(i *server.Instance) error { return printOpenLoad(i, rounds) }},
		{"stops", apart, func(i *server.Instance) error { return printStops(i, apart.Client, rounds) }},
	} {
		if !slices.Contains(strings.Split(parts, ","), part.name) {
			continue
		}
		if err := withServer(name, scratch, part.cpus.Server, part.print); err != nil {
			return err
		}
	}
	return nil
}

// apartHere gives the client the first CPU and the server the others; with one CPU, none is pinned.
func apartHere() (apart experiment.CPUs) {
	var own unix.CPUSet
	if unix.SchedGetaffinity(0, &own) != nil || own.Count() < 2 {
		return apart
	}
	for cpu := range len(own) * 64 {
		switch {
		case !own.IsSet(cpu):
		case len(apart.Client) == 0:
			apart.Client = append(apart.Client, cpu)
		default:
			apart.Server = append(apart.Server, cpu)
		}
	}
	return apart
}

// withServer starts a server that has the records.
func withServer(name, scratch string, cpus []int, do func(*server.Instance) error) (err error) {
	program, _ := drivers.Program(name)
	directory, err := os.MkdirTemp(scratch, name)
	if err != nil {
		return err
	}
	if err := os.Chmod(directory, 0o711); err != nil {
		return err
	}
	request := server.Request{Directory: directory, Log: io.Discard, Class: store.D0, Patience: stepTimeout, CPUs: cpus,
		Options: servertest.WithoutLogin(program, map[string]string{"connections_max": strconv.Itoa(connectionsMost + 100)})}
	instance, err := server.Start(context.Background(), program, request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Stop(stepTimeout)) }()
	if err := loadServer(name, instance); err != nil {
		return err
	}
	return do(instance)
}

func printTable(instance *server.Instance, clients []client, rounds, only int) error {
	fmt.Printf("CPU time of the client, µs a get on %s (multiple of the bare C loop's)\n  connections  pipeline", instance.Program.Driver)
	for _, c := range clients {
		fmt.Printf("  %18s", c.name)
	}
	fmt.Println()
	for _, connections := range []int{1, connectionsFew, 1000, connectionsMost} {
		if only != 0 && only != connections {
			continue
		}
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

// connectionsFew and connectionsMost are what a client's time an operation is compared between.
const (
	connectionsFew  = 50
	connectionsMost = 10_000
)

// printGrowth prints how many times its time at few connections a client takes at most. Both take
// turns: the rows of the table stand minutes apart.
func printGrowth(instance *server.Instance, clients []client, rounds int) error {
	fmt.Printf("CPU time a get at %d connections, as a multiple of that at %d\n", connectionsMost, connectionsFew)
	for _, c := range clients {
		var few, most, ratios []float64
		for range rounds {
			// So many operations that the first of each connection, which finds nothing in the
			// caches, is one of 20.
			a, err := c.run(load{instance, connectionsFew, 1, growthOperations})
			if errors.Is(err, errCant) {
				break
			}
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			b, err := c.run(load{instance, connectionsMost, 1, growthOperations})
			if errors.Is(err, errCant) {
				break
			}
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			few, most, ratios = append(few, a), append(most, b), append(ratios, b/a)
		}
		if len(ratios) > 0 {
			fmt.Printf("  %-18s  %5.2f  (%.2f µs, %.2f µs)\n", c.name, median(ratios), median(most)/1e3, median(few)/1e3)
		}
	}
	return nil
}

const growthOperations = 20 * connectionsMost

// openRates are a load that leaves the client idle time, and one that may need all it can do.
var openRates = []int{50_000, 100_000}

// printOpenLoad prints how late operations began that were due at a fixed rate, beside how many the
// same connections do in a second.
func printOpenLoad(instance *server.Instance, rounds int) error {
	fmt.Printf("Lateness of an open load over %d asynchronous connections, µs\n", connectionsFew)
	quantiles := []float64{0.5, 0.99, 0.999}
	for _, rate := range openRates {
		late := make([][]float64, len(quantiles))
		var most []float64
		for range rounds {
			ns, err := runAsync(instance, nil, 0, rate, func(int) {}, func(*counters.File) {})
			if err != nil {
				return err
			}
			most = append(most, 1e9/ns)
			_, err = runAsync(instance, nil, float64(rate), rate, func(int) {}, func(c *counters.File) {
				for i, q := range quantiles {
					late[i] = append(late[i], lateQuantile(c.Sample(false).Late, uint64(rate), q))
				}
			})
			if err != nil {
				return err
			}
		}
		fmt.Printf("  %d/s of %.0f/s: ", rate, median(most))
		for i, q := range quantiles {
			fmt.Printf("  %s below %.2f", format.Quantile(q), median(late[i])/1e3)
		}
		fmt.Println()
	}
	return nil
}

// lateQuantile returns the end of the word in which a quantile of the operations is, in ns. Those
// that are in no word were on time.
func lateQuantile(late [counters.LatenessWords]uint64, operations uint64, q float64) float64 {
	below := operations
	for _, counted := range late {
		below -= counted
	}
	word := 0
	for ; word < len(late) && float64(below) < q*float64(operations); word++ {
		below += late[word]
	}
	return float64(counters.LatenessFromNS(word))
}

// runAsync does gets over few asynchronous connections, at a rate or, where that is 0, each as soon
// as the one before it has ended, and returns how long it took in ns an operation. meanwhile runs
// beside them, and is given the client's process.
func runAsync(i *server.Instance, cpus []int, rate float64, operations int, meanwhile func(client int),
	look func(*counters.File)) (ns float64, err error) {
	w := serverWork(i.Program.Driver, i)
	w.threads, w.handles, w.pipeline, w.cpus = connectionsFew, control.HandlesAsync, 1, cpus
	err = withWorker(w, func(process *conductor.Worker, call func(control.Request) error) (err error) {
		p, s := prepareDefault(), w.spec()
		p.Phase, p.Number, p.Keys, p.LoadedRecords, p.Verify = "timed", 1, keysOf(false), w.records, true
		s.Rate, s.Limit, s.ThreadEntries = rate, uint64(operations), operations/w.threads
		accompanied := func(r control.Request) error {
			if r.Command != control.CommandRun {
				return call(r)
			}
			var beside sync.WaitGroup
			defer beside.Wait()
			beside.Go(func() { meanwhile(process.PID()) })
			return call(r)
		}
		ns, err = w.phase(accompanied, s, p, look)
		return err
	})
	return ns, err
}

// stopRates are a load that leaves no backlog behind a stop, and one of which the backlog needs time.
var stopRates = []int{10_000, 50_000}

const (
	stopSeconds = 4
	stopCount   = 4
	stopLength  = 100 * time.Millisecond
)

// printStops stops the server by a signal while an open load runs, and prints the response times'
// p99 beside the one that the stops give, as long as they were, at the rate that the same connections
// do just before; and what else made operations wait: threads of client and server that were ready and
// had no CPU, and the client's lateness.
func printStops(i *server.Instance, cpus []int, rounds int) error {
	fmt.Printf("Response p99 of an open load for %d s with %d stops of the server of %v\n", stopSeconds, stopCount, stopLength)
	for n := range rounds * len(stopRates) {
		rate := stopRates[n%len(stopRates)]
		var stops []time.Duration
		var failed error
		var p99, late float64
		var client int
		var waited [2]time.Duration // of client and server
		ns, err := runAsync(i, cpus, 0, stopSeconds*stopRates[0], func(int) {}, func(*counters.File) {})
		if err != nil {
			return err
		}
		_, err = runAsync(i, cpus, float64(rate), rate*stopSeconds, func(pid int) {
			client = pid
			waited = [2]time.Duration{-runWait(client), -runWait(i.PID())}
			for range stopCount {
				time.Sleep(stopSeconds * time.Second / (stopCount + 2))
				began := time.Now()
				failed = errors.Join(failed, unix.Kill(i.PID(), unix.SIGSTOP))
				time.Sleep(stopLength)
				failed = errors.Join(failed, unix.Kill(i.PID(), unix.SIGCONT))
				stops = append(stops, time.Since(began))
			}
		}, func(c *counters.File) {
			waited[0], waited[1] = waited[0]+runWait(client), waited[1]+runWait(i.PID())
			s := c.Sample(true)
			p99, late = s.Totals[0].Response.Quantile(0.99), lateQuantile(s.Late, s.Totals[0].Operations(), 0.99)
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		expected := "above what these connections did just before: no arithmetic"
		if busy := float64(rate) * ns / 1e9; busy < 1 {
			want := servertest.StoppedQuantile(0.99, stops, stopSeconds*time.Second, busy)
			expected = fmt.Sprintf("arithmetic %8.2f ms, ratio %.3f", want.Seconds()*1e3, p99/float64(want))
		}
		fmt.Printf("  %d/s of %.0f/s: %8.2f ms, %s; began late p99 below %.2f ms; waited for a CPU: client %.0f ms, server %.0f ms\n",
			rate, 1e9/ns, p99/1e6, expected, late/1e6, waited[0].Seconds()*1e3, waited[1].Seconds()*1e3)
	}
	return nil
}

// runWait returns how long the threads of a process were ready and had no CPU; 0 where the kernel does
// not report it.
func runWait(pid int) (wait time.Duration) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	for _, file := range files {
		var ran, waited int64
		if text, err := bounded.Kernel(file); err == nil { // else the thread has ended
			if _, err := fmt.Sscan(string(text), &ran, &waited); err == nil {
				wait += time.Duration(waited)
			}
		}
	}
	return wait
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
	process, err := conductor.StartOn(w.cpus, []string{self, "worker"}, os.Stderr)
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
	return work{driver: driver, durability: store.D0, endpoint: i.Endpoint(), operation: trace.Read,
		records: serverRecords, verify: true}
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
