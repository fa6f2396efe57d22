package store

import (
	"bytes"
	"strconv"
)

// Comparison is how a condition holds a column against its values.
type Comparison string

const (
	Equal  Comparison = "equal"  // the column has just the value's bytes
	Range  Comparison = "range"  // an integer from the first value on and below the second
	Prefix Comparison = "prefix" // a text that begins with the value, which is ASCII and not empty
	Has    Comparison = "has"    // a text one of whose words, between spaces or commas, is the value
)

// Values returns how many values a comparison takes.
func (c Comparison) Values() int {
	if c == Range {
		return 2
	}
	return 1
}

// Condition is what a query asks of one column.
type Condition struct {
	Column int // position in the columns; never that of a proof
	Is     Comparison
}

// Query is a template: each time that it is asked, it has other values, in the order of its
// conditions.
type Query struct {
	// Where is what a record must fulfil: all conditions of at least one of these. Empty: nothing.
	Where [][]Condition
	// Sort is the column by whose numbers, an integer's, records come; −1: in any order. Records
	// with the same number come in any order.
	Sort       int
	Descending bool
	Limit      int   // the most records that are found, at least 1; 0: the query is only counted
	Columns    []int // what is given of each record, in this order: positions
}

// Values returns how many values the query takes.
func (q *Query) Values() (values int) {
	for _, all := range q.Where {
		for _, condition := range all {
			values += condition.Is.Values()
		}
	}
	return values
}

// Holds reports whether a record fulfils the query's conditions. column returns a column's bytes by
// its position, valid until its next call.
func (q *Query) Holds(values [][]byte, column func(int) []byte) bool {
	for _, all := range q.Where {
		holds := true
		for _, c := range all {
			n := c.Is.Values()
			holds = holds && c.Is.Holds(column(c.Column), values[:n])
			values = values[n:]
		}
		if holds {
			return true
		}
	}
	return len(q.Where) == 0
}

// Holds reports whether a column's bytes are what the comparison wants with its values.
func (c Comparison) Holds(column []byte, values [][]byte) bool {
	switch c {
	case Range:
		n, from, below := number(column), number(values[0]), number(values[1])
		return n >= from && n < below
	case Prefix:
		return bytes.HasPrefix(column, values[0])
	case Has:
		for word, rest := NextWord(column); len(word) > 0; word, rest = NextWord(rest) {
			if bytes.Equal(word, values[0]) {
				return true
			}
		}
		return false
	}
	return bytes.Equal(column, values[0])
}

func number(decimal []byte) int64 {
	n, _ := strconv.ParseInt(string(decimal), 10, 64) // the columns' types were checked
	return n
}

// NextWord splits the first word off a text: words stand between spaces and commas. It is empty
// where there is none left.
func NextWord(text []byte) (word, rest []byte) {
	for len(text) > 0 && isSeparator(text[0]) {
		text = text[1:]
	}
	end := 0
	for end < len(text) && !isSeparator(text[end]) {
		end++
	}
	return text[:end], text[end:]
}

func isSeparator(b byte) bool { return b == ' ' || b == ',' }
