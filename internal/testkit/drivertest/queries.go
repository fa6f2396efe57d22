package drivertest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/store"
)

// QueryColumns are the columns of [CheckQueries]: texts that stores are known to change or to
// confuse, among them.
var QueryColumns = []store.Column{
	{Name: "name", Type: store.TextColumn}, {Name: "group", Type: store.IntegerColumn},
	{Name: "tags", Type: store.TextColumn}, {Name: "body", Type: store.BytesColumn}, {Name: "rank", Type: store.IntegerColumn},
}

var queryValues = [][]string{
	{"a", "ab", "ab ", "b", "B", "a_", "a%", "ba"},
	{"0", "1", "2", "7", "10", "999999999999999999"},
	{"red", "red green", "green,red", "bred", " red  blue", "Red", "", "re.d"},
	{"", "x", "\x00", "x\xff"},
	{"3", "20", "100"},
}

// drawQueries draws so many templates, and the values that each is asked with.
func drawQueries(r *rand.Rand, n int) (queries []store.Query) {
	for range n {
		q := store.Query{Sort: -1, Limit: []int{1, 2, 5, 100}[r.IntN(4)]}
		for range r.IntN(4) {
			var all []store.Condition
			for range 1 + r.IntN(3) {
				all = append(all, []store.Condition{
					{Column: 0, Is: store.Equal}, {Column: 1, Is: store.Equal}, {Column: 3, Is: store.Equal},
					{Column: 2, Is: store.Equal},
					{Column: 1, Is: store.Range}, {Column: 4, Is: store.Range}, {Column: 0, Is: store.Prefix},
					{Column: 2, Is: store.Has},
				}[r.IntN(8)])
			}
			q.Where = append(q.Where, all)
		}
		if r.IntN(2) == 0 {
			q.Sort, q.Descending = []int{1, 4}[r.IntN(2)], r.IntN(2) == 0
		}
		q.Columns = r.Perm(len(QueryColumns))[:1+r.IntN(len(QueryColumns))]
		if r.IntN(2) == 0 {
			q.Columns = []int{0, 1, 2, 3, 4}
		}
		queries = append(queries, q)
	}
	return queries
}

func drawValues(t *rapid.T, q *store.Query) (values [][]byte) {
	for _, all := range q.Where {
		for _, c := range all {
			of := queryValues[c.Column]
			switch c.Is {
			case store.Range:
				from := rapid.Uint64Range(0, 12).Draw(t, "from")
				span := rapid.Uint64Range(1, 1e18).Draw(t, "span")
				values = append(values, fmt.Append(nil, from), fmt.Append(nil, from+span))
				continue
			case store.Prefix:
				of = []string{"a", "ab", "b", "a_", "a%", "c"}
			case store.Has:
				of = []string{"red", "green", "blue", "re.d", "re", "%"}
			}
			values = append(values, []byte(rapid.SampledFrom(of).Draw(t, "value")))
		}
	}
	return values
}

// CheckQueries holds a store that was opened, and that no other test uses, against a map: random
// records, random templates, and writes, queries and counts in any order. It defines
// [QueryColumns] with these indexes. No query is by a column of unasked.
func CheckQueries(t *testing.T, s store.Store, indexes []store.Index, unasked ...int) {
	t.Helper()
	queries := drawQueries(rand.New(rand.NewPCG(1, uint64(len(indexes)))), 40)
	for _, q := range queries {
		for _, all := range q.Where {
			for i, c := range all {
				if slices.Contains(unasked, c.Column) {
					all[i] = store.Condition{Column: 1, Is: store.Equal}
				}
			}
		}
	}
	if err := s.(store.Definer).Define(QueryColumns, indexes, queries); err != nil {
		t.Fatal(err)
	}
	h, err := s.Handle()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	keys := []string{"k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8"}
	rapid.Check(t, func(t *rapid.T) {
		model := map[string][]string{}
		for _, key := range keys {
			if err := h.Delete([]byte(key)); err != nil && !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "asks") == 0 {
				query := rapid.IntRange(0, len(queries)-1).Draw(t, "query")
				checkQuery(t, h, model, query, &queries[query])
				continue
			}
			key := rapid.SampledFrom(keys).Draw(t, "key")
			if rapid.IntRange(0, 4).Draw(t, "deletes") == 0 {
				delete(model, key)
				if err := h.Delete([]byte(key)); err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Fatal(err)
				}
				continue
			}
			var record []string
			var encoded []byte
			for column, values := range queryValues {
				record = append(record, rapid.SampledFrom(values).Draw(t, QueryColumns[column].Name))
				encoded = store.AppendColumn(encoded, []byte(record[column]))
			}
			if err := h.Put([]byte(key), encoded); err != nil {
				t.Fatal(err)
			}
			model[key] = record
		}
	})
	for _, key := range keys {
		if err := h.Delete([]byte(key)); err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
	}
}

func checkQuery(t *rapid.T, h store.Handle, model map[string][]string, query int, q *store.Query) {
	values := drawValues(t, q)
	var matching []string
	for key, record := range model {
		if q.Holds(values, func(column int) []byte { return []byte(record[column]) }) {
			matching = append(matching, key)
		}
	}
	var found, given []string
	if err := h.(store.Querier).Query(query, values, func(key, record []byte) bool {
		found, given = append(found, string(key)), append(given, string(record))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	expected := min(len(matching), q.Limit)
	if n, err := h.(store.Counter).Count(query, values); err != nil || n != uint64(len(matching)) {
		t.Fatalf("%+v with %q counts %d, %v, of %v expected %d", q, values, n, err, model, len(matching))
	}
	if len(found) != expected || len(slices.Compact(slices.Sorted(slices.Values(found)))) != expected {
		t.Fatalf("%+v with %q finds %q, of %v expected %d of %q", q, values, found, model, expected, matching)
	}
	for i, key := range found {
		var record []byte
		for _, column := range q.Columns {
			record = store.AppendColumn(record, []byte(model[key][column]))
		}
		if !slices.Contains(matching, key) || !bytes.Equal(record, []byte(given[i])) {
			t.Fatalf("%+v with %q finds %q %q, of %v expected %q", q, values, key, given[i], model, record)
		}
	}
	if q.Sort < 0 {
		return
	}
	numbers := func(keys []string) (numbers []string) {
		for _, key := range keys {
			numbers = append(numbers, model[key][q.Sort])
		}
		return numbers
	}
	order := numbers(matching)
	slices.SortFunc(order, func(a, b string) int {
		if q.Descending {
			a, b = b, a
		}
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	if !slices.Equal(numbers(found), order[:expected]) {
		t.Fatalf("%+v with %q finds %q, in the order %q, expected %q", q, values, found, numbers(found), order[:expected])
	}
}
