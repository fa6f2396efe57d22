package java_test

import (
	"io"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/execution/jars"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

const (
	costTimeout    = 5 * time.Minute // of a worker that hangs, on a machine that others keep busy
	costRecords    = 1 << 20
	costOperations = 1 << 18 // a byte for every tenth operation, which is too much, is 26 KB
	costLong       = 1 << 22 // of a figure, the fastest of costPhases: others use the machine
	costPhases     = 12
	costValueBytes = 100
)

// cost is what an operation took: processor time of the whole process, and bytes that the worker's
// own threads allocated.
type cost struct{ processorNS, allocatedBytes float64 }

// costOf does operations on the null driver. Of phases behind the first, in which the JVM compiles, it
// takes the fastest, and of all the last one's allocations.
func costOf(t *testing.T, operation trace.Operation, verify bool, operations uint64, phases int) cost {
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
	spec := trace.Spec{Mix: []trace.Share{{Operation: operation, Weight: 1}}, Records: costRecords, Fresh: costRecords,
		Order: trace.Order{Distribution: trace.Uniform}, Sizes: []trace.Size{{Bytes: costValueBytes, Weight: 1}},
		Threads:       1,
		ThreadEntries: 1 << 16, Limit: operations, Seed: 1}
	fastest := cost{processorNS: math.Inf(1)}
	for number := range phases {
		file, err := trace.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		p := control.Prepare{Phase: "cost", Number: number + 1, Trace: filepath.Join(folder, "trace"), Counters: filepath.Join(folder, "counters"), Clock: "auto",
			Verify: verify, Keys: keyval.KeyShape{Format: keyval.Binary, Bytes: 16},
			Values: keyval.ValueShape{PoolBytes: 256 << 10, PoolSeed: 1, RepeatedPermille: 500,
				LengthMax: costValueBytes, TrialTag: 7}}
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
		if fastest.allocatedBytes = ran.Runtime["alloc_bytes"] / done; number > 0 {
			fastest.processorNS = min(fastest.processorNS, ran.Runtime["cpu_ns"]/done)
		}
	}
	return fastest
}

// The worker's own loop allocates nothing: what a store's client allocates is then the client's. The
// processor time is logged: it depends on the machine (docs/jvm.md).
func TestLoopAllocatesNothing(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		operation trace.Operation
		verify    bool
	}{{trace.Read, true}, {trace.Update, false}, {trace.CompareAndSwap, true}} {
		c := costOf(t, of.operation, of.verify, costOperations, 2)
		t.Logf("%s: %.1f ns of processor time, %.4f bytes allocated an operation", of.operation, c.processorNS, c.allocatedBytes)
		if c.allocatedBytes > 0.1 {
			t.Errorf("%s: %.2f bytes are allocated an operation", of.operation, c.allocatedBytes)
		}
	}
}

// TestCost prints what an operation costs beside YCSB's on its own store that does nothing, in one sitting, for
// docs/harness-cost.md.
func TestCost(t *testing.T) {
	if !long() {
		t.Skip("SKIPPED: figures for docs/harness-cost.md: ASSAY_LONG=1")
	}
	for _, of := range []struct {
		operation trace.Operation
		verify    bool
	}{{trace.Read, false}, {trace.Read, true}, {trace.Update, false}} {
		t.Logf("%s, values checked %v: %.1f ns of processor time", of.operation, of.verify, costOf(t, of.operation, of.verify, costLong, costPhases).processorNS)
	}
	folder, err := jars.Resolve("site.ycsb:core:0.17.0")
	if err != nil {
		t.Skipf("SKIPPED: YCSB is not to be had: %v", err)
	}
	for _, operation := range []string{"read", "update"} {
		const few, many = 1 << 20, 1 << 23
		ns := math.Inf(1)
		for range 3 {
			ns = min(ns, float64(ycsb(t, folder, operation, many)-ycsb(t, folder, operation, few))/(many-few))
		}
		t.Logf("YCSB's BasicDB, %s: %.1f ns of processor time", operation, ns)
	}
}

// ycsb returns the processor time of YCSB's client, which its JVM's start is part of.
func ycsb(t *testing.T, folder, operation string, operations int) time.Duration {
	t.Helper()
	arguments := []string{"-cp", filepath.Join(folder, "*"), "site.ycsb.Client", "-t", "-db", "site.ycsb.BasicDB", "-threads", "1", "-s"}
	for _, property := range []string{"workload=site.ycsb.workloads.CoreWorkload", "recordcount=1048576", "operationcount=" + strconv.Itoa(operations),
		"readproportion=0", "updateproportion=0", operation + "proportion=1", "requestdistribution=uniform", "fieldcount=1", "fieldlength=100", "basicdb.verbose=false"} {
		arguments = append(arguments, "-p", property)
	}
	command := exec.Command("java", arguments...)
	if output, err := command.CombinedOutput(); err != nil || !strings.Contains(string(output), "Return=OK, "+strconv.Itoa(operations)) {
		t.Fatalf("YCSB: %v\n%s", err, output)
	}
	return command.ProcessState.UserTime() + command.ProcessState.SystemTime()
}
