package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// proofBytes is the length of the proof column, and the size that traces of records give: longer
// than a stamp, so that a record's version can be told.
const proofBytes = 100

func constant(text string) *string { return &text }

// columns are what records of most rules have. Their names are words of SQL, and their bytes what
// stores are known to change: text that looks like a number, that ends in a space or is empty,
// numbers that no double holds, zero bytes.
var columns = []keyval.Column{
	{Name: "order", Type: store.TextColumn, Sequence: &keyval.Sequence{Prefix: "name ", Suffix: "."}}, // leads back to its index
	{Name: "group", Type: store.IntegerColumn, Sequence: &keyval.Sequence{Divide: 10}},
	{Name: "key", Type: store.IntegerColumn, Sequence: &keyval.Sequence{Add: 123456789012345678}},
	{Name: "value", Type: store.BytesColumn, Proof: proofBytes},
	{Name: "select", Type: store.TextColumn, Sequence: &keyval.Sequence{Prefix: "kind ", Modulo: 3}},
	{Name: "digits", Type: store.TextColumn, Constant: constant("007")},
	{Name: "empty", Type: store.TextColumn, Constant: constant("")},
	{Name: "table", Type: store.TextColumn, Constant: constant(`it's "quoted"; -- Grüße, 世界 `)},
	{Name: "bytes", Type: store.BytesColumn, Constant: constant("\x00\x01 \x00")},
	{Name: "zero", Type: store.IntegerColumn, Constant: constant("0")},
	{Name: "_9", Type: store.IntegerColumn, Constant: constant("999999999999999999")},
	{Name: "limit", Type: store.IntegerColumn, Stamp: &keyval.Stamp{Modulo: 1000}},
	{Name: "count", Type: store.IntegerColumn, Counter: true},
	{Name: "tags", Type: store.TextColumn, Parts: []keyval.Part{
		{Text: "tag_"}, {Sequence: &keyval.Sequence{Steps: []uint64{2, 3}, Modulo: 3}}, {Text: ", "}, {Words: &keyval.Words{Letters: 2, Counts: []uint64{1, 3}}},
	}},
}

// Positions of the columns that rules ask by.
const (
	columnName, columnGroup, columnNumber, columnKind, columnText = 0, 1, 2, 4, 7
)

var groupIndex = []control.Index{{Column: "group", Kind: store.OrderedIndex}, {Column: "order", Kind: store.OrderedIndex},
	{Column: "limit", Kind: store.OrderedIndex}}

func (b *bench) define(columns []keyval.Column, queries []keyval.Query, indexes ...control.Index) error {
	return b.call(control.Request{Command: control.CommandDefine, Define: &control.Define{Columns: columns,
		Indexes: indexes, Queries: queries}}, nil)
}

// sharesTable says that all rules work with one table of a server, which has the columns that it
// was first defined with, and records of other rules.
func (b *bench) sharesTable() bool {
	return b.description.Kind == store.Server && b.description.Abilities.Records
}

// records is a store with columns, and what it must hold.
type records struct {
	*bench
	shape   *keyval.RecordShape
	model   model
	queries []keyval.Query // that were defined: the kit's, but for those that the store refuses
	indexed bool
	loaded  uint64 // indexes below it were written with version 0
	askers  int    // threads for questions
}

// openRecords opens a store and defines columns, with indexes if they are asked for and the store
// has them. As in a run, a store is given no record that is longer than the values it takes with
// its options.
func (b *bench) openRecords(o opening, columns []keyval.Column, indexed bool) (*records, error) {
	shape, err := keyval.NewRecordShape(columns)
	if err != nil {
		return nil, err
	}
	if limit := b.description.ValueBytesMax; limit > 0 && shape.BytesMax() > limit {
		return nil, skip("%s takes values of at most %d bytes, and the records of this rule have %d", b.description.Name, limit, shape.BytesMax())
	}
	if err := b.openFor(o); err != nil {
		return nil, err
	}
	s := &records{bench: b, shape: shape, model: model{}, askers: max(o.threads, 1)}
	return s, s.redefine(columns, indexed)
}

