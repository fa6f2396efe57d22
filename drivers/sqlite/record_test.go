package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"assay/drivers/internal/sqlkv"
	"assay/internal/testkit/drivertest"
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
	}
}

func TestQueriesAgainstAModel(t *testing.T) {
	for _, indexes := range [][]store.Index{nil, {{Column: 0, Kind: store.OrderedIndex}, {Column: 1,
		Kind: store.OrderedIndex, Descending: true}, {Column: 4, Kind: store.OrderedIndex}}} {
		t.Run(fmt.Sprint(len(indexes), " indexes"), func(t *testing.T) {
			d := open(t, t.TempDir())
			drivertest.CheckQueries(t, d, indexes)
			descending := -1
			if err := d.own.QueryRowContext(context.Background(), "SELECT count(*) FROM sqlite_master WHERE sql LIKE '% DESC)'").Scan(&descending); err != nil || descending != len(indexes)/3 {
				t.Errorf("%d indexes are in descending order (%v)", descending, err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRecordsComeBackAsTheyWerePut(t *testing.T) {
	for _, indexes := range [][]store.Index{nil, {{Column: 0, Kind: store.OrderedIndex}, {Column: 1,
		Kind: store.OrderedIndex}}} {
		t.Run(fmt.Sprint(len(indexes), " indexes"), func(t *testing.T) {
			directory := t.TempDir()
			d := open(t, directory)
			if err := handleOf(t, d).Close(); err != nil { // the worker opens handles before it defines
				t.Fatal(err)
			}
			for round := range 3 {
				if err := d.Define(columns, indexes, nil); err != nil {
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

var queries = []store.Query{
	{Where: [][]store.Condition{{{Column: 0, Is: store.Equal}}}, Sort: -1, Limit: 5, Columns: []int{0}},
	{Where: [][]store.Condition{{{Column: 1, Is: store.Equal}}}, Sort: -1, Limit: 5, Columns: []int{0}},
}

// SQLite keeps each column as what it is, and finds through an index where there is one.
func TestColumnsAreSQLitesOwn(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	if err := d.Define(columns, []store.Index{{Column: 1, Kind: store.OrderedIndex}}, queries); err != nil {
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
}

func TestPlansAreSQLitesOwn(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	equal := func(column int) []store.Condition { return []store.Condition{{Column: column, Is: store.Equal}} }
	asked := []store.Query{
		{Where: [][]store.Condition{equal(0)}, Sort: -1, Limit: 5, Columns: []int{0}},
		{Where: [][]store.Condition{equal(1)}, Sort: -1, Limit: 5, Columns: []int{0}},
		{Where: [][]store.Condition{equal(1), equal(0)}, Sort: -1, Limit: 5, Columns: []int{0}},
		{Where: [][]store.Condition{equal(1), {{Column: 1, Is: store.Range}}}, Sort: -1, Limit: 5, Columns: []int{0}},
		{Sort: 1, Descending: true, Limit: 5, Columns: []int{0}},
	}
	if err := d.Define(columns, []store.Index{{Column: 1, Kind: store.OrderedIndex}}, asked); err != nil {
		t.Fatal(err)
	}
	h := handleOf(t, d)
	defer h.Close()
	write(t, h)
	values := func(n int) (values [][]byte) {
		for i := range n {
			values = append(values, []byte{byte('1' + i)})
		}
		return values
	}
	const index = "index of group"
	for i, expected := range []struct {
		finds, counts store.IndexUse
		index         string
	}{
		{store.IndexNone, store.IndexNone, ""},
		{store.IndexFinds, store.IndexFinds, index},
		{store.IndexNone, store.IndexNone, ""},
		{store.IndexFinds, store.IndexFinds, index},
		{store.IndexOrders, store.IndexNone, index},
	} {
		for _, counts := range []bool{false, true} {
			use := expected.finds
			if counts {
				use = expected.counts
			}
			plan, err := h.Explain(i, values(asked[i].Values()), counts)
			if err != nil || plan.Use != use || use != store.IndexNone && plan.Index != expected.index {
				t.Errorf("query %d, counted %v: %+v, %v, expected %q by %q", i, counts, plan, err, use, expected.index)
			}
		}
	}
	if _, err := h.Explain(len(asked), nil, false); err == nil {
		t.Error("a query that was not defined has a plan")
	}
}

func TestUnsupportedDefinitionsAreRefused(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	for what, refused := range map[string]error{
		"a token index":                  d.Define(columns, []store.Index{{Column: 1, Kind: store.OrderedIndex}, {Column: 0, Kind: store.TokenIndex}}, nil),
		"names that differ in case only": d.Define([]store.Column{{Name: "name", Type: store.TextColumn}, {Name: "NAME", Type: store.TextColumn}}, nil, nil),
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
	if err := h.Query(0, nil, nil); err == nil {
		t.Error("a query without columns was done")
	}
	if err := errors.Join(h.Put([]byte("k"), []byte("plain")), h.Close()); err != nil {
		t.Error(err)
	}
	if err := d.Define(columns, nil, nil); err != nil {
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
