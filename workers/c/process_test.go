package c_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// opened starts a worker and opens a store of one thread in a fresh directory.
func opened(t *testing.T, program, driver string, options map[string]string) *conductor.Worker {
	t.Helper()
	return openedAs(t, program, &control.Open{Driver: driver, Directory: t.TempDir(), Durability: store.D1,
		Handles: control.HandlesPerThread,
		Options: options, Threads: 1})
}

func openedAs(t *testing.T, program string, open *control.Open) *conductor.Worker {
	t.Helper()
	worker, err := conductor.Start([]string{program}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(worker.Kill)
	if err := worker.Call(control.Request{Command: control.CommandOpen, Open: open}, costTimeout, nil); err != nil {
		t.Fatal(err)
	}
	return worker
}

// preparation is the same for all phases here. Keys of 8 bytes are what every driver takes; the
// seed is a word that no double holds.
func preparation(folder string) *control.Prepare {
	return &control.Prepare{Phase: "here", Number: 1, Trace: filepath.Join(folder, "trace"), Counters: filepath.Join(folder, "counters"), Clock: "auto",
		Keys:   keyval.KeyShape{Format: keyval.Binary, Bytes: 8},
		Values: keyval.ValueShape{PoolBytes: 4096, PoolSeed: math.MaxUint64, LengthMax: 100, TrialTag: math.MaxUint32}}
}

// prepared prepares a phase of one thread that puts the same records again and again.
func prepared(t *testing.T, worker *conductor.Worker, change func(*control.Prepare)) (*counters.File,
	control.Prepared) {
	t.Helper()
	file := &trace.File{Groups: 1, Operations: []trace.Operation{trace.Upsert}, Threads: make([]trace.Thread, 1)}
	file.Amounts[0] = 100
	for i := range uint64(100) {
		file.Threads[0].Entries = append(file.Threads[0].Entries, trace.MakeEntry(trace.Upsert, i, 0, false))
	}
	folder := t.TempDir()
	p := preparation(folder)
	change(p)
	if err := file.Write(p.Trace); err != nil {
		t.Fatal(err)
	}
	c, err := counters.Create(p.Counters, file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Unmap(); err != nil {
			t.Error(err)
		}
	})
	var result control.Prepared
	if err := worker.Call(control.Request{Command: control.CommandPrepare, Prepare: p}, costTimeout,
		&result); err != nil {
		t.Fatal(err)
	}
	return c, result
}

// Drivers that the kit's own rule of kill -9 can't be asked of (see engines) keep what they
// acknowledged to one thread.
func TestOneThreadSurvivesKill(t *testing.T) {
	for _, e := range []engine{
		{program: "tokyocabinet", driver: "tokyocabinet-fixed"},
	} {
		for _, class := range []store.Durability{store.D1, store.D3} {
			t.Run(e.driver+"/"+string(class), func(t *testing.T) {
				program, open := plain.worker(t, e.program), &control.Open{Driver: e.driver, Directory: t.TempDir(),
					Durability: class,
					Handles:    control.HandlesPerThread, Threads: 1}
				writer := openedAs(t, program, open)
				c, _ := prepared(t, writer, func(*control.Prepare) {})
				if _, err := writer.Send(control.Request{Command: control.CommandRun}); err != nil {
					t.Fatal(err)
				}
				for end := time.Now().Add(costTimeout); c.Thread(0).Acknowledged < 350 && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
				writer.Kill()
				_ = writer.End(costTimeout) // it says that the worker was killed
				acknowledged, attempted := c.Sample(false).Acknowledged[0], c.Sample(false).Attempted[0]
				if acknowledged < 350 {
					t.Fatalf("only %d writes in %v", acknowledged, costTimeout)
				}
				reader := openedAs(t, program, open)
				for i, version := range readBack(t, reader) {
					// Entry i is written once a lap: the last acknowledged time, or the one that
					// was under way.
					last := (acknowledged-1-uint64(i))/100*100 + uint64(i)
					if version != keyval.Version(1, 0, last) && !(attempted > acknowledged &&
						version == keyval.Version(1, 0, last+100)) {
						t.Fatalf("of %d acknowledged writes, index %d holds version %#x, expected sequence %d", acknowledged, i, version, last)
					}
				}
			})
		}
	}
}

