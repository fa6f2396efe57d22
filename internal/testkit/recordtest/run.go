// Package recordtest makes runs that never ran, for the tests of everything that reads run
// directories: arms of known rates, warm-ups, stalls and cliffs, so that a test knows what must be
// found.
package recordtest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"assay/internal/base/finding"
	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/plan"
	"assay/store"
)

// Class is a durability class.
type Class = store.Durability

// Shape says what a run is made of. Every arm runs in every class, Blocks times.
type Shape struct {
	Name    string
	Classes []store.Durability
	Arms    []Arm
	Blocks  int
	Seconds int // of each measured phase: one sample a second
	Seed    uint64
	AA      bool // also the first arm a second time
	Ceiling bool // also the null driver
}

// Arm is a store and how it behaves. The zero value of a field means that nothing of the kind
// happens.
type Arm struct {
	Name          string
	PutRate       float64                      // operations a second at the weakest class, once warm
	GetRate       float64                      //
	ClassCost     map[store.Durability]float64 // factor on PutRate; a class that is missing costs nothing
	Noise         float64                      // standard deviation of the log of a second's rate
	BlockNoise    float64                      // and of a trial's
	WarmupSeconds int                          // the rate climbs from 0.4 of its level during so many seconds
	StallAt       int                          // for three seconds from here, almost nothing is done
	CliffAt       int                          // from here on, the put rate is CliffTo of what it was
	CliffTo       float64
	DiskFactor    float64 // disk bytes ÷ logical bytes
	RSSBytes      float64
	AllocBytes    float64 // an operation
	Allocs        float64
	// operations of each put phase that end in an error: marks the trial
	Errors  uint64
	Refuses func(class store.Durability) string // why, or ""
	Fails   func(class store.Durability, block int) string
}

// Example is a run with something of everything: three classes, eight arms (one of them refused in
// a class, one marked, one failed in a block) besides the A/A arm and the null driver, three
// blocks, a warm-up, a stall and a cliff.
func Example() Shape {
	syncCost := func(at3 float64) map[store.Durability]float64 {
		return map[store.Durability]float64{store.D1: 0.8, store.D3: at3}
	}
	return Shape{
		Name: "put-get", Classes: []store.Durability{store.D0, store.D1, store.D3}, Blocks: 3, Seconds: 60, Seed: 1, AA: true, Ceiling: true,
		Arms: []Arm{
			{Name: "pebble", PutRate: 412e3, GetRate: 610e3, ClassCost: syncCost(0.02), Noise: 0.05, BlockNoise: 0.01, WarmupSeconds: 8, DiskFactor: 0.71, RSSBytes: 212e6, AllocBytes: 48, Allocs: 1.02},
			{Name: "goleveldb", PutRate: 221e3, GetRate: 340e3, ClassCost: syncCost(0.03), Noise: 0.08, BlockNoise: 0.02, WarmupSeconds: 5, StallAt: 37, DiskFactor: 0.64, RSSBytes: 96e6, AllocBytes: 811, Allocs: 9.4},
			{Name: "badger", PutRate: 236e3, GetRate: 480e3, ClassCost: syncCost(0.025), Noise: 0.10, BlockNoise: 0.03, WarmupSeconds: 6, CliffAt: 41, CliffTo: 0.35, DiskFactor: 1.32, RSSBytes: 640e6, AllocBytes: 2210, Allocs: 21},
			{Name: "bbolt", PutRate: 38e3, GetRate: 1.42e6, ClassCost: syncCost(0.04), Noise: 0.04, BlockNoise: 0.01, WarmupSeconds: 3, DiskFactor: 1.51, RSSBytes: 155e6, AllocBytes: 5830, Allocs: 52,
				Refuses: func(c store.Durability) string {
					if c == store.D1 {
						return "bbolt can't reach D1: it syncs each transaction (D3), or with NoSync leaves the order of writes to the kernel (D0)"
					}
					return ""
				}},
			{Name: "boltdb", PutRate: 37.6e3, GetRate: 1.40e6, ClassCost: syncCost(0.04), Noise: 0.04, BlockNoise: 0.01, WarmupSeconds: 3, DiskFactor: 1.52, RSSBytes: 154e6, AllocBytes: 5810, Allocs: 52},
			{Name: "pogreb", PutRate: 168e3, GetRate: 905e3, ClassCost: syncCost(0.03), Noise: 0.03, BlockNoise: 0.01, WarmupSeconds: 2, DiskFactor: 14.2, RSSBytes: 61e6, AllocBytes: 0, Allocs: 0, Errors: 412},
			{Name: "sqlite", PutRate: 61e3, GetRate: 118e3, ClassCost: syncCost(0.05), Noise: 0.02, BlockNoise: 0.01, WarmupSeconds: 1, DiskFactor: 1.12, RSSBytes: 33e6, AllocBytes: 320, Allocs: 11,
				Fails: func(c store.Durability, block int) string {
					if c == store.D3 && block == 2 {
						return "the worker died in phase put after 21 s: signal killed (out of memory: the limit of 1.00 GB was reached)"
					}
					return ""
				}},
			{Name: "tokyo-hash", PutRate: 395e3, GetRate: 760e3, ClassCost: syncCost(0.01), Noise: 0.06, BlockNoise: 0.02, WarmupSeconds: 2, DiskFactor: 1.03, RSSBytes: 118e6},
		},
	}
}

