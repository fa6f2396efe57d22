package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

const phase = 3

// store is a simulated register for one key: what a read returns and what a write does, at the
// moment at which the operation takes effect.
type store interface {
	read(at int64, r *rand.Rand) uint64
	write(version uint64, at int64, r *rand.Rand)
}

// honest is a register.
type honest struct{ version uint64 }

func (s *honest) read(int64, *rand.Rand) uint64         { return s.version }
func (s *honest) write(v uint64, _ int64, _ *rand.Rand) { s.version = v }

// past keeps every version with its time, for stores that lie about it.
type past struct {
	versions []uint64
	times    []int64
}

func (s *past) write(v uint64, at int64, _ *rand.Rand) {
	s.versions, s.times = append(s.versions, v), append(s.times, at)
}

func (s *past) back(n int) uint64 {
	if n >= len(s.versions) {
		return 0
	}
	return s.versions[len(s.versions)-1-n]
}

// late shows each write a while after it was made.
type late struct {
	past
	ns int64
}

func (s *late) read(at int64, _ *rand.Rand) uint64 {
	for i := len(s.times) - 1; i >= 0; i-- {
		if s.times[i]+s.ns <= at {
			return s.versions[i]
		}
	}
	return 0
}

// older returns the value before the last in a share of its reads.
type older struct {
	past
	share float64
}

func (s *older) read(_ int64, r *rand.Rand) uint64 {
	if r.Float64() < s.share {
		return s.back(1)
	}
	return s.back(0)
}

// dropping loses a share of the writes that it acknowledges.
type dropping struct {
	honest
	share float64
}

func (s *dropping) write(v uint64, _ int64, r *rand.Rand) {
	if r.Float64() >= s.share {
		s.version = v
	}
}

// simulate runs threads on one key: each operation takes effect at a random moment of its interval,
// in the order of these moments.
func simulate(r *rand.Rand, s store, threads, each int, reads float64) *audit.History {
	h := &audit.History{Number: phase, Keys: []uint64{7}, UntilNS: make([]int64, threads)}
	type at struct {
		moment int64
		event  int
	}
	var order []at
	for thread := range threads {
		h.UntilNS[thread] = math.MaxInt64
		now := int64(r.IntN(50_000))
		for sequence := range each {
			e := audit.HistoryEvent{Index: 7, Thread: thread, Sequence: uint64(sequence), Operation: trace.Read,
				BeginNS: now,
				Written: audit.NothingWritten, Read: audit.NothingRead}
			now += 2_000 + int64(r.ExpFloat64()*20_000)
			e.EndNS = now
			if r.Float64() >= reads {
				e.Operation, e.Written = trace.Update, keyval.Version(phase, thread, uint64(sequence))
			}
			h.Events = append(h.Events, e)
			order = append(order, at{e.BeginNS + r.Int64N(e.EndNS-e.BeginNS), len(h.Events) - 1})
			now += int64(r.ExpFloat64() * 5_000)
		}
	}
	slices.SortFunc(order, func(a, b at) int { return int(a.moment - b.moment) })
	for _, o := range order {
		e := &h.Events[o.event]
		if e.Operation == trace.Read {
			e.Read = s.read(o.moment, r)
			continue
		}
		s.write(e.Written, o.moment, r)
	}
	return h
}

func TestHonestRegisterIsNeverAccused(t *testing.T) {
	for seed := range uint64(10_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		h := simulate(r, &honest{}, 1+r.IntN(8), 1+r.IntN(30), r.Float64())
		skew := make([]int64, len(h.UntilNS)) // of the threads' clocks
		for i := range skew {
			skew[i] = r.Int64N(slackNS) - slackNS/2
		}
		for i := range h.Events {
			h.Events[i].BeginNS += skew[h.Events[i].Thread]
			h.Events[i].EndNS += skew[h.Events[i].Thread]
		}
		if c := Check(h); c.Broken() > 0 || c.FailedReads+c.CameLater > 0 || c.Undecided > 0 {
			t.Fatalf("seed %d: %+v", seed, c)
		}
	}
}

func TestLyingStoresAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		threads int // where writes of several threads overlap, any of them may be the newest
		make    func() store
		found   func(*Consistency) bool
	}{
		"late by 1 ms":                          {2, func() store { return &late{ns: 1e6} }, func(c *Consistency) bool { return c.Stale > 0 && c.LateMaxNS > 5e5 && c.LateMaxNS < 2e6 }},
		"value before last in 5 % of the reads": {8, func() store { return &older{share: 0.05} }, func(c *Consistency) bool { return c.Stale > 0 }},
		"drops 1 write in 10":                   {2, func() store { return &dropping{share: 0.1} }, func(c *Consistency) bool { return c.Broken() > 0 }},
	} {
		missed := 0
		for seed := range uint64(100) {
			r := rand.New(rand.NewPCG(seed, 2))
			h := simulate(r, c.make(), c.threads, 200, 0.8)
			if !c.found(Check(h)) {
				missed++
			}
		}
		if missed > 1 {
			t.Errorf("%s: missed in %d of 100 runs", name, missed)
		}
	}
}

// The records of a thread end where its room does. What it writes, adds and deletes after that is read
// by others, and no store is accused for it; what is broken before that is found.
func TestDroppedRecordsAccuseNoStore(t *testing.T) {
	const runs = 2_000
	for name, c := range map[string]struct {
		make  func() store
		lies  bool
		added bool // by Add, where nothing is there
	}{
		"honest":              {make: func() store { return &honest{version: audit.Absent} }},
		"honest, with adds":   {make: func() store { return &honest{version: audit.Absent} }, added: true},
		"drops 1 write in 10": {make: func() store { return &dropping{honest: honest{version: audit.Absent}, share: 0.1} }, lies: true},
	} {
		accused, undecided, whole := 0, 0, 0
		for seed := range uint64(runs) {
			r := rand.New(rand.NewPCG(seed, 6))
			h := simulateDeletes(r, c.make(), 4, 20, c.added)
			if Check(h).Broken() > 0 {
				whole++
			}
			drop(r, h)
			switch got := Check(h); {
			case got.Broken() > 0:
				if accused++; !c.lies {
					t.Fatalf("%s, seed %d: %+v\n%+v", name, seed, *got, h.Events)
				}
			case got.Undecided > 0:
				undecided++
			}
		}
		t.Logf("%s: %d of %d are accused, %d with all records; %d undecided", name, accused, runs, whole, undecided)
		if c.lies && accused < whole/4 || !c.lies && whole > 0 || undecided > runs/100 {
			t.Errorf("%s: %d of %d are accused, %d with all records; %d undecided", name, accused, runs, whole, undecided)
		}
	}
}

// simulateDeletes runs threads that put, delete and read one key.
func simulateDeletes(r *rand.Rand, s store, threads, each int, adds bool) *audit.History {
	h := simulate(r, s, threads, each, 0.5)
	order := make([]*audit.HistoryEvent, len(h.Events))
	moments := map[*audit.HistoryEvent]int64{}
	for i := range h.Events {
		e := &h.Events[i]
		order[i], moments[e] = e, e.BeginNS+r.Int64N(e.EndNS-e.BeginNS)
	}
	slices.SortFunc(order, func(a, b *audit.HistoryEvent) int { return int(moments[a] - moments[b]) })
	s.write(audit.Absent, 0, r)
	for _, e := range order {
		at := moments[e]
		switch {
		case e.Operation == trace.Read:
			if e.Read = s.read(at, r); e.Read == audit.Absent {
				e.Outcome = counters.Miss
			}
			continue
		case r.IntN(3) == 0:
			e.Operation, e.Written = trace.Delete, audit.Absent
			h.Deletes = true
		case adds:
			if e.Operation = trace.Add; s.read(at, r) != audit.Absent {
				e.Outcome = counters.Conflict
				continue
			}
		}
		s.write(e.Written, at, r)
	}
	return h
}

// drop leaves out what some threads did after a moment, as where their records found no room.
func drop(r *rand.Rand, h *audit.History) {
	kept := h.Events[:0:0]
	rooms := make([]int, len(h.UntilNS))
	for i := range rooms {
		if rooms[i] = math.MaxInt; r.IntN(2) == 0 {
			rooms[i] = r.IntN(15)
		}
	}
	for _, e := range h.Events {
		if rooms[e.Thread]--; rooms[e.Thread] >= 0 {
			kept = append(kept, e)
			continue
		}
		if h.Dropped++; h.UntilNS[e.Thread] == math.MaxInt64 {
			h.UntilNS[e.Thread] = 0
			for _, before := range kept {
				if before.Thread == e.Thread {
					h.UntilNS[e.Thread] = before.EndNS
				}
			}
		}
	}
	h.Events = kept
}

