package tokyotyrant

import (
	"errors"
	"strconv"

	"assay/store"
)

// treeFace is that of a B+ tree, whose putlist stores a second record beside one that is there
// (tcadb.c calls tcbdbputdup).
type treeFace struct{ binaryFace }

// treeDB has handles that scan.
type treeDB struct{ *db }

// Handle opens one more connection.
func (d *treeDB) Handle() (store.Handle, error) {
	h, err := d.newHandle()
	if err != nil {
		return nil, err
	}
	return &treeHandle{handle: h}, nil
}

type treeHandle struct {
	*handle
	key, value []byte // of the record that is visited, reused
}

func appendDecimal(r []byte, n int) []byte {
	var digits [20]byte
	return appendElement(r, strconv.AppendInt(digits[:0], int64(n), 10))
}

// Scan is the function range: as many records as the caller will take, and again from behind the
// last one if it takes more.
func (h *treeHandle) Scan(start []byte, limit int, visit func(key, value []byte) bool) error {
	if err := h.Begin(); err != nil {
		return err
	}
	limit = max(limit, 1)
	h.key = append(h.key[:0], start...)
	for {
		h.Request = appendMisc(h.Request[:0], "range", noUpdateLog, 2)
		h.Request = appendDecimal(appendElement(h.Request, h.key), limit)
		seen, more, err := h.visitAll(limit, visit)
		if err != nil || !more || seen < limit {
			return err
		}
		h.key = append(h.key, 0) // the next key that there can be
	}
}

// visitAll reads the records that a range answers with. What is not visited is read, too.
func (h *treeHandle) visitAll(limit int, visit func(key, value []byte) bool) (seen int, more bool, err error) {
	if err := h.Send(); err != nil {
		return 0, false, err
	}
	n, done, err := h.elements("range")
	switch {
	case err != nil:
		return 0, false, err
	case !done:
		return 0, false, errRefused("range")
	case n%2 != 0 || n > 2*limit:
		return 0, false, h.GiveUp("range", errors.New("the answer has another number of elements than was "+
			"asked for"))
	}
	more = true
	for range n / 2 {
		if h.key, err = h.element("range", h.key[:0]); err != nil {
			return seen, false, err
		}
		if h.value, err = h.element("range", h.value[:0]); err != nil {
			return seen, false, err
		}
		if more {
			seen++
			more = visit(h.key, h.value)
		}
	}
	return seen, more, nil
}