const (
	recordBytes = 1016 // key and value
	records     = 1_000_000
	threads     = 8
)

// Run makes the run. The same shape gives the same run.
func Run(s Shape) *record.Run {
	began := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	run := &record.Run{
		Header:     record.Header{Format: record.FormatVersion, ID: fmt.Sprintf("synthetic%06x", s.Seed), Created: began, Name: s.Name, Hash: strings.Repeat("5e", 32)},
		Experiment: anExperiment(s), Source: []byte("name: " + s.Name + "\n"), Environment: environment(s.Name),
		Trials: map[string]*record.Trial{}, InMemory: map[string][]record.Sample{},
	}
	run.Events = append(run.Events, record.Event{At: began, Kind: "started"})
	random := rand.New(rand.NewPCG(s.Seed, 0))
	at := began
	for block := 1; block <= s.Blocks; block++ {
		entries := entriesOf(s, run.Experiment, block)
		random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		for position, e := range entries {
			class := run.Experiment.Cells[e.trial.Cell].Durability
			e.trial.ID = fmt.Sprintf("b%d-%03d-%s-%s", block, position+1, strings.NewReplacer(" ", "", "/", "").Replace(e.trial.Arm), class)
			run.Plan = append(run.Plan, e.trial)
			trial, samples := e.run(s, class, block, at, random)
			run.Trials[e.trial.ID] = trial
			if samples != nil {
				run.InMemory[e.trial.ID] = samples
			}
			run.Events = append(run.Events,
				record.Event{At: at, Kind: "trial-started", Trial: e.trial.ID},
				record.Event{At: at.Add(seconds(trial.Seconds)), Kind: "trial-ended", Trial: e.trial.ID, Text: string(trial.State)})
			at = at.Add(seconds(trial.Seconds))
		}
	}
	run.Events = append(run.Events, record.Event{At: at, Kind: "ended"})
	return run
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func anExperiment(s Shape) experiment.Experiment {
	e := experiment.Experiment{
		Name: s.Name, About: "Which embedded engine puts and gets records of 1,000 bytes fastest, at which durability?",
		Baseline: s.Arms[0].Name, Keys: keyval.KeyShape{Format: keyval.Binary, Bytes: 16},
		Values: experiment.Values{RepeatedPermille: 500, PoolBytes: 1 << 22},
		Phases: []experiment.Phase{
			{Name: "load", Load: true, Order: experiment.Order{Distribution: "shuffled"}, Batch: 1000},
			{Name: "put", Mix: map[string]float64{"update": 1}, Order: experiment.Order{Distribution: "uniform"}, Duration: time.Duration(s.Seconds) * time.Second},
			{Name: "get", Mix: map[string]float64{"read": 1}, Order: experiment.Order{Distribution: "zipfian", Theta: 0.99}, Duration: time.Duration(s.Seconds) * time.Second},
		},
		Schedule: experiment.Schedule{Blocks: s.Blocks}, Seed: s.Seed, Verify: true, VerifyRecords: 10_000, Clock: "auto", Sample: time.Second, StepTimeout: time.Minute,
	}
	for _, class := range s.Classes {
		e.Cells = append(e.Cells, experiment.Cell{Durability: class, Records: records, ValueBytes: 1000, Threads: threads, Handles: "shared", MemoryLimit: 1e9})
	}
	for _, arm := range s.Arms {
		d := store.Description{Name: arm.Name, Summary: "a synthetic store", Library: "example.org/" + arm.Name, Version: "v1.2.3", Licence: "MIT", Kind: store.Embedded, HandlesShareable: true}
		for _, class := range s.Classes {
			if arm.Refuses == nil || arm.Refuses(class) == "" {
				d.Durability = append(d.Durability, store.DurabilityClaim{Class: class, How: "Options.Sync = " + map[bool]string{true: "true", false: "false"}[class == store.D3]})
			}
		}
		e.Stores = append(e.Stores, experiment.Store{Name: arm.Name, Driver: arm.Name, Options: map[string]string{"cache_bytes": "64MiB"}, Description: d})
	}
	return e
}

func environment(name string) record.Environment {
	return record.Environment{
		Assay: "v0.1.0 (0123456789ab)", Go: "go1.26.0", Modules: map[string]string{"example.org/pebble": "v1.2.3"}, OS: "linux", Kernel: "6.1.0-30-amd64",
		CPU: "Example CPU @ 2.60GHz", CPUs: 8, ClockSource: "tsc", MemoryBytes: 16 << 30, Filesystem: "ext4", Mount: "rw,relatime", Device: "nvme0n1",
		Command: []string{"assay", "run", name, "--set", "blocks=3", "--set", "note=it's quick"}, Host: "example", SyncMicros: 412, WriteCount: pointer(1.0),
		ValueRatio: map[string]float64{"snappy": 0.62, "zstd": 0.49},
	}
}

// entry is a planned trial and the arm that it runs.
type entry struct {
	trial plan.Trial
	arm   Arm
}

func entriesOf(s Shape, e experiment.Experiment, block int) []entry {
	var entries []entry
	for cell := range e.Cells {
		seed := s.Seed<<16 + uint64(block)<<8 + uint64(cell)
		for i, arm := range s.Arms {
			t := plan.Trial{Block: block, Arm: arm.Name, Role: plan.Measured, Store: i, Cell: cell, Seed: seed}
			if arm.Refuses != nil {
				t.Refuse = arm.Refuses(e.Cells[cell].Durability)
			}
			entries = append(entries, entry{t, arm})
		}
		if s.AA {
			entries = append(entries, entry{plan.Trial{Block: block, Arm: s.Arms[0].Name + " (A/A)", Role: plan.AA, Cell: cell, Seed: seed}, s.Arms[0]})
		}
		if s.Ceiling {
			null := Arm{Name: "null", PutRate: 21e6, GetRate: 24e6, Noise: 0.01, RSSBytes: 14e6}
			entries = append(entries, entry{plan.Trial{Block: block, Arm: "null", Role: plan.Ceiling, Store: -1, Cell: cell, Seed: seed}, null})
		}
	}
	return entries
}

func (e entry) run(s Shape, class store.Durability, block int, at time.Time, random *rand.Rand) (*record.Trial,
	[]record.Sample) {
	t := &record.Trial{Plan: e.trial, State: record.OK, Started: at, Version: "v1.2.3", Settings: map[string]string{"cache_bytes": "67108864", "sync": fmt.Sprint(class == store.D3)}}
	if e.trial.Refuse != "" {
		t.State, t.Cause, t.Error = record.Refused, finding.CauseRefused, e.trial.Refuse
		return t, nil
	}
	level := math.Exp(e.arm.BlockNoise * random.NormFloat64())
	cost := 1.0
	if c, ok := e.arm.ClassCost[class]; ok {
		cost = c
	}
	load := e.arm.phase("load", 0, max(s.Seconds/6, 2), e.arm.PutRate*level, random)
	load.result.Load, load.result.Batch = true, 1000
	put := e.arm.phase("put", 1, s.Seconds, e.arm.PutRate*cost*level, random)
	get := e.arm.phase("get", 2, s.Seconds, e.arm.GetRate*level, random)
	phases := []phase{load, put, get}
	if e.arm.Fails != nil {
		if why := e.arm.Fails(class, block); why != "" {
			t.State, t.Cause, t.Error = record.Failed, finding.CauseDied, why
			put.samples = put.samples[:len(put.samples)/3]
			t.Phases, t.Seconds = []record.Phase{load.result}, 40
			return t, append(load.samples, put.samples...)
		}
	}
	var samples []record.Sample
	for _, p := range phases {
		t.Phases = append(t.Phases, p.result)
		samples = append(samples, p.samples...)
		t.Seconds += float64(p.result.ElapsedNS)/1e9 + 1
	}
	if n := e.arm.Errors; n > 0 {
		op := &t.Phases[1].Operations[0]
		n = min(n, op.OK)
		op.OK, op.Errors = op.OK-n, n
		t.Phases[1].Messages = []record.Message{{Operation: "update", Outcome: "error", Text: `write /data/<index>.psg: "no space left" & </script><b>not bold</b>`, Count: n}}
		t.State = record.Marked
		t.Marks = t.Phases[1].Marks()
	}
	t.Final = &record.FinalCheck{Records: 10_000, Of: 10_000, Right: 10_000}
	return t, samples
}

type phase struct {
	result  record.Phase
	samples []record.Sample
}

// phase makes one phase at a level of operations a second.
func (a Arm) phase(name string, number, length int, level float64, random *rand.Rand) phase {
	var p phase
	var total uint64
	longestNS := 0.0
	for second := range length {
		rate := level * math.Exp(a.Noise*random.NormFloat64())
		if second < a.WarmupSeconds && number > 0 {
			rate *= 0.4 + 0.6*float64(second)/float64(a.WarmupSeconds)
		}
		stalled := number == 1 && a.StallAt > 0 && second >= a.StallAt && second < a.StallAt+3
		if stalled {
			rate *= 0.02
		}
		if number == 1 && a.CliffAt > 0 && second >= a.CliffAt {
			rate *= a.CliffTo
		}
		ops := uint64(rate)
		p50 := threads / max(rate, 1) * 1e9 * 0.8
		p99, longest := p50*6, p50*(40+60*random.Float64())
		if stalled {
			longest = 0.9e9
		}
		longestNS = max(longestNS, longest)
		sample := record.Sample{Phase: name, At: float64(second + 1), Seconds: 1, Operations: ops, P50NS: &p50,
			P99NS: &p99, MaxNS: &longest,
			Records:    pointer(uint64(records)),
			RSSBytes:   pointer(uint64(a.RSSBytes * (0.7 + 0.3*float64(second+1)/float64(length)))),
			CPUSeconds: pointer(6.5)}
		if a.DiskFactor > 0 {
			sample.DiskBytes = pointer(uint64(a.DiskFactor * records * recordBytes))
			sample.WriteBytes = pointer(ops * recordBytes)
		}
		p.samples = append(p.samples, sample)
		total += ops
	}
	operation := record.Operation{Name: "update", OK: total, BytesWritten: total * recordBytes, MaxNS: uint64(longestNS)}
	if name == "get" {
		operation = record.Operation{Name: "read", OK: total, BytesRead: total * recordBytes, MaxNS: uint64(longestNS)}
	}
	if name == "load" {
		operation.Name = "insert"
	}
	operation.Service = latencies(total, threads/level*1e9*0.8, longestNS)
	p.result = record.Phase{
		Name: name, Number: number, Measured: number > 0, Threads: threads, ElapsedNS: int64(length) * 1e9,
		SampleNS:   1e9,
		Operations: []record.Operation{operation}, Attempted: total, Clock: "tsc", ClockDrift: 300,
		Runtime: map[string]float64{"alloc_bytes": a.AllocBytes * float64(total), "allocs": a.Allocs * float64(total), "gc_pause_ns": 3e6},
		Sizes: record.Sizes{LogicalBytes: pointer(uint64(records * recordBytes)),
			Records: pointer(uint64(records)), Drained: true, DrainSeconds: 1.5},
		Process: record.Process{CPUSeconds: pointer(6.5 * float64(length)),
			RSSMaxBytes:     pointer(uint64(a.RSSBytes)),
			HostWriteBytes:  pointer(uint64(a.DiskFactor * float64(operation.BytesWritten))),
			HostWriteSource: record.WritesOfProcess, MajorFaults: pointer(uint64(12))},
	}
	if a.AllocBytes == 0 && a.Allocs == 0 && a.Name == "tokyo-hash" {
		p.result.Runtime = nil // a native worker: its runtime tells nothing
	}
	if a.DiskFactor > 0 {
		p.result.Sizes.DiskBytes = pointer(uint64(a.DiskFactor * records * recordBytes))
		p.result.Sizes.Files = pointer(uint64(12))
	}
	return p
}

// latencies spreads n service times around a median, log-normally, with one at the longest.
func latencies(n uint64, medianNS, longestNS float64) *histogram.Histogram {
	h := histogram.New()
	if n == 0 {
		return h
	}
	h.Record(uint64(longestNS))
	n--
	// Slices thin out towards the tail, so that p99.99 is there without walking through every
	// operation.
	var counted uint64
	for _, s := range slicesOfLatency() {
		value := min(medianNS*s.factor, longestNS)
		count := uint64(s.share*float64(n)) - counted
		h.Counts[histogram.Bucket(uint64(value))] += count
		counted += count
	}
	h.Counts[histogram.Bucket(uint64(longestNS))] += n - counted
	return h
}

// latencySlice is a slice of a log-normal distribution: the share of it that ends with the slice, and
// its middle as a factor of the median.
type latencySlice struct{ share, factor float64 }

var slicesOfLatency = sync.OnceValue(func() (all []latencySlice) {
	previous := 0.0
	for step := 1; step <= 600; step++ {
		share := 1 - math.Pow(10, -6*float64(step)/600)
		z := math.Sqrt2 * math.Erfinv(2*(previous+share)/2-1)
		all = append(all, latencySlice{share, math.Exp(0.75 * z)})
		previous = share
	}
	return all
})

func pointer[T cmp.Ordered](v T) *T { return &v }