// Whether some order explains a small history is tried by trying all.
func TestZonesAgreeWithEveryOrder(t *testing.T) {
	broken := 0
	for seed := range uint64(4_000) {
		r := rand.New(rand.NewPCG(seed, 3))
		var s store = &honest{}
		if seed%2 == 0 {
			s = &older{share: 0.3}
		}
		h := simulate(r, s, 3, 2, 0.5)
		c := Check(h)
		explained := anyOrder(h, h.Events)
		if !explained {
			broken++
		}
		if explained != (c.Broken() == 0) {
			t.Fatalf("seed %d: an order explains it: %v, but %+v\n%+v", seed, explained, c, h.Events)
		}
	}
	if broken < 100 {
		t.Errorf("only %d histories were broken: the test shows little", broken)
	}
}

func anyOrder(h *audit.History, events []audit.HistoryEvent) bool {
	follows := func(e, o *audit.HistoryEvent) bool {
		within := int64(slackNS)
		if h.ClockOf != nil && h.ClockOf[e.Thread] != h.ClockOf[o.Thread] {
			within += h.ErrorsNS[h.ClockOf[e.Thread]] + h.ErrorsNS[h.ClockOf[o.Thread]]
		}
		return o.EndNS < e.BeginNS-within
	}
	done := make([]bool, len(events))
	var try func(version uint64, left int) bool
	try = func(version uint64, left int) bool {
		if left == 0 {
			return true
		}
		for i, e := range events {
			next := !done[i]
			for k, o := range events { // nothing that is left may have ended before this began
				next = next && (done[k] || k == i || !follows(&e, &o))
			}
			if !next || e.Operation == trace.Read && e.Read != version {
				continue
			}
			done[i] = true
			held := version
			if e.Operation != trace.Read {
				held = e.Written
			}
			if try(held, left-1) {
				return true
			}
			done[i] = false
		}
		return false
	}
	return try(0, len(events))
}

func event(thread int, operation trace.Operation, begin, end int64, read, written uint64,
	outcome counters.Outcome) audit.HistoryEvent {
	return audit.HistoryEvent{Index: 7, Thread: thread, Operation: operation, BeginNS: begin, EndNS: end,
		Read: read, Written: written, Outcome: outcome}
}

func check(events ...audit.HistoryEvent) *Consistency {
	return Check(&audit.History{Number: phase, Events: events, UntilNS: []int64{math.MaxInt64, math.MaxInt64}})
}

