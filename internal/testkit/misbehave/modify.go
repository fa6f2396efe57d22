package misbehave

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"time"

	"assay/store"
)

// Modify writes columns of a record, and nothing else of it, unless it lies.
func (h *handle) Modify(key []byte, columns []int, values [][]byte) error {
	key = h.begin(key)
	if h.modify != nil {
		return h.modify(h, key, columns, values)
	}
	return h.changeColumns(key, columns, values)
}

func (h *handle) changeColumns(key []byte, columns []int, values [][]byte) error {
	if h.columns == nil {
		return errors.New("no columns were defined")
	}
	return h.honest.change(key, h.buffered, func(old []byte) ([]byte, error) {
		return h.withColumns(old, columns, values), nil
	})
}

// withColumns returns a record with other values in some columns.
func (h *handle) withColumns(record []byte, columns []int, values [][]byte) (changed []byte) {
	for i := range h.columns {
		if at := slices.Index(columns, i); at >= 0 {
			changed = store.AppendColumn(changed, values[at])
		} else {
			changed = store.AppendColumn(changed, columnOf(record, i))
		}
	}
	return changed
}

// The lies about modifies.

func modifyNothing(h *handle, key []byte, _ []int, _ [][]byte) error {
	_, err := h.honest.get(key)
	return err
}

// onlyColumns is a record that has nothing in the other columns.
func (h *handle) onlyColumns(columns []int, values [][]byte) []byte {
	return h.withColumns(bytes.Repeat([]byte{0, 0}, len(h.columns)), columns, values)
}

func modifyReplaces(h *handle, key []byte, columns []int, values [][]byte) error {
	return h.honest.change(key, h.buffered, func([]byte) ([]byte, error) { return h.onlyColumns(columns, values), nil })
}

func modifyCreates(h *handle, key []byte, columns []int, values [][]byte) error {
	err := h.changeColumns(key, columns, values)
	if errors.Is(err, store.ErrNotFound) {
		return h.honest.apply([]store.Write{{Key: key, Value: h.onlyColumns(columns, values)}}, h.buffered)
	}
	return err
}

func modifyNeighbour(h *handle, key []byte, columns []int, values [][]byte) error {
	neighbour := slices.IndexFunc(h.columns, func(c store.Column) bool { return c.Type == store.TextColumn })
	return h.changeColumns(key, append(slices.Clone(columns), neighbour), append(slices.Clone(values), values[0][:1]))
}

func modifyFirst(h *handle, key []byte, columns []int, values [][]byte) error {
	return h.changeColumns(key, columns[:1], values[:1])
}

// modifyApart leaves others time to read, and to modify, between two columns: so long that a thread
// of a busy machine gets its turn meanwhile.
func modifyApart(h *handle, key []byte, columns []int, values [][]byte) error {
	for i := range columns {
		if err := h.changeColumns(key, columns[i:i+1], values[i:i+1]); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// modifyRewrites loses what others did to the record in between.
func modifyRewrites(h *handle, key []byte, columns []int, values [][]byte) error {
	old, err := h.honest.get(key)
	if err != nil {
		return err
	}
	time.Sleep(aWhile)
	return h.honest.apply([]store.Write{{Key: key, Value: h.withColumns(old, columns, values)}}, h.buffered)
}

// aWhile is time enough for another thread.
const aWhile = 100 * time.Microsecond

// Increment adds to a column of a record in one step, unless it lies.
func (h *handle) Increment(key []byte, column int, by int64) error {
	key = h.begin(key)
	if h.increment != nil {
		return h.increment(h, key, column, by)
	}
	return h.addTo(key, column, by)
}

func (h *handle) addTo(key []byte, column int, by int64) error {
	if h.columns == nil {
		return errors.New("no columns were defined")
	}
	return h.honest.change(key, h.buffered, func(old []byte) ([]byte, error) {
		return h.incremented(old, column, by), nil
	})
}

func (h *handle) incremented(record []byte, column int, by int64) []byte {
	sum := strconv.AppendInt(nil, numberOf(columnOf(record, column))+by, 10)
	return h.withColumns(record, []int{column}, [][]byte{sum})
}

func incrementApart(h *handle, key []byte, column int, by int64) error {
	old, err := h.honest.get(key)
	if err != nil {
		return err
	}
	time.Sleep(aWhile)
	return h.honest.apply([]store.Write{{Key: key, Value: h.incremented(old, column, by)}}, h.buffered)
}

func incrementTwice(h *handle, key []byte, column int, by int64) error {
	return h.addTo(key, column, 2*by)
}

func incrementNothing(h *handle, key []byte, _ int, _ int64) error {
	_, err := h.honest.get(key)
	return err
}
