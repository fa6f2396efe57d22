package misbehave

import (
	"bytes"
	"slices"
	"time"

	"assay/store"
)

// lanes is a store with asynchronous handles: what is submitted is done at once, and told at the
// next Reap.
type lanes struct{ *db }

func (s lanes) Loop(count, _ int) (store.Loop, error) {
	l := &loop{db: s.db}
	for range count {
		l.handles = append(l.handles, &handle{db: s.db})
	}
	return l, nil
}

type loop struct {
	*db
	handles []*handle
	done    []answer
}

// answer is what an operation of a lane came to.
type answer struct {
	lane  int
	value []byte
	err   error
}

func (l *loop) Submit(lane int, r *store.Request) {
	h, a := l.handles[lane], answer{lane: lane}
	switch r.Operation {
	case store.OpGet:
		a.value, a.err = h.Get(r.Key, nil)
		a.value = bytes.Clone(a.value)
	case store.OpPut:
		a.err = h.Put(r.Key, r.Value)
	case store.OpDelete:
		a.err = h.Delete(r.Key)
	case store.OpAdd:
		a.err = h.Add(r.Key, r.Value)
	case store.OpCompareAndSwap:
		a.err = h.CompareAndSwap(r.Key, r.Old, r.Value)
	case store.OpApply:
		a.err = h.Apply(r.Writes)
	}
	l.done = append(l.done, a)
}

func (l *loop) Reap(wait time.Duration, ended store.Ended) error {
	told := l.done
	l.done = nil
	if len(told) == 0 {
		time.Sleep(wait)
	}
	l.tell(told)
	for _, a := range told {
		ended(a.lane, a.value, a.err)
	}
	return nil
}

func (l *loop) Close() error { return nil }

// lastFirst tells what lanes have on their way in the wrong order.
func lastFirst(told []answer) { slices.Reverse(told) }
