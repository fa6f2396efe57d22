package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/drivers"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/internal/testkit/servertest"
	"assay/store"
)

// peer is a server with a benchmark program that is not ours.
type peer struct {
	server, program string
	class           store.Durability
	prepare         func(*server.Instance) error
	arguments       func(i *server.Instance, connections int) []string
	served          []string // a program that prints how many reads the server has counted; PORT is its port
}

var peers = []peer{
	{"postgres", "pgbench", store.D1, preparePgbench, func(i *server.Instance, connections int) []string {
		return []string{"-h", server.Host, "-p", strconv.Itoa(i.Port), "-S", "-M", "prepared", "-n", "-c", strconv.Itoa(connections),
			"-T", strconv.Itoa(int(peerLength.Seconds())), "postgres"}
	}, servedPostgres},
	{"postgres", "sysbench", store.D1, func(i *server.Instance) error {
		return first(makeSchema(i), func() error { return run("sysbench", sysbench(i, 1, "prepare")...) })
	}, func(i *server.Instance, connections int) []string { return sysbench(i, connections, "run") }, servedPostgres},
	{"mariadb", "sysbench", store.D1, func(i *server.Instance) error {
		return first(run("mariadb", "--no-defaults", "-h", server.Host, "-P", strconv.Itoa(i.Port), "-e", "CREATE DATABASE sbtest"),
			func() error { return run("sysbench", sysbench(i, 1, "prepare")...) })
	}, func(i *server.Instance, connections int) []string { return sysbench(i, connections, "run") },
		[]string{"mariadb", "--no-defaults", "-h", server.Host, "-P", "PORT", "-N", "-e", "SHOW GLOBAL STATUS LIKE 'Com_select'"}},
	{"redis", "redis-benchmark", store.D0, func(*server.Instance) error { return nil }, func(i *server.Instance, connections int) []string {
		return []string{"-h", server.Host, "-p", strconv.Itoa(i.Port), "-c", strconv.Itoa(connections), "-n", strconv.Itoa(peerOperations(connections)),
			"-r", strconv.Itoa(serverRecords), "-q", "GET", "key:__rand_int__"}
	}, []string{"redis-cli", "-h", server.Host, "-p", "PORT", "INFO", "commandstats"}},
}

// servedPostgres counts transactions: a select outside of one is one.
var servedPostgres = []string{"psql", "-h", server.Host, "-p", "PORT", "-d", "postgres", "-Atc", "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'"}

const peerLength = 2 * time.Second

// peerOperations are about so many as take the length of a load.
func peerOperations(connections int) int { return min(20_000*connections, 100_000) }

// peerRate finds the rate in what a program prints: operations a second, connecting left out.
var peerRate = regexp.MustCompile(`tps = ([0-9.]+) \(without|: ([0-9.]+) requests per second|transactions: +[0-9]+ +\(([0-9.]+) per sec`)

// servedCount finds the count in what a server prints of itself.
var servedCount = regexp.MustCompile(`(?:^|Com_select\s+|cmdstat_get:calls=)([0-9]+)`)

// sysbench are the arguments of its selects by primary key, prepared as its default is: 100,000 rows,
// each as likely, as Assay's.
func sysbench(i *server.Instance, connections int, command string) []string {
	to := []string{"--db-driver=pgsql", "--pgsql-host=" + server.Host, "--pgsql-port=" + strconv.Itoa(i.Port), "--pgsql-user=" + userName(), "--pgsql-db=postgres"}
	if i.Program.Driver == "mariadb" {
		to = []string{"--db-driver=mysql", "--mysql-host=" + server.Host, "--mysql-port=" + strconv.Itoa(i.Port), "--mysql-user=" + userName(), "--mysql-db=sbtest"}
	}
	return append(append([]string{"oltp_point_select"}, to...), "--tables=1", "--table-size="+strconv.Itoa(serverRecords), "--rand-type=uniform",
		"--threads="+strconv.Itoa(connections), "--time="+strconv.Itoa(int(peerLength.Seconds())), command)
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// first does a step after one that went well.
func first(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}

func run(program string, arguments ...string) error {
	if out, err := exec.Command(program, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, lastLine(out))
	}
	return nil
}

