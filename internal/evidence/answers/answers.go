// Package answers knows what queries find among records whose columns follow from their indexes: what
// a store must give, and what it must delete.
//
// # Decisions
//
//   - Queries are templates of define, and their values those of the entry's record. So a worker
//     needs no randomness for them, and the conductor knows what each must find: a table of all
//     records for each alternative, sorted by what finds them (internal/evidence/answers), gives
//     the least and the most in a few comparisons, also while inserts go on. Which records come
//     first in an order is held against a sum of the sort column: a store that sorts what it met
//     first is seen by nothing else.
package answers

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"

	"assay/internal/experiment/keyval"
	"assay/store"
)

// Answers knows what a query finds among some records: for each alternative of its
// conditions a table of all records, sorted by what the record would have to be asked for, so that
// the records that a question finds stand together.
type Answers struct {
	shape  *keyval.QueryShape
	n      uint64
	tables []answerTable // by alternative; a query without conditions has one
	seed   maphash.Seed

	asked keyval.Asked
	runs  [][]answerRow
	all   []answerRow
}

// answerTable is one alternative: conditions that must all hold.
type answerTable struct {
	points []int // positions of the values that a record has or has not: all but those of a range
	ranged int   // position of a range's first value; −1: none
	rows   []answerRow
}

// answerRow is a record under a key that stands for the values which find it: a hash, so that two
// may meet with a probability of 2⁻⁶⁴ for each pair. number is what a range compares or, without
// one, what the query sorts by.
type answerRow struct{ key, number, index uint64 }

func compareRows(a, b answerRow) int {
	if a.key != b.key { // most are decided here, and cmp.Or would compare all three
		return cmp.Compare(a.key, b.key)
	}
	return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.index, b.index))
}

// enumeratedMax bounds how many rows are looked at for one question, where they do not stand in the
// order that is needed.
const enumeratedMax = 4096

// New makes the tables of n records, by default those of the indexes 0 … n−1: at says which index
// the k-th of them has. Time and memory grow with n, whatever is asked afterwards.
func New(record *keyval.RecordShape, shape *keyval.QueryShape, n uint64, at func(k uint64) uint64) *Answers {
	if at == nil {
		at = func(k uint64) uint64 { return k }
	}
	a := &Answers{shape: shape, n: n, seed: maphash.MakeSeed()}
	where := shape.Query.Where
	if len(where) == 0 {
		where = [][]store.Condition{nil}
	}
	value, condition := 0, 0
	for _, all := range where {
		t := answerTable{ranged: -1}
		sortBy, points := shape.Query.Sort, []point{}
		for _, c := range all {
			if c.Is == store.Range {
				t.ranged, sortBy = value, c.Column
			} else {
				t.points = append(t.points, value)
				points = append(points, point{c, shape.PrefixBytes(condition)})
			}
			value, condition = value+c.Is.Values(), condition+1
		}
		t.rows = make([]answerRow, 0, n)
		for k := range n {
			index := at(k)
			row := answerRow{index: index}
			if sortBy >= 0 {
				row.number = record.Number(sortBy, index)
			}
			t.rows = a.addRows(t.rows, record, points, row)
		}
		slices.SortFunc(t.rows, compareRows)
		t.rows = slices.Compact(t.rows) // a text may have a word twice
		a.tables = append(a.tables, t)
	}
	return a
}

// point is a condition that a record fulfils for certain values, and of a prefix, how long it is.
type point struct {
	store.Condition
	prefix int
}

// addRows adds a row for each combination of values that finds the record.
func (a *Answers) addRows(rows []answerRow, record *keyval.RecordShape, points []point, row answerRow) []answerRow {
	if len(points) == 0 {
		return append(rows, row)
	}
	p, rest := points[0], points[1:]
	column := record.AppendColumn(nil, p.Column, row.index)
	add := func(value []byte) {
		with := row
		with.key = a.with(row.key, value)
		rows = a.addRows(rows, record, rest, with)
	}
	switch p.Is {
	case store.Prefix:
		// A question's own text may be shorter than the prefix: then all of it is asked for, and a
		// record is found by each beginning of its own.
		for n := min(p.prefix, len(column)); n >= min(p.prefix, record.ColumnBytesMin(p.Column)) && n > 0; n-- {
			add(column[:n])
		}
	case store.Has:
		for word, left := store.NextWord(column); len(word) > 0; word, left = store.NextWord(left) {
			add(word)
		}
	default:
		add(column)
	}
	return rows
}

// with adds a value to a key.
func (a *Answers) with(key uint64, value []byte) uint64 {
	return keyval.Mix(key ^ maphash.Bytes(a.seed, value))
}