// redefine defines the columns after an opening. A store may refuse indexes, and queries that are
// not of equality alone.
func (s *records) redefine(shape []keyval.Column, indexed bool) error {
	tries := [][]keyval.Query{nil}
	if can := s.description.Abilities; len(shape) == len(columns) && (can.Query || can.Count) {
		tries = [][]keyval.Query{kitQueries(), equalQueries()}
	}
	indexes := groupIndex
	if !indexed {
		indexes = nil
	}
	for {
		for _, queries := range tries {
			err := s.define(shape, queries, indexes...)
			if err == nil {
				s.queries, s.indexed = queries, indexes != nil
				return nil
			}
			var no *control.Error
			if !errors.As(err, &no) {
				return err
			}
			if indexes == nil && len(queries) == len(tries[len(tries)-1]) {
				return fmt.Errorf("define of %d columns: %w", len(shape), err)
			}
			if no.Class != control.ClassRefused {
				s.fault("define with ordered indexes was answered with class %q (%s), expected ok or refused", no.Class, no.Message)
			}
		}
		indexes = nil
	}
}

// write runs a script of writes, all of which must be ok, and keeps in mind what they wrote.
func (s *records) write(what string, writes *script) error {
	r, err := s.run(writes)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.allOK(r, what)
	s.holdBytesWritten(what, r)
	s.model.remember(r)
	for index, h := range s.model {
		if h == absent {
			continue
		}
		h.length = s.shape.Bytes(index) // not the trace's
		if !s.shape.Proves() {
			h.version = counters.ObservedShort
		}
		s.model[index] = h
	}
	return nil
}

// holdBytesWritten holds that a put counts its key and the encoded form of its record, a modify its
// key and the columns that it writes, and an increment its key.
func (s *records) holdBytesWritten(what string, r *ran) {
	keys := keyval.NewKeyMaker(r.script.keys)
	for _, o := range []trace.Operation{trace.Insert, trace.Update, trace.Upsert, trace.Add, trace.Modify,
		trace.Increment} {
		expected := 0
		for i := range r.script.threads {
			for _, e := range r.script.threads[i].Entries {
				if e.Operation() != o || e.IsMember() {
					continue
				}
				switch expected += len(keys.Key(e.Index())); o {
				case trace.Increment:
				case trace.Modify:
					expected += s.shape.FollowingBytes()
				default:
					expected += s.shape.Bytes(e.Index())
				}
			}
		}
		if got := r.total(o).BytesWritten; got != uint64(expected) {
			s.fault("%s: %s: counted %d bytes written, expected %d of keys and records", what, o, got, expected)
		}
	}
}

// present returns the indexes of records that are there, in order.
func (s *records) present() []uint64 {
	return slices.DeleteFunc(s.model.indexes(), func(index uint64) bool { return s.model[index] == absent })
}

// reader returns an empty script that is verified.
func (s *records) reader() *script {
	r := s.script(1)
	r.loaded = s.loaded
	return r
}

// readBack reads all records of the model, by key and, from a first index on, by a scan.
func (s *records) readBack(what string, writer *script, first uint64) error {
	if err := s.holds(s.model, writer, what); err != nil {
		return err
	}
	present, length := s.present(), 0
	verified := s.reader()
	for _, index := range present {
		verified.do(0, trace.Read, index, 0)
		length += s.shape.Bytes(index)
	}
	r, err := s.run(verified)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.expect(r, what+": verified", trace.Read, counters.OK, len(present))
	if !s.description.Abilities.Scan {
		return nil
	}
	scan := s.reader()
	scan.do(0, trace.Scan, first, len(present))
	if r, err = s.run(scan); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.expect(r, what, trace.Scan, counters.OK, 1)
	if total := r.total(trace.Scan); total.Outcomes[counters.OK] == 1 && (total.Items != uint64(len(present)) ||
		total.BytesRead != uint64(length)) {
		s.fault("%s: the scan gave %d records of %d bytes in all, expected %d of %d", what, total.Items, total.BytesRead, len(present), length)
	}
	return nil
}

