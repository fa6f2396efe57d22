package history

import (
	"math"
	"math/rand/v2"
	"testing"

	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// carts simulates clients that add an item each to one cart. Truth is what a cart contains: the
// items of the version that it was made from, and its own.
type carts struct {
	r        *rand.Rand
	atomic   bool    // the store replaces only the version that was read
	dropped  float64 // share of the acknowledged writes that the store forgets
	clients  int
	requests int // of each
}

// run returns the history, what the cart holds at the end, and how many acknowledged updates it
// contains.
func (c carts) run() (h *audit.History, held uint64, done, kept int) {
	h = &audit.History{Number: phase, UntilNS: make([]int64, c.clients)}
	contains := map[uint64]map[uint64]bool{0: {}}
	type client struct{ sequence, read uint64 }
	clients := make([]client, c.clients)
	left := make([]int, c.clients)
	for i := range clients {
		h.UntilNS[i], left[i] = math.MaxInt64, 2*c.requests
	}
	for at := int64(0); ; at += 10 {
		i := c.r.IntN(c.clients)
		for k := 0; left[i] == 0 && k < c.clients; k++ {
			i = (i + 1) % c.clients
		}
		if left[i] == 0 {
			return h, held, done, len(contains[held])
		}
		left[i]--
		e := audit.HistoryEvent{Index: 7, Thread: i, Sequence: clients[i].sequence, BeginNS: at, EndNS: at + 9,
			Operation: trace.Read, Written: audit.NothingWritten, Request: clients[i].sequence/3*3 + 2}
		if clients[i].sequence++; clients[i].sequence%3 == 1 {
			clients[i].read, e.Read = held, held
			h.Events = append(h.Events, e)
			continue
		}
		clients[i].sequence++ // the request's own entry
		e.Operation, e.Read, e.Written = trace.Update, audit.NothingRead, keyval.Version(phase, i, e.Sequence)
		if c.atomic {
			e.Operation, e.Read = trace.CompareAndSwap, clients[i].read
			if held != clients[i].read {
				e.Outcome = counters.Conflict
			}
		}
		h.Events = append(h.Events, e)
		if e.Outcome != counters.OK {
			continue
		}
		done++
		if c.r.Float64() < c.dropped {
			continue
		}
		contains[e.Written] = map[uint64]bool{e.Written: true}
		for item := range contains[clients[i].read] {
			contains[e.Written][item] = true
		}
		held = e.Written
	}
}

func TestLostUpdatesAreThoseThatTheCartDoesNotContain(t *testing.T) {
	losses := map[bool]int{}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 9))
		c := carts{r: r, atomic: seed%2 == 0, clients: 1 + r.IntN(6), requests: 1 + r.IntN(30)}
		if seed%3 == 0 {
			c.dropped = 0.1
		}
		h, held, done, kept := c.run()
		u := NewLineages(h).Check([]uint64{held}, []uint64{7, 3}) // a read adds nothing, whatever its step names
		fate := u.Fate
		if c.atomic {
			fate = u.Atomic
		}
		if done == 0 {
			continue
		}
		all, lost := uint64(done), uint64(done-kept)
		if u.Keys != 1 || u.Undecided != 0 || fate != (Fate{all, lost, 3 * all, 3 * lost}) ||
			u.Done+u.Atomic.Done != all {
			t.Fatalf("seed %d: %+v of %d updates, %d of them kept: %+v", seed, c, done, kept, u)
		}
		if (lost > 0) != (u.Example != nil) {
			t.Fatalf("seed %d: %d lost, example %+v", seed, lost, u.Example)
		}
		if c.dropped == 0 && (c.atomic || c.clients == 1) && lost > 0 {
			t.Fatalf("seed %d: %+v lost %d, which nothing takes", seed, c, lost)
		}
		if lost > 0 {
			losses[c.atomic]++
		}
	}
	if losses[false] < 100 || losses[true] < 100 {
		t.Errorf("updates were lost in %v runs only", losses)
	}
}

func TestLineageIsNotJudged(t *testing.T) {
	base := func() (*audit.History, uint64) {
		h, held, _, _ := carts{r: rand.New(rand.NewPCG(1, 2)), clients: 3, requests: 5}.run()
		return h, held
	}
	for name, c := range map[string]struct {
		change    func(h *audit.History, held *uint64)
		undecided int
	}{
		"a write without a read": {func(h *audit.History, _ *uint64) { h.Events[0].Read = audit.NothingRead }, 0},
		"a delete": {func(h *audit.History, _ *uint64) {
			h.Events = append(h.Events, audit.HistoryEvent{Index: 7, Operation: trace.Delete, Written: audit.Absent,
				Sequence: 1000})
		}, 0},
		"no write":               {func(h *audit.History, _ *uint64) { h.Events = h.Events[:1] }, 0},
		"an incomplete history":  {func(h *audit.History, _ *uint64) { h.UntilNS[2] = 100 }, 1},
		"a value that is absent": {func(_ *audit.History, held *uint64) { *held = counters.ObservedMiss }, 1},
		"a version of a later phase": {func(_ *audit.History, held *uint64) {
			*held = keyval.Version(phase+1, 0, 3)
		}, 1},
	} {
		h, held := base()
		c.change(h, &held)
		l := NewLineages(h)
		u := l.Check(make([]uint64, len(l.Keys())), nil)
		if len(l.Keys()) == 1 {
			u = l.Check([]uint64{held}, nil)
		}
		if u.Keys != 0 || u.Undecided != c.undecided {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

// A write that failed may have been done or not: where it was, what descends from it survives.
func TestFailedUpdatesAreNotCounted(t *testing.T) {
	version := func(thread int) uint64 { return keyval.Version(phase, thread, 1) }
	h := &audit.History{Number: phase, UntilNS: []int64{math.MaxInt64, math.MaxInt64}, Events: []audit.HistoryEvent{
		{Index: 7, Operation: trace.Read, Written: audit.NothingWritten, Request: 2},
		{Index: 7, Sequence: 1, Operation: trace.Update, Read: audit.NothingRead, Written: version(0), Request: 2,
			Outcome: counters.Timeout},
		{Index: 7, Thread: 1, Operation: trace.Read, Read: version(0), Written: audit.NothingWritten, Request: 2},
		{Index: 7, Thread: 1, Sequence: 1, Operation: trace.Update, Read: audit.NothingRead, Written: version(1),
			Request: 2},
	}}
	if u := NewLineages(h).Check([]uint64{version(1)}, nil); u.Done != 1 || u.Lost != 0 || u.Keys != 1 {
		t.Errorf("%+v", u)
	}
	if u := NewLineages(h).Check([]uint64{version(0)}, nil); u.Lost != 1 {
		t.Errorf("%+v", u)
	}
}
