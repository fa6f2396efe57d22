package keyval

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"assay/store"
)

// Bounds of a record's columns.
const (
	ColumnsMax       = 64
	ColumnNameMax    = 64
	IntegerDigitsMax = 18
)

// Column is one column of a record and where its bytes come from: one of Constant, Sequence and
// Proof. Its JSON is part of the control message "define".
type Column struct {
	Name     string           `json:"name"`
	Type     store.ColumnType `json:"type"`
	Constant *string          `json:"constant,omitempty"`
	Sequence *Sequence        `json:"sequence,omitempty"`
	Proof    int              `json:"proof,omitempty"` // bytes of a value that carries index and version
}

// Sequence is Prefix, n in decimal, Suffix, where n = ((index div Divide) mod Modulo) × Multiply +
// Add. Divide and Multiply are 1 where they are 0; a Modulo of 0 takes no remainder.
type Sequence struct {
	Prefix   string `json:"prefix,omitempty"`
	Divide   uint64 `json:"divide,omitempty"`
	Modulo   uint64 `json:"modulo,omitempty"`
	Multiply uint64 `json:"multiply,omitempty"`
	Add      uint64 `json:"add,omitempty"`
	Suffix   string `json:"suffix,omitempty"`
}

func (q *Sequence) normal() Sequence {
	n := *q
	n.Divide, n.Multiply = max(n.Divide, 1), max(n.Multiply, 1)
	return n
}

func (q *Sequence) number(index uint64) uint64 {
	n := index / q.Divide
	if q.Modulo > 0 {
		n %= q.Modulo
	}
	return n*q.Multiply + q.Add
}

// largest returns the largest number over all indexes; fits is false where it is no word.
func (q *Sequence) largest() (n uint64, fits bool) {
	n = IndexMax / q.Divide
	if q.Modulo > 0 {
		n = min(n, q.Modulo-1)
	}
	over, product := bits.Mul64(n, q.Multiply)
	sum, carry := bits.Add64(product, q.Add, 0)
	return sum, over == 0 && carry == 0
}

// leadsBack says if different indexes have different numbers, so that the number tells the index.
func (q *Sequence) leadsBack() bool {
	n, fits := q.largest()
	return q.Divide == 1 && q.Modulo == 0 && fits && n < math.MaxUint64
}

// columnMaker is a column, ready for the measured loop.
type columnMaker struct {
	constant []byte
	sequence *Sequence
	proof    int
}

func (c *columnMaker) bytesMax() int {
	switch {
	case c.sequence == nil:
		return len(c.constant) + c.proof
	default:
		n, fits := c.sequence.largest()
		if !fits {
			n = math.MaxUint64
		}
		return len(c.sequence.Prefix) + len(strconv.FormatUint(n, 10)) + len(c.sequence.Suffix)
	}
}

// RecordShape makes records from their index and version, and checks them again: section 1.5 of
// docs/worker-contract.md. It is read-only once made, and shared by all threads.
type RecordShape struct {
	columns   []columnMaker
	proof     int // position of the column that proves the version; −1: none
	leadsBack int // position of the first column whose number tells the index; −1: none
	bytesMax  int
}

// NewRecordShape says what is wrong with the columns, or returns their shape.
func NewRecordShape(columns []Column) (*RecordShape, error) {
	if len(columns) < 1 || len(columns) > ColumnsMax {
		return nil, fmt.Errorf("a record has 1 to %d columns, not %d", ColumnsMax, len(columns))
	}
	r := &RecordShape{proof: -1, leadsBack: -1}
	names := map[string]bool{}
	for i := range columns {
		c := &columns[i]
		if names[c.Name] {
			return nil, fmt.Errorf("two columns have the name %s", c.Name)
		}
		names[c.Name] = true
		m, err := c.maker()
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		if c.Proof > 0 {
			if r.proof >= 0 {
				return nil, errors.New("two columns have a proof: one is enough")
			}
			r.proof = i
		}
		if r.leadsBack < 0 && m.sequence != nil && m.sequence.leadsBack() {
			r.leadsBack = i
		}
		r.columns = append(r.columns, m)
		r.bytesMax += 2 + m.bytesMax()
	}
	return r, nil
}

