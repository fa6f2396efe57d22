package sqlkv

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"assay/store"
)

// Connection is one session with a database. After a failure that leaves its state unknown it is
// [Connection.Broken]: the handle gives it up, and its next operation connects anew, within that
// operation's own time.
type Connection interface {
	// Prepare readies a statement with parameters of these kinds.
	Prepare(text string, parameters []Kind) (Statement, error)
	// Apply does all of calls, in order, or nothing of them.
	Apply(calls []Call) error
	Broken() bool
	Close() error
}

// Statement is a prepared statement. Errors wrap [store.ErrConflict] and [store.ErrTimeout] where
// the database means that.
type Statement interface {
	// Exec returns how many rows the statement found.
	Exec(arguments [][]byte) (rows int64, err error)
	// Query calls visit for each row until visit returns false. The row is valid during visit only;
	// integers are in decimal.
	Query(arguments [][]byte, visit func(row [][]byte) bool) error
}

// Call is a statement of a batch, with its arguments.
type Call struct {
	Statement Statement
	Arguments [][]byte
}

// Handle does the operations of a layout over a connection of its own. Statements are prepared when
// they are first used, so that a handle for one operation prepares one.
type Handle struct {
	layout  *Layout
	connect func() (Connection, error)
	link    *Link

	connection Connection
	statements [query]Statement  // by operation; nil: not used yet
	asking     map[use]Statement // of queries and counts

	modified  []int // columns that Modify writes
	counter   int   // the column that Increment adds to
	arguments [][]byte
	positions map[string]int // of the keys that are read in one statement
	record    []byte         // in its encoded form
	start     []byte         // of a scan
	limit     []byte         // in decimal
	key       [1][]byte
	calls     []Call

	// The state of a visit, and the visitors, bound once: a closure an operation would be an
	// allocation.
	buf      []byte
	found    bool
	number   uint64
	failed   error
	visitGet func(row [][]byte) bool
	visitOne func(row [][]byte) bool
}

// use is what a statement of a query is for.
type use struct {
	operation operation
	query     int
}

type operation byte

const (
	get operation = iota
	put
	add
	swap
	remove
	there
	scan
	modify
	increment
	query // this and what follows ask a query
	count
	deleteQuery
	explainQuery
	explainCount
	getMany // asks for as many keys as the number of its query
)

// NewHandle connects. The connections that connect makes are dialed by link.
func NewHandle(l *Layout, link *Link, connect func() (Connection, error)) (*Handle, error) {
	h := &Handle{layout: l, connect: connect, link: link}
	h.visitGet = func(row [][]byte) bool {
		h.found, h.buf = true, h.layout.join(h.buf[:0], row)
		return false
	}
	h.visitOne = func(row [][]byte) bool {
		h.found = true
		h.number, h.failed = strconv.ParseUint(string(row[0]), 10, 64)
		return false
	}
	h.link.Begin()
	return h, h.open()
}

func (h *Handle) open() (err error) {
	h.statements, h.asking = [query]Statement{}, map[use]Statement{}
	h.connection, err = h.connect()
	return h.outcome("connect", err)
}

// Close closes the connection.
func (h *Handle) Close() error {
	if h.connection == nil {
		return nil
	}
	h.link.Begin()
	err := h.connection.Close()
	h.connection = nil
	return err
}

// begin starts an operation's time, and returns its statement.
func (h *Handle) begin(o operation, asked int) (Statement, error) {
	h.link.Begin()
	if h.connection == nil {
		if err := h.open(); err != nil {
			return nil, err
		}
	}
	return h.statement(o, asked)
}

func (h *Handle) statement(o operation, asked int) (Statement, error) {
	if o < query && h.statements[o] != nil {
		return h.statements[o], nil
	}
	if s, prepared := h.asking[use{o, asked}]; o >= query && prepared {
		return s, nil
	}
	text, kinds := h.text(o, asked)
	s, err := h.connection.Prepare(text, kinds)
	if err != nil {
		return nil, h.outcome("prepare", err)
	}
	if o < query {
		h.statements[o] = s
	} else {
		h.asking[use{o, asked}] = s
	}
	return s, nil
}

func (h *Handle) text(o operation, asked int) (text string, kinds []Kind) {
	switch o {
	case modify:
		return h.layout.ModifySQL(h.modified)
	case increment:
		return h.layout.IncrementSQL(h.counter), []Kind{Integer, Blob}
	}
	return h.layout.statement(o, asked)
}

