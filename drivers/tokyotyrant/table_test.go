package tokyotyrant_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/drivers/tokyotyrant"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/tyrantstandin"
	"assay/store"
)

// news is a record of indexed documents: texts and numbers without zero bytes, and tags.
var news = []store.Column{
	{Name: "title", Type: store.TextColumn}, {Name: "category", Type: store.IntegerColumn},
	{Name: "tags", Type: store.TextColumn},
}

var newsIndexes = []store.Index{{Column: 0, Kind: store.OrderedIndex},
	{Column: 1, Kind: store.OrderedIndex}, {Column: 2, Kind: store.TokenIndex}}

func record(columns ...string) (encoded []byte) {
	for _, c := range columns {
		encoded = store.AppendColumn(encoded, []byte(c))
	}
	return encoded
}

func newsRecord(i int) []byte {
	return record(fmt.Sprint("This is title of news ", i), fmt.Sprint(i/10),
		fmt.Sprintf("Tag_%d_%d, aaa", i%3, i%5))
}

// newsQueries are by each column, for at most so many records, of which all columns are given.
func newsQueries(columns []store.Column, limits ...int) (queries []store.Query) {
	for column, c := range columns {
		if c.Type == store.BytesColumn {
			continue
		}
		for _, limit := range limits {
			queries = append(queries, store.Query{Where: [][]store.Condition{{{Column: column,
				Is: store.Equal}}}, Sort: -1, Limit: limit})
		}
	}
	for i := range queries {
		for column := range columns {
			queries[i].Columns = append(queries[i].Columns, column)
		}
	}
	return queries
}

// The limits of the queries that a table is opened with: query 2c+1 finds many by column c.
const few, many = 3, 1000

// openTable opens a table with columns and one handle.
func openTable(t *testing.T, endpoint string, given map[string]string, columns []store.Column,
	indexes []store.Index) (store.Store, store.Handle) {
	t.Helper()
	s, _ := open(t, tokyotyrant.Table{}, store.D0, endpoint, given)
	must(t, s.(store.Definer).Define(columns, indexes, newsQueries(columns, few, many)))
	h, err := s.Handle()
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return s, h
}

// found are the keys of a query by a column, whose records are compared with those that were stored.
func found(t *testing.T, h store.Handle, column int, value string, limit int, want func(key string) []byte) []string {
	t.Helper()
	var keys []string
	must(t, h.(store.Querier).Query(queryBy(column, limit), [][]byte{[]byte(value)},
		func(key, record []byte) bool {
			if !bytes.Equal(record, want(string(key))) {
				t.Errorf("query of column %d: %s: %q", column, key, record)
			}
			keys = append(keys, string(key))
			return true
		}))
	slices.Sort(keys)
	return keys
}

func queryBy(column, limit int) int {
	if limit == few {
		return 2 * column
	}
	return 2*column + 1
}

func newsKey(i int) string { return fmt.Sprintf("news_%03d", i) }

func newsOf(key string) []byte {
	var i int
	if _, err := fmt.Sscanf(key, "news_%03d", &i); err != nil {
		return nil
	}
	return newsRecord(i)
}

func TestRecordsAreFoundByColumns(t *testing.T) {
	for _, write := range []string{"put", "putnr"} {
		for _, indexes := range [][]store.Index{nil, newsIndexes} {
			t.Run(fmt.Sprint(write, len(indexes)), func(t *testing.T) {
				servers(t, tokyotyrant.Table{}, store.D0, func(t *testing.T, endpoint string) {
					s, h := openTable(t, endpoint, map[string]string{"write": write}, news, indexes)
					for i := range 300 {
						must(t, h.Put([]byte(newsKey(i)), newsRecord(i)))
					}
					wantGet(t, h, newsKey(7), newsRecord(7))
					if keys := found(t, h, 0, "This is title of news 42", many, newsOf); !slices.Equal(keys,
						[]string{newsKey(42)}) {
						t.Errorf("by title: %v", keys)
					}
					if keys := found(t, h, 1, "7", many, newsOf); len(keys) != 10 || keys[0] != newsKey(70) ||
						keys[9] != newsKey(79) {
						t.Errorf("by category: %v", keys)
					}
					if keys := found(t, h, 1, "7", few, newsOf); len(keys) != 3 {
						t.Errorf("at most 3: %v", keys)
					}
					if keys := found(t, h, 2, "Tag_1_2, aaa", many, newsOf); len(keys) != 20 {
						t.Errorf("by tags: %v", keys)
					}
					if keys := found(t, h, 2, "aaa Tag_1_2,", many, newsOf); len(keys) != 0 {
						t.Errorf("by other text of the same words: %v", keys)
					}
					if n, err := h.(store.Counter).Count(queryBy(2, many),
						[][]byte{[]byte("Tag_1_2, aaa")}); err != nil || n != 20 {
						t.Errorf("count: %d, %v", n, err)
					}
					if n, err := h.(store.Counter).Count(queryBy(1, many), [][]byte{[]byte("1000")}); err != nil || n != 0 {
						t.Errorf("count of none: %d, %v", n, err)
					}
					stats := s.(store.Inspector).Inspect().Stats
					indexed, scanned := stats["queries_indexed"], stats["queries_scanned"]
					if indexed+scanned != 7 || (indexed > 0) != (indexes != nil) || (scanned > 0) != (indexes == nil) {
						t.Errorf("%v queries by an index, %v without", indexed, scanned)
					}
				})
			})
		}
	}
}

