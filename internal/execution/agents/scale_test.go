package agents

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/base/clock"
	"assay/internal/evidence/host"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// manyAgents serves so many agents in one process, each with workers of its own. It ends with its
// standard input.
func manyAgents(arguments []string, o AgentOptions) error {
	count, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	o.Server, o.Token, o.Guard, o.Once = arguments[0], Token(os.Getenv("ASSAY_TEST_TOKEN")), nil, true
	o.Log = io.Discard
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			if err := Serve(ctx, o); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, err)
			}
		})
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	stop()
	all.Wait()
	return err
}

// TestManyAgents prints what the conductor needs for many agents on one NATS server. docs/scale.md has
// the figures of its long form. It looks at sums, not at times.
func TestManyAgents(t *testing.T) {
	counts, rate := []int{10}, 400
	if os.Getenv("ASSAY_LONG") != "" {
		counts, rate = []int{1, 10, 100, 1000}, 20
	}
	for _, n := range counts {
		t.Run(strconv.Itoa(n), func(t *testing.T) { withMany(t, n, rate) })
	}
}

// withMany lets n agents do so many operations a second, each.
func withMany(t *testing.T, n, rate int) {
	const operations = 100 // of each agent
	lasts := time.Duration(operations/float64(rate)*1000) * time.Millisecond
	hub, err := NewHub(Options{Agents: []string{fmt.Sprint("join:", n)}, Version: "1", Lease: time.Minute, Log: io.Discard, Patience: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	many := exec.Command(os.Args[0], "many", hub.Server, strconv.Itoa(n))
	many.Env, many.Stderr = append(os.Environ(), "ASSAY_TEST_TOKEN="+string(hub.Token)), os.Stderr
	in, err := many.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	meter := newMeter(t, hub)
	if err := many.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // the process ends by it
		if err := many.Wait(); err != nil {
			t.Error(err)
		}
	})
	present, err := hub.Gather(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	meter.told("joined")

	specs := []trace.Spec{{Mix: []trace.Share{{Operation: trace.Read, Weight: 1}}, Records: 1000, Fresh: 1000,
		Threads: n, ThreadEntries: operations,
		Limit: uint64(n * operations), Rate: float64(n * rate), Order: trace.Order{Distribution: trace.Uniform},
		Sizes: []trace.Size{{Bytes: 30, Weight: 1}}}}
	file, err := trace.Generate(specs...)
	if err != nil {
		t.Fatal(err)
	}
	mirror := mirrorOf(t, file, n)
	workers := make([]*Worker, n)
	each := func(do func(i int) error) {
		t.Helper()
		var all sync.WaitGroup
		failed := make([]error, n)
		for i := range n {
			all.Go(func() { failed[i] = do(i) })
		}
		all.Wait()
		for i, err := range failed {
			if err != nil {
				t.Fatalf("agent %d: %v", i, err)
			}
		}
	}
	ctx := context.Background()
	each(func(i int) (err error) {
		if workers[i], err = present[i].StartWorker(ctx, 10*time.Minute); err != nil {
			return err
		}
		return workers[i].CallContext(ctx, control.Request{Command: control.CommandOpen, Open: &control.Open{Driver: "null", Durability: store.D0,
			Handles: control.HandlesPerThread, Threads: 1, First: true}}, 10*time.Minute, nil)
	})
	meter.told("workers are open")
	each(func(i int) error {
		p, err := workers[i].Prepare(ctx, Share{Specs: specs, Processes: n, Prepare: control.Prepare{Phase: "p", Number: 1, FirstThread: i, ThreadCount: 1, Process: i,
			Clock: "monotonic", Keys: keyval.KeyShape{Format: keyval.Binary, Bytes: 16},
			Values: keyval.ValueShape{PoolBytes: 4096, LengthMax: 30, TrialTag: 1}, LoadedRecords: 1000}}, mirror,
			10*time.Minute)
		if err == nil && p.Digest != file.Digest(i, i+1) {
			return fmt.Errorf("another trace")
		}
		return err
	})
	defer func() {
		for _, w := range workers {
			w.Detach()
		}
		if err := mirror.Unmap(); err != nil {
			t.Error(err)
		}
	}()
	meter.told("prepared")

	start := clock.MonotonicNS() + int64(lasts/5)
	pending := make([]*Pending, n)
	for i, w := range workers {
		run := w.Run(start)
		if pending[i], err = w.Send(control.Request{Command: control.CommandRun, Run: &run}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Until(time.Now().Add(time.Duration(start - clock.MonotonicNS()))))
	meter.told("asked to begin")
	looks, late := 0, 0
	over := time.After(lasts)
	for phase := true; phase; {
		select {
		case <-over:
			phase = false
		case <-time.After(time.Second):
			looks++
			if !Look(workers, false, time.Second) {
				late++
			}
		}
	}
	meter.told(fmt.Sprintf("phase of %v, %d samples, %d of them not whole in a second", lasts, looks, late))
	for i, p := range pending {
		if done, err := p.Wait(5*time.Minute, nil); !done || err != nil {
			t.Fatalf("agent %d: %v, %v", i, done, err)
		}
	}
	for deadline := time.Now().Add(5 * time.Minute); !Look(workers, true, 10*time.Second); {
		if time.Now().After(deadline) {
			t.Fatal("the last counters did not come")
		}
	}
	meter.told("all counters and histograms are merged")
	var sum, spread uint64
	for i, w := range workers {
		sum += mirror.Thread(i).Acknowledged
		began, _ := w.Start()
		spread = max(spread, uint64(max(began-start, start-began)))
	}
	if sum != uint64(n*operations) {
		t.Errorf("%d operations, want %d", sum, n*operations)
	}
	t.Logf("furthest from the agreed start: %v", time.Duration(spread))
}

// meter prints what this process has used since the last time: its CPU, its memory, the NATS
// server's bytes.
type meter struct {
	t       *testing.T
	hub     *Hub
	at      time.Time
	cpu     time.Duration
	in, out int64
}

func newMeter(t *testing.T, hub *Hub) *meter {
	m := &meter{t: t, hub: hub}
	m.note()
	return m
}

func (m *meter) note() {
	m.at, m.cpu = time.Now(), host.ProcessCPU()
	if told, err := m.hub.server.Varz(nil); err == nil {
		m.in, m.out = told.InBytes, told.OutBytes
	}
}

func (m *meter) told(what string) {
	before := *m
	m.note()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		m.t.Fatal(err)
	}
	m.t.Logf("%s: %.2f s, CPU %.2f s, peak memory %d MB, %.3f MB to and %.3f MB from the NATS server", what, m.at.Sub(before.at).Seconds(),
		(m.cpu - before.cpu).Seconds(), used.Maxrss>>10, float64(m.in-before.in)/1e6, float64(m.out-before.out)/1e6)
}
