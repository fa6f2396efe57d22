package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"assay/bench/bareloop"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

// bareSubject is an engine that a bare loop is timed on, with the class that means "no sync" for it.
type bareSubject struct {
	name  string
	class store.Durability
}

var bareSubjects = []bareSubject{{"bbolt", store.D1}, {"pebble", store.D0}, {"badger", store.D1}}

// printBare prints, for each engine and operation, the harness's rate as a share of a bare loop's.
// Each is a process of its own: a Go process pays for its garbage by what else it has on its heap
// and what else it links, and a bare loop's own program has and links less than a worker. Each round
// starts both anew, for which pages a process was given lasts as long as it does, and lets them take
// turns on the same keys in the same order: what the machine and its other users do meanwhile falls
// on both. Figures are medians over rounds, with 95 % intervals (order statistics).
func printBare(rounds int, length time.Duration, only string) error {
	scratch, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	fmt.Printf("  %-17s %9s %24s   %24s   %s\n", "", "bare, ns", "rate that is left", "CPU time, multiple", "collections in 1,000 operations: bare, worker")
	for _, subject := range bareSubjects {
		if only != "" && only != subject.name {
			continue
		}
		program := filepath.Join(scratch, subject.name)
		build := exec.Command("go", "build", "-o", program, "assay/bench/bareloop/"+subject.name)
		// As Assay's program is: with cgo, pebble's block cache is not on Go's heap.
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building a bare loop: %w: %s", err, out)
		}
		for _, o := range []trace.Operation{trace.Read, trace.Update} {
			if err := printSubject(subject, program, o, rounds, length); err != nil {
				return fmt.Errorf("%s: %w", subject.name, err)
			}
		}
	}
	return nil
}

// piece is what a piece of a loop took for each operation.
type piece struct{ ns, cpuNS, collections float64 }

// turn does so many operations.
type turn func(operations int) (piece, error)

func printSubject(subject bareSubject, program string, o trace.Operation, rounds int, length time.Duration) error {
	var shares, costs, ns, bareCollections, collections []float64
	for range rounds {
		bare, harness, err := bareRound(subject, program, o, length)
		if err != nil {
			return err
		}
		of := func(pieces []piece, get func(piece) float64) float64 {
			values := make([]float64, len(pieces))
			for i, p := range pieces {
				values[i] = get(p)
			}
			return median(values)
		}
		wall, cpu := func(p piece) float64 { return p.ns }, func(p piece) float64 { return p.cpuNS }
		garbage := func(p piece) float64 { return 1000 * p.collections }
		ns = append(ns, of(bare, wall))
		shares = append(shares, 100*of(bare, wall)/of(harness, wall))
		costs = append(costs, of(harness, cpu)/of(bare, cpu))
		bareCollections, collections = append(bareCollections, of(bare, garbage)), append(collections, of(harness,
			garbage))
	}
	low, high := medianInterval(shares)
	cheap, dear := medianInterval(costs)
	fmt.Printf("  %-8s %-8s %9.0f %6.1f %% (%5.1f to %5.1f %%)   %6.2f (%5.2f to %5.2f)   %.3f, %.3f\n", subject.name, o, median(ns),
		median(shares), low, high, median(costs), cheap, dear, median(bareCollections), median(collections))
	return nil
}

const piecesARound = 5

// bareRound lets a fresh bare loop and a fresh worker take turns.
func bareRound(subject bareSubject, program string, o trace.Operation, length time.Duration) (bare, harness []piece,
	err error) {
	directory, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(directory)
	for _, name := range []string{"bare", "worker"} {
		if err := os.Mkdir(filepath.Join(directory, name), 0o700); err != nil {
			return nil, nil, err
		}
	}
	doBare, end, err := startBare(program, filepath.Join(directory, "bare"), o)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	w := work{driver: subject.name, durability: subject.class, operation: o, threads: 1, records: bareloop.Records}
	err = withFilesOf(w, filepath.Join(directory, "worker"), func(doWork turn) error {
		first, err := doBare(bareloop.Records) // also fills caches
		if err != nil {
			return err
		}
		operations := max(int(float64(length.Nanoseconds())/first.ns), 100)
		if _, err := doWork(bareloop.Records); err != nil {
			return err
		}
		for range piecesARound {
			b, err := doBare(operations)
			if err != nil {
				return err
			}
			h, err := doWork(operations)
			if err != nil {
				return err
			}
			bare, harness = append(bare, b), append(harness, h)
		}
		return nil
	})
	return bare, harness, err
}

// startBare starts a bare loop's program, which has loaded its records then.
func startBare(program, directory string, o trace.Operation) (do turn, end func() error, err error) {
	command := exec.Command(program, directory, o.String())
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	end = func() error { return errors.Join(in.Close(), command.Wait()) }
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return nil, nil, errors.Join(io.ErrUnexpectedEOF, end())
	}
	return func(operations int) (p piece, err error) {
		before, err := cpuNS(command.Process.Pid)
		if err != nil {
			return p, err
		}
		if _, err := fmt.Fprintln(in, operations); err != nil {
			return p, err
		}
		if !lines.Scan() {
			return p, io.ErrUnexpectedEOF
		}
		after, err := cpuNS(command.Process.Pid)
		if err != nil {
			return p, err
		}
		if _, err := fmt.Sscan(lines.Text(), &p.ns, &p.collections); err != nil {
			return p, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		p.cpuNS, p.collections = float64(after-before)/float64(operations), p.collections/float64(operations)
		return p, nil
	}, end, nil
}

// withFilesOf lets a fresh worker load a store in a directory, record by record as the bare loop
// does, and do pieces of its work.
func withFilesOf(w work, directory string, do func(turn) error) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	process, err := conductor.Start([]string{self, "worker"}, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.End(stepTimeout)) }()
	var ran control.Ran
	var cpu int64
	call := func(r control.Request) error {
		if r.Command != control.CommandRun {
			return process.Call(r, 2*stepTimeout, nil)
		}
		before, err := cpuNS(process.PID())
		if err != nil {
			return err
		}
		if err := process.Call(r, 2*stepTimeout, &ran); err != nil {
			return err
		}
		after, err := cpuNS(process.PID())
		cpu = after - before
		return err
	}
	if err := call(w.open(directory)); err != nil {
		return err
	}
	p := prepareDefault()
	p.Phase, p.ZeroVersions = "load", true
	load := trace.Spec{Load: true, Records: w.records, Fresh: w.records, Order: trace.Order{Distribution: "sequential"},
		Sizes: []trace.Size{{Bytes: valueBytes, Weight: 1}}, Threads: 1}
	if _, err := w.phase(call, load, p); err != nil {
		return err
	}
	number := 0
	return do(func(operations int) (done piece, err error) {
		number++
		p, s := prepareDefault(), w.spec()
		p.Phase, p.Number, p.LoadedRecords, p.Verify = "piece", number, w.records, w.verify
		s.Limit = uint64(operations)
		done.ns, err = w.phase(call, s, p)
		done.cpuNS, done.collections = float64(cpu)/float64(operations), ran.Runtime["gc_cycles"]/float64(operations)
		return done, err
	})
}

// medianInterval returns a 95 % interval of the median: the order statistics n/2 ± 0.98·√n of the
// binomial.
func medianInterval(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := float64(len(sorted))
	half := 0.98 * math.Sqrt(n)
	return sorted[max(int(n/2-half), 0)], sorted[min(int(n/2+half), len(sorted)-1)]
}
