package agents

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"assay/internal/base/clock"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// What the conductor has after a phase is what each agent's worker counted, bucket by bucket: so a
// percentile of the merged histograms is that of all agents' operations together, and no mean of
// percentiles.
func TestMergedHistogramsEqualTheAgents(t *testing.T) {
	const agents, threadsEach, operations = 3, 2, 5000
	ctx, cancel := context.WithCancel(context.Background())
	hub, err := NewHub(Options{Agents: []string{fmt.Sprint("join:", agents)}, Version: "1", Log: io.Discard, Patience: long})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	sittings := map[string]*sitting{}
	for range agents {
		o := (&rig{hub: hub}).options("1")
		conn, err := connect(o.Server, o.Token, "agent", o.Log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		s := newSitting(o, conn)
		sittings[s.id] = s
		go func() { _ = s.serve(ctx) }() // what it lacks is missing in the sums
	}
	t.Cleanup(hub.Close) // before the connections, by which agents hear it
	present, err := hub.Gather(ctx)
	if err != nil {
		t.Fatal(err)
	}
	threads := agents * threadsEach
	specs := []trace.Spec{{Mix: []trace.Share{{Operation: trace.Read, Weight: 2}, {Operation: trace.Update,
		Weight: 1}}, Records: 1000, Fresh: 1000,
		Threads: threads, ThreadEntries: operations / threads, Limit: operations, Rate: 100_000,
		Order: trace.Order{Distribution: trace.Zipfian, Theta: 0.99},
		Sizes: []trace.Size{{Bytes: 30, Weight: 1}}}}
	file, err := trace.Generate(specs...)
	if err != nil {
		t.Fatal(err)
	}
	merged := mirrorOf(t, file, agents)
	var workers []*Worker
	var pending []*Pending
	t.Cleanup(func() {
		for _, w := range workers {
			w.Detach()
		}
		if err := merged.Unmap(); err != nil {
			t.Error(err)
		}
	})
	for i, a := range present {
		w, err := a.StartWorker(ctx, long)
		if err != nil {
			t.Fatal(err)
		}
		workers = append(workers, w)
		if err := w.CallContext(ctx, control.Request{Command: control.CommandOpen, Open: &control.Open{Driver: "null", Durability: store.D0,
			Handles: control.HandlesPerThread, Threads: threadsEach, First: i == 0}}, long, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Prepare(ctx, Share{Specs: specs, Processes: agents, Prepare: control.Prepare{Phase: "p", Number: 1, FirstThread: i * threadsEach,
			ThreadCount: threadsEach, Process: i, Clock: "monotonic", Keys: keyval.KeyShape{Format: keyval.Binary, Bytes: 16},
			Values: keyval.ValueShape{PoolBytes: 4096, LengthMax: 30, TrialTag: 1}, LoadedRecords: 1000}}, merged,
			long); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range workers {
		run := w.Run(clock.MonotonicNS())
		p, err := w.Send(control.Request{Command: control.CommandRun, Run: &run})
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, p)
	}
	for i, p := range pending {
		if done, err := p.Wait(long, nil); !done || err != nil {
			t.Fatalf("agent %d: %v, %v", i, done, err)
		}
	}
	eventually(t, "the last counters", func() bool { return Look(workers, true, time.Second) })

	var counted uint64
	for i, a := range present {
		own := sittings[a.ID].all()
		if len(own) != 1 {
			t.Fatalf("agent %d has %d workers", i, len(own))
		}
		for thread := i * threadsEach; thread < (i+1)*threadsEach; thread++ {
			if want, got := own[0].files.Counters.AppendThread(nil, thread, true), merged.AppendThread(nil, thread,
				true); !bytes.Equal(got, want) {
				t.Errorf("thread %d: the conductor's counters differ from the worker's", thread)
			}
			counted += merged.Thread(thread).Acknowledged
		}
	}
	if counted != operations {
		t.Errorf("%d operations, want %d", counted, operations)
	}
	for _, total := range merged.Sample(true).Totals {
		if n := total.Service.Count(); n == 0 || total.Response.Count() != n {
			t.Errorf("%s: %d service and %d response times", total.Operation, n, total.Response.Count())
		}
	}
}
