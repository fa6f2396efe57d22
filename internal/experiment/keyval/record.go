package keyval

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"assay/store"
)

// Bounds of a record's columns.
const (
	ColumnsMax       = 64
	ColumnNameMax    = 64
	IntegerDigitsMax = 18
)

// Column is one column of a record and where its bytes come from: one of Constant, Sequence, Parts,
// Proof, Stamp and Counter. Its JSON is part of the control message "define".
type Column struct {
	Name     string           `json:"name"`
	Type     store.ColumnType `json:"type"`
	Constant *string          `json:"constant,omitempty"`
	Sequence *Sequence        `json:"sequence,omitempty"`
	Parts    []Part           `json:"parts,omitempty"` // pieces that stand one behind the other
	Proof    int              `json:"proof,omitempty"` // bytes of a value that carries index and version
	Stamp    *Stamp           `json:"stamp,omitempty"`
	Counter  bool             `json:"counter,omitempty"` // 0 when it is put, and then what increments make of it
}

// Sequence is Prefix, n in decimal, Suffix, where n = ((index div Divide + Shift) mod Modulo) ×
// Multiply + Add. Divide and Multiply are 1 where they are 0; a Modulo of 0 takes no remainder. In
// place of Divide, Steps are widths that repeat: index div Steps is how many whole widths lie before
// index.
type Sequence struct {
	Prefix   string   `json:"prefix,omitempty"`
	Divide   uint64   `json:"divide,omitempty"`
	Steps    []uint64 `json:"steps,omitempty"`
	Shift    uint64   `json:"shift,omitempty"`
	Modulo   uint64   `json:"modulo,omitempty"`
	Multiply uint64   `json:"multiply,omitempty"`
	Add      uint64   `json:"add,omitempty"`
	Suffix   string   `json:"suffix,omitempty"`

	cycle uint64 // the sum of Steps, of a normal sequence
}

// Bounds of a sequence's steps and shift, so that no sum of them is beyond a word.
const (
	StepsMax = 64
	shiftMax = IndexMax
)

// check says what is wrong with steps and shift.
func (q *Sequence) check() error {
	if len(q.Steps) > StepsMax || len(q.Steps) > 0 && q.Divide != 0 {
		return fmt.Errorf("a sequence has either divide or at most %d steps", StepsMax)
	}
	if slices.ContainsFunc(q.Steps, func(width uint64) bool { return width < 1 || width > IndexMax }) ||
		q.Shift > shiftMax {
		return fmt.Errorf("steps are 1 to %d, and a shift at most that", uint64(IndexMax))
	}
	return nil
}

func (q *Sequence) normal() Sequence {
	n := *q
	n.Divide, n.Multiply = max(n.Divide, 1), max(n.Multiply, 1)
	for _, width := range n.Steps {
		n.cycle += width
	}
	return n
}

func (q *Sequence) quotient(index uint64) uint64 {
	if q.cycle == 0 {
		return index / q.Divide
	}
	n, rest := index/q.cycle*uint64(len(q.Steps)), index%q.cycle
	for _, width := range q.Steps {
		if rest < width {
			break
		}
		n, rest = n+1, rest-width
	}
	return n
}

func (q *Sequence) number(index uint64) uint64 {
	n := q.quotient(index) + q.Shift
	if q.Modulo > 0 {
		n %= q.Modulo
	}
	return n*q.Multiply + q.Add
}

// largest returns the largest number over all indexes; fits is false where it is no word.
func (q *Sequence) largest() (n uint64, fits bool) {
	n = q.quotient(IndexMax) + q.Shift
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
	return q.Divide == 1 && q.cycle == 0 && q.Shift == 0 && q.Modulo == 0 && fits && n < math.MaxUint64
}

// leadsBack says if a column's number tells the index.
func (c *columnMaker) leadsBack() bool { return c.sequence != nil && c.sequence.leadsBack() }

// columnMaker is a column, ready for the measured loop.
type columnMaker struct {
	constant []byte
	sequence *Sequence
	parts    []Part
	proof    int

	modulo, least uint64 // of a stamp; modulo 0: it is none
	counter       bool   // constant is what a put writes
}

