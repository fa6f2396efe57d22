package store

import "encoding/binary"

// Records with columns: section 1.5 of docs/worker-contract.md. Where an experiment has columns,
// every value that a driver is given or gives back is a record in its encoded form: for each
// column, in order, its length as 16 bits, little-endian, and then its bytes.

// ColumnType is what a store is told of a column.
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
}

// Definer is a [Store] with columns of its own.
type Definer interface {
	// Define makes the records' columns the store's own, and its indexes, where they are not there
	// yet. It is called at most once after Open, while no handle is open, and again after each
	// opening of the same directory, with the same columns and indexes. From then on the driver
	// takes each record apart, and puts the encoded form together again from the columns that the
	// store gives back, and nothing else: it must not keep the encoded form. It returns an error
	// that wraps [ErrRefused], before anything was changed, for an index of a kind that the store
	// does not have.
	//
	// A store that is no Definer may be given records all the same: values like any other.
	Define(columns []Column, indexes []Index) error
}

// Querier is a [Handle] that finds records by a column.
type Querier interface {
	// Query calls visit for records whose column (a position) has just these bytes, until visit
	// returns false or limit records came: none twice, in the store's own order, each in its
	// encoded form. Key and record are valid during visit only. No such record is no error. An
	// index is used where there is one; without, the store looks through everything.
	Query(column int, value []byte, limit int, visit func(key, record []byte) bool) error
}

// Counter is a [Handle] that counts records by a column.
type Counter interface {
	// Count returns how many records have just these bytes in a column, as the store itself tells
	// it.
	Count(column int, value []byte) (records uint64, err error)
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