// Zero bytes, which the server separates columns by in one of its answers, come back as they were.
func TestZeroBytesComeBack(t *testing.T) {
	columns := [][]store.Column{
		{{Name: "a", Type: store.TextColumn}, {Name: "b", Type: store.TextColumn}},  // may have some anyway
		{{Name: "a", Type: store.TextColumn}, {Name: "b", Type: store.BytesColumn}}, // may well
	}
	for _, columns := range columns {
		servers(t, tokyotyrant.Table{}, store.D0, func(t *testing.T, endpoint string) {
			_, h := openTable(t, endpoint, nil, columns, []store.Index{{Column: 0, Kind: store.OrderedIndex}})
			stored := map[string][]byte{
				"plain": record("x", "text"), "zero\x00key\x00a": record("x", "text"),
				"value": record("x", "\x00b\x00\x00 a\x00"), "empty": record("x", ""),
			}
			for key, value := range stored {
				must(t, h.Put([]byte(key), value))
			}
			for i := range 300 { // more than one pipeline
				key := fmt.Sprint("more-", i)
				stored[key] = record("x", strings.Repeat("\x00", i))
				must(t, h.Put([]byte(key), stored[key]))
			}
			keys := found(t, h, 0, "x", many, func(key string) []byte { return stored[key] })
			if len(keys) != len(stored) {
				t.Errorf("%d of %d records", len(keys), len(stored))
			}
			for key, value := range stored {
				wantGet(t, h, key, value)
			}
			if err := h.(store.Querier).Query(queryBy(0, few), [][]byte{[]byte("a\x00b")}, nil); err == nil {
				t.Error("a condition with a zero byte was sent")
			}
		})
	}
}

func TestTableRefusesUnsupportedDefinitions(t *testing.T) {
	servers(t, tokyotyrant.Table{}, store.D0, func(t *testing.T, endpoint string) {
		refused := func(class store.Durability, given map[string]string, columns []store.Column,
			indexes ...store.Index) {
			t.Helper()
			s, _ := open(t, tokyotyrant.Table{}, class, endpoint, given)
			if err := s.(store.Definer).Define(columns, indexes, nil); !errors.Is(err, store.ErrRefused) {
				t.Errorf("expected a refusal, got %v", err)
			}
		}
		refused(store.D1, nil, news, store.Index{Column: 0, Kind: store.OrderedIndex})
		refused(store.D0, nil, news, store.Index{Column: 0, Kind: store.OrderedIndex},
			store.Index{Column: 0, Kind: store.TokenIndex})
		refused(store.D0, map[string]string{"write": "putnr"}, []store.Column{{Name: "b", Type: store.BytesColumn}})
		s, _ := open(t, tokyotyrant.Table{}, store.D0, endpoint, nil)
		must(t, s.(store.Definer).Define(news, newsIndexes, nil))
		refused(store.D0, nil, news, store.Index{Column: 0, Kind: store.TokenIndex}) // a lexical one is there
		again, _ := open(t, tokyotyrant.Table{}, store.D0, endpoint, nil)
		must(t, again.(store.Definer).Define(news, newsIndexes, nil))
	})
	s := tyrantstandin.Start(t, tyrantstandin.Table)
	_, h := openTable(t, s.Endpoint, map[string]string{"write": "putnr"}, news, nil)
	s.SetLie(func(what string, _ []byte) []byte {
		if what != "rnum" { // closing waits for it
			t.Error("sent: ", what)
		}
		return append([]byte{0}, make([]byte, 8)...)
	})
	for name, value := range map[string][]byte{"a zero byte": record("a", "1", "\x00"),
		"two columns": record("a", "1"), "four": record("a", "1", "b", "c")} {
		if err := h.Put([]byte("key"), value); err == nil {
			t.Errorf("put of a record with %s was sent", name)
		}
	}
}

