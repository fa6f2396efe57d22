package c_test

import (
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assay/internal/analysis/stat"
	"assay/internal/evidence/counters"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

const (
	costRecords = 100_000
	costRounds  = 9
	costLength  = 500 * time.Millisecond
	costTimeout = 5 * time.Minute // of a worker that hangs, on a machine that others keep busy
)

// timing is one thing that a worker is timed at.
type timing struct {
	program, driver string
	durability      store.Durability
	handles         string
	options         map[string]string
	operation       trace.Operation
	threads         int
	records         uint64 // 0: the store keeps none
	verify          bool
	keys            keyval.KeyShape // none: binary, of 16 bytes
	valueBytes      int             // 0: 100
	columns         []keyval.Column // none: values
	order           string          // uniform if none
	laps            uint64          // 0: until costLength has passed
	timedEvery      uint64          // of so many operations one is timed; 0: all are
}

func (w timing) sizes() []trace.Size {
	return []trace.Size{{Bytes: cmp.Or(w.valueBytes, 100), Weight: 1}}
}

// worker starts a worker on a store's directory, passes it on, and ends it.
func (w timing) worker(t *testing.T, directory string, use func(*conductor.Worker)) {
	t.Helper()
	process, err := conductor.Start([]string{w.program}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := process.End(costTimeout); err != nil {
			t.Error(err)
		}
	}()
	open := &control.Open{Driver: w.driver, Directory: directory, Durability: w.durability, Handles: w.handles,
		Options: w.options, Threads: w.threads}
	if err := process.Call(control.Request{Command: control.CommandOpen, Open: open}, costTimeout, nil); err != nil {
		t.Fatal(err)
	}
	if len(w.columns) > 0 {
		if err := process.Call(control.Request{Command: control.CommandDefine,
			Define: &control.Define{Columns: w.columns}}, costTimeout, nil); err != nil {
			t.Fatal(err)
		}
	}
	use(process)
	if err := process.Call(control.Request{Command: control.CommandClose}, costTimeout, nil); err != nil {
		t.Fatal(err)
	}
}

// load returns ns a record, by the clock.
func (w timing) load(t *testing.T, process *conductor.Worker) float64 {
	t.Helper()
	each, _ := w.phase(t, process, trace.Spec{Load: true, Records: w.records, Fresh: w.records,
		Order: trace.Order{Distribution: trace.Sequential},
		Sizes: w.sizes(), Threads: 1}, control.Prepare{Phase: "load", ZeroVersions: true})
	return each
}

// timed returns ns an operation over all threads, by the clock and of processor time.
func (w timing) timed(t *testing.T, process *conductor.Worker) (clock, processor float64) {
	t.Helper()
	records, length := max(w.records, costRecords), costLength
	spec := trace.Spec{Mix: []trace.Share{{Operation: w.operation, Weight: 1}}, Records: records, Fresh: records,
		Order: trace.Order{Distribution: cmp.Or(w.order, trace.Uniform)}, Sizes: w.sizes(), Threads: w.threads,
		ThreadEntries: 1 << 20, TimedEvery: w.timedEvery, Seed: 1}
	if w.laps > 0 {
		spec.ThreadEntries, spec.Limit, length = int(records), records*w.laps, costTimeout
	}
	return w.phase(t, process, spec, control.Prepare{Phase: "timed", Number: 1, Verify: w.verify, LoadedRecords: w.records, MustHitBelow: w.records,
		DeadlineNS: int64(length)})
}

// nsEach times a worker of its own on a store that is loaded already.
func (w timing) nsEach(t *testing.T, directory string) (clock, processor float64) {
	t.Helper()
	w.worker(t, directory, func(process *conductor.Worker) { clock, processor = w.timed(t, process) })
	return clock, processor
}

func (w timing) phase(t *testing.T, process *conductor.Worker, s trace.Spec, p control.Prepare) (clock,
	processor float64) {
	t.Helper()
	file, err := trace.Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	p.Trace, p.Counters, p.Clock = filepath.Join(folder, "trace"), filepath.Join(folder, "counters"), "auto"
	p.Keys = w.keys
	if p.Keys.Format == "" {
		p.Keys = keyval.KeyShape{Format: keyval.Binary, Bytes: 16}
	}
	p.Values = keyval.ValueShape{PoolBytes: 256 << 10, PoolSeed: 1, RepeatedPermille: 500,
		LengthMax: w.sizes()[0].Bytes, TrialTag: 7}
	if err := file.Write(p.Trace); err != nil {
		t.Fatal(err)
	}
	c, err := counters.Create(p.Counters, file)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Unmap()
	if err := process.Call(control.Request{Command: control.CommandPrepare, Prepare: &p}, costTimeout,
		nil); err != nil {
		t.Fatal(err)
	}
	var ran control.Ran
	if err := process.Call(control.Request{Command: control.CommandRun}, costTimeout, &ran); err != nil {
		t.Fatal(err)
	}
	done := uint64(0)
	for _, total := range c.Sample(false).Totals {
		done += total.Outcomes[counters.OK]
		if total.Operations() != total.Outcomes[counters.OK] {
			t.Fatalf("%s: %v of %s, expected ok only", p.Phase, total.Outcomes, total.Operation)
		}
	}
	return float64(c.EndNS()-c.StartNS()) / float64(done), (ran.Runtime["cpu_user_ns"] + ran.Runtime["cpu_system_ns"]) / float64(done)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// What the native harness costs an operation: its rate on the null driver bounds every other.
func TestCostOnTheNullDriver(t *testing.T) {
	if !long() {
		t.Skip("takes a minute and a quiet machine: set ASSAY_LONG=1")
	}
	program := plain.worker(t, "null")
	for _, threads := range []int{1, 2} {
		for _, v := range []struct {
			name      string
			operation trace.Operation
			verify    bool
		}{{"read", trace.Read, false}, {"read, value checked", trace.Read, true}, {"update", trace.Update, false}} {
			var times, processor []float64
			for range costRounds {
				clock, cpu := timing{program: program, driver: "null-c", durability: store.D0, handles: control.HandlesShared,
					operation: v.operation, threads: threads, verify: v.verify}.nsEach(t, t.TempDir())
				times, processor = append(times, clock), append(processor, cpu)
			}
			t.Logf("%d thread(s), %-20s %5.1f ns an operation (%.1f to %.1f), of processor time %5.1f", threads, v.name, median(times),
				slices.Min(times), slices.Max(times), median(processor))
		}
	}
}

// rateLeast is the share of a bare loop's rate below which something is wrong with the harness.
// What is aimed at is 0.97; the rest is room for a busy machine, on which single rounds were seen
// to differ by a third either way.
const (
	rateLeast  = 0.75
	rateRounds = 31
)

// The worker's rate beside a loop without a harness on the same engine and the same files, in
// turns. What else the machine does takes clock time from either, so that processor time is given
// as well.
func TestRateBesideBareLoops(t *testing.T) {
	if !long() {
		t.Skip("takes minutes and a quiet machine: set ASSAY_LONG=1")
	}
	for _, e := range []struct {
		program, driver, handles string
		options                  map[string]string
	}{
		{"tokyocabinet", "tokyocabinet-hash", control.HandlesShared, nil},
		{"lmdb", "lmdb", control.HandlesPerThread, map[string]string{"map_bytes": "1GiB"}},
		{"rocksdb", "rocksdb", control.HandlesShared, nil},
	} {
		for _, operation := range []trace.Operation{trace.Read, trace.Update} {
			t.Run(e.driver+"/"+operation.String(), func(t *testing.T) {
				w := timing{program: plain.worker(t, e.program), driver: e.driver, durability: store.D1,
					handles: e.handles, options: e.options,
					operation: operation, threads: 1, records: costRecords}
				bare := plain.tool(t, filepath.Join(plain.folder, "bare-"+e.program), "bare-"+e.program)
				directory := t.TempDir()
				w.worker(t, directory, func(process *conductor.Worker) { w.load(t, process) })
				sampled := w
				sampled.timedEvery = 100
				var all, some, theirs turns
				sides := []func(){
					func() { all.add(w.nsEach(t, directory)) },
					func() { some.add(sampled.nsEach(t, directory)) },
					func() { theirs.add(bareNS(t, bare, directory, operation)) },
				}
				for round := range rateRounds { // each side is first, in the middle and last about as often
					for i := range sides {
						sides[(round+i)%len(sides)]()
					}
				}
				ratio := func(theirs, ours []float64) stat.Ratio {
					return stat.Compare([][]float64{theirs, ours}, stat.Options{}).Pair(0, 1)
				}
				for name, ours := range map[string]turns{"all timed": all, "one in 100 timed": some} {
					rate, processor := ratio(theirs.clock, ours.clock), ratio(theirs.processor, ours.processor)
					t.Logf("bare loop %.0f ns, worker, %s, %.0f ns: %.1f %% of its rate (%.1f to %.1f); of processor time %.1f %% (%.1f to %.1f)",
						median(theirs.clock), name, median(ours.clock), 100*rate.Value, 100*rate.Interval.Low,
						100*rate.Interval.High,
						100*processor.Value, 100*processor.Interval.Low, 100*processor.Interval.High)
					if rate.Interval.High < rateLeast {
						t.Errorf("the worker reaches %.1f %% of a bare loop's rate", 100*rate.Value)
					}
				}
			})
		}
	}
}

// turns are one side's times, ns an operation.
type turns struct{ clock, processor []float64 }

func (s *turns) add(clock, processor float64) {
	s.clock, s.processor = append(s.clock, clock), append(s.processor, processor)
}

func bareNS(t *testing.T, program, directory string, operation trace.Operation) (clock, processor float64) {
	t.Helper()
	output, err := exec.Command(program, directory, fmt.Sprint(costRecords), fmt.Sprint(costLength.Seconds()),
		operation.String()).Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(output), &clock, &processor); err != nil {
		t.Fatalf("%q: %v", output, err)
	}
	return clock, processor
}
