package keyval

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"assay/store"
)

// Bounds of queries.
const (
	QueriesMax      = 64
	QueryLimitMax   = 1<<24 - 1
	querySpanMax    = 1_000_000_000_000_000_000
	queryAnyMax     = 8
	queryAllMax     = 8
	queryNameMax    = 64
	conditionNumMax = store.ColumnBytesMax
)

// Query is a template of a question about records: section 1.6 of docs/worker-contract.md. Its
// values are those of the record of the entry's index. Its JSON is part of the control message
// "define".
type Query struct {
	Name    string        `json:"name"`
	Where   [][]Condition `json:"where,omitempty"` // a record fulfils all conditions of at least one; none: every record is found
	Sort    *Sort         `json:"sort,omitempty"`
	Limit   int           `json:"limit,omitempty"`   // the most records that are found; 0: the query is only counted
	Columns []string      `json:"columns,omitempty"` // what is given of each record; none: all columns
}

// Condition is what a query asks of a column, compared with what the record of the entry's index
// has there.
type Condition struct {
	Column string           `json:"column"`
	Is     store.Comparison `json:"is"`
	Span   uint64           `json:"span,omitempty"`  // of a range: from the record's own number, so wide
	Bytes  int              `json:"bytes,omitempty"` // of a prefix: so many of the record's own bytes, or all where it has fewer
	Word   int              `json:"word,omitempty"`  // of has: the record's own word of this number, counted from 0 and around
}

// Sort is the order in which records are found.
type Sort struct {
	Column     string `json:"column"`
	Descending bool   `json:"descending,omitempty"`
}

// QueryShape is a query, ready for the measured loop. It is read-only once made.
type QueryShape struct {
	Query      store.Query
	record     *RecordShape
	conditions []Condition // in the order of the values, with what is missing in store.Condition
	columns    []int       // of conditions
	projected  bool        // not all columns are given, or in another order
	proof      int         // position of the proof among the columns that are given; −1: it is not
	leadsBack  int         // likewise, of the first column whose number tells the index
	values     int
}

// NewQueryShape says what is wrong with a query, or returns its shape.
func (r *RecordShape) NewQueryShape(columns []Column, q Query) (*QueryShape, error) {
	shape := &QueryShape{record: r, Query: store.Query{Sort: -1, Limit: q.Limit}}
	if len(q.Name) > queryNameMax {
		return nil, fmt.Errorf("its name has at most %d bytes", queryNameMax)
	}
	if q.Limit < 0 || q.Limit > QueryLimitMax {
		return nil, fmt.Errorf("a limit of %d records: expected at most %d", q.Limit, QueryLimitMax)
	}
	position := func(name string) (int, error) {
		at := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
		if at < 0 {
			return 0, fmt.Errorf("no column %q", name)
		}
		return at, nil
	}
	if len(q.Where) > queryAnyMax {
		return nil, fmt.Errorf("%d alternatives: expected at most %d", len(q.Where), queryAnyMax)
	}
	for _, all := range q.Where {
		if len(all) < 1 || len(all) > queryAllMax {
			return nil, fmt.Errorf("%d conditions at once: expected 1 to %d", len(all), queryAllMax)
		}
		var compiled []store.Condition
		for _, c := range all {
			at, err := position(c.Column)
			if err != nil {
				return nil, err
			}
			if err := r.checkCondition(at, columns[at].Type, c); err != nil {
				return nil, fmt.Errorf("column %s: %w", c.Column, err)
			}
			compiled = append(compiled, store.Condition{Column: at, Is: c.Is})
			shape.conditions, shape.columns = append(shape.conditions, c), append(shape.columns, at)
		}
		shape.Query.Where = append(shape.Query.Where, compiled)
	}
	shape.values = shape.Query.Values()
	if err := shape.oneRange(); err != nil {
		return nil, err
	}
	if q.Sort != nil {
		at, err := position(q.Sort.Column)
		if err != nil {
			return nil, err
		}
		if columns[at].Type != store.IntegerColumn {
			return nil, fmt.Errorf("sorted by %s, which is no integer: stores order texts in their own ways", q.Sort.Column)
		}
		if r.Varies(at) {
			return nil, fmt.Errorf("sorted by %s, which changes with each write", q.Sort.Column)
		}
		shape.Query.Sort, shape.Query.Descending = at, q.Sort.Descending
	}
	return shape, shape.project(columns, q.Columns, position)
}

