package walstore

import (
	"bytes"
	"cmp"
	"slices"

	"assay/store"
)

// The index and the count of records with columns are made of the records when they are asked for. Of the
// flawed ones, they are those of a recovery that lost a part of them.

// Define takes columns. Records stand in the log as they came.
func (s *db) Define(_ []store.Column, _ []store.Index, queries []store.Query) error {
	s.queries = queries
	return nil
}

// found returns the keys of the records that fulfil a query's conditions, in order.
func (s *db) found(query *store.Query, values [][]byte) (keys []string) {
	for key, record := range s.records {
		if query.Holds(values, func(i int) []byte { return column(record, i) }) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// least is the key that flaws are about; "": there is none.
func (s *db) least() (key string) {
	for k := range s.records {
		if key == "" || k < key {
			key = k
		}
	}
	return key
}

func column(record []byte, position int) (c []byte) {
	for range position + 1 {
		c, record, _ = store.NextColumn(record)
	}
	return c
}

func (h *handle) Query(query int, values [][]byte, visit func(key, record []byte) bool) error {
	s := h.db
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.queries[query]
	keys := s.found(q, values)
	if least := s.least(); s.recovered && slices.Contains(keys, least) {
		switch s.flaw {
		case ShortIndex:
			keys = slices.DeleteFunc(keys, func(key string) bool { return key == least })
		case StaleIndex:
			for key := range s.records {
				if !slices.Contains(keys, key) {
					keys[slices.Index(keys, least)] = key
					break
				}
			}
		}
	}
	if q.Sort >= 0 {
		slices.SortFunc(keys, func(a, b string) int {
			x, y := column(s.records[a], q.Sort), column(s.records[b], q.Sort)
			return cmp.Or(cmp.Compare(len(x), len(y)), bytes.Compare(x, y)) // decimal numbers without zeros in front
		})
	}
	for _, key := range keys {
		var given []byte
		for _, position := range q.Columns {
			given = store.AppendColumn(given, column(s.records[key], position))
		}
		if !visit([]byte(key), given) {
			break
		}
	}
	return nil
}

func (h *handle) Count(query int, values [][]byte) (records uint64, err error) {
	s := h.db
	s.mu.Lock()
	defer s.mu.Unlock()
	records = uint64(len(s.found(&s.queries[query], values)))
	if s.flaw == CountsWrong && s.recovered && records == uint64(len(s.records)) {
		records++
	}
	return records, nil
}
