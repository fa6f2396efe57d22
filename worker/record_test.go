package worker

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"assay/internal/control"
	"assay/internal/counters"
	"assay/internal/keyval"
	"assay/internal/trace"
	"assay/store"
)

// tableDriver is a store with columns that may lie.
type tableDriver struct {
	*fake
	refuses error
	lies    func(key, record []byte) (keyOut, recordOut []byte) // of what a query finds and a get returns
	twice   bool                                                // a query finds each record twice
	endless bool                                                // a query does not stop
	blind   bool                                                // nothing is found
}

func (d *tableDriver) Open(context.Context, store.Config) (store.Store, error) {
	return &tableStore{fakeStore: &fakeStore{fake: d.fake, values: map[string][]byte{}}, driver: d}, nil
}

type tableStore struct {
	*fakeStore
	driver *tableDriver
}

func (s *tableStore) Define([]store.Column, []store.Index) error { return s.driver.refuses }
func (s *tableStore) Handle() (store.Handle, error) {
	h, err := s.fakeStore.Handle()
	if err != nil {
		return nil, err
	}
	return &tableHandle{h.(*fakeHandle), s.driver}, nil
}

type tableHandle struct {
	*fakeHandle
	driver *tableDriver
}

func (h *tableHandle) Get(key, buf []byte) ([]byte, error) {
	record, err := h.fakeHandle.Get(key, buf)
	if err == nil && h.driver.lies != nil {
		_, record = h.driver.lies(key, record)
	}
	return record, err
}

