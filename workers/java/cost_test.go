package java_test

import (
	"io"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

const (
	costTimeout    = 5 * time.Minute // of a worker that hangs, on a machine that others keep busy
	costOperations = 1 << 20
	costValueBytes = 100
)

// cost is what an operation took: processor time of the whole process, and bytes that the worker's
// own threads allocated.
type cost struct{ processorNS, allocatedBytes float64 }

// costOf does operations on the null driver, in a phase behind one that lets the JVM compile.
func costOf(t *testing.T, operation trace.Operation, verify bool) cost {
	t.Helper()
	process, err := conductor.Start([]string{worker(built(t), "host")}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := process.End(costTimeout); err != nil {
			t.Error(err)
		}
	}()
	call := func(r control.Request, result any) {
		t.Helper()
		if err := process.Call(r, costTimeout, result); err != nil {
			t.Fatal(err)
		}
	}
	call(control.Request{Command: control.CommandOpen, Open: &control.Open{Driver: "null-java", Durability: store.D0, Handles: control.HandlesShared, Threads: 1}}, nil)
	spec := trace.Spec{Mix: []trace.Share{{Operation: operation, Weight: 1}}, Records: costOperations, Fresh: costOperations,
		Order: trace.Order{Distribution: trace.Uniform}, Sizes: []trace.Size{{Bytes: costValueBytes, Weight: 1}}, Threads: 1,
		ThreadEntries: 1 << 16, Limit: costOperations, Seed: 1}
	var last cost
	for number := range 3 {
		file, err := trace.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		p := control.Prepare{Phase: "cost", Number: number + 1, Trace: filepath.Join(folder, "trace"), Counters: filepath.Join(folder, "counters"), Clock: "auto",
			Verify: verify, Keys: keyval.KeyShape{Format: keyval.Binary, Bytes: 16},
			Values: keyval.ValueShape{PoolBytes: 1 << 20, PoolSeed: 1, RepeatedPermille: 500, LengthMax: costValueBytes, TrialTag: 7}}
		if err := file.Write(p.Trace); err != nil {
			t.Fatal(err)
		}
		c, err := counters.Create(p.Counters, file)
		if err != nil {
			t.Fatal(err)
		}
		call(control.Request{Command: control.CommandPrepare, Prepare: &p}, nil)
		var ran control.Ran
		call(control.Request{Command: control.CommandRun}, &ran)
		done := 0.0
		for _, total := range c.Sample(false).Totals {
			done += float64(total.Outcomes[counters.OK])
		}
		if err := c.Unmap(); err != nil {
			t.Fatal(err)
		}
		last = cost{ran.Runtime["cpu_ns"] / done, ran.Runtime["alloc_bytes"] / done}
	}
	return last
}

// The worker's own loop allocates nothing: what a store's client allocates is then the client's. The
// processor time is logged: it depends on the machine (docs/jvm.md).
func TestNothingIsAllocatedInTheLoop(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		operation trace.Operation
		verify    bool
	}{{trace.Read, true}, {trace.Update, false}, {trace.CompareAndSwap, true}} {
		c := costOf(t, of.operation, of.verify)
		t.Logf("%s: %.1f ns of processor time, %.4f bytes allocated an operation", of.operation, c.processorNS, c.allocatedBytes)
		if c.allocatedBytes > 0.1 {
			t.Errorf("%s: %.2f bytes are allocated an operation", of.operation, c.allocatedBytes)
		}
	}
}
