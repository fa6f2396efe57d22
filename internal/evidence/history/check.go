// Package history checks what a sample of keys showed while a phase ran: whether each key behaved
// as a register, in which a read returns the newest write. It works on recorded operations alone
// ([audit.History]) and knows no store.
//
//  1. check.go     one key at a time: stale reads, lost updates, values from nowhere
//  2. clocks.go    times that several machines' clocks told
//  3. register.go  whether any order of the operations explains the key: zones in linear time (Gibbons
//     and Korach, SIAM J. Comput. 26, 1997), and a search where values are not unique
//  4. lineage.go   updates whose ancestors are missing
//  5. staleness.go how old what reads returned was, where a store may answer with what was
//  6. coverage.go  how many writes were checked, and which rate of loss would have been found
//
// An operation took effect at some moment from its begin to its end. Its recorded begin is the end
// of the thread's operation before it, which is earlier than the call: no store is accused for
// that.
//
// # Decisions
//
//   - Lost updates are ancestors that are missing: each update has the version that its client
//     knew as its parent. Keys are read back behind the phase, since later phases write over them.
package history

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"assay/internal/base/histogram"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// slackNS is by how much the clocks of two threads may differ.
const slackNS = 1000

const (
	examplesMax = 4
	never       = math.MaxInt64
	before      = math.MinInt64 // of what was there when the phase began
)

// Consistency is what the sample showed.
type Consistency struct {
	Keys   int    `json:"keys"`   // with at least one operation
	Reads  uint64 `json:"reads"`  // that returned a version, or found nothing
	Writes uint64 `json:"writes"` // that were acknowledged
	// Acknowledged writes that a later read of the sample would have shown to be lost.
	Covered uint64 `json:"writes_covered"`

	Stale uint64 `json:"stale_reads"` // reads that returned an overwritten value
	// The median time from when the overwriting was acknowledged until such a read.
	LateP50NS int64 `json:"stale_p50_ns,omitempty"`
	LateMaxNS int64 `json:"stale_max_ns,omitempty"` // the longest such time
	// Of a store with `eventual`, which may answer with an older value: how old values were.
	Staleness *Staleness `json:"staleness,omitempty"`

	// Conditional writes that succeeded on a version that another had replaced.
	LostUpdates uint64 `json:"lost_updates"`
	// Reads that found nothing after an acknowledged write, with no delete.
	Vanished uint64 `json:"reads_of_nothing"`
	// Reads of a version before its write began, or that no thread wrote.
	Ghosts uint64 `json:"reads_of_no_write"`
	// Reads of a write that the store had answered with an error.
	FailedReads uint64 `json:"reads_of_failed"`
	// Writes that timed out and took effect after that.
	CameLater uint64 `json:"timeouts_came_later"`

	Unordered int `json:"keys_unordered"` // keys whose operations no order explains, stale reads or not
	Undecided int `json:"keys_undecided"` // keys for which the search was given up

	Examples []Example `json:"examples,omitempty"` // operations that show anomalies
}

// Example is one operation that shows an anomaly.
type Example struct {
	Kind   string `json:"kind"`              // stale, ghost, vanished, failed, later, lost
	Index  uint64 `json:"index"`             // of the record
	Thread int    `json:"thread"`            // that did the operation
	AtNS   int64  `json:"at_ns"`             // when, since the phase's start
	LateNS int64  `json:"late_ns,omitempty"` // of a stale read: how late it was
}

// Broken returns the anomalies that a store which promises linearizable operations must not show.
func (c *Consistency) Broken() uint64 {
	return c.Stale + c.LostUpdates + c.Vanished + c.Ghosts + uint64(c.Unordered)
}

// write is one write of a key, or what was there when the phase began.
type write struct {
	version  uint64
	event    *audit.HistoryEvent // nil: it was there before
	scale    int                 // of its begin
	begin    int64
	effects  []effect // the first is everyone's
	lastRead int64    // the latest begin of a read of it, for everyone; before: none
	outcome  counters.Outcome
}

// acknowledged returns when the write ended; never: it was not acknowledged.
func (w *write) acknowledged() int64 {
	if w.event != nil && (w.outcome == counters.OK || w.event.Operation == trace.Delete && w.outcome == counters.Miss) {
		return w.event.EndNS
	}
	return never
}