// readBack returns the version of each of the hundred records that prepared's phase puts.
func readBack(t *testing.T, worker *conductor.Worker) []uint64 {
	t.Helper()
	file := &trace.File{Groups: 1, Flags: trace.FlagRecordVersions, Operations: []trace.Operation{trace.Read},
		Threads: make([]trace.Thread, 1)}
	for i := range uint64(100) {
		file.Threads[0].Entries = append(file.Threads[0].Entries, trace.MakeEntry(trace.Read, i, 0, false))
	}
	folder := t.TempDir()
	p := preparation(folder)
	p.Number = 2
	if err := file.Write(p.Trace); err != nil {
		t.Fatal(err)
	}
	c, err := counters.Create(p.Counters, file)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Unmap()
	for _, r := range []control.Request{{Command: control.CommandPrepare, Prepare: p}, {Command: control.CommandRun}} {
		if err := worker.Call(r, costTimeout, nil); err != nil {
			t.Fatal(err)
		}
	}
	return slices.Clone(c.Observed())
}

// Whatever a library prints goes to standard error: descriptor 1 is no longer the control channel.
func TestStandardOutputIsProtected(t *testing.T) {
	worker := opened(t, plain.worker(t, "null"), "null-c", nil)
	where := func(descriptor int) string {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", worker.PID(), descriptor))
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	if one, two := where(1), where(2); one != two {
		t.Errorf("descriptor 1 is %s, standard error is %s", one, two)
	}
}

// The end of input in the middle of a phase ends the phase and the process, and the counts add up.
func TestEndOfInputInAPhase(t *testing.T) {
	worker := opened(t, plain.worker(t, "null"), "null-c", nil)
	c, _ := prepared(t, worker, func(*control.Prepare) {})
	if _, err := worker.Send(control.Request{Command: control.CommandRun}); err != nil {
		t.Fatal(err)
	}
	for c.Thread(0).Acknowledged == 0 && c.State() != counters.Ended {
		time.Sleep(time.Millisecond)
	}
	if err := worker.End(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	total := c.Sample(false)
	if c.State() != counters.Ended || total.Attempted[0] != total.Acknowledged[0] ||
		total.Totals[0].Outcomes[counters.OK] != total.Acknowledged[0] {
		t.Errorf("state %d, %d attempted, %d acknowledged, %v", c.State(), total.Attempted[0], total.Acknowledged[0], total.Totals[0].Outcomes)
	}
}

// While a phase runs, the store's own counters are written under the names that prepare gave.
func TestStoreCountersAreReportedInAPhase(t *testing.T) {
	worker := opened(t, plain.worker(t, "lmdb"), "lmdb", nil)
	c, names := prepared(t, worker, func(p *control.Prepare) { p.DeadlineNS = int64(2500 * time.Millisecond) })
	var ran control.Ran
	if err := worker.Call(control.Request{Command: control.CommandRun}, costTimeout, &ran); err != nil {
		t.Fatal(err)
	}
	rounds, values := c.Stats(len(names.Stats))
	if rounds == 0 || ran.Runtime["inspects"] != float64(rounds) || ran.Runtime["inspect_ns"] <= 0 {
		t.Errorf("%d rounds were written, runtime tells %v", rounds, ran.Runtime)
	}
	records := slices.Index(names.Stats, "records")
	if records < 0 || values[records] != 100 {
		t.Errorf("100 records were put, the counters tell %v of %v", values, names.Stats)
	}
	if err := worker.End(30 * time.Second); err != nil {
		t.Error(err)
	}
}