// oneRange bounds what the conductor needs to know how many records are found.
func (s *QueryShape) oneRange() error {
	ranged := -1
	for _, all := range s.Query.Where {
		for i, c := range all {
			if c.Is != store.Range {
				continue
			}
			if ranged >= 0 && ranged != c.Column {
				return errors.New("ranges of two columns: expected those of one")
			}
			if slices.ContainsFunc(all[:i], func(o store.Condition) bool { return o.Is == store.Range }) {
				return errors.New("two ranges at once of one column")
			}
			ranged = c.Column
		}
	}
	return nil
}

func (r *RecordShape) checkCondition(column int, columnType store.ColumnType, c Condition) error {
	if r.Varies(column) {
		return errors.New("a proof, a stamp or a counter can't be asked for: it changes with each write")
	}
	given := []bool{c.Span != 0, c.Bytes != 0, c.Word != 0}
	allowed := map[store.Comparison]int{store.Range: 0, store.Prefix: 1, store.Has: 2}
	for i, there := range given {
		if at, takes := allowed[c.Is]; there && (!takes || at != i) {
			return fmt.Errorf("%s takes no %s", c.Is, []string{"span", "bytes", "word"}[i])
		}
	}
	m := &r.columns[column]
	switch c.Is {
	case store.Equal:
	case store.Range:
		if columnType != store.IntegerColumn || c.Span < 1 || c.Span > querySpanMax {
			return errors.New("a range is of integers, and its span 1 to 10^18")
		}
	case store.Prefix:
		if columnType != store.TextColumn || c.Bytes < 1 || c.Bytes > conditionNumMax || !m.isPlainText() {
			return fmt.Errorf("a prefix is of texts of ASCII that are not empty, and has 1 to %d bytes", conditionNumMax)
		}
	case store.Has:
		if word, _ := store.NextWord(m.append(nil, 0)); columnType != store.TextColumn || c.Word < 0 ||
			c.Word > conditionNumMax || len(word) == 0 {
			return errors.New("has asks for a word of a text that has some")
		}
	default:
		return fmt.Errorf("unknown comparison %q: expected equal, range, prefix or has", c.Is)
	}
	return nil
}