// key is the operations of one key.
type key struct {
	number  int // of the phase
	clocks  clocks
	events  []audit.HistoryEvent // by begin
	writes  map[uint64]*write
	ordered []*write // by effect
	lines   map[[2]int]*line
	there   map[int]int64 // by scale: from when on something was surely there, if nothing is deleted
	search  bool          // versions are not unique: deletes, conditional writes
	deletes bool
	// untilNS is the moment before which no operation began that changes the key and is not among its
	// events, on each scale; never: all are there.
	untilNS int64
}

// Check checks each key of a phase's history.
func Check(h *audit.History) *Consistency {
	c, left := &Consistency{}, searchMax
	var lateness []int64
	var reads ages
	for _, events := range byKey(h.Events) {
		slices.SortStableFunc(events, func(a, b audit.HistoryEvent) int { return cmp.Compare(a.BeginNS, b.BeginNS) })
		c.Keys++
		k := newKey(h.Number, clocksOf(h), events, untilOf(h))
		reads.begin(k)
		late, told := k.check(h, c, &reads)
		lateness = append(lateness, late...)
		all := k.forEveryone()
		all.cover(c)
		explained, decided := all.explained(&left)
		for _, one := range k.forEachClock() {
			if explained && decided {
				explained, decided = one.explained(&left)
			}
		}
		switch {
		case !decided:
			c.Undecided++
		case !explained && !told: // otherwise it is reported already
			c.Unordered++
		}
	}
	c.Staleness = &Staleness{Ages: reads.told()}
	if len(lateness) > 0 {
		c.Staleness.LateNS = histogram.New()
		for _, late := range lateness {
			c.Staleness.LateNS.Record(uint64(late))
		}
		c.Staleness.LateNS.Pack()
		slices.Sort(lateness)
		c.LateP50NS, c.LateMaxNS = lateness[len(lateness)/2], lateness[len(lateness)-1]
	}
	return c
}

// byKey returns copies of each key's events, by index, each key's in their order. Sorting all events at
// once, which are large, took longer than checking them.
func byKey(events []audit.HistoryEvent) [][]audit.HistoryEvent {
	counts := map[uint64]int{}
	for i := range events {
		counts[events[i].Index]++
	}
	room, place := make([]audit.HistoryEvent, len(events)), make(map[uint64]int, len(counts))
	keys := make([][]audit.HistoryEvent, 0, len(counts))
	for _, index := range slices.Sorted(maps.Keys(counts)) {
		n := counts[index]
		place[index], keys = len(keys), append(keys, room[:0:n])
		room = room[n:]
	}
	for i := range events {
		key := &keys[place[events[i].Index]]
		*key = append(*key, events[i])
	}
	return keys
}

// untilOf returns the moment before which every change of the sample's keys is recorded, whichever of the
// clocks tells it.
func untilOf(h *audit.History) (ns int64) {
	ns = never
	for _, until := range h.UntilNS {
		ns = min(ns, until)
	}
	if ns == never {
		return ns
	}
	return ns - slackNS - 2*h.ErrorNS() // one clock's error, and that of the other
}

func newKey(number int, clocks clocks, events []audit.HistoryEvent, untilNS int64) *key {
	k := &key{number: number, clocks: clocks, events: events, untilNS: untilNS, writes: map[uint64]*write{},
		lines: map[[2]int]*line{}, there: map[int]int64{}}
	var deletes []*write
	for i := range events {
		e := &events[i]
		k.search = k.search || e.Operation == trace.Delete || e.Operation.Replaces() || e.Operation == trace.Add
		if e.Written == audit.NothingWritten || e.Outcome == counters.Conflict || e.Outcome == counters.Miss &&
			e.Operation != trace.Delete {
			continue
		}
		scale, _ := clocks.of(e)
		w := &write{version: e.Written, event: e, scale: scale, begin: e.BeginNS - slackNS,
			effects: []effect{{everyone, never}}, lastRead: before, outcome: e.Outcome}
		if w.acknowledged() != never {
			w.seenBy(clocks, e)
		}
		if e.Written == audit.Absent {
			k.deletes = true
			deletes = append(deletes, w)
			continue
		}
		k.writes[e.Written] = w
	}
	for i := range events {
		e := &events[i]
		if e.Read >= counters.ObservedLowest {
			continue
		}
		w := k.writes[e.Read]
		if w == nil && e.Read>>56 < uint64(number) { // of the load, or of a phase before
			w = &write{version: e.Read, begin: before, effects: []effect{{everyone, before}}, lastRead: before}
			k.writes[e.Read] = w
		}
		if w != nil {
			_, within := clocks.of(e)
			w.seenBy(clocks, e)
			w.lastRead = max(w.lastRead, e.BeginNS-slackNS-within)
		}
	}
	for _, w := range k.writes {
		k.ordered = append(k.ordered, w)
		for _, at := range w.effects {
			if from, known := k.there[at.scale]; !known || at.ns < from {
				k.there[at.scale] = at.ns
			}
		}
	}
	k.ordered = append(k.ordered, deletes...)
	slices.SortFunc(k.ordered, func(a, b *write) int {
		return cmp.Or(cmp.Compare(a.effects[0].ns, b.effects[0].ns), cmp.Compare(a.version, b.version))
	})
	k.draw()
	return k
}

