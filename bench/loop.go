package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/bench/bareloop"
	"assay/internal/evidence/counters"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
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
	endpoint   string // of a server
	handles    string // "": shared
	pipeline   int
	cpus       []int // of the worker; none: any
}

const stepTimeout = time.Minute

// prepareDefault are the keys and values of every figure here.
func prepareDefault() control.Prepare {
	return control.Prepare{
		Keys:   keyval.KeyShape{Format: keyval.Binary, Bytes: 16},
		Values: bareloop.Values(),
	}
}

// nsEach lets a fresh worker work and returns ns an operation over all threads.
func (w work) nsEach() (ns float64, err error) {
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
	call := func(r control.Request) error { return process.Call(r, stepTimeout+w.length, nil) }
	if err := call(w.open("")); err != nil {
		return 0, err
	}
	p := prepareDefault()
	p.Phase, p.Number, p.Verify, p.DeadlineNS = "timed", 1, w.verify, int64(w.length)
	return w.phase(call, w.spec(), p)
}

func (w work) open(directory string) control.Request {
	o := control.Open{Driver: w.driver, Directory: directory, Durability: w.durability, Threads: w.threads,
		Handles: cmp.Or(w.handles, control.HandlesShared), Pipeline: w.pipeline}
	if w.endpoint != "" {
		o.Endpoints = []string{w.endpoint}
		o.Options = map[string]string{"operation_timeout": "1m"} // on a busy machine too
	}
	return control.Request{Command: control.CommandOpen, Open: &o}
}

func (w work) spec() trace.Spec {
	records := w.records
	if records == 0 {
		records = 1_000_000
	}
	return bareloop.Spec(w.operation, w.threads, records)
}

// phase runs one phase and returns ns an operation. Its counters are looked at, if look is one.
func (w work) phase(call func(control.Request) error, s trace.Spec, p control.Prepare,
	look ...func(*counters.File)) (float64, error) {
	file, err := trace.Generate(s)
	if err != nil {
		return 0, err
	}
	scratch, err := os.MkdirTemp(scratchRoot(), "assay-bench-")
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
	if err := call(control.Request{Command: control.CommandPrepare, Prepare: &p}); err != nil {
		return 0, err
	}
	if err := call(control.Request{Command: control.CommandRun}); err != nil {
		return 0, err
	}
	var done uint64
	for _, total := range c.Sample(false).Totals {
		if good := total.Outcomes[counters.OK]; good != total.Operations() {
			return 0, fmt.Errorf("%s on %s: only %d of %d operations were ok: %v", total.Operation, w.driver, good, total.Operations(), c.Messages())
		}
		done += total.Operations()
	}
	for _, l := range look {
		l(c)
	}
	return float64(c.EndNS()-c.StartNS()) / float64(done), nil
}

func scratchRoot() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return os.TempDir()
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
