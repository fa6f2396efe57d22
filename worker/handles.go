package worker

import (
	"errors"
	"sync"

	"assay/internal/execution/control"
	"assay/store"
)

// handles are the open handles of a store, in the way that the experiment shares them.
type handles struct {
	mode     string
	store    store.Store
	lock     sync.Mutex // of all and first, while a phase runs
	all      []store.Handle
	first    store.Handle
	idle     chan store.Handle // of a pool
	loops    []store.Loop      // of asynchronous handles: thread i is a lane of loop i modulo their number
	pipeline int

	description *store.Description
}

// handleCount returns how many handles will be open at once.
func handleCount(o *control.Open, d store.Description) (int, error) {
	count := 0
	switch o.Handles {
	case control.HandlesShared:
		if count = 1; o.Threads > 1 && !d.HandlesShareable {
			return 0, refused("a handle of %s can't be shared by %d threads", d.Name, o.Threads)
		}
	case control.HandlesPerThread:
		count = o.Threads
	case control.HandlesPool:
		if count = o.PoolHandles; count < 1 {
			return 0, badRequest("a pool needs pool_handles of at least 1, got %d", count)
		}
	case control.HandlesPerOperation:
		count = o.Threads
	case control.HandlesAsync:
		if o.Pipeline < 1 {
			return 0, badRequest("asynchronous handles need a pipeline of at least 1, got %d", o.Pipeline)
		}
		if !d.Abilities.Async {
			return 0, refused("%s has no asynchronous handles", d.Name)
		}
		count = o.Threads
	default:
		return 0, badRequest("unknown way to share handles %q", o.Handles)
	}
	if d.HandlesMax > 0 && count > d.HandlesMax {
		return 0, refused("%s has at most %d handles, this needs %d", d.Name, d.HandlesMax, count)
	}
	return count, nil
}

// openHandles opens as many handles as stay open. Of one per operation that is none: the one that
// abilities are probed on is closed again, for it would be one more than the store was asked for.
func openHandles(s store.Store, d *store.Description, o *control.Open, count int) (*handles, error) {
	h := &handles{mode: o.Handles, store: s, description: d}
	if o.Handles == control.HandlesAsync {
		return h, h.openLoops(count, o.Pipeline)
	}
	if o.Handles == control.HandlesPerOperation {
		count = 1
	}
	for range count {
		handle, err := s.Handle()
		if err != nil {
			return nil, errors.Join(err, h.close())
		}
		h.all = append(h.all, handle)
	}
	h.first = h.all[0]
	if o.Handles == control.HandlesPerOperation {
		if err := h.close(); err != nil {
			return nil, err
		}
	}
	if o.Handles == control.HandlesPool {
		h.idle = make(chan store.Handle, count)
		for _, handle := range h.all {
			h.idle <- handle
		}
	}
	return h, nil
}

// openLoops opens as many lanes as there are threads.
func (h *handles) openLoops(lanes, pipeline int) error {
	h.pipeline = pipeline
	count := loopCount(lanes)
	for i := range count {
		loop, err := h.store.(store.Asynchronous).Loop((lanes-i+count-1)/count, pipeline)
		if err != nil {
			return errors.Join(err, h.close())
		}
		h.loops = append(h.loops, loop)
	}
	return nil
}

// abilities returns what the handles can do. Lanes do what a handle does in one call with
// whole values, and find nothing.
func (h *handles) abilities(d store.Description) store.Abilities {
	if h.loops == nil {
		return store.Probe(h.store, h.first)
	}
	a := d.Abilities
	a.Scan, a.Query, a.Count, a.Explain = false, false, false, false
	a.Modify, a.DeleteQuery, a.Increment, a.MultiGet = false, false, false, false
	a.Touch, a.Append, a.GetAndSet = false, false, false
	return a
}

func (h *handles) close() error {
	var errs []error
	for _, loop := range h.loops {
		errs = append(errs, loop.Close())
	}
	h.loops = nil
	for _, handle := range h.all {
		errs = append(errs, handle.Close())
	}
	h.all = nil
	return errors.Join(errs...)
}

// kept reports whether threads keep their handles.
func (h *handles) kept() bool {
	return h.mode == control.HandlesShared || h.mode == control.HandlesPerThread
}

// of returns the handle that a thread keeps, or nil where it takes one for each operation.
func (h *handles) of(thread int) store.Handle {
	switch h.mode {
	case control.HandlesShared:
		return h.first
	case control.HandlesPerThread:
		return h.all[thread]
	}
	return nil
}