// check counts the anomalies of a key and returns how late its stale reads were, in ns. told says if
// what it counted breaks the register.
func (k *key) check(h *audit.History, c *Consistency, reads *ages) (lateness []int64, told bool) {
	example := func(kind string, e audit.HistoryEvent, late int64) {
		if len(c.Examples) < examplesMax {
			c.Examples = append(c.Examples, Example{kind, e.Index, e.Thread, e.BeginNS, late})
		}
	}
	swaps := map[uint64]bool{} // versions that were replaced in one step
	for _, e := range k.events {
		if e.Written != audit.NothingWritten && e.Outcome == counters.OK {
			c.Writes++
		}
		if e.Operation.Replaces() && e.Outcome == counters.OK && e.Read < counters.ObservedLowest {
			if swaps[e.Read] {
				c.Reads++
				c.LostUpdates++
				told = true
				example("lost", e, 0)
				continue
			}
			swaps[e.Read] = true
		}
		if e.Read == counters.ObservedMiss {
			c.Reads++
			// later, a delete that is not recorded may have come
			vanished := !k.deletes && (!h.Deletes || e.EndNS < k.untilNS) && k.present(&e)
			if !k.deletes && !h.Deletes {
				reads.count(&e, vanished)
			}
			if vanished {
				c.Vanished++
				told = true
				example("vanished", e, 0)
			}
			continue
		}
		if e.Read >= counters.ObservedLowest {
			continue
		}
		c.Reads++
		w := k.writes[e.Read]
		switch {
		case w == nil && k.ghost(h, &e), w != nil && w.event != nil && k.clocks.before(&e, w.event):
			c.Ghosts++
			told = true
			example("ghost", e, 0)
			continue
		case w == nil:
			continue // its write was not recorded
		case w.outcome == counters.Error:
			c.FailedReads++
			example("failed", e, 0)
		case w.outcome == counters.Timeout && k.otherSince(w, &e):
			c.CameLater++
			w.outcome = counters.OK // counted once
			example("later", e, 0)
		}
		late := k.late(w, &e)
		reads.count(&e, late > 0)
		if late > 0 {
			c.Stale++
			told = true
			lateness = append(lateness, late)
			example("stale", e, late)
		}
	}
	return lateness, told
}

// ghost says whether a version of this phase was read that no thread had begun to write, as far as
// everything that its thread did is recorded.
func (k *key) ghost(h *audit.History, e *audit.HistoryEvent) bool {
	thread := int(e.Read >> 40 & 0xffff)
	if e.Read>>56 != uint64(h.Number) || thread >= len(h.UntilNS) {
		return e.Read>>56 >= uint64(h.Number)
	}
	return k.clocks.before(e, &audit.HistoryEvent{Thread: thread, BeginNS: h.UntilNS[thread]})
}

// otherSince says whether another version was read after a write had timed out and before e read
// it.
func (k *key) otherSince(w *write, e *audit.HistoryEvent) bool {
	return slices.ContainsFunc(k.events, func(o audit.HistoryEvent) bool {
		return o.Read < counters.ObservedLowest && o.Read != w.version && k.clocks.before(w.event, &o) &&
			k.clocks.before(&o, e)
	})
}