// Fault (values): two compare-and-swaps succeed on one version; a read from before its write; an
// order that nothing explains
// Assay: no rank: `lost-updates`, `wrong-values`, `not-linearizable` (`history`)
// With: history.TestZonesAgreeWithEveryOrder, run.TestUndoneSwapsAreMarkedOnce
//
// Fault (values): a write that failed or timed out is read later
// Assay: `unknown-outcome` (`failed-read`, `came-later`); the rank stays
// With: detect.TestConsistency
func TestKinds(t *testing.T) {
	const none = audit.NothingRead
	v := func(sequence uint64) uint64 { return keyval.Version(phase, 0, sequence) }
	read := func(begin, end int64, version uint64) audit.HistoryEvent {
		return event(1, trace.Read, begin, end, version, audit.NothingWritten, counters.OK)
	}
	put := func(begin, end int64, version uint64, outcome counters.Outcome) audit.HistoryEvent {
		return event(0, trace.Update, begin, end, none, version, outcome)
	}
	for name, c := range map[string]struct {
		got  *Consistency
		want Consistency
	}{
		"two swaps of one version": {check(event(0, trace.CompareAndSwap, 0, 1e6, 0, v(1), counters.OK),
			event(1, trace.CompareAndSwap, 2e6, 3e6, 0, v(2), counters.OK)), Consistency{LostUpdates: 1}},
		"a swap that was beaten": {check(event(0, trace.CompareAndSwap, 0, 1e6, 0, v(1), counters.OK),
			event(1, trace.CompareAndSwap, 0, 1e6, 0, v(2), counters.Conflict), read(2e6, 3e6, v(1))), Consistency{}},
		"an add that succeeds twice": {check(event(0, trace.Add, 0, 1e6, none, v(1), counters.OK),
			event(1, trace.Add, 2e6, 3e6, none, v(2), counters.OK)), Consistency{Unordered: 1}},
		"a delete, then nothing": {check(event(0, trace.Delete, 0, 1e6, none, audit.Absent, counters.OK),
			read(2e6, 3e6, audit.Absent)), Consistency{}},
		"a delete that is undone": {check(put(0, 1e6, v(1), counters.OK), event(0, trace.Delete, 2e6, 3e6, none, audit.Absent, counters.OK),
			read(4e6, 5e6, v(1))), Consistency{Stale: 1}},
		"nothing after a write":                 {check(put(0, 1e6, v(1), counters.OK), read(2e6, 3e6, audit.Absent)), Consistency{Vanished: 1}},
		"a write that failed":                   {check(put(0, 1e6, v(1), counters.Error), read(2e6, 3e6, v(1))), Consistency{FailedReads: 1}},
		"a write that timed out and is there":   {check(put(0, 1e6, v(1), counters.Timeout), read(2e6, 3e6, v(1))), Consistency{}},
		"a write that timed out and came later": {check(put(0, 1e6, v(1), counters.Timeout), read(2e6, 3e6, 0), read(4e6, 5e6, v(1))), Consistency{CameLater: 1}},
		"a version before its write":            {check(read(0, 1e6, v(1)), put(2e6, 3e6, v(1), counters.OK)), Consistency{Ghosts: 1}},
		"a version that no thread wrote":        {check(read(0, 1e6, v(9))), Consistency{Ghosts: 1}},
		"new, then old, while both are written": {check(put(0, 9e6, v(1), counters.OK), read(1e6, 2e6, v(1)), read(3e6, 4e6, 0)), Consistency{Stale: 1}},
	} {
		g := c.got
		if g.LostUpdates != c.want.LostUpdates || g.Stale != c.want.Stale || g.Vanished != c.want.Vanished ||
			g.Ghosts != c.want.Ghosts ||
			g.FailedReads != c.want.FailedReads || g.CameLater != c.want.CameLater ||
			g.Unordered != c.want.Unordered || g.Undecided != 0 {
			t.Errorf("%s: %+v", name, *g)
		}
	}
}

func TestCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	c := Check(simulate(r, &honest{}, 1, 1000, 0.5))
	if c.Covered < c.Writes/3 || c.Covered > c.Writes {
		t.Errorf("%d of %d writes are covered", c.Covered, c.Writes)
	}
	// Drops are found with the stated probability.
	const share, runs = 0.002, 1_000
	found, said := 0, 0.0
	for seed := range uint64(runs) {
		c := Check(simulate(rand.New(rand.NewPCG(seed, 5)), &dropping{share: share}, 1, 400, 0.5))
		said += Found(share, c.Covered) / runs
		if c.Broken() > 0 {
			found++
		}
	}
	for _, covered := range []uint64{1, 3, 3000} {
		if chance := Found(1/Rarest(covered), covered); math.Abs(chance-0.95) > 1e-6 {
			t.Errorf("the rarest loss that %d writes find with 95 %% is found with %.4f", covered, chance)
		}
	}
	if got := float64(found) / runs; got < said-0.05 {
		t.Errorf("drops are found in %.2f of the runs, and said to be in %.2f", got, said)
	}
}

func TestManyEventsAreChecked(t *testing.T) {
	h := simulate(rand.New(rand.NewPCG(1, 6)), &honest{}, 8, 20_000, 0.8)
	for _, clocks := range []int{1, 8} {
		for thread := range 8 {
			if clocks > 1 {
				h.OnClock(thread, 1, thread+1, 0, 1000)
			}
		}
		begin := time.Now()
		if c := Check(h); c.Broken() > 0 || c.Reads < 100_000 {
			t.Errorf("%+v", c)
		}
		t.Logf("160,000 events of one key by %d clocks: %v", clocks, time.Since(begin))
	}
}
