package misbehave

import (
	"time"

	"assay/store"
)

// addOver adds over what is there.
func addOver(h *handle, key, value []byte) error {
	return h.write(store.Write{Key: key, Value: value})
}

// addLater looks whether a record is there, and writes some time later.
func addLater(h *handle, key, value []byte) error {
	if _, err := h.honest.get(key); err == nil {
		return store.ErrConflict
	}
	h.swap.Unlock() // for other threads
	time.Sleep(aWhile)
	h.swap.Lock()
	return h.write(store.Write{Key: key, Value: value})
}

// refuseSecondAdd refuses the adds of every second key once there are several threads.
func refuseSecondAdd(h *handle, key, value []byte) error {
	if _, err := h.honest.get(key); err == nil || h.threads > 1 && len(key) > 0 && key[len(key)-1]%2 == 1 {
		return store.ErrConflict
	}
	return h.write(store.Write{Key: key, Value: value})
}