// makeSchema makes a schema of the user's own: PostgreSQL lets no ordinary user make tables in the public one.
func makeSchema(i *server.Instance) error {
	return run("psql", "-h", server.Host, "-p", strconv.Itoa(i.Port), "-q", "-d", "postgres", "-c", "CREATE SCHEMA AUTHORIZATION CURRENT_USER")
}

// preparePgbench makes pgbench's own table, of 100,000 rows.
func preparePgbench(i *server.Instance) error {
	return first(makeSchema(i), func() error {
		return run("pgbench", "-q", "-i", "-s", "1", "-h", server.Host, "-p", strconv.Itoa(i.Port), "postgres")
	})
}

// printPeers prints the rate of reads by key over a few connections and the client's CPU time of one,
// Assay's beside those of another program, in turn: with both ends on one CPU, on one each, and where
// the kernel likes. placed is one of these ("": all).
func printPeers(rounds int, only, placed, scratch string) error {
	apart := apartHere()
	placements := []struct {
		name string
		cpus experiment.CPUs
	}{{"anywhere", experiment.CPUs{}}}
	if len(apart.Client) > 0 {
		placements = append(placements, struct {
			name string
			cpus experiment.CPUs
		}{"one CPU", experiment.CPUs{Client: apart.Client, Server: apart.Client}}, struct {
			name string
			cpus experiment.CPUs
		}{"a CPU each", experiment.CPUs{Client: apart.Client, Server: apart.Server[:1]}})
	}
	for _, p := range peers {
		if only != "" && only != p.server && only != p.program {
			continue
		}
		if _, err := exec.LookPath(p.program); err != nil {
			fmt.Printf("%s: not measured: %v\n", p.program, err)
			continue
		}
		fmt.Printf("Reads by key of %s, operations/s: %s, and Assay's share of it with %s (median; lowest and highest round); client's CPU time a read by the server's count, µs: the other, Assay\n",
			p.server, p.program, strings.Join(peerHandles, " and with "))
		for _, placement := range placements {
			if placed != "" && placed != placement.name {
				continue
			}
			if err := p.print(placement.name, placement.cpus, rounds, scratch); err != nil {
				return fmt.Errorf("%s: %w", p.server, err)
			}
		}
	}
	return nil
}

func (p peer) print(name string, cpus experiment.CPUs, rounds int, scratch string) (err error) {
	program, _ := drivers.Program(p.server)
	directory, err := os.MkdirTemp(scratch, p.server)
	if err != nil {
		return err
	}
	if err := os.Chmod(directory, 0o711); err != nil {
		return err
	}
	instance, err := server.Start(context.Background(), program, server.Request{Directory: directory,
		Log: io.Discard, Class: p.class,
		Patience: stepTimeout, CPUs: cpus.Server, Options: servertest.WithoutLogin(program, map[string]string{"connections_max": "200"})})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Stop(stepTimeout)) }()
	if err := p.prepare(instance); err != nil {
		return err
	}
	if err := p.load(instance); err != nil {
		return err
	}
	for _, connections := range []int{1, 8, 50} {
		if err := p.compare(name, instance, cpus.Client, rounds, connections); err != nil {
			return err
		}
	}
	return nil
}

// peerHandles are the ways to share handles that are compared.
var peerHandles = []string{control.HandlesAsync, control.HandlesPerThread}

// compare has all clients take turns in each round.
func (p peer) compare(name string, i *server.Instance, cpus []int, rounds, connections int) error {
	clients := []func() (read, error){func() (read, error) { return p.runProgram(i, cpus, connections) }}
	for _, handles := range peerHandles {
		clients = append(clients, func() (read, error) { return p.runAssay(i, cpus, handles, connections) })
	}
	rates, shares := make([][]float64, len(clients)), make([][]float64, len(clients))
	cpu := make([][]float64, len(clients))
	for round := range rounds {
		reads := make([]read, len(clients))
		for turn := range clients {
			k := (round + turn) % len(clients)
			r, err := p.counted(i, clients[k])
			if err != nil {
				return err
			}
			reads[k] = r
		}
		for k, r := range reads {
			rates[k], cpu[k] = append(rates[k], r.rate), append(cpu[k], r.cpuNS/1e3)
			shares[k] = append(shares[k], r.rate/reads[0].rate)
		}
	}
	fmt.Printf("  %-10s %3d connections %9.0f", name, connections, median(rates[0]))
	for k := range clients[1:] {
		fmt.Printf("   %.2f (%.2f to %.2f)", median(shares[k+1]), slices.Min(shares[k+1]), slices.Max(shares[k+1]))
	}
	for k := range clients {
		fmt.Printf("  %6.1f", median(cpu[k]))
	}
	fmt.Println()
	return nil
}