// isPlainText reports whether a column is never empty and of bytes that end a prefix anywhere.
func (c *columnMaker) isPlainText() bool {
	text := c.append(nil, 0)
	return len(text) > 0 && !bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

func (s *QueryShape) project(columns []Column, names []string, position func(string) (int, error)) error {
	for _, name := range names {
		at, err := position(name)
		if err != nil {
			return err
		}
		if slices.Contains(s.Query.Columns, at) {
			return fmt.Errorf("column %s is given twice", name)
		}
		s.Query.Columns = append(s.Query.Columns, at)
	}
	if len(names) == 0 {
		for at := range columns {
			s.Query.Columns = append(s.Query.Columns, at)
		}
	}
	s.proof, s.leadsBack = slices.Index(s.Query.Columns, s.record.proof), -1
	for i, at := range s.Query.Columns {
		s.projected = s.projected || i != at
		if s.leadsBack < 0 && s.record.columns[at].leadsBack() {
			s.leadsBack = i
		}
	}
	s.projected = s.projected || len(s.Query.Columns) != len(columns)
	stamp := slices.IndexFunc(s.Query.Columns, s.record.Follows)
	if s.Query.Limit > 0 && s.proof < 0 && stamp >= 0 {
		return fmt.Errorf("the stamp %s is given without the proof, and so can't be checked", columns[s.Query.Columns[stamp]].Name)
	}
	if s.Query.Limit > 0 && s.proof < 0 && s.leadsBack < 0 {
		return errors.New("its results could not be verified: the columns that it gives need one that identifies the record ({i} without / and %), or the proof")
	}
	return nil
}

// Asked is room for the values of a query. The zero value is ready.
type Asked struct {
	Values [][]byte
	bytes  []byte
	room   []byte
}

// Ask fills in the values of a query for an index. They are valid until the next call.
func (s *QueryShape) Ask(a *Asked, index uint64) {
	a.Values, a.bytes = a.Values[:0], a.bytes[:0]
	for i, c := range s.conditions {
		column := &s.record.columns[s.columns[i]]
		a.room = column.append(a.room[:0], index)
		switch c.Is {
		case store.Range:
			a.add(a.room)
			n, _ := parseWord(a.room)
			a.room = strconv.AppendUint(a.room[:0], n+c.Span, 10)
			a.add(a.room)
		case store.Prefix:
			a.add(a.room[:min(len(a.room), c.Bytes)])
		case store.Has:
			a.add(wordOf(a.room, c.Word))
		default:
			a.add(a.room)
		}
	}
}

// add copies a value. Those before it stay where they were if the room is outgrown.
func (a *Asked) add(value []byte) {
	from := len(a.bytes)
	a.bytes = append(a.bytes, value...)
	a.Values = append(a.Values, a.bytes[from:len(a.bytes):len(a.bytes)])
}

// wordOf returns a word by its number, counted from 0 and around.
func wordOf(text []byte, number int) []byte {
	words := 0
	for word, rest := store.NextWord(text); len(word) > 0; word, rest = store.NextWord(rest) {
		words++
	}
	word, rest := store.NextWord(text)
	for range number % max(words, 1) {
		word, rest = store.NextWord(rest)
	}
	return word
}

// Holds reports whether the record of an index fulfils the conditions with the values that were
// asked for.
func (s *QueryShape) Holds(a *Asked, index uint64) bool {
	if len(s.Query.Where) == 0 {
		return true
	}
	return s.Query.Holds(a.Values, func(column int) []byte {
		a.room = s.record.columns[column].append(a.room[:0], index)
		return a.room
	})
}

// PrefixBytes returns how many bytes a condition, by its position among all of the query, asks of a
// prefix; 0 of another comparison.
func (s *QueryShape) PrefixBytes(condition int) int { return s.conditions[condition].Bytes }

// SortNumber returns the number by which the record of an index is sorted; 0 in a query without
// order.
func (s *QueryShape) SortNumber(index uint64) uint64 {
	if s.Query.Sort < 0 {
		return 0
	}
	return s.record.Number(s.Query.Sort, index)
}

// Number returns what an integer column has in the record of an index.
func (r *RecordShape) Number(column int, index uint64) uint64 {
	c := &r.columns[column]
	if c.sequence != nil {
		return c.sequence.number(index)
	}
	n, _ := parseWord(c.constant)
	return n
}

// Index returns the index that what was found leads back to.
func (s *QueryShape) Index(found []byte) (index uint64, ok bool) {
	if !s.projected {
		return s.record.Index(found)
	}
	at := s.proof
	if at < 0 {
		at = s.leadsBack
	}
	column, ok := s.record.Column(found, at)
	if !ok {
		return 0, false
	}
	return s.record.indexOf(s.Query.Columns[at], column)
}

// Check returns the version that what was found proves for index, and whether it is what the query
// gives of its record.
func (s *QueryShape) Check(pool *Pool, found []byte, index uint64, scratch []byte) (version uint64, right bool) {
	return s.record.check(pool, found, s.Query.Columns, s.proof, index, scratch)
}

// OtherTrial reports whether the proof of what was found is right for index but for its trial's tag.
func (s *QueryShape) OtherTrial(pool *Pool, found []byte, index uint64) bool {
	if s.proof < 0 {
		return false
	}
	proof, ok := s.record.Column(found, s.proof)
	return ok && len(proof) == s.record.ProofBytes() && pool.OtherTrial(proof, index)
}

// Proves reports whether what is found proves its version.
func (s *QueryShape) Proves() bool { return s.proof >= 0 }

// Bytes returns the length of what the query gives of the record of an index.
func (s *QueryShape) Bytes(index uint64) (bytes int) {
	for _, at := range s.Query.Columns {
		bytes += 2 + s.record.columnBytes(at, index)
	}
	return bytes
}

// Project appends what the query gives of a record.
func (s *QueryShape) Project(dst, record []byte) []byte {
	if !s.projected {
		return append(dst, record...)
	}
	for _, at := range s.Query.Columns {
		column, _ := s.record.Column(record, at)
		dst = store.AppendColumn(dst, column)
	}
	return dst
}