func recordColumnsRule(b *bench) error {
	s, err := b.openRecords(opening{}, columns, false)
	if err != nil {
		return err
	}
	can := b.description.Abilities
	insert, change := b.script(1), b.script(1)
	base := b.base(insert.keys)
	for i := range uint64(40) {
		o := trace.Insert
		if i%4 == 1 && can.Add {
			o = trace.Add
		}
		insert.do(0, o, base+i, proofBytes)
		switch {
		case i%8 == 0:
			change.do(0, trace.Delete, base+i, 0)
		case i%8 == 1:
			change.do(0, trace.Update, base+i, proofBytes)
			change.do(0, trace.Upsert, base+i, proofBytes)
		case i%8 == 2:
			change.do(0, trace.ReadModifyWrite, base+i, proofBytes)
		case i%8 == 3 && can.CompareAndSwap:
			change.do(0, trace.CompareAndSwap, base+i, proofBytes)
		case i%16 == 4 && can.Batch && b.description.BatchMax != 1:
			change.batch(0, write{trace.Upsert, base + i, proofBytes}, write{trace.Insert, base + 100 + i, proofBytes})
		case i%16 == 12 && can.Batch && b.description.BatchMax != 1:
			change.batch(0, write{trace.Delete, base + i, 0}, write{trace.Update, base + i + 1, proofBytes})
		}
	}
	if err := s.write("writing records", insert); err != nil {
		return err
	}
	if err := s.readBack("records as they were inserted", insert, base); err != nil {
		return err
	}
	if err := s.write("overwriting and deleting records", change); err != nil {
		return err
	}
	if err := s.readBack("records after overwrites and deletes", insert, base); err != nil {
		return err
	}
	if b.sharesTable() {
		return nil
	}
	return b.recordsOfOtherShapes()
}

// mixedBytes returns a text as long as a column can be, of bytes in a range. It does not repeat
// itself: Tokyo Cabinet's tcbs sorts the suffixes of what it compresses, and takes 8 s for 128 KiB
// of one byte, where it takes 0.1 s for mixed ones.
func mixedBytes(low, high byte) string {
	random := rand.New(rand.NewPCG(1, 1))
	text := make([]byte, store.ColumnBytesMax)
	for i := range text {
		text[i] = low + byte(random.IntN(int(high-low)+1))
	}
	return string(text)
}

// recordsOfOtherShapes are the most columns, the longest one, one alone, and none that proves a
// version.
func (b *bench) recordsOfOtherShapes() error {
	many := make([]keyval.Column, keyval.ColumnsMax)
	for i := range many {
		many[i] = keyval.Column{Name: fmt.Sprintf("column_%d", i), Type: store.TextColumn, Sequence: &keyval.Sequence{Add: uint64(i)}}
	}
	for _, other := range []struct {
		what    string
		columns []keyval.Column
	}{
		{"records of as many columns as there can be", many},
		{"records of one column", []keyval.Column{{Name: strings.Repeat("n", keyval.ColumnNameMax), Type: store.BytesColumn, Proof: proofBytes}}},
		{"records of columns as long as there can be", []keyval.Column{
			{Name: "a", Type: store.TextColumn, Constant: constant(mixedBytes('a', 'z'))},
			{Name: "b", Type: store.BytesColumn, Proof: proofBytes},
			{Name: "c", Type: store.BytesColumn, Constant: constant(mixedBytes(0, 127))},
		}},
	} {
		what, columns := other.what, other.columns
		if shape, err := keyval.NewRecordShape(columns); err != nil {
			return err
		} else if limit := b.description.ValueBytesMax; limit > 0 && shape.BytesMax() > limit {
			continue
		}
		if err := b.close(); err != nil {
			return err
		}
		s, err := b.openRecords(opening{}, columns, false)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		writer := b.script(1)
		base := b.base(writer.keys) + 1000
		for i := range uint64(5) {
			writer.do(0, trace.Upsert, base+i, proofBytes)
		}
		if err := s.write("writing "+what, writer); err != nil {
			return err
		}
		if err := s.readBack(what, writer, base); err != nil {
			return err
		}
	}
	return nil
}