// maker says what is wrong with a column, or makes it ready.
func (c *Column) maker() (m columnMaker, err error) {
	if !isColumnName(c.Name) {
		return m, fmt.Errorf("its name has 1 to %d letters, digits and _, the first no digit", ColumnNameMax)
	}
	sources := 0
	for _, there := range []bool{c.Constant != nil, c.Sequence != nil, c.Proof != 0} {
		if there {
			sources++
		}
	}
	if sources != 1 {
		return m, errors.New("expected one of constant, sequence and proof")
	}
	switch {
	case c.Constant != nil:
		m.constant = []byte(*c.Constant)
	case c.Sequence != nil:
		normal := c.Sequence.normal()
		m.sequence = &normal
	default:
		m.proof = c.Proof
		if c.Type != store.BytesColumn || c.Proof < StampBytes {
			return m, fmt.Errorf("a proof is of type bytes and has %d to %d of them", StampBytes, store.ColumnBytesMax)
		}
	}
	switch c.Type {
	case store.TextColumn, store.BytesColumn:
	case store.IntegerColumn:
		if !m.isInteger() {
			return m, fmt.Errorf("an integer has 1 to %d digits for every index, no zeros in front, no prefix and no suffix", IntegerDigitsMax)
		}
	default:
		return m, fmt.Errorf("unknown type %q: expected text, integer or bytes", c.Type)
	}
	if n := m.bytesMax(); n > store.ColumnBytesMax {
		return m, fmt.Errorf("%d bytes: expected at most %d", n, store.ColumnBytesMax)
	}
	return m, nil
}

func (c *columnMaker) isInteger() bool {
	if c.sequence != nil {
		n, fits := c.sequence.largest()
		return fits && n < 1e18 && c.sequence.Prefix == "" && c.sequence.Suffix == ""
	}
	digits := c.constant
	if len(digits) < 1 || len(digits) > IntegerDigitsMax || digits[0] == '0' && len(digits) > 1 {
		return false
	}
	return !bytes.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
}

func isColumnName(name string) bool {
	if len(name) < 1 || len(name) > ColumnNameMax {
		return false
	}
	for i := range len(name) {
		b := name[i]
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_'
		if !letter && (i == 0 || b < '0' || b > '9') {
			return false
		}
	}
	return true
}

// Columns returns how many columns a record has.
func (r *RecordShape) Columns() int { return len(r.columns) }

// BytesMax returns the length of the longest record in its encoded form.
func (r *RecordShape) BytesMax() int { return r.bytesMax }

// ProofBytes returns the length of the proof column; 0: there is none.
func (r *RecordShape) ProofBytes() int {
	if r.proof < 0 {
		return 0
	}
	return r.columns[r.proof].proof
}

// Proves says if a record proves its version, not only its index.
func (r *RecordShape) Proves() bool { return r.proof >= 0 }

// LeadsBack says if a record tells its index.
func (r *RecordShape) LeadsBack() bool { return r.proof >= 0 || r.leadsBack >= 0 }

// IsProof says if a column is the one that proves the version.
func (r *RecordShape) IsProof(column int) bool { return column == r.proof }

// Append appends the record of an index and version in its encoded form.
func (r *RecordShape) Append(dst []byte, pool *Pool, index, version uint64) []byte {
	for i := range r.columns {
		c := &r.columns[i]
		at := len(dst)
		dst = append(dst, 0, 0)
		if i == r.proof {
			for len(dst)+c.proof > cap(dst) {
				dst = append(dst[:cap(dst)], 0)[:len(dst)]
			}
			dst = dst[:len(dst)+c.proof]
			pool.Put(dst[at+2:], index, version)
		} else {
			dst = c.append(dst, index)
		}
		n := len(dst) - at - 2
		dst[at], dst[at+1] = byte(n), byte(n>>8)
	}
	return dst
}

