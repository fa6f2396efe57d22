// Package history checks what a sample of keys showed while a phase ran: whether each key behaved
// as a register, in which a read returns the newest write. It works on recorded operations alone
// ([audit.History]) and knows no store.
//
//  1. check.go     one key at a time: stale reads, lost updates, values from nowhere
//  2. register.go  whether any order of the operations explains the key: zones in linear time (Gibbons
//     and Korach, SIAM J. Comput. 26, 1997), and a search where values are not unique
//  3. coverage.go  how many writes were checked, and which rate of loss would have been found
//
// An operation took effect at some moment from its begin to its end. Its recorded begin is the end
// of the thread's operation before it, which is earlier than the call: no store is accused for
// that.
package history

import (
	"cmp"
	"math"
	"slices"
	"time"

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
	// Covered are acknowledged writes that a later read of the sample would have shown to be lost.
	Covered uint64 `json:"writes_covered"`

	Stale     uint64 `json:"stale_reads"`
	LateP50NS int64  `json:"stale_p50_ns,omitempty"` // after the overwrite was acknowledged
	LateMaxNS int64  `json:"stale_max_ns,omitempty"`

	LostUpdates uint64 `json:"lost_updates"`        // conditional writes that succeeded on a version another had replaced
	Vanished    uint64 `json:"reads_of_nothing"`    // reads that found nothing after an acknowledged write, with no delete
	Ghosts      uint64 `json:"reads_of_no_write"`   // of a version before its write began, or that no thread wrote
	FailedReads uint64 `json:"reads_of_failed"`     // of a write that the store had answered with an error
	CameLater   uint64 `json:"timeouts_came_later"` // writes that timed out and took effect after that

	Unordered int `json:"keys_unordered"` // keys whose operations no order explains, stale reads or not
	Undecided int `json:"keys_undecided"` // keys for which the search was given up

	Examples []Example `json:"examples,omitempty"`
}

// Example is one operation that shows an anomaly.
type Example struct {
	Kind   string `json:"kind"` // stale, ghost, vanished, failed, later, lost
	Index  uint64 `json:"index"`
	Thread int    `json:"thread"`
	AtNS   int64  `json:"at_ns"`
	LateNS int64  `json:"late_ns,omitempty"`
}

// Broken returns the anomalies that a store which promises linearizable operations must not show.
func (c *Consistency) Broken() uint64 {
	return c.Stale + c.LostUpdates + c.Vanished + c.Ghosts + uint64(c.Unordered)
}

// write is one write of a key, or what was there when the phase began.
type write struct {
	version    uint64
	begin, end int64 // end: never, where it was not acknowledged
	effect     int64 // the moment by which it surely had taken effect: its end, or that of a read of it
	lastRead   int64 // the latest begin of a read of it; before: none
	outcome    counters.Outcome
}

// key is the operations of one key.
type key struct {
	events   []audit.HistoryEvent
	writes   map[uint64]*write
	ordered  []*write // by effect
	byBegin  []*write // without what was there before
	maxBegin []int64  // of the first i+1 of ordered, the latest begin
	minEnd   []int64  // of byBegin from i on, the earliest effect
	search   bool     // versions are not unique: deletes, conditional writes
	deletes  bool
}

// Check checks each key of a phase's history.
func Check(h *audit.History) *Consistency {
	c, left := &Consistency{}, searchMax
	var lateness []int64
	events := slices.Clone(h.Events)
	slices.SortStableFunc(events, func(a, b audit.HistoryEvent) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.BeginNS, b.BeginNS))
	})
	for from := 0; from < len(events); {
		to := from + 1
		for to < len(events) && events[to].Index == events[from].Index {
			to++
		}
		c.Keys++
		k := newKey(h, events[from:to])
		lateness = append(lateness, k.check(h, c, &left)...)
		k.cover(c)
		from = to
	}
	if len(lateness) > 0 {
		slices.Sort(lateness)
		c.LateP50NS, c.LateMaxNS = lateness[len(lateness)/2], lateness[len(lateness)-1]
	}
	return c
}