func recordReopenRule(b *bench) error {
	if err := b.needsRecords(); err != nil {
		return err
	}
	if b.description.Kind == store.Memory || len(b.survivors()) == 0 {
		return skip("%s does not claim to keep anything after close", b.description.Name)
	}
	o := opening{durability: b.survivors()[0], threads: b.threads(askedAtOnce)}
	if b.description.Kind == store.Embedded {
		var err error
		if o.directory, err = b.newDirectory(); err != nil {
			return err
		}
	}
	s, err := b.openRecords(o, columns, b.description.Abilities.Records)
	if err != nil {
		return err
	}
	indexed := s.indexed
	for round := range uint64(3) {
		writer := b.script(1)
		base := b.base(writer.keys)
		// versions of traces before the close would be those of no operation
		writer.zeroVersions, s.loaded = true, base+1000
		if round > 0 {
			if err := s.readBack("after close, open and define", writer, base); err != nil {
				return err
			}
			if err := s.groups("after close, open and define", base); err != nil {
				return err
			}
		}
		for i := range uint64(30) {
			writer.do(0, trace.Upsert, base+round*15+i, proofBytes)
		}
		writer.do(0, trace.Delete, base+round*15, 0)
		if err := s.write("writing records", writer); err != nil {
			return err
		}
		if err := b.close(); err != nil {
			return err
		}
		if round == 1 {
			b.end() // once in another process
		}
		if err := b.openFor(o); err != nil {
			return err
		}
		if err := s.redefine(columns, indexed); err != nil {
			return err
		}
	}
	return nil
}

// groups asks for the records of each group, as far as the store can, and counts them.
func (s *records) groups(what string, base uint64) error {
	var questions []question
	for index := base; index < base+70; index += 10 {
		if s.description.Abilities.Query {
			questions = append(questions, byColumn(trace.Query, columnGroup, askedMax, index))
		}
		if s.description.Abilities.Count {
			questions = append(questions, byColumn(trace.Count, columnGroup, askedMax, index))
		}
	}
	return s.ask(what, questions...)
}

// askedRecords is how many indexes asked has records of, or gaps.
const askedRecords = 60

// asked opens a store with records to be asked for: six groups of ten, with gaps, so that their
// sizes differ.
func (b *bench) asked(indexed bool) (s *records, base uint64, err error) {
	if s, err = b.openRecords(opening{threads: b.threads(askedAtOnce)}, columns, indexed); err != nil {
		return nil, 0, err
	}
	writer := b.script(1)
	base = b.base(writer.keys)
	for i := range uint64(askedRecords) {
		if shuffled := i * 37 % askedRecords; shuffled%7 != 3 {
			writer.do(0, trace.Upsert, base+shuffled, proofBytes)
		}
	}
	return s, base, s.write("writing what is to be asked for", writer)
}

// askableColumns are those that a rule may ask by: on a server others' records have the same kind.
func (b *bench) askableColumns() []int {
	if b.sharesTable() {
		return []int{columnName, columnGroup, columnNumber}
	}
	return []int{columnName, columnGroup, columnNumber, columnKind, columnText}
}

func (s *records) indexText() string {
	if s.indexed {
		return "with indexes"
	}
	return "without indexes"
}

