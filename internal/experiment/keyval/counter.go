package keyval

import (
	"errors"

	"assay/store"
)

// counterStart is what a put writes in a counter's column.
const counterStart = "0"

func (c *Column) counterMaker(m *columnMaker) error {
	if c.Type != store.IntegerColumn {
		return errors.New("a counter is of type integer")
	}
	m.counter, m.constant = true, []byte(counterStart)
	return nil
}

// isDecimal says if bytes are a number as an integer column has it.
func isDecimal(digits []byte) bool {
	if len(digits) < 1 || len(digits) > IntegerDigitsMax || digits[0] == '0' && len(digits) > 1 {
		return false
	}
	for _, b := range digits {
		if b < '0' || b > '9' {
			return false
		}
	}
	return true
}

// Counter returns the position of the counter; −1: there is none.
func (r *RecordShape) Counter() int { return r.counter }

// Counted returns the number of a record's counter; 0 where it has none.
func (r *RecordShape) Counted(record []byte) uint64 {
	if r.counter < 0 {
		return 0
	}
	column, _ := r.Column(record, r.counter)
	n, _ := parseWord(column)
	return n
}

// Varies says if a column's bytes do not follow from the index alone.
func (r *RecordShape) Varies(column int) bool { return r.Follows(column) || column == r.counter }
