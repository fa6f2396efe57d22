package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/internal/conductor"
	"assay/internal/control"
	"assay/internal/counters"
	"assay/internal/keyval"
	"assay/internal/trace"
	"assay/store"
)

// work is one thing that a worker is timed at.
type work struct {
	driver     string
	durability store.Durability
	operation  trace.Operation
	threads    int
	records    uint64
	verify     bool
	length     time.Duration
	clock      string
}

const stepTimeout = time.Minute

// prepareDefault are the keys and values of every figure here.
func prepareDefault() control.Prepare {
	return control.Prepare{
		Keys:   keyval.KeyShape{Format: keyval.Binary, Bytes: 16},
		Values: keyval.ValueShape{PoolBytes: poolBytes, PoolSeed: 1, RepeatedPermille: 500, LengthMax: valueBytes},
	}
}

// nsEach loads records where there are any, lets the worker work, and returns ns an operation over all threads.
func (w work) nsEach() (ns float64, err error) {
	directory, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(directory)
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	process, err := conductor.Start([]string{self, "worker"}, os.Stderr)
	if err != nil {
		return 0, err
	}
	defer func() {
		if endErr := process.End(stepTimeout); err == nil {
			err = endErr
		}
	}()
	data := filepath.Join(directory, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return 0, err
	}
	open := control.Request{Command: control.CommandOpen, Open: &control.Open{
		Driver: w.driver, Directory: data, Durability: w.durability, Handles: control.HandlesShared, Threads: w.threads}}
	if err := process.Call(open, stepTimeout, nil); err != nil {
		return 0, err
	}
	if w.records > 0 {
		load := trace.Spec{Load: true, Records: w.records, Fresh: w.records, Order: trace.Order{Distribution: "sequential"},
			Sizes: []trace.Size{{Bytes: valueBytes, Weight: 1}}, Threads: 1} // one by one, as the bare loop does
		p := prepareDefault()
		p.Phase, p.ZeroVersions = "load", true
		if _, err := w.phase(process, directory, load, p); err != nil {
			return 0, err
		}
	}
	p := prepareDefault()
	p.Phase, p.Number, p.Verify, p.LoadedRecords, p.DeadlineNS = "timed", 1, w.verify, w.records, int64(w.length)
	return w.phase(process, directory, w.spec(), p)
}

func (w work) spec() trace.Spec {
	records := max(w.records, 1_000_000)
	if w.records > 0 {
		records = w.records
	}
	return trace.Spec{Mix: []trace.Share{{Operation: w.operation, Weight: 1}}, Records: records, Fresh: records,
		Order: trace.Order{Distribution: "uniform"}, Sizes: []trace.Size{{Bytes: valueBytes, Weight: 1}}, Threads: w.threads,
		ThreadEntries: entriesBench, Seed: 1}
}

func (w work) phase(process *conductor.Worker, directory string, s trace.Spec, p control.Prepare) (float64, error) {
	file, err := trace.Generate(s)
	if err != nil {
		return 0, err
	}
	scratch, err := os.MkdirTemp(scratchRoot(directory), "assay-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	p.Trace, p.Counters, p.Clock = filepath.Join(scratch, "trace"), filepath.Join(scratch, "counters"), "auto"
	if w.clock != "" {
		p.Clock = w.clock
	}
	if err := file.Write(p.Trace); err != nil {
		return 0, err
	}
	c, err := counters.Create(p.Counters, file)
	if err != nil {
		return 0, err
	}
	defer c.Unmap()
	if err := process.Call(control.Request{Command: control.CommandPrepare, Prepare: &p}, stepTimeout, nil); err != nil {
		return 0, err
	}
	if err := process.Call(control.Request{Command: control.CommandRun}, stepTimeout+w.length, nil); err != nil {
		return 0, err
	}
	var done uint64
	for _, total := range c.Sample(false).Totals {
		if good := total.Outcomes[counters.OK]; good != total.Operations() {
			return 0, fmt.Errorf("%s on %s: only %d of %d operations were ok: %v", total.Operation, w.driver, good, total.Operations(), c.Messages())
		}
		done += total.Operations()
	}
	return float64(c.EndNS()-c.StartNS()) / float64(done), nil
}

func scratchRoot(otherwise string) string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return otherwise
}

// printLoops times the loop on the null driver, all variants in turn in each round.
func printLoops(rounds int, length time.Duration) error {
	variants := []struct {
		name string
		work work
	}{
		{"read", work{operation: trace.Read}},
		{"read, value checked", work{operation: trace.Read, verify: true}},
		{"update", work{operation: trace.Update}},
		{"update, monotonic clock", work{operation: trace.Update, clock: "monotonic"}},
	}
	for _, threads := range []int{1, 2} {
		times := make([][]float64, len(variants))
		for range rounds {
			for i, v := range variants {
				v.work.driver, v.work.durability, v.work.threads, v.work.length = "null", store.D0, threads, length
				ns, err := v.work.nsEach()
				if err != nil {
					return err
				}
				times[i] = append(times[i], ns)
			}
		}
		for i, v := range variants {
			fmt.Printf("  %-28s %5.1f   (%d thread%s)\n", v.name, median(times[i]), threads, map[bool]string{true: "s"}[threads > 1])
		}
	}
	return nil
}