// eachIndexing runs a check in stores without indexes and, where the driver has them, with them.
func (b *bench) eachIndexing(check func(s *records, base uint64) error) error {
	for _, indexed := range []bool{false, true} {
		s, base, err := b.asked(indexed)
		if err != nil {
			return err
		}
		if s.indexed == indexed {
			if err := check(s, base); err != nil {
				return err
			}
		}
		if err := b.close(); err != nil {
			return err
		}
	}
	return nil
}

func queryRule(b *bench) error {
	if !b.description.Abilities.Query {
		return skip("%s has no queries", b.description.Name)
	}
	return b.eachIndexing(func(s *records, base uint64) error {
		questions := []question{byColumn(trace.Query, columnGroup, askedMax, base+1000)} // a group without records
		for _, column := range b.askableColumns() {
			for _, index := range []uint64{base, base + 1, base + 3, base + 11, base + 29, base + 31, base + 59} {
				questions = append(questions, byColumn(trace.Query, column, askedMax, index))
			}
		}
		if err := s.ask(s.indexText(), questions...); err != nil {
			return err
		}
		return s.lostWhere(trace.Query, base+1000)
	})
}

// lostWhere holds that nothing found is a lost record where there must be one.
func (s *records) lostWhere(o trace.Operation, index uint64) error {
	must := s.script(1)
	must.mustHitBelow = index + 1
	must.do(0, o, index, number(equalTo(columnGroup, askedMax).Name))
	r, err := s.run(must)
	if err != nil {
		return err
	}
	s.expect(r, "of a group without records, below must_hit_below", o, counters.Lost, 1)
	return nil
}

func queryLimitRule(b *bench) error {
	if !b.description.Abilities.Query {
		return skip("%s has no queries", b.description.Name)
	}
	return b.eachIndexing(func(s *records, base uint64) error {
		n := 0
		for _, index := range s.present() {
			if index/groupRecords == base/groupRecords {
				n++
			}
		}
		var questions []question
		for _, limit := range []int{1, 2, n - 1, n, n + 1} {
			questions = append(questions, byColumn(trace.Query, columnGroup, limit, base))
		}
		return s.ask(s.indexText(), questions...)
	})
}

func queryChangedRule(b *bench) error {
	if can := b.description.Abilities; !can.Query && !can.Count {
		return skip("%s has neither queries nor counts", b.description.Name)
	}
	return b.eachIndexing(func(s *records, base uint64) error {
		change := b.script(1)
		var batch []write
		for _, index := range s.present() {
			switch i := index - base; {
			case i%5 == 0 || i >= 50: // no record stays of the last groups
				change.do(0, trace.Delete, index, 0)
			case i%5 == 1:
				change.do(0, trace.Update, index, proofBytes)
				change.do(0, trace.ReadModifyWrite, index, proofBytes)
			case i%5 == 2:
				change.do(0, trace.Delete, index, 0)
				change.do(0, trace.Insert, index, proofBytes)
			case i%10 == 3:
				batch = append(batch, write{trace.Delete, index, 0})
			case i%10 == 4:
				batch = append(batch, write{trace.Update, index, proofBytes})
			}
		}
		if limit := b.description.BatchMax; b.description.Abilities.Batch && (limit == 0 || limit >= len(batch)) {
			change.batch(0, batch...)
		}
		if err := s.write("overwriting and deleting", change); err != nil {
			return err
		}
		return s.groups(s.indexText()+", after overwrites and deletes", base)
	})
}

func countRule(b *bench) error {
	if !b.description.Abilities.Count {
		return skip("%s has no counts", b.description.Name)
	}
	return b.eachIndexing(func(s *records, base uint64) error {
		questions := []question{byColumn(trace.Count, columnGroup, askedMax, base+1000)} // a group without records
		for _, column := range b.askableColumns() {
			for _, index := range []uint64{base, base + 3, base + 11, base + 29, base + 59} {
				questions = append(questions, byColumn(trace.Count, column, askedMax, index))
			}
		}
		if err := s.ask(s.indexText(), questions...); err != nil {
			return err
		}
		return s.lostWhere(trace.Count, base+1000)
	})
}