func (h *tableHandle) matching(column int, value []byte) (keys []string) {
	for key, record := range h.values {
		var got []byte
		for range column + 1 {
			got, record, _ = store.NextColumn(record)
		}
		if bytes.Equal(got, value) && !h.driver.blind {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (h *tableHandle) Query(column int, value []byte, limit int, visit func(key, record []byte) bool) error {
	for _, key := range h.matching(column, value) {
		k, record := []byte(key), h.values[key]
		if h.driver.lies != nil {
			k, record = h.driver.lies(k, record)
		}
		times := 1
		if h.driver.twice {
			times = 2
		}
		for range times {
			if !visit(k, record) && !h.driver.endless {
				return nil
			}
		}
	}
	return nil
}

func (h *tableHandle) Count(column int, value []byte) (uint64, error) {
	return uint64(len(h.matching(column, value))), nil
}

var someColumns = func() []keyval.Column {
	age := "30"
	return []keyval.Column{
		{Name: "name", Type: store.TextColumn, Sequence: &keyval.Sequence{Prefix: "mikio"}},
		{Name: "age", Type: store.IntegerColumn, Constant: &age},
		{Name: "tens", Type: store.IntegerColumn, Sequence: &keyval.Sequence{Divide: 10}},
		{Name: "v", Type: store.BytesColumn, Proof: 40},
	}
}()

const tens = 2 // position of a column that ten records share

func define(columns []keyval.Column, indexes ...control.Index) control.Request {
	return control.Request{Command: control.CommandDefine, Define: &control.Define{Columns: columns, Indexes: indexes}}
}

// queries makes a phase of queries and counts by a column; records 0 to 19 must be there.
func queries(column, limit int, entries ...trace.Entry) *testPhase {
	p := newPhase(1, entries...)
	p.file.Amounts[1] = trace.QueryAmount(column, limit)
	p.prepare.MustHitBelow = 20
	return p
}

func tableWithRecords(t *testing.T, d *tableDriver, columns []keyval.Column) *served {
	t.Helper()
	d.fake = &fake{shareable: true}
	s := serve(t, d)
	s.open(control.HandlesShared, 1, 0)
	if err := s.call(define(columns, control.Index{Column: columns[tens].Name, Kind: store.OrderedIndex}), nil); err != nil {
		t.Fatal(err)
	}
	var entries []trace.Entry
	for index := range uint64(20) {
		entries = append(entries, entry(trace.Upsert, index))
	}
	c, _ := s.run(newPhase(1, entries...))
	expect(t, c, counters.OK, 20)
	return s
}

func TestRecordsAreFoundByTheirColumns(t *testing.T) {
	s := tableWithRecords(t, &tableDriver{}, someColumns)
	c, _ := s.run(newPhase(1, entry(trace.Read, 3), entry(trace.Read, 19)))
	expect(t, c, counters.OK, 2)
	c, _ = s.run(newPhase(1, entry(trace.ReadModifyWrite, 3), entry(trace.ReadModifyWrite, 4)))
	expect(t, c, counters.OK, 2)
	c, _ = s.run(queries(tens, 7, entry(trace.Query, 3), entry(trace.Query, 15)))
	expect(t, c, counters.OK, 2)
	if items := c.Sample(false).Totals[0].Items; items != 14 {
		t.Errorf("%d records found, want twice the limit of 7", items)
	}
	count := queries(tens, 0, entry(trace.Count, 3))
	c, _ = s.run(count)
	expect(t, c, counters.OK, 1)
	if items := c.Sample(false).Totals[0].Items; items != 10 {
		t.Errorf("%d records counted, want 10", items)
	}
	c, _ = s.run(queries(tens, 7, entry(trace.Query, 20)))
	expect(t, c, counters.Miss, 1)
}

func TestRecordsThatLieAreWrong(t *testing.T) {
	swap := func(key, record []byte) ([]byte, []byte) { // another record's columns under this key
		other, _ := keyval.NewRecordShape(someColumns)
		return key, other.Append(nil, keyval.NewPool(keyval.ValueShape{PoolBytes: 4096, PoolSeed: 1, LengthMax: 100, TrialTag: 7}), 7, keyval.Version(1, 0, 7))
	}
	drop := func(key, record []byte) ([]byte, []byte) {
		_, rest, _ := store.NextColumn(record)
		return key, rest
	}
	older := func(key, record []byte) ([]byte, []byte) {
		return key, bytes.Replace(record, []byte("30"), []byte("29"), 1)
	}
	read := func() *testPhase { return newPhase(1, entry(trace.Read, 3)) }
	query := func() *testPhase { return queries(tens, 5, entry(trace.Query, 3)) }
	for _, c := range []struct {
		name    string
		lie     tableDriver
		phase   *testPhase
		outcome counters.Outcome
	}{
		{"another record is read", tableDriver{lies: swap}, read(), counters.Wrong},
		{"a column is missing", tableDriver{lies: drop}, read(), counters.Wrong},
		{"a column is changed", tableDriver{lies: older}, read(), counters.Wrong},
		{"another record is found", tableDriver{lies: swap}, query(), counters.Wrong},
		{"a found record lacks a column", tableDriver{lies: drop}, query(), counters.Wrong},
		{"a found record has a changed column", tableDriver{lies: older}, query(), counters.Wrong},
		{"each is found twice", tableDriver{twice: true}, query(), counters.Wrong},
		{"more than the limit", tableDriver{endless: true}, query(), counters.Wrong},
		{"nothing is found", tableDriver{blind: true}, query(), counters.Lost},
		{"nothing is counted", tableDriver{blind: true}, queries(tens, 0, entry(trace.Count, 3)), counters.Lost},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := tableWithRecords(t, &c.lie, someColumns)
			got, _ := s.run(c.phase)
			expect(t, got, c.outcome, 1)
		})
	}
}

// A record without a proof tells whose it is; a verify phase says so.
func TestRecordsWithoutProof(t *testing.T) {
	s := tableWithRecords(t, &tableDriver{}, someColumns[:3])
	p := newPhase(1, entry(trace.Read, 3), entry(trace.Read, 30))
	p.file.Flags = trace.FlagRecordVersions
	c, _ := s.run(p)
	if got := c.Observed(); !slices.Equal(got, []uint64{counters.ObservedShort, counters.ObservedMiss}) {
		t.Errorf("observed %x", got)
	}
}

func TestDefineRefusals(t *testing.T) {
	columns, name := someColumns, someColumns[0].Name
	fresh := func(t *testing.T, drivers ...store.Driver) *served {
		s := serve(t, drivers...)
		s.open(control.HandlesShared, 1, 0)
		return s
	}
	table := func() store.Driver { return &tableDriver{fake: &fake{shareable: true}} }
	s := serve(t, table())
	refusedWith(t, s.call(define(columns), nil), control.ClassBadRequest, "before open")

	s = fresh(t, table())
	for _, c := range []struct {
		request control.Request
		says    string
	}{
		{define(nil), "1 to 64 columns"},
		{define(columns, control.Index{Column: "nam", Kind: store.OrderedIndex}), "no column"},
		{define(columns, control.Index{Column: name, Kind: "hash"}), "does not go with"},
		{define(columns, control.Index{Column: "v", Kind: store.OrderedIndex}), "does not go with"},
		{define(columns, control.Index{Column: "age", Kind: store.TokenIndex}), "does not go with"},
		{define(columns, control.Index{Column: name, Kind: store.TokenIndex}, control.Index{Column: name, Kind: store.TokenIndex}), "two indexes"},
	} {
		refusedWith(t, s.call(c.request, nil), control.ClassBadRequest, c.says)
	}
	if err := s.call(define(columns), nil); err != nil {
		t.Fatal("after refusals:", err)
	}
	refusedWith(t, s.call(define(columns), nil), control.ClassBadRequest, "twice")
	for _, c := range []struct {
		phase       *testPhase
		class, says string
	}{
		{queries(4, 1, entry(trace.Query, 0)), control.ClassBadRequest, "column 4 of 4"},
		{queries(3, 1, entry(trace.Query, 0)), control.ClassBadRequest, "proof"},
		{queries(0, 0, entry(trace.Query, 0)), control.ClassBadRequest, "at most 0"},
		{queries(0, 1, entry(trace.Count, 0)), control.ClassBadRequest, "at most 1"},
	} {
		_, err := s.ready(c.phase)
		refusedWith(t, err, c.class, c.says)
	}
	short := newPhase(1, entry(trace.Upsert, 0))
	short.prepare.Values.LengthMax = 30
	_, err := s.ready(short)
	refusedWith(t, err, control.ClassBadRequest, "length_max")

	s = fresh(t, table())
	s.run(newPhase(1, entry(trace.Upsert, 0)))
	refusedWith(t, s.call(define(columns), nil), control.ClassBadRequest, "after the first prepare")
	_, err = s.ready(queries(0, 1, entry(trace.Query, 0)))
	refusedWith(t, err, control.ClassBadRequest, "before define")

	s = fresh(t, table())
	if err := s.call(define([]keyval.Column{columns[tens]}), nil); err != nil {
		t.Fatal(err)
	}
	_, err = s.ready(queries(0, 1, entry(trace.Query, 0)))
	refusedWith(t, err, control.ClassBadRequest, "do not tell their index")

	s = fresh(t, &fake{shareable: true})
	refusedWith(t, s.call(define(columns, control.Index{Column: name, Kind: store.OrderedIndex}), nil), control.ClassRefused, "no columns of its own")
	if err := s.call(define(columns), nil); err != nil {
		t.Fatal("a store without columns of its own takes records as values:", err)
	}
	c, _ := s.run(newPhase(1, entry(trace.Upsert, 1), entry(trace.Upsert, 2)))
	expect(t, c, counters.OK, 2)
	_, err = s.ready(queries(0, 1, entry(trace.Query, 0)))
	refusedWith(t, err, control.ClassRefused, "has no query")

	s = fresh(t, &tableDriver{fake: &fake{shareable: true}, refuses: fmt.Errorf("%w: no token indexes", store.ErrRefused)})
	refusedWith(t, s.call(define(columns), nil), control.ClassRefused, "no token indexes")
	if _, err := s.ready(newPhase(1, entry(trace.Upsert, 0))); err != nil {
		t.Error("after a refused define:", err)
	}
}
