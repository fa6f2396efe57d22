package misbehave

import (
	"time"

	"assay/store"
)

// What behaviours do with writes that begin while another one is under way. Others let them wait.

// writeAlone does writes. Of those that begin while another one is under way, every second is the
// driver's to deal with; the others wait, as in a store of locks.
func (h *handle) writeAlone(writes ...store.Write) error {
	switch {
	case h.busy == nil:
		return h.write(writes...)
	case h.writing.TryLock():
	case h.waits.Add(1)%2 == 0:
		h.writing.Lock()
	case len(writes) > 1 && h.busyBatch != nil:
		return h.busyBatch(h, writes)
	default:
		return h.busy(h, writes)
	}
	defer h.writing.Unlock()
	time.Sleep(20 * time.Microsecond) // time enough for another thread
	return h.write(writes...)
}

func refuse(*handle, []store.Write) error { return store.ErrConflict }

// The lies about conflicts.

func refuseAndDo(h *handle, writes []store.Write) error {
	if err := h.write(writes...); err != nil {
		return err
	}
	return store.ErrConflict
}

func refuseEverySecond(h *handle, _ []store.Write) error {
	if h.puts.Add(1)%2 == 0 {
		return store.ErrConflict
	}
	return nil
}

func doHalf(h *handle, writes []store.Write) error {
	if err := h.write(writes[:len(writes)/2]...); err != nil {
		return err
	}
	return store.ErrConflict
}