// find sets runs: for each alternative, the rows that the record of an index finds.
func (a *Answers) find(index uint64) {
	a.shape.Ask(&a.asked, index)
	a.runs = a.runs[:0]
	for i := range a.tables {
		t := &a.tables[i]
		from, below := answerRow{}, answerRow{number: math.MaxUint64, index: math.MaxUint64}
		for _, value := range t.points {
			from.key = a.with(from.key, a.asked.Values[value])
		}
		below.key = from.key
		if t.ranged >= 0 {
			from.number, below.number, below.index = wordOf(a.asked.Values[t.ranged]),
				wordOf(a.asked.Values[t.ranged+1]), 0
		}
		first, _ := slices.BinarySearchFunc(t.rows, from, compareRows)
		end, _ := slices.BinarySearchFunc(t.rows, below, compareRows)
		a.runs = append(a.runs, t.rows[first:end])
	}
}

func wordOf(decimal []byte) (n uint64) {
	for _, digit := range bytes.TrimSpace(decimal) {
		n = n*10 + uint64(digit-'0')
	}
	return n
}

// Count returns how many of the records the record of an index finds. Where several alternatives
// find too many to be looked at one by one, it is between two numbers.
func (a *Answers) Count(index uint64) (least, most uint64) {
	a.find(index)
	if len(a.runs) == 1 {
		n := uint64(len(a.runs[0]))
		return n, n
	}
	if a.enumerate() {
		n := uint64(len(a.all))
		return n, n
	}
	for _, run := range a.runs {
		least, most = max(least, uint64(len(run))), most+uint64(len(run))
	}
	return least, min(most, a.n)
}

// Found is the records that one alternative of a question finds, as a stretch of its table: two
// questions with the same stretch find the same.
type Found struct {
	Alternative, From, To int
}

// Find calls visit for what each alternative of a question finds.
func (a *Answers) Find(index uint64, visit func(Found)) {
	a.find(index)
	for i, run := range a.runs {
		if len(run) > 0 {
			from := cap(a.tables[i].rows) - cap(run) // a run is a part of its table
			visit(Found{i, from, from + len(run)})
		}
	}
}

// Indexes calls visit for each record of what was found.
func (a *Answers) Indexes(f Found, visit func(index uint64)) {
	for _, row := range a.tables[f.Alternative].rows[f.From:f.To] {
		visit(row.index)
	}
}

// enumerate sets all to what was found, each record once, sorted by the query's order. It returns
// false where that is too much.
func (a *Answers) enumerate() bool {
	a.all = a.all[:0]
	for _, run := range a.runs {
		if len(a.all)+len(run) > enumeratedMax {
			return false
		}
		a.all = append(a.all, run...)
	}
	slices.SortFunc(a.all, func(x, y answerRow) int { return cmp.Compare(x.index, y.index) })
	a.all = slices.CompactFunc(a.all, func(x, y answerRow) bool { return x.index == y.index })
	for i := range a.all {
		a.all[i].number = a.shape.SortNumber(a.all[i].index)
	}
	slices.SortFunc(a.all, func(x, y answerRow) int { return cmp.Compare(x.number, y.number) })
	return true
}

// sorted returns what find has found in ascending order, where that is known.
func (a *Answers) sorted() (rows []answerRow, known bool) {
	if len(a.runs) == 1 && (a.tables[0].ranged < 0 || a.rangesBySort()) {
		return a.runs[0], true
	}
	return a.all, a.enumerate()
}

// rangesBySort reports whether the query's range is of the column that it sorts by.
func (a *Answers) rangesBySort() bool {
	for _, c := range a.shape.Query.Where[0] {
		if c.Is == store.Range {
			return c.Column == a.shape.Query.Sort
		}
	}
	return false
}

// sum adds up the numbers of so many rows at the beginning or, descending, the end.
func sum(rows []answerRow, limit int, end bool) (total uint64) {
	n := min(limit, len(rows))
	if end {
		rows = rows[len(rows)-n:]
	}
	for _, row := range rows[:n] {
		next, carry := bits.Add64(total, row.number, 0)
		if carry > 0 {
			return math.MaxUint64
		}
		total = next
	}
	return total
}

// SortSum returns the least and the most that the numbers of what a query with an order finds add
// up to, where certain is there all through the phase, and anything of possible may be.
//
// The i-th of what is found comes no later in the order than the i-th of certain, and no earlier
// than the i-th of possible.
func SortSum(certain, possible *Answers, index uint64) (least, most uint64) {
	certain.find(index)
	must, known := certain.sorted()
	if !known {
		return 0, math.MaxUint64
	}
	possible.find(index)
	may, known := possible.sorted()
	if !known {
		return 0, math.MaxUint64
	}
	limit, descending := certain.shape.Query.Limit, certain.shape.Query.Descending
	if descending {
		return sum(must, limit, true), sum(may, limit, true)
	}
	fewest := min(limit, len(must))
	if fewest == limit {
		return sum(may, limit, false), sum(must, limit, false)
	}
	return sum(may, fewest, false), sum(may, limit, true)
}
