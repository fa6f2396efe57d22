package misbehave

import "assay/store"

// What hides records for a while from scans, counts and queries, or skips some.

// hiddenFor is how many operations a record is hidden for that is new: no time, which a slow machine would
// let pass before anybody looks.
const hiddenFor = 1000

// rememberNew notes when a key was first written.
func rememberNew(h *handle, key, value []byte) error {
	_, known := h.honest.get(key)
	err := h.writeAlone(store.Write{Key: key, Value: value})
	if known != nil && err == nil {
		h.previous.Store(string(key), h.operations.Load())
	}
	return err
}

// isHidden reports whether a key is so new that it is hidden.
func (h *handle) isHidden(key string) bool {
	written, known := h.previous.Load(key)
	return known && h.operations.Load()-written.(uint64) < hiddenFor
}

func scanLate(h *handle, start []byte, visit func(key, value []byte) bool) error {
	for _, r := range h.honest.from(start) {
		if !h.isHidden(r.key) && !visit([]byte(r.key), r.value) {
			return nil
		}
	}
	return nil
}

// skipOne leaves out the third record of each scan.
func skipOne(h *handle, start []byte, visit func(key, value []byte) bool) error {
	for i, r := range h.honest.from(start) {
		if i != 2 && !visit([]byte(r.key), r.value) {
			return nil
		}
	}
	return nil
}

// findLate does not find what is new.
func findLate(h *handle, q *store.Query, values [][]byte) (found []record) {
	for _, r := range h.with(q, values) {
		if !h.isHidden(r.key) {
			found = append(found, r)
		}
	}
	return found
}

// countOneLess counts one record less than there are, unless that is plain to see.
func countOneLess(n uint64) uint64 {
	if n > 2 {
		return n - 1
	}
	return n
}