func newKey(h *audit.History, events []audit.HistoryEvent) *key {
	k := &key{events: events, writes: map[uint64]*write{}}
	var deletes []*write
	for _, e := range events {
		k.search = k.search || e.Operation == trace.Delete || e.Operation == trace.CompareAndSwap || e.Operation == trace.Add
		if e.Written == audit.NothingWritten || e.Outcome == counters.Conflict || e.Outcome == counters.Miss && e.Operation != trace.Delete {
			continue
		}
		w := &write{version: e.Written, begin: e.BeginNS - slackNS, end: never, effect: never, lastRead: before, outcome: e.Outcome}
		if e.Outcome == counters.OK || e.Operation == trace.Delete && e.Outcome == counters.Miss {
			w.end, w.effect = e.EndNS, e.EndNS
		}
		if e.Written == audit.Absent {
			k.deletes = true
			deletes = append(deletes, w)
			continue
		}
		k.writes[e.Written] = w
	}
	for _, e := range events {
		if e.Read >= counters.ObservedLowest {
			continue
		}
		w := k.writes[e.Read]
		if w == nil && e.Read>>56 < uint64(h.Number) { // of the load, or of a phase before
			w = &write{version: e.Read, begin: before, end: before, effect: before, lastRead: before}
			k.writes[e.Read] = w
		}
		if w != nil {
			w.effect = min(w.effect, e.EndNS)
			w.lastRead = max(w.lastRead, e.BeginNS-slackNS)
		}
	}
	for _, w := range k.writes {
		k.ordered = append(k.ordered, w)
	}
	k.ordered = append(k.ordered, deletes...)
	slices.SortFunc(k.ordered, func(a, b *write) int {
		return cmp.Or(cmp.Compare(a.effect, b.effect), cmp.Compare(a.version, b.version))
	})
	latest := int64(before)
	for _, w := range k.ordered {
		latest = max(latest, w.begin)
		k.maxBegin = append(k.maxBegin, latest)
		if w.begin > before {
			k.byBegin = append(k.byBegin, w)
		}
	}
	slices.SortFunc(k.byBegin, func(a, b *write) int { return cmp.Compare(a.begin, b.begin) })
	k.minEnd = make([]int64, len(k.byBegin))
	earliest := int64(never)
	for i := len(k.byBegin) - 1; i >= 0; i-- {
		earliest = min(earliest, k.byBegin[i].effect)
		k.minEnd[i] = earliest
	}
	return k
}

// overwritten returns when w was first surely overwritten; never, if it was not.
func (k *key) overwritten(w *write) int64 {
	at, _ := slices.BinarySearchFunc(k.byBegin, w.effect, func(x *write, effect int64) int {
		if x.begin > effect {
			return 1
		}
		return -1
	})
	if w.effect == never || at == len(k.byBegin) {
		return never
	}
	return k.minEnd[at]
}

// check counts the anomalies of a key and returns how late its stale reads were, in ns.
func (k *key) check(h *audit.History, c *Consistency, left *time.Duration) (lateness []int64) {
	stale := false
	example := func(kind string, e audit.HistoryEvent, late int64) {
		if len(c.Examples) < examplesMax {
			c.Examples = append(c.Examples, Example{kind, e.Index, e.Thread, e.BeginNS, late})
		}
	}
	swaps := map[uint64]bool{} // versions that a conditional write replaced
	for _, e := range k.events {
		if e.Written != audit.NothingWritten && e.Outcome == counters.OK {
			c.Writes++
		}
		if e.Operation == trace.CompareAndSwap && e.Outcome == counters.OK && e.Read < counters.ObservedLowest {
			if swaps[e.Read] {
				c.Reads++
				c.LostUpdates++
				stale = true
				example("lost", e, 0)
				continue
			}
			swaps[e.Read] = true
		}
		if e.Read == counters.ObservedMiss {
			c.Reads++
			if !k.deletes && k.present(e.BeginNS-slackNS) {
				c.Vanished++
				stale = true
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
		case w == nil && ghost(h, e), w != nil && w.begin > e.EndNS:
			c.Ghosts++
			stale = true
			example("ghost", e, 0)
			continue
		case w == nil:
			continue // its write was not recorded
		case w.outcome == counters.Error:
			c.FailedReads++
			example("failed", e, 0)
		case w.outcome == counters.Timeout && k.otherSince(w, e):
			c.CameLater++
			w.outcome = counters.OK // counted once
			example("later", e, 0)
		}
		if over := k.overwritten(w); over < e.BeginNS-slackNS {
			c.Stale++
			stale = true
			late := e.BeginNS - over
			lateness = append(lateness, late)
			example("stale", e, late)
		}
	}
	switch explained, decided := k.explained(left); {
	case !decided:
		c.Undecided++
	case !explained && !stale: // otherwise it is told already
		c.Unordered++
	}
	return lateness
}

// ghost says whether a version of this phase was read that no thread had begun to write, as far as
// everything that its thread did is recorded.
func ghost(h *audit.History, e audit.HistoryEvent) bool {
	thread := int(e.Read >> 40 & 0xffff)
	return e.Read>>56 > uint64(h.Number) || e.Read>>56 == uint64(h.Number) && (thread >= len(h.UntilNS) || h.UntilNS[thread] > e.EndNS+slackNS)
}

// present says whether a value was surely there at a moment, in a key without deletes.
func (k *key) present(at int64) bool {
	for _, w := range k.ordered {
		if w.effect >= at {
			return false
		}
		if w.begin > before || w.lastRead > before {
			return true
		}
	}
	return false
}

// otherSince says whether another version was read after a write had timed out and before e read
// it.
func (k *key) otherSince(w *write, e audit.HistoryEvent) bool {
	timedOut := int64(never)
	for _, o := range k.events {
		if o.Written == w.version {
			timedOut = o.EndNS
		}
		if o.Read < counters.ObservedLowest && o.Read != w.version && o.BeginNS-slackNS > timedOut && o.EndNS < e.BeginNS-slackNS {
			return true
		}
	}
	return false
}
