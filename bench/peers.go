package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
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

// peer is a server with the benchmark program that comes with it.
type peer struct {
	server, program string
	class           store.Durability
	prepare         func(*server.Instance) error
	arguments       func(i *server.Instance, connections int) []string
}

var peers = []peer{
	{"postgres", "pgbench", store.D1, preparePgbench, func(i *server.Instance, connections int) []string {
		return []string{"-h", server.Host, "-p", strconv.Itoa(i.Port), "-S", "-M", "prepared", "-n", "-c", strconv.Itoa(connections),
			"-T", strconv.Itoa(int(peerLength.Seconds())), "postgres"}
	}},
	{"redis", "redis-benchmark", store.D0, func(*server.Instance) error { return nil }, func(i *server.Instance, connections int) []string {
		return []string{"-h", server.Host, "-p", strconv.Itoa(i.Port), "-c", strconv.Itoa(connections), "-n", strconv.Itoa(peerOperations(connections)),
			"-r", strconv.Itoa(serverRecords), "-q", "GET", "key:__rand_int__"}
	}},
}

const peerLength = 2 * time.Second

// peerOperations are about so many as take the length of a load.
func peerOperations(connections int) int { return min(20_000*connections, 100_000) }

// peerRate finds the rate in what a program prints: operations a second, connecting left out.
var peerRate = regexp.MustCompile(`tps = ([0-9.]+) \(without|: ([0-9.]+) requests per second`)

// preparePgbench makes pgbench's own table, of 100,000 rows, in a schema that is the user's own.
func preparePgbench(i *server.Instance) error {
	to := []string{"-h", server.Host, "-p", strconv.Itoa(i.Port)}
	for _, command := range [][]string{
		append([]string{"psql", "-q", "-d", "postgres", "-c", "CREATE SCHEMA AUTHORIZATION CURRENT_USER"}, to...),
		append([]string{"pgbench", "-q", "-i", "-s", "1", "postgres"}, to...),
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command[0], err, lastLine(out))
		}
	}
	return nil
}

// printPeers prints the rate of reads by key over a few connections, Assay's beside that of the
// program that comes with the server, in turn: with both ends on one CPU, on one each, and where the
// kernel likes.
func printPeers(rounds int, only, scratch string) error {
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
		if only != "" && only != p.server {
			continue
		}
		if _, err := exec.LookPath(p.program); err != nil {
			fmt.Printf("%s: not measured: %v\n", p.program, err)
			continue
		}
		fmt.Printf("Reads by key of %s, operations/s: Assay, %s, Assay's share of it (median of rounds)\n", p.server, p.program)
		for _, placement := range placements {
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
	instance, err := server.Start(context.Background(), program, server.Request{Directory: directory, Log: io.Discard, Class: p.class,
		Patience: stepTimeout, CPUs: cpus.Server, Options: servertest.WithoutLogin(program, map[string]string{"connections_max": "200"})})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Stop(stepTimeout)) }()
	if err := p.prepare(instance); err != nil {
		return err
	}
	for _, connections := range []int{1, 8, 50} {
		var ours, theirs, shares []float64
		for range rounds {
			own, err := p.runAssay(instance, cpus.Client, connections)
			if err != nil {
				return err
			}
			other, err := p.runProgram(instance, cpus.Client, connections)
			if err != nil {
				return err
			}
			ours, theirs, shares = append(ours, own), append(theirs, other), append(shares, own/other)
		}
		low, high := medianInterval(shares)
		fmt.Printf("  %-10s %3d connections %9.0f %9.0f   %.2f (%.2f to %.2f)\n", name, connections, median(ours), median(theirs), median(shares), low, high)
	}
	return nil
}

// runAssay loads its records and returns the rate of reads of them, each value checked.
func (p peer) runAssay(i *server.Instance, cpus []int, connections int) (rate float64, err error) {
	w := serverWork(p.server, i)
	w.durability, w.threads, w.handles, w.cpus = p.class, connections, control.HandlesPerThread, cpus
	err = withWorker(w, func(_ *conductor.Worker, call func(control.Request) error) error {
		load, request := trace.Spec{Load: true, Records: w.records, Fresh: w.records, Order: trace.Order{Distribution: "sequential"},
			Sizes: []trace.Size{{Bytes: valueBytes, Weight: 1}}, Threads: connections}, prepareDefault()
		request.Phase, request.ZeroVersions, request.Keys = "load", true, keysOf(false)
		if _, err := w.phase(call, load, request); err != nil {
			return err
		}
		request = prepareDefault()
		request.Phase, request.Number, request.Keys, request.LoadedRecords, request.Verify = "timed", 1, keysOf(false), w.records, true
		request.DeadlineNS = int64(peerLength)
		ns, err := w.phase(call, w.spec(), request)
		rate = 1e9 / ns
		return err
	})
	return rate, err
}

func (p peer) runProgram(i *server.Instance, cpus []int, connections int) (float64, error) {
	command := append([]string{p.program}, p.arguments(i, connections)...)
	if len(cpus) > 0 {
		command = append([]string{"taskset", "-c", strconv.Itoa(cpus[0])}, command...)
	}
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", p.program, err, lastLine(out))
	}
	found := peerRate.FindStringSubmatch(string(out))
	if found == nil {
		return 0, fmt.Errorf("%s told no rate: %s", p.program, lastLine(out))
	}
	return strconv.ParseFloat(found[1]+found[2], 64)
}