// read is what a client did.
type read struct {
	rate  float64 // operations a second
	cpuNS float64 // of the client's processes: in all, or of one operation
}

// counted divides a client's CPU time by the reads that the server counted meanwhile.
func (p peer) counted(i *server.Instance, do func() (read, error)) (read, error) {
	before, err := p.servedBy(i)
	if err != nil {
		return read{}, err
	}
	r, err := do()
	if err != nil {
		return r, err
	}
	after, err := p.servedBy(i)
	if err == nil && after <= before {
		err = fmt.Errorf("%s counted %d reads before and %d after", p.server, before, after)
	}
	r.cpuNS /= float64(after - before)
	return r, err
}

func (p peer) servedBy(i *server.Instance) (uint64, error) {
	var arguments []string
	for _, a := range p.served[1:] {
		arguments = append(arguments, strings.ReplaceAll(a, "PORT", strconv.Itoa(i.Port)))
	}
	out, err := exec.Command(p.served[0], arguments...).Output()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", p.served[0], err)
	}
	found := servedCount.FindSubmatch(out)
	if found == nil {
		return 0, nil // no read yet
	}
	return strconv.ParseUint(string(found[1]), 10, 64)
}

// load stores Assay's own records.
func (p peer) load(i *server.Instance) error {
	w := serverWork(p.server, i)
	w.durability, w.threads, w.handles = p.class, 8, control.HandlesPerThread
	return withWorker(w, func(_ *conductor.Worker, call func(control.Request) error) error {
		s, request := trace.Spec{Load: true, Records: w.records, Fresh: w.records, Order: trace.Order{Distribution: "sequential"},
			Sizes: []trace.Size{{Bytes: valueBytes, Weight: 1}}, Threads: w.threads}, prepareDefault()
		request.Phase, request.ZeroVersions, request.Keys = "load", true, keysOf(false)
		_, err := w.phase(call, s, request)
		return err
	})
}

// runAssay reads its records, each value checked.
func (p peer) runAssay(i *server.Instance, cpus []int, handles string, connections int) (r read, err error) {
	w := serverWork(p.server, i)
	w.durability, w.threads, w.handles, w.cpus = p.class, connections, handles, cpus
	if handles == control.HandlesAsync {
		w.pipeline = 1
	}
	err = withWorker(w, func(process *conductor.Worker, call func(control.Request) error) error {
		request := prepareDefault()
		request.Phase, request.Number, request.Keys, request.LoadedRecords, request.Verify = "timed", 1, keysOf(false), w.records, true
		request.DeadlineNS = int64(peerLength)
		ns, err := w.phase(func(c control.Request) error {
			before, err := cpuNS(process.PID())
			if err != nil {
				return err
			}
			if err := call(c); err != nil {
				return err
			}
			after, err := cpuNS(process.PID())
			if c.Command == control.CommandRun {
				r.cpuNS = float64(after - before)
			}
			return err
		}, w.spec(), request)
		r.rate = 1e9 / ns
		return err
	})
	return r, err
}

func (p peer) runProgram(i *server.Instance, cpus []int, connections int) (r read, err error) {
	line := append([]string{p.program}, p.arguments(i, connections)...)
	if len(cpus) > 0 {
		line = append([]string{"taskset", "-c", strconv.Itoa(cpus[0])}, line...)
	}
	command := exec.Command(line[0], line[1:]...)
	out, err := command.CombinedOutput()
	if err != nil {
		return r, fmt.Errorf("%s: %w: %s", p.program, err, lastLine(out))
	}
	r.cpuNS = float64(command.ProcessState.UserTime() + command.ProcessState.SystemTime())
	found := peerRate.FindStringSubmatch(string(out))
	if found == nil {
		return r, fmt.Errorf("%s told no rate: %s", p.program, lastLine(out))
	}
	r.rate, err = strconv.ParseFloat(strings.Join(found[1:], ""), 64)
	return r, err
}