// statement returns a statement's text and the kinds of its parameters.
func (l *Layout) statement(o operation, asked int) (text string, kinds []Kind) {
	columns := l.kinds()
	switch o {
	case get:
		return l.GetSQL(), []Kind{Blob}
	case put:
		return l.PutSQL(), append([]Kind{Blob}, columns...)
	case add:
		return l.AddSQL(), append([]Kind{Blob}, columns...)
	case swap:
		return l.SwapSQL(), append(append(append([]Kind{}, columns...), Blob), columns...)
	case remove:
		return l.DeleteSQL(), []Kind{Blob}
	case there:
		return l.ThereSQL(), []Kind{Blob}
	case scan:
		return l.ScanSQL(), []Kind{Blob, Integer}
	case query:
		return l.QuerySQL(&l.Queries[asked]), l.parameters(&l.Queries[asked])
	case count:
		return l.CountSQL(&l.Queries[asked]), l.parameters(&l.Queries[asked])
	case deleteQuery:
		return l.DeleteQuerySQL(&l.Queries[asked]), l.parameters(&l.Queries[asked])
	case getMany:
		return l.GetManySQL(asked), slices.Repeat([]Kind{Blob}, asked)
	case explainQuery:
		return l.Dialect.Explain.Before + l.QuerySQL(&l.Queries[asked]), l.parameters(&l.Queries[asked])
	default:
		return l.Dialect.Explain.Before + l.CountSQL(&l.Queries[asked]), l.parameters(&l.Queries[asked])
	}
}

// outcome gives a broken connection up, and says what a failure was.
func (h *Handle) outcome(doing string, err error) error {
	if err == nil {
		return nil
	}
	late, flooded := h.link.Late(), h.link.Flooded()
	if late {
		h.link.Drop() // a late answer must not be taken for the next operation's
	}
	if h.connection != nil && (late || h.connection.Broken()) {
		_ = h.connection.Close() // it is broken: the failure that broke it is reported
		h.connection = nil
		h.link.Drop()
	}
	switch {
	case late:
		err = store.ErrTimeout
	case flooded != nil:
		err = flooded
	}
	return fmt.Errorf("%s: %s: %w", h.layout.Dialect.Name, doing, err)
}

// Get reads the value of a key.
func (h *Handle) Get(key, buf []byte) ([]byte, error) {
	s, err := h.begin(get, 0)
	if err != nil {
		return nil, err
	}
	h.found, h.buf, h.key[0] = false, buf, blob(key)
	h.link.Expect(1)
	err = s.Query(h.key[:], h.visitGet)
	value := h.buf
	h.buf, h.key[0] = nil, nil
	if err != nil {
		return nil, h.outcome("get", err)
	}
	if !h.found {
		return nil, store.ErrNotFound
	}
	return value, nil
}

// MultiGet is one SELECT, prepared for so many keys. Its rows come in any order.
func (h *Handle) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	if h.layout.hasColumns() {
		return 0, fmt.Errorf("%s: records with columns are read one by one: %w", h.layout.Dialect.Name, errors.ErrUnsupported)
	}
	s, err := h.begin(getMany, len(keys))
	if err != nil {
		return 0, err
	}
	if h.positions == nil {
		h.positions = make(map[string]int, len(keys))
	}
	clear(h.positions)
	h.arguments = h.arguments[:0]
	for i, key := range keys {
		h.positions[string(key)] = i
		h.arguments = append(h.arguments, blob(key))
	}
	var other error
	h.link.Expect(len(keys))
	err = s.Query(h.arguments, func(row [][]byte) bool {
		i, asked := h.positions[string(row[0])]
		if !asked {
			other = errors.New("a row has another key")
			return false
		}
		from := len(buf)
		buf = h.layout.join(buf, row[1:])
		values[i] = buf[from:len(buf):len(buf)]
		return true
	})
	clear(h.arguments)
	return 1, h.outcome("multi-get", errors.Join(err, other))
}

// row makes arguments of a key and a value.
func (l *Layout) row(arguments [][]byte, key, value []byte) ([][]byte, error) {
	d := l.Dialect
	if len(key) > d.KeyBytesMax {
		return arguments, fmt.Errorf("%s: the key is longer than %d bytes", d.Name, d.KeyBytesMax)
	}
	if len(value) > d.ValueBytesMax {
		return arguments, fmt.Errorf("%s: the value is longer than %d bytes", d.Name, d.ValueBytesMax)
	}
	return l.split(append(arguments, blob(key)), value)
}