// Queries of several conditions, in orders, with columns chosen, against a model: without indexes,
// with ordered ones and with one of words.
func TestQueriesAgainstAModel(t *testing.T) {
	const name, group, tags, body = 0, 1, 2, 3
	ordered := []store.Index{{Column: name, Kind: store.OrderedIndex},
		{Column: group, Kind: store.OrderedIndex}, {Column: 4, Kind: store.OrderedIndex}}
	words := []store.Index{{Column: tags, Kind: store.TokenIndex}, {Column: 4, Kind: store.OrderedIndex}}
	for _, indexes := range [][]store.Index{nil, ordered, words} {
		t.Run(fmt.Sprint(indexes), func(t *testing.T) {
			servers(t, tokyotyrant.Table{}, store.D0, func(t *testing.T, endpoint string) {
				s, _ := open(t, tokyotyrant.Table{}, store.D0, endpoint, nil)
				drivertest.CheckQueries(t, s, indexes, body) // a condition can't hold its zero bytes
			})
		})
	}
}

// A query by bytes is refused: the server would end them at the first zero.
func TestQueriesByBytesAreRefused(t *testing.T) {
	s, _ := open(t, tokyotyrant.Table{}, store.D0, tyrantstandin.For(t, "tokyotyrant-table", store.D0), nil)
	queries := []store.Query{{Where: [][]store.Condition{{{Column: 0, Is: store.Equal}}}, Sort: -1,
		Limit: 1, Columns: []int{0}}}
	if err := s.(store.Definer).Define([]store.Column{{Name: "b", Type: store.BytesColumn}}, nil,
		queries); !errors.Is(err, store.ErrRefused) {
		t.Errorf("%v", err)
	}
}

// A found record that was written since the search, and no longer has what was asked for, is no
// answer.
func TestFoundRecordIsCompared(t *testing.T) {
	s := tyrantstandin.Start(t, tyrantstandin.Table)
	columns := []store.Column{{Name: "tag", Type: store.TextColumn}, {Name: "body", Type: store.BytesColumn}}
	_, h := openTable(t, s.Endpoint, nil, columns, nil)
	must(t, h.Put([]byte("one"), record("old", "1")))
	must(t, h.Put([]byte("two"), record("old", "2")))
	s.SetLie(func(what string, answer []byte) []byte {
		if what == "misc get" {
			return bytes.Replace(answer, []byte("old"), []byte("new"), 1)
		}
		return answer
	})
	if keys := found(t, h, 0, "old", many, func(string) []byte { return nil }); len(keys) != 0 {
		t.Errorf("found: %v", keys)
	}
	s.SetLie(nil)
}

// What a search must not answer is an error.
func TestLiesOfASearch(t *testing.T) {
	for name, lie := range map[string]func(answer []byte) []byte{
		"fails":       func([]byte) []byte { return []byte{1, 0, 0, 0, 0} },
		"no elements": func([]byte) []byte { return []byte{0, 0, 0, 0, 0} },
		"no hint":     func([]byte) []byte { return []byte{0, 0, 0, 0, 1, 0, 0, 0, 1, 'k'} },
		"cut":         func(answer []byte) []byte { return answer[:len(answer)-1] },
		"hangs up":    func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := tyrantstandin.Start(t, tyrantstandin.Table)
			_, h := openTable(t, s.Endpoint, map[string]string{"operation_timeout": "2s"}, news, nil)
			must(t, h.Put([]byte(newsKey(1)), newsRecord(1)))
			s.SetLie(func(_ string, answer []byte) []byte { return lie(answer) })
			if n, err := h.(store.Counter).Count(queryBy(1, many), [][]byte{[]byte("0")}); err == nil {
				t.Errorf("count: %d", n)
			}
			if err := h.(store.Querier).Query(queryBy(1, many), [][]byte{[]byte("0")},
				func(_, _ []byte) bool { return true }); err == nil {
				t.Error("query: no error")
			}
			s.SetLie(nil)
			if keys := found(t, h, 1, "0", many, newsOf); len(keys) != 1 {
				t.Errorf("after the lies: %v", keys)
			}
		})
	}
}
