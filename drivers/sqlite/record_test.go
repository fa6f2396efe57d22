package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// The names are SQL's own words, and "k" and "v" the plain table's columns.
var columns = []store.Column{
	{Name: "k", Type: store.TextColumn}, {Name: "group", Type: store.IntegerColumn}, {Name: "v", Type: store.BytesColumn}, {Name: "rowid", Type: store.TextColumn},
}

func open(t *testing.T, directory string) *db {
	t.Helper()
	options, err := store.Resolve(Driver{}.Describe().Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Driver{}.Open(t.Context(), store.Config{Directory: directory, Durability: store.D1, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*db)
}

func handleOf(t *testing.T, d *db) *sqlkv.Handle {
	t.Helper()
	h, err := d.Handle()
	if err != nil {
		t.Fatal(err)
	}
	return h.(*sqlkv.Handle)
}

func recordOf(columns ...string) []byte {
	var record []byte
	for _, column := range columns {
		record = store.AppendColumn(record, []byte(column))
	}
	return record
}

var records = map[string][]byte{
	"":     recordOf("007", "0", "", "1e3"),
	"a":    recordOf("", "999999999999999999", "\x00\xff", " trailing "),
	"b":    recordOf("it's \"quoted\"; --", "7", "7", "Grüße, 世界"),
	"c":    recordOf("with\x00zero", "7", strings.Repeat("x", store.ColumnBytesMax), ""),
	"\x00": recordOf("7", "70", "7", "7"),
}

// columnOf returns one column of a record.
func columnOf(t *testing.T, record []byte, column int) []byte {
	t.Helper()
	var value []byte
	for range column + 1 {
		var ok bool
		if value, record, ok = store.NextColumn(record); !ok {
			t.Fatal("a record that ends early")
		}
	}
	return value
}

func checkAll(t *testing.T, h *sqlkv.Handle) {
	t.Helper()
	scanned := 0
	if err := h.Scan(nil, 10, func(key, record []byte) bool {
		scanned++
		if string(record) != string(records[string(key)]) {
			t.Errorf("scan: key %q has %.80q", key, record)
		}
		return true
	}); err != nil || scanned != len(records) {
		t.Errorf("scanned %d of %d records: %v", scanned, len(records), err)
	}
	for key, record := range records {
		if got, err := h.Get([]byte(key), nil); err != nil || string(got) != string(record) {
			t.Errorf("get %q: %.80q, %v, expected %.80q", key, got, err, record)
		}
		for column := range columns {
			checkFound(t, h, column, columnOf(t, record, column))
		}
	}
	if n, err := h.Count(0, []byte("no such name")); err != nil || n != 0 {
		t.Errorf("counted %d, %v, of what there is not", n, err)
	}
}

func checkFound(t *testing.T, h *sqlkv.Handle, column int, value []byte) {
	t.Helper()
	var expected []string
	for key, record := range records {
		if string(columnOf(t, record, column)) == string(value) {
			expected = append(expected, key)
		}
	}
	slices.Sort(expected)
	for _, limit := range []int{1, 2, 100} {
		var found []string
		if err := h.Query(column, value, limit, func(key, record []byte) bool {
			found = append(found, string(key))
			if string(record) != string(records[string(key)]) {
				t.Errorf("query: key %q has %.80q", key, record)
			}
			return true
		}); err != nil {
			t.Error(err)
		}
		slices.Sort(found)
		if len(found) != min(limit, len(expected)) || limit >= len(expected) && !slices.Equal(found, expected) {
			t.Errorf("column %d, %.80q, at most %d: found %q, expected %q", column, value, limit, found, expected)
		}
	}
	if n, err := h.Count(column, value); err != nil || n != uint64(len(expected)) {
		t.Errorf("column %d, %.80q: counted %d, %v, expected %d", column, value, n, err, len(expected))
	}
}

func TestRecordsComeBackAsTheyWerePut(t *testing.T) {
	for _, indexes := range [][]store.Index{nil, {{Column: 0, Kind: store.OrderedIndex}, {Column: 1, Kind: store.OrderedIndex}}} {
		t.Run(fmt.Sprint(len(indexes), " indexes"), func(t *testing.T) {
			directory := t.TempDir()
			d := open(t, directory)
			if err := handleOf(t, d).Close(); err != nil { // the worker opens handles before it defines
				t.Fatal(err)
			}
			for round := range 3 {
				if err := d.Define(columns, indexes); err != nil {
					t.Fatal(err)
				}
				h := handleOf(t, d)
				if round == 0 {
					write(t, h)
				}
				checkAll(t, h)
				if err := errors.Join(h.Close(), d.Close()); err != nil {
					t.Fatal(err)
				}
				d = open(t, directory)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// write writes all records over others, by put and in a batch, and deletes one.
func write(t *testing.T, h *sqlkv.Handle) {
	t.Helper()
	writes := []store.Write{{Key: []byte("gone"), Value: recordOf("007", "7", "", "")}}
	for key, record := range records {
		if err := h.Put([]byte(key), recordOf("x", "7", "old", "1e3")); err != nil {
			t.Fatal(err)
		}
		writes = append(writes, store.Write{Key: []byte(key), Value: record})
	}
	writes = append(writes, store.Write{Key: []byte("gone"), Delete: true})
	if err := h.Apply(writes); err != nil {
		t.Fatal(err)
	}
}

// SQLite keeps each column as what it is, and finds through an index where there is one.
func TestColumnsAreSQLitesOwn(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	if err := d.Define(columns, []store.Index{{Column: 1, Kind: store.OrderedIndex}}); err != nil {
		t.Fatal(err)
	}
	h := handleOf(t, d)
	defer h.Close()
	write(t, h)
	for column, expected := range []string{"text", "integer", "blob", "text"} {
		var others int
		query := fmt.Sprintf("SELECT count(*) FROM %s WHERE typeof(%s) <> ?", d.layout.Table, d.layout.Names[column])
		if err := d.own.QueryRowContext(t.Context(), query, expected).Scan(&others); err != nil || others != 0 {
			t.Errorf("column %s: %d values are no %s: %v", columns[column].Name, others, expected, err)
		}
	}
	for column, expected := range []string{"SCAN", "SEARCH"} {
		for _, query := range []string{d.layout.QuerySQL(column), d.layout.CountSQL(column)} {
			if plan := planOf(t, d, query); !strings.HasPrefix(plan, expected) {
				t.Errorf("%s: the plan is %q, expected a %s", query, plan, expected)
			}
		}
	}
}

func planOf(t *testing.T, d *db, query string) string {
	t.Helper()
	var id, parent, unused int
	var plan string
	arguments := make([]any, strings.Count(query, "?"))
	for i := range arguments {
		arguments[i] = 1
	}
	if err := d.own.QueryRowContext(context.Background(), "EXPLAIN QUERY PLAN "+query, arguments...).Scan(&id, &parent, &unused, &plan); err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestWhatIsRefused(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	for what, refused := range map[string]error{
		"a token index":                  d.Define(columns, []store.Index{{Column: 1, Kind: store.OrderedIndex}, {Column: 0, Kind: store.TokenIndex}}),
		"names that differ in case only": d.Define([]store.Column{{Name: "name", Type: store.TextColumn}, {Name: "NAME", Type: store.TextColumn}}, nil),
	} {
		if !errors.Is(refused, store.ErrRefused) {
			t.Errorf("%s: %v", what, refused)
		}
	}
	var tables int
	if err := d.own.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_schema WHERE name <> 'records'").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("what was refused left %d tables and indexes: %v", tables, err)
	}
	h := handleOf(t, d)
	if err := h.Query(0, nil, 1, nil); err == nil {
		t.Error("a query without columns was done")
	}
	if err := errors.Join(h.Put([]byte("k"), []byte("plain")), h.Close()); err != nil {
		t.Error(err)
	}
	if err := d.Define(columns, nil); err != nil {
		t.Fatal(err)
	}
	h = handleOf(t, d)
	defer h.Close()
	for _, record := range [][]byte{nil, recordOf("a", "1", "b"), recordOf("a", "1", "b", "c", "d"), recordOf("a", "one", "b", "c"), recordOf("a", "1", "b", "c")[:9]} {
		if err := h.Put([]byte("k"), record); !errors.Is(err, sqlkv.ErrNotARecord) {
			t.Errorf("%q was put as a record: %v", record, err)
		}
	}
}
