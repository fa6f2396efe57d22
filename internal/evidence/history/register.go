package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// The search is of a key's first searchEvents operations, and takes no longer than searchMax a
// phase: keys that are left then are undecided.
const (
	searchEvents = 1000
	searchMax    = 2 * time.Second
)

// explained says whether some order of the key's operations explains what its reads returned. It
// takes what it needs of the time that is left for searches. It is of a key on one clock.
func (k *key) explained(left *time.Duration) (explained, decided bool) {
	if !k.search {
		return k.zonesApart(), true
	}
	if *left <= 0 {
		return true, false
	}
	began := time.Now()
	result := porcupine.CheckOperationsTimeout(register, k.operations(), *left)
	*left -= time.Since(began)
	return result != porcupine.Illegal, result != porcupine.Unknown
}

// zonesApart decides a register whose writes are all different. A write and its reads span a zone:
// from the first of their ends to the last of their begins. Where the first lies before the last,
// the register surely held the value all that time: no two such zones may overlap, and none may
// hold the zone of another value.
func (k *key) zonesApart() bool {
	type zone struct{ low, high int64 }
	var held, instants []zone
	for _, w := range k.ordered {
		last := max(w.begin, w.lastRead)
		switch effect := w.effects[0].ns; {
		case effect == never || effect == before && last == before:
		case effect < last:
			held = append(held, zone{effect, last})
		default:
			instants = append(instants, zone{last, effect})
		}
	}
	slices.SortFunc(held, func(a, b zone) int { return cmp.Compare(a.low, b.low) })
	for i := 1; i < len(held); i++ {
		if held[i].low < held[i-1].high {
			return false
		}
	}
	for _, z := range instants {
		at, _ := slices.BinarySearchFunc(held, z.low, func(h zone, low int64) int { return cmp.Compare(h.low, low) })
		if at > 0 && held[at-1].low < z.low && z.high < held[at-1].high {
			return false
		}
	}
	return true
}

// step is one operation of the search.
type step struct {
	operation trace.Operation
	read      uint64 // a version, audit.Absent, or audit.NothingRead
	written   uint64
	certain   bool // it was acknowledged: it took effect as it says
}

// state is what the register holds.
type state struct {
	known   bool // what was there when the phase began is not
	version uint64
}

var register = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, in, _ any) (bool, any) {
		held, o := s.(state), in.(step)
		if !o.certain { // it may never have happened: then the search puts it last, where nothing reads it
			if o.operation == trace.CompareAndSwap && held.known && held.version != o.read ||
				o.written == audit.NothingWritten {
				return true, held
			}
			return true, state{true, o.written}
		}
		switch o.operation {
		case trace.Add:
			if held.known && held.version != audit.Absent {
				return false, held
			}
			return true, state{true, o.written}
		case trace.CompareAndSwap, trace.GetAndSet:
			return o.read == audit.NothingRead || !held.known || held.version == o.read, state{true, o.written}
		}
		if o.written != audit.NothingWritten {
			return true, state{true, o.written}
		}
		return !held.known || held.version == o.read, state{true, o.read}
	},
	Equal: func(a, b any) bool { return a.(state) == b.(state) },
}

// operations are the key's events for the search. A read-modify-write is a read and a write, as the
// harness makes two calls of it; what a refused conditional write saw is no evidence. Where only
// the first events are searched, or recorded, a read that ends after the next one began may have seen a
// write that is not among them, and a write that does so may take effect later.
func (k *key) operations() (all []porcupine.Operation) {
	add := func(e audit.HistoryEvent, in step) {
		end := max(e.EndNS, e.BeginNS)
		if !in.certain {
			end = never
		}
		all = append(all, porcupine.Operation{ClientId: len(all), Input: in, Call: e.BeginNS - slackNS, Return: end})
	}
	events, cut := k.events, k.untilNS
	if len(events) > searchEvents {
		cut = min(cut, events[searchEvents].BeginNS-slackNS)
		events = events[:searchEvents]
	}
	for _, e := range events {
		if e.BeginNS-slackNS >= cut { // nothing that is judged can have seen it
			break
		}
		sure := (e.Outcome == counters.OK || e.Outcome == counters.Miss) && e.EndNS < cut
		writes := e.Written != audit.NothingWritten && e.Outcome != counters.Conflict &&
			(e.Outcome != counters.Miss || e.Operation == trace.Delete)
		reads := e.Read < counters.ObservedLowest || e.Read == counters.ObservedMiss
		if e.Operation.Replaces() && writes && reads {
			add(e, step{e.Operation, e.Read, e.Written, sure})
			continue
		}
		if reads && e.EndNS < cut {
			add(e, step{trace.Read, e.Read, audit.NothingWritten, true})
		}
		if writes {
			add(e, step{e.Operation, audit.NothingRead, e.Written, sure})
		}
	}
	return all
}
