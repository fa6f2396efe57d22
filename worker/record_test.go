package worker

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
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
	upside  bool                                                // what is found comes in the wrong order
	queries []store.Query
}

func (d *tableDriver) Open(context.Context, store.Config) (store.Store, error) {
	return &tableStore{fakeStore: &fakeStore{fake: d.fake, values: map[string][]byte{}}, driver: d}, nil
}

type tableStore struct {
	*fakeStore
	driver *tableDriver
}

func (s *tableStore) Define(_ []store.Column, _ []store.Index, queries []store.Query) error {
	s.driver.queries = queries
	return s.driver.refuses
}

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

func (h *tableHandle) matching(q *store.Query, values [][]byte) (keys []string) {
	for key, record := range h.values {
		holds := q.Holds(values, func(column int) []byte { return columnOf(record, column) })
		if holds && !h.driver.blind {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if h.driver.upside {
		slices.Reverse(keys)
	}
	return keys
}

func columnOf(record []byte, column int) (value []byte) {
	for range column + 1 {
		value, record, _ = store.NextColumn(record)
	}
	return value
}

func (h *tableHandle) Query(query int, values [][]byte, visit func(key, record []byte) bool) error {
	q := &h.driver.queries[query]
	for _, key := range h.matching(q, values) {
		k, record := []byte(key), h.values[key]
		if h.driver.lies != nil {
			k, record = h.driver.lies(k, record)
		}
		var given []byte
		for _, column := range q.Columns {
			given = store.AppendColumn(given, columnOf(record, column))
		}
		times := 1
		if h.driver.twice {
			times = 2
		}
		for range times {
			if !visit(k, given) && !h.driver.endless {
				return nil
			}
		}
	}
	return nil
}

func (h *tableHandle) Count(query int, values [][]byte) (uint64, error) {
	return uint64(len(h.matching(&h.driver.queries[query], values))), nil
}

var someColumns = func() []keyval.Column {
	age := "30"
	return []keyval.Column{
		{Name: "name", Type: store.TextColumn, Sequence: &keyval.Sequence{Prefix: "mikio"}},
		{Name: "age", Type: store.IntegerColumn, Constant: &age},
		{Name: "tens", Type: store.IntegerColumn, Sequence: &keyval.Sequence{Divide: 10}},
		{Name: "v", Type: store.BytesColumn, Proof: 40},
		{Name: "number", Type: store.IntegerColumn, Sequence: &keyval.Sequence{Add: 1000}},
	}
}()

const tens = 2 // position of a column that ten records share

// The queries of someQueries.
const (
	sevenOfTens = iota
	fiveOfTens
	tensCounted
	sixthOfTens // by tens and by name
	orderedTens
	namesOfTens
)

var someQueries = func() []keyval.Query {
	byTens := keyval.Condition{Column: "tens", Is: store.Equal}
	byName := keyval.Condition{Column: "name", Is: store.Equal}
	where := [][]keyval.Condition{{byTens}}
	return []keyval.Query{
		sevenOfTens: {Where: where, Limit: 7},
		fiveOfTens:  {Where: where, Limit: 5},
		tensCounted: {Where: where},
		sixthOfTens: {Where: [][]keyval.Condition{{byTens, byName}}, Limit: 5},
		orderedTens: {Where: [][]keyval.Condition{{byTens}, {{Column: "number", Is: store.Range, Span: 12}}}, Limit: 5, Sort: &keyval.Sort{Column: "number"}},
		namesOfTens: {Where: where, Limit: 5, Columns: []string{"v", "name"}},
	}
}()

func define(columns []keyval.Column, indexes ...control.Index) control.Request {
	d := &control.Define{Columns: columns, Indexes: indexes}
	if len(columns) > tens+1 {
		d.Queries = someQueries
	}
	return control.Request{Command: control.CommandDefine, Define: d}
}

// queries makes a phase of queries and counts; records 0 to 19 must be there.
func queries(query uint32, entries ...trace.Entry) *testPhase {
	p := newPhase(1, entries...)
	p.file.Amounts[1] = query
	if err := p.file.ListSlots(); err != nil {
		panic(err)
	}
	p.prepare.MustHitBelow = 20
	return p
}

func tableWithRecords(t *testing.T, d *tableDriver, columns []keyval.Column) *served {
	t.Helper()
	d.fake = &fake{shareable: true}
	s := serve(t, d)
	s.open(control.HandlesShared, 1, 0)
	if err := s.call(define(columns, control.Index{Column: columns[tens].Name, Kind: store.OrderedIndex}),
		nil); err != nil {
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
	c, _ = s.run(queries(sevenOfTens, entry(trace.Query, 3), entry(trace.Query, 15)))
	expect(t, c, counters.OK, 2)
	if items := c.Sample(false).Totals[0].Items; items != 14 {
		t.Errorf("%d records found, want twice the limit of 7", items)
	}
	for query, items := range map[uint32]uint64{sixthOfTens: 1, orderedTens: 5, namesOfTens: 5} {
		c, _ = s.run(queries(query, entry(trace.Query, 3)))
		expect(t, c, counters.OK, 1)
		if total := c.Sample(false).Totals[0]; total.Items != items || query == orderedTens &&
			total.SortSum != 1000+1001+1002+1003+1004 {
			t.Errorf("query %d: %d records found, want %d; sort columns add up to %d", query, total.Items, items, total.SortSum)
		}
	}
	count := queries(tensCounted, entry(trace.Count, 3))
	c, _ = s.run(count)
	expect(t, c, counters.OK, 1)
	if items := c.Sample(false).Totals[0].Items; items != 10 {
		t.Errorf("%d records counted, want 10", items)
	}
	c, _ = s.run(queries(sevenOfTens, entry(trace.Query, 20)))
	expect(t, c, counters.Miss, 1)
}

func TestRecordsWithWrongColumnsAreWrong(t *testing.T) {
	swap := func(key, record []byte) ([]byte, []byte) { // another record's columns under this key
		other, _ := keyval.NewRecordShape(someColumns)
		return key, other.Append(nil, keyval.NewPool(keyval.ValueShape{PoolBytes: 4096, PoolSeed: 1, LengthMax: 100,
			TrialTag: 7}), 7, keyval.Version(1, 0, 7))
	}
	drop := func(key, record []byte) ([]byte, []byte) {
		_, rest, _ := store.NextColumn(record)
		return key, rest
	}
	older := func(key, record []byte) ([]byte, []byte) {
		return key, bytes.Replace(record, []byte("30"), []byte("29"), 1)
	}
	read := func() *testPhase { return newPhase(1, entry(trace.Read, 3)) }
	query := func() *testPhase { return queries(fiveOfTens, entry(trace.Query, 3)) }
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
		{"columns of another record are found", tableDriver{lies: swap}, queries(namesOfTens, entry(trace.Query, 3)), counters.Wrong},
		{"the order is upside down", tableDriver{upside: true}, queries(orderedTens, entry(trace.Query, 3)), counters.Wrong},
		{"more than the limit", tableDriver{endless: true}, query(), counters.Wrong},
		{"nothing is found", tableDriver{blind: true}, query(), counters.Lost},
		{"nothing is counted", tableDriver{blind: true}, queries(tensCounted, entry(trace.Count, 3)), counters.Lost},
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
	s := tableWithRecords(t, &tableDriver{}, someColumns[:tens+1])
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
		{queries(uint32(len(someQueries)), entry(trace.Query, 0)), control.ClassBadRequest, "define named"},
		{queries(tensCounted, entry(trace.Query, 0)), control.ClassBadRequest, "only be counted"},
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
	_, err = s.ready(queries(0, entry(trace.Query, 0)))
	refusedWith(t, err, control.ClassBadRequest, "define named 0")

	s = fresh(t, &fake{shareable: true})
	refusedWith(t, s.call(define(columns, control.Index{Column: name, Kind: store.OrderedIndex}), nil), control.ClassRefused, "no columns of its own")
	if err := s.call(define(columns), nil); err != nil {
		t.Fatal("a store without columns of its own takes records as values:", err)
	}
	c, _ := s.run(newPhase(1, entry(trace.Upsert, 1), entry(trace.Upsert, 2)))
	expect(t, c, counters.OK, 2)
	_, err = s.ready(queries(0, entry(trace.Query, 0)))
	refusedWith(t, err, control.ClassRefused, "has no query")

	s = fresh(t, &tableDriver{fake: &fake{shareable: true}, refuses: fmt.Errorf("%w: no token indexes", store.ErrRefused)})
	refusedWith(t, s.call(define(columns), nil), control.ClassRefused, "no token indexes")
	if _, err := s.ready(newPhase(1, entry(trace.Upsert, 0))); err != nil {
		t.Error("after a refused define:", err)
	}
}
