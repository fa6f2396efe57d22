package history

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// Updates is what became of the updates of a phase whose clients read a record and then write it,
// or have the store replace the version that they read. Each such write has a parent: the version
// that its client knew. What the key holds at the end descends from the writes that survive; an
// acknowledged write that is no ancestor of it is lost.
type Updates struct {
	Keys      int `json:"keys"`      // that were judged
	Undecided int `json:"undecided"` // keys whose last version or whose writes are not all known
	Fate          // of the updates of judged keys, but those that are Atomic
	// The same of keys that only the store's own conditional writes change: there a loss is a fault of the
	// store, elsewhere a property of the procedure.
	Atomic  Fate         `json:"atomic"`
	Example *LostExample `json:"example,omitempty"` // the first loss
}

// Fate is how many acknowledged updates there were, and how many of them are gone. Items are what
// they added to their records, where the experiment says it.
type Fate struct {
	Done      uint64 `json:"done"`                 // updates that were acknowledged
	Lost      uint64 `json:"lost"`                 // of these, those that are gone
	Items     uint64 `json:"items,omitempty"`      // that all of them added
	ItemsLost uint64 `json:"items_lost,omitempty"` // that the lost ones added
}

// LostExample is an acknowledged update that is gone.
type LostExample struct {
	Index  uint64 `json:"index"`                  // of the record
	Thread int    `json:"thread"`                 // that made it
	AtNS   int64  `json:"at_ns"`                  // its end, since the phase's start
	Other  *int   `json:"other_thread,omitempty"` // which wrote on the same version; nil: none did
	OnNS   *int64 `json:"other_at_ns,omitempty"`  // when that one began to write
}

// update is a write with its parent.
type update struct {
	event    audit.HistoryEvent
	parent   uint64
	survives bool
}

// lineage is the updates of one key, by version.
type lineage struct {
	index   uint64
	updates map[uint64]*update
	ordered []uint64 // by thread and sequence
	atomic  bool     // all are conditional
	doubt   bool     // the parent of one is not known for certain
}

// Lineages are the keys of a phase whose writes all have parents.
type Lineages struct {
	number   int
	keys     []*lineage
	complete bool
}

// NewLineages finds the keys all of whose changes are updates.
func NewLineages(h *audit.History) *Lineages {
	l := &Lineages{number: h.Number, complete: true}
	for _, until := range h.UntilNS {
		l.complete = l.complete && until == math.MaxInt64
	}
	for _, events := range byKey(h.Events) {
		slices.SortStableFunc(events, func(a, b audit.HistoryEvent) int {
			return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Sequence, b.Sequence))
		})
		if k, ok := newLineage(events); ok {
			l.keys = append(l.keys, k)
		}
	}
	return l
}

// Keys returns the indexes of the keys, ascending.
func (l *Lineages) Keys() (indexes []uint64) {
	for _, k := range l.keys {
		indexes = append(indexes, k.index)
	}
	return indexes
}

// unknown is no version: what a client knows before it has read.
const unknown = counters.ObservedNotRead

// newLineage returns the updates of one key. ok is false where something else changed it, such as a
// write of a client that had not read it, or nothing did.
func newLineage(events []audit.HistoryEvent) (k *lineage, ok bool) {
	k = &lineage{index: events[0].Index, updates: map[uint64]*update{}, atomic: true}
	knows, doubt := uint64(unknown), false
	for i, e := range events {
		if i == 0 || e.Request == 0 || e.Thread != events[i-1].Thread || e.Request != events[i-1].Request {
			knows, doubt = unknown, false
		}
		if e.Read < counters.ObservedLowest || e.Read == counters.ObservedMiss {
			knows, doubt = e.Read, false
		}
		if e.Operation == trace.Add {
			knows = audit.Absent
		}
		switch {
		case e.Written == audit.NothingWritten, e.Outcome == counters.Conflict, e.Outcome == counters.Lost,
			e.Outcome == counters.Miss && e.Written != audit.Absent:
			continue
		case e.Written == audit.Absent, e.Batch, e.Fill, knows == unknown, e.Outcome == counters.Wrong:
			return nil, false
		}
		k.doubt = k.doubt || doubt
		k.atomic = k.atomic && (e.Operation.Conditional() || e.Operation.Replaces())
		k.updates[e.Written] = &update{event: e, parent: knows}
		k.ordered = append(k.ordered, e.Written)
		knows, doubt = e.Written, e.Outcome != counters.OK
	}
	return k, len(k.updates) > 0
}

// Check judges each key by the version that it holds after the phase, in the order of Keys. adds is
// how many items each step of a request adds; nil: that is not known.
func (l *Lineages) Check(held []uint64, adds []uint64) *Updates {
	u := &Updates{}
	for i, k := range l.keys {
		if !l.complete || k.doubt || !k.descend(held[i], l.number) {
			u.Undecided++
			continue
		}
		u.Keys++
		for _, version := range k.ordered {
			w := k.updates[version]
			if w.event.Outcome != counters.OK {
				continue
			}
			fate, items := &u.Fate, itemsOf(&w.event, adds)
			if k.atomic {
				fate = &u.Atomic
			}
			fate.Done++
			fate.Items += items
			if w.survives {
				continue
			}
			fate.Lost++
			fate.ItemsLost += items
			if u.Example == nil {
				u.Example = k.example(w)
			}
		}
	}
	return u
}

// itemsOf returns how many items a write added. A request's entry stands behind its steps.
func itemsOf(e *audit.HistoryEvent, adds []uint64) uint64 {
	if e.Request == 0 || e.Request-e.Sequence > uint64(len(adds)) {
		return 0
	}
	return adds[uint64(len(adds))-(e.Request-e.Sequence)]
}

// descend marks the ancestors of what the key holds. It returns false where that is not known to be
// of an update of this phase, or of before it.
func (k *lineage) descend(held uint64, number int) bool {
	if held >= counters.ObservedLowest {
		return false
	}
	if k.updates[held] == nil && held>>56 >= uint64(number) {
		return false
	}
	for w := k.updates[held]; w != nil && !w.survives; w = k.updates[w.parent] {
		w.survives = true
	}
	return true
}

// example says of a lost update who else wrote on the version that it was made from.
func (k *lineage) example(lost *update) *LostExample {
	e := &LostExample{Index: k.index, Thread: lost.event.Thread, AtNS: lost.event.EndNS}
	for _, version := range k.ordered {
		if w := k.updates[version]; w != lost && w.parent == lost.parent && (e.Other == nil || w.survives) {
			thread, at := w.event.Thread, w.event.BeginNS
			e.Other, e.OnNS = &thread, &at
		}
	}
	return e
}