// append appends what a column without proof has in the record of an index.
func (c *columnMaker) append(dst []byte, index uint64) []byte {
	if c.sequence == nil {
		return append(dst, c.constant...)
	}
	dst = append(dst, c.sequence.Prefix...)
	dst = strconv.AppendUint(dst, c.sequence.number(index), 10)
	return append(dst, c.sequence.Suffix...)
}

// AppendColumn appends the bytes of one column, which must not be the proof, of the record of an
// index.
func (r *RecordShape) AppendColumn(dst []byte, column int, index uint64) []byte {
	return r.columns[column].append(dst, index)
}

// Bytes returns the length of the record of an index in its encoded form.
func (r *RecordShape) Bytes(index uint64) int {
	n := 0
	var digits [20]byte
	for i := range r.columns {
		c := &r.columns[i]
		n += 2 + len(c.constant) + c.proof
		if c.sequence != nil {
			n += len(c.sequence.Prefix) + len(strconv.AppendUint(digits[:0], c.sequence.number(index), 10)) + len(c.sequence.Suffix)
		}
	}
	return n
}

// Check returns the version that a record proves for index (0 without a proof), and whether it is a
// record of that index at all. scratch is used and may be outgrown: it needs no content.
func (r *RecordShape) Check(pool *Pool, record []byte, index uint64, scratch []byte) (version uint64, right bool) {
	for i := range r.columns {
		c := &r.columns[i]
		column, rest, ok := store.NextColumn(record)
		if !ok {
			return 0, false
		}
		record = rest
		if i == r.proof {
			if version, right = pool.Check(column, index); !right || len(column) != c.proof {
				return version, false
			}
		} else if !bytes.Equal(column, c.append(scratch[:0], index)) {
			return version, false
		}
	}
	return version, len(record) == 0
}

// OtherTrial reports whether a record's proof is right for index but for its trial's tag.
func (r *RecordShape) OtherTrial(pool *Pool, record []byte, index uint64) bool {
	if r.proof < 0 {
		return false
	}
	proof, ok := r.Column(record, r.proof)
	return ok && len(proof) == r.columns[r.proof].proof && pool.OtherTrial(proof, index)
}

// Column returns the bytes of one column of a record; ok is false where the record ends before.
func (r *RecordShape) Column(record []byte, column int) (value []byte, ok bool) {
	for range column + 1 {
		if value, record, ok = store.NextColumn(record); !ok {
			return nil, false
		}
	}
	return value, true
}

// Claimed returns the index that the proof column claims, for a scan that does not know which key
// comes next.
func (r *RecordShape) Claimed(record []byte) (index uint64, claimed bool) {
	if r.proof < 0 {
		return 0, false
	}
	proof, ok := r.Column(record, r.proof)
	if !ok {
		return 0, false
	}
	return IndexOf(proof)
}

// Index returns the index that a record's proof, or else a column's number, leads back to.
func (r *RecordShape) Index(record []byte) (index uint64, ok bool) {
	if r.proof >= 0 {
		index, ok = r.Claimed(record)
		return index, ok && index <= IndexMax
	}
	if r.leadsBack < 0 {
		return 0, false
	}
	column, ok := r.Column(record, r.leadsBack)
	q := r.columns[r.leadsBack].sequence
	if !ok || len(column) <= len(q.Prefix)+len(q.Suffix) {
		return 0, false
	}
	n, ok := parseWord(column[len(q.Prefix) : len(column)-len(q.Suffix)])
	index = (n - q.Add) / q.Multiply
	return index, ok && n >= q.Add && index <= IndexMax
}

// parseWord reads decimal digits, without allocating as strconv would.
func parseWord(digits []byte) (n uint64, ok bool) {
	if len(digits) < 1 || len(digits) > 20 {
		return 0, false
	}
	for _, b := range digits {
		d := uint64(b - '0')
		over, product := bits.Mul64(n, 10)
		sum, carry := bits.Add64(product, d, 0)
		if b < '0' || b > '9' || over != 0 || carry != 0 {
			return 0, false
		}
		n = sum
	}
	return n, true
}