// swap makes arguments of a key, and of its new value and its old one.
func (l *Layout) swap(arguments [][]byte, key, old, value []byte) ([][]byte, error) {
	if d := l.Dialect; max(len(old), len(value)) > d.ValueBytesMax {
		return arguments, fmt.Errorf("%s: the value is longer than %d bytes", d.Name, d.ValueBytesMax)
	}
	arguments, err := l.split(arguments, value)
	if err != nil {
		return arguments, err
	}
	return l.split(append(arguments, blob(key)), old)
}

// store does a put or an add.
func (h *Handle) store(o operation, doing string, key, value []byte) (rows int64, err error) {
	if h.arguments, err = h.layout.row(h.arguments[:0], key, value); err != nil {
		return 0, err
	}
	s, err := h.begin(o, 0)
	if err != nil {
		return 0, err
	}
	rows, err = s.Exec(h.arguments)
	clear(h.arguments) // nothing of the caller's is kept
	return rows, h.outcome(doing, err)
}

// Put stores a value, whether the key is there or not.
func (h *Handle) Put(key, value []byte) error {
	_, err := h.store(put, "put", key, value)
	return err
}

// Add stores a value if the key is absent.
func (h *Handle) Add(key, value []byte) error {
	rows, err := h.store(add, "add", key, value)
	if err == nil && rows == 0 {
		return store.ErrConflict
	}
	return err
}

// Delete removes a key. The database reports how many rows it found.
func (h *Handle) Delete(key []byte) error {
	s, err := h.begin(remove, 0)
	if err != nil {
		return err
	}
	h.key[0] = blob(key)
	rows, err := s.Exec(h.key[:])
	h.key[0] = nil
	if err == nil && rows == 0 {
		return store.ErrNotFound
	}
	return h.outcome("delete", err)
}

// DeletePrefix deletes at most so many keys of an interval in one statement, which is prepared for it.
func (h *Handle) DeletePrefix(prefix []byte, atMost int) (deleted int, err error) {
	h.link.Begin()
	if h.connection == nil {
		if err := h.open(); err != nil {
			return 0, err
		}
	}
	s, err := h.connection.Prepare(h.layout.DeletePrefixSQL(atMost), []Kind{Blob, Blob})
	if err != nil {
		return 0, h.outcome("prepare", err)
	}
	rows, err := s.Exec([][]byte{prefix, store.After(prefix)})
	return int(rows), h.outcome("delete by prefix", err)
}

// CompareAndSwap is one UPDATE that names the old value. Where it finds no row, a second statement
// asks if the key is there at all.
func (h *Handle) CompareAndSwap(key, old, value []byte) (err error) {
	if h.arguments, err = h.layout.swap(h.arguments[:0], key, old, value); err != nil {
		return err
	}
	s, err := h.begin(swap, 0)
	if err != nil {
		return err
	}
	rows, err := s.Exec(h.arguments)
	clear(h.arguments)
	if err != nil || rows > 0 {
		return h.outcome("compare and swap", err)
	}
	if s, err = h.statement(there, 0); err != nil {
		return err
	}
	h.found, h.key[0] = false, blob(key)
	err = s.Query(h.key[:], h.visitOne)
	h.key[0] = nil
	switch {
	case err != nil:
		return h.outcome("compare and swap", err)
	case h.found:
		return store.ErrConflict
	}
	return store.ErrNotFound
}

// Modify updates columns of one row.
func (h *Handle) Modify(key []byte, columns []int, values [][]byte) error {
	if !h.layout.hasColumns() {
		return fmt.Errorf("%s: %w", h.layout.Dialect.Name, ErrNotARecord)
	}
	if h.modified == nil {
		h.modified = slices.Clone(columns)
	}
	h.arguments = h.arguments[:0]
	for i, column := range columns {
		if err := h.layout.check(column, values[i]); err != nil {
			return err
		}
		h.arguments = append(h.arguments, blob(values[i]))
	}
	h.arguments = append(h.arguments, blob(key))
	s, err := h.begin(modify, 0)
	if err != nil {
		return err
	}
	rows, err := s.Exec(h.arguments)
	clear(h.arguments)
	if err == nil && rows == 0 {
		return store.ErrNotFound
	}
	return h.outcome("modify", err)
}

// Increment adds to a column of one row.
func (h *Handle) Increment(key []byte, column int, by int64) error {
	if !h.layout.hasColumns() {
		return fmt.Errorf("%s: %w", h.layout.Dialect.Name, ErrNotARecord)
	}
	h.counter = column
	s, err := h.begin(increment, 0)
	if err != nil {
		return err
	}
	h.limit = strconv.AppendInt(h.limit[:0], by, 10)
	h.arguments = append(h.arguments[:0], h.limit, blob(key))
	rows, err := s.Exec(h.arguments)
	clear(h.arguments)
	if err == nil && rows == 0 {
		return store.ErrNotFound
	}
	return h.outcome("increment", err)
}