func (c *columnMaker) bytesMax() int {
	if c.isStamp() {
		return c.stampBytes()
	}
	if c.counter {
		return IntegerDigitsMax
	}
	if c.sequence != nil {
		return c.sequence.bytesMax()
	}
	n := len(c.constant) + c.proof
	for i := range c.parts {
		n += c.parts[i].bytesMax()
	}
	return n
}

// RecordShape makes records from their index and version, and checks them again: section 1.5 of
// docs/worker-contract.md. It is read-only once made, and shared by all threads.
type RecordShape struct {
	columns   []columnMaker
	proof     int   // position of the column that proves the version; −1: none
	following []int // positions of the columns that follow the version
	counter   int   // position of the counter; −1: none
	leadsBack int   // position of the first column whose number tells the index; −1: none
	bytesMax  int
	all       []int // every position
}

// NewRecordShape says what is wrong with the columns, or returns their shape.
func NewRecordShape(columns []Column) (*RecordShape, error) {
	if len(columns) < 1 || len(columns) > ColumnsMax {
		return nil, fmt.Errorf("a record has 1 to %d columns, not %d", ColumnsMax, len(columns))
	}
	r := &RecordShape{proof: -1, counter: -1, leadsBack: -1}
	names, parts := map[string]bool{}, 0
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
		if parts += len(c.Parts); parts > PartsMax {
			return nil, fmt.Errorf("more than %d parts in all columns together", PartsMax)
		}
		if c.Proof > 0 {
			if r.proof >= 0 {
				return nil, errors.New("two columns have a proof: one is enough")
			}
			r.proof = i
		}
		if m.counter {
			if r.counter >= 0 {
				return nil, errors.New("two columns are counters: one is enough")
			}
			r.counter = i
		}
		if r.leadsBack < 0 && m.leadsBack() {
			r.leadsBack = i
		}
		r.columns, r.all = append(r.columns, m), append(r.all, i)
		r.bytesMax += 2 + m.bytesMax()
	}
	return r, r.follow()
}

// Check says what is wrong with a column by itself; nil if nothing.
func (c *Column) Check() error {
	if _, err := c.maker(); err != nil {
		return fmt.Errorf("column %q: %w", c.Name, err)
	}
	return nil
}

