package store

import "encoding/binary"

// Records with columns: section 1.5 of docs/worker-contract.md. Where an experiment has columns,
// every value that a driver is given or gives back is a record in its encoded form: for each
// column, in order, its length as 16 bits, little-endian, and then its bytes.

// ColumnType is a column's type, as [Column] has it.
type ColumnType string

const (
	TextColumn    ColumnType = "text"    // UTF-8
	IntegerColumn ColumnType = "integer" // in the encoded form a decimal number of 1 to 18 digits without zeros in front, whatever the store keeps
	BytesColumn   ColumnType = "bytes"   // any bytes
)

// ColumnBytesMax is the length of the longest column.
const ColumnBytesMax = 65535

// Column is one column of all records.
type Column struct {
	Name string // 1 to 64 letters, digits and '_', the first no digit; no other column has it
	Type ColumnType
}

// IndexKind is how an index finds records.
type IndexKind string

const (
	OrderedIndex IndexKind = "ordered" // of a text or an integer
	TokenIndex   IndexKind = "token"   // of a text: each word between spaces or commas is found by itself
)

// Index asks for an index of a column.
type Index struct {
	Column int // position in the columns
	Kind   IndexKind
	// Descending: an ordered index has its largest entries first. A store whose indexes have no
	// direction makes the index that it has.
	Descending bool
}

// Definer is a [Store] with columns of its own.
type Definer interface {
	// Define makes the records' columns the store's own, and its indexes, where they are not there
	// yet; queries are what handles will be asked by their positions. It is called at most once
	// after Open, while no handle is open, and again after each opening of the same directory, with
	// the same columns and indexes. From then on the driver takes each record apart, and puts the
	// encoded form together again from the columns that the store gives back, and nothing else: it
	// must not keep the encoded form. It returns an error that wraps [ErrRefused], before anything
	// was changed, for an index of a kind that the store does not have, and for a query that the
	// store itself can't answer.
	//
	// A store that is no Definer may be given records anyway: values like any other.
	Define(columns []Column, indexes []Index, queries []Query) error
}

// Querier is a [Handle] that finds records.
type Querier interface {
	// Query calls visit for the records that a query of Define (by its position) finds with these
	// values, until visit returns false or the query's limit is reached: none twice, in the query's
	// order, each in the encoded form of the query's columns. Key, record and values are valid
	// during the call only. No such record is no error. An index is used where there is one;
	// without, the store looks through everything.
	Query(query int, values [][]byte, visit func(key, record []byte) bool) error
}

// Counter is a [Handle] that counts records.
type Counter interface {
	// Count returns how many records there are that fulfil a query's conditions with these values,
	// as the store itself reports it. The query's order, limit and columns are of no meaning.
	Count(query int, values [][]byte) (records uint64, err error)
}

// Modifier is a [Handle] that can update some columns of a record, in one step of the store's own.
type Modifier interface {
	// Modify gives columns of the record of key, by their positions, new values in the bytes of the
	// encoded form, and leaves the other columns as they are. It returns an error that wraps
	// [ErrNotFound] if key is absent, and makes no record then. A handle is always asked for the
	// same columns, in ascending order; columns and values are valid during the call only.
	Modify(key []byte, columns []int, values [][]byte) error
}

// Incrementer is a [Handle] that can add to a number, in one step of the store's own: of increments at
// once none is lost.
type Incrementer interface {
	// Increment adds to an integer column of the record of key. It returns an error that wraps
	// [ErrNotFound] if key is absent, and makes no record then. A handle is always asked for the
	// same column.
	Increment(key []byte, column int, by int64) error
}

// QueryDeleter is a [Handle] that deletes what a query finds, in one step of the store's own.
type QueryDeleter interface {
	// DeleteQuery deletes all records that fulfil a query's conditions with these values, and
	// returns how many it deleted, as the store itself reports it. The query's order, limit and
	// columns are of no meaning. The query has at most one alternative: what finds by several in
	// one step may not delete so.
	DeleteQuery(query int, values [][]byte) (records uint64, err error)
}

// Explainer is a [Handle] whose store reports how it answers a query.
type Explainer interface {
	// Explain asks the store how Query or, where count is true, Count answers a query with these
	// values. It is called between phases, never while an operation runs.
	Explain(query int, values [][]byte, count bool) (Plan, error)
}

// IndexUse is what a store says of its indexes for a query.
type IndexUse string

// What a store may say. A query in whose plan a part of the records is found without an index looks
// at every record.
const (
	IndexUntold IndexUse = ""       // the store does not say
	IndexFinds  IndexUse = "finds"  // an index finds the records by a condition
	IndexOrders IndexUse = "orders" // an index gives all records in the query's order, up to its limit
	IndexNone   IndexUse = "none"   // every record is looked at
)

// Plan is how a store says that it answers a query.
type Plan struct {
	Use   IndexUse
	Index string // names of the indexes that it uses, as the store has them; "": none
	Text  string // the plan in the store's own words, in one line
}

// NextColumn splits the first column off a record in its encoded form. ok is false where rest ends
// before the column does.
func NextColumn(record []byte) (column, rest []byte, ok bool) {
	if len(record) < 2 {
		return nil, nil, false
	}
	n := int(binary.LittleEndian.Uint16(record))
	if len(record)-2 < n {
		return nil, nil, false
	}
	return record[2 : 2+n : 2+n], record[2+n:], true
}

// AppendColumn appends a column of at most [ColumnBytesMax] bytes in its encoded form.
func AppendColumn(dst, column []byte) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(column)))
	return append(dst, column...)
}