// Apply is one transaction.
func (h *Handle) Apply(writes []store.Write) error {
	h.link.Begin()
	if h.connection == nil {
		if err := h.open(); err != nil {
			return err
		}
	}
	if len(writes) == 0 {
		return nil
	}
	h.arguments, h.calls = h.arguments[:0], h.calls[:0]
	for _, w := range writes {
		o, from := put, len(h.arguments)
		var err error
		if w.Delete {
			o, h.arguments = remove, append(h.arguments, blob(w.Key))
		} else if h.arguments, err = h.layout.row(h.arguments, w.Key, w.Value); err != nil {
			return err
		}
		s, err := h.statement(o, 0)
		if err != nil {
			return err
		}
		h.calls = append(h.calls, Call{s, h.arguments[from:len(h.arguments):len(h.arguments)]})
	}
	err := h.connection.Apply(h.calls)
	clear(h.arguments)
	clear(h.calls)
	return h.outcome("batch", err)
}

// Scan asks for as many records as the caller will take, and again from behind the last one if it
// takes more: without a LIMIT the server would send all that follow.
func (h *Handle) Scan(start []byte, limit int, visit func(key, value []byte) bool) error {
	limit = max(limit, 1)
	if h.layout.Dialect.RowByRow {
		return h.visitRecords(start, math.MaxInt, visit)
	}
	h.start = append(h.start[:0], start...)
	for {
		seen, more := 0, true
		err := h.visitRecords(h.start, limit, func(key, value []byte) bool {
			seen++
			if more = visit(key, value); more && seen == limit {
				h.start = append(append(h.start[:0], key...), 0) // the next key that can be
			}
			return more
		})
		if err != nil || !more || seen < limit {
			return err
		}
	}
}

// visitRecords does a scan: the first column of its rows is the key.
func (h *Handle) visitRecords(from []byte, limit int, visit func(key, record []byte) bool) error {
	s, err := h.begin(scan, 0)
	if err != nil {
		return err
	}
	h.arguments = append(h.arguments[:0], blob(from))
	if !h.layout.Dialect.RowByRow {
		h.limit = strconv.AppendInt(h.limit[:0], int64(limit), 10)
		h.arguments = append(h.arguments, h.limit)
	}
	return h.outcome("scan", h.visitRows(s, limit, visit))
}

func (h *Handle) visitRows(s Statement, limit int, visit func(key, record []byte) bool) error {
	seen := 0
	h.link.Expect(limit)
	err := s.Query(h.arguments, func(row [][]byte) bool {
		seen++
		h.record = h.layout.join(h.record[:0], row[1:])
		return visit(row[0], h.record) && seen < limit
	})
	clear(h.arguments)
	return err
}

var errNoQuery = errors.New("a query that was not defined")

// asked readies a query or count.
func (h *Handle) asked(o operation, asked int, values [][]byte) (Statement, error) {
	if asked >= len(h.layout.Queries) {
		return nil, fmt.Errorf("%s: %w", h.layout.Dialect.Name, errNoQuery)
	}
	s, err := h.begin(o, asked)
	h.arguments = h.layout.arguments(h.arguments[:0], &h.layout.Queries[asked], values)
	return s, err
}

// Query looks through the whole table where there is no index that helps.
func (h *Handle) Query(asked int, values [][]byte, visit func(key, record []byte) bool) error {
	s, err := h.asked(query, asked, values)
	if err != nil {
		return err
	}
	return h.outcome("query", h.visitRows(s, h.layout.Queries[asked].Limit, visit))
}

// Count lets the database count.
func (h *Handle) Count(asked int, values [][]byte) (records uint64, err error) {
	s, err := h.asked(count, asked, values)
	if err != nil {
		return 0, err
	}
	h.number, h.failed = 0, nil
	err = s.Query(h.arguments, h.visitOne)
	clear(h.arguments)
	return h.number, h.outcome("count", errors.Join(err, h.failed))
}

// DeleteQuery is one DELETE with the query's conditions.
func (h *Handle) DeleteQuery(asked int, values [][]byte) (records uint64, err error) {
	s, err := h.asked(deleteQuery, asked, values)
	if err != nil {
		return 0, err
	}
	rows, err := s.Exec(h.arguments)
	clear(h.arguments)
	return uint64(max(rows, 0)), h.outcome("delete by query", err)
}