// maker says what is wrong with a column, or makes it ready.
func (c *Column) maker() (m columnMaker, err error) {
	if !isColumnName(c.Name) {
		return m, fmt.Errorf("its name has 1 to %d letters, digits and _, the first no digit", ColumnNameMax)
	}
	sources := 0
	for _, there := range []bool{c.Constant != nil, c.Sequence != nil, len(c.Parts) > 0, c.Proof != 0,
		c.Stamp != nil, c.Counter} {
		if there {
			sources++
		}
	}
	if sources != 1 {
		return m, errors.New("expected one of constant, sequence, parts, proof, stamp and counter")
	}
	switch {
	case c.Constant != nil:
		m.constant = []byte(*c.Constant)
	case c.Sequence != nil:
		if err := c.Sequence.check(); err != nil {
			return m, err
		}
		normal := c.Sequence.normal()
		m.sequence = &normal
	case len(c.Parts) > 0:
		for i := range c.Parts {
			part, err := c.Parts[i].normal()
			if err != nil {
				return m, err
			}
			m.parts = append(m.parts, part)
		}
	case c.Stamp != nil:
		if err := c.stampMaker(&m); err != nil {
			return m, err
		}
	case c.Counter:
		if err := c.counterMaker(&m); err != nil {
			return m, err
		}
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
	if c.isStamp() {
		return true
	}
	if c.sequence != nil {
		n, fits := c.sequence.largest()
		return fits && n < 1e18 && c.sequence.Prefix == "" && c.sequence.Suffix == ""
	}
	return isDecimal(c.constant)
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

// Append appends the record of an index and version in its encoded form.
func (r *RecordShape) Append(dst []byte, pool *Pool, index, version uint64) []byte {
	for i := range r.columns {
		at := len(dst)
		dst = r.appendColumn(append(dst, 0, 0), i, pool, index, version)
		n := len(dst) - at - 2
		dst[at], dst[at+1] = byte(n), byte(n>>8)
	}
	return dst
}

// appendColumn appends what a column has in the record of an index and version.
func (r *RecordShape) appendColumn(dst []byte, position int, pool *Pool, index, version uint64) []byte {
	c := &r.columns[position]
	switch {
	case position == r.proof:
		at := len(dst)
		for at+c.proof > cap(dst) {
			dst = append(dst[:cap(dst)], 0)[:at]
		}
		dst = dst[:at+c.proof]
		pool.Put(dst[at:], index, version)
		return dst
	case c.isStamp():
		return strconv.AppendUint(dst, c.stamp(position, index, version), 10)
	}
	return c.append(dst, index)
}

// append appends what a column that does not follow the version has in the record of an index.
func (c *columnMaker) append(dst []byte, index uint64) []byte {
	if c.sequence != nil {
		return c.sequence.append(dst, index)
	}
	for i := range c.parts {
		dst = c.parts[i].append(dst, index)
	}
	return append(dst, c.constant...) // a column has parts or a constant
}

// AppendColumn appends the bytes of one column, which must not follow the version, of the record of
// an index.
func (r *RecordShape) AppendColumn(dst []byte, column int, index uint64) []byte {
	return r.columns[column].append(dst, index)
}

// Bytes returns the length of the record of an index in its encoded form, as it is put.
func (r *RecordShape) Bytes(index uint64) int {
	n := 0
	for i := range r.columns {
		n += 2 + r.columnBytes(i, index)
	}
	return n
}

// columnBytes returns the length of a column in the record of an index.
func (r *RecordShape) columnBytes(column int, index uint64) int {
	c := &r.columns[column]
	if c.isStamp() {
		return c.stampBytes()
	}
	if c.sequence != nil {
		return c.sequence.bytes(index)
	}
	n := len(c.constant) + c.proof
	for i := range c.parts {
		n += c.parts[i].bytes(index)
	}
	return n
}

// BytesMin returns a length, in the encoded form, that no record is below.
func (r *RecordShape) BytesMin() int {
	n := 0
	for i := range r.columns {
		n += 2 + r.ColumnBytesMin(i)
	}
	return n
}

// ColumnBytesMin returns a length that a column is below in no record.
func (r *RecordShape) ColumnBytesMin(column int) int {
	c := &r.columns[column]
	if c.isStamp() {
		return c.stampBytes()
	}
	if c.sequence != nil {
		return c.sequence.bytesMin()
	}
	n := len(c.constant) + c.proof
	for i := range c.parts {
		n += c.parts[i].bytesMin()
	}
	return n
}

// Check returns the version that a record proves for index (0 without a proof), and whether it is a
// record of that index at all. scratch is used and may be outgrown: it needs no content.
func (r *RecordShape) Check(pool *Pool, record []byte, index uint64, scratch []byte) (version uint64, right bool) {
	return r.check(pool, record, r.all, r.proof, index, scratch)
}

// check is Check of some columns, by their positions, the proof at proofAt among them (−1: it is
// not). Columns that follow the version are there only beside the proof.
func (r *RecordShape) check(pool *Pool, record []byte, columns []int, proofAt int, index uint64,
	scratch []byte) (version uint64, right bool) {
	if len(r.following) > 1 && proofAt >= 0 { // a stamp may come before the proof
		proof, _ := r.Column(record, proofAt)
		version = claimedVersion(proof)
	}
	for i, at := range columns {
		column, rest, ok := store.NextColumn(record)
		if !ok {
			return 0, false
		}
		record = rest
		if at == r.counter {
			right = isDecimal(column)
		} else if i != proofAt {
			right = bytes.Equal(column, r.appendColumn(scratch[:0], at, pool, index, version))
		} else if version, right = pool.Check(column, index); len(column) != r.columns[at].proof {
			right = false
		}
		if !right {
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
	if !ok {
		return 0, false
	}
	return r.indexOf(r.leadsBack, column)
}

// indexOf returns the index that a column leads back to, which is the proof or tells its index.
func (r *RecordShape) indexOf(position int, column []byte) (index uint64, ok bool) {
	if position == r.proof {
		index, ok = IndexOf(column)
		return index, ok && index <= IndexMax
	}
	q := r.columns[position].sequence
	if len(column) <= len(q.Prefix)+len(q.Suffix) {
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
