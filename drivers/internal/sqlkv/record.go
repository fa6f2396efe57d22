package sqlkv

import (
	"errors"
	"fmt"
	"strconv"

	"assay/store"
)

// ErrNotARecord is a value that is no record of the columns that were defined.
var ErrNotARecord = errors.New("the value is no record of the defined columns")

// blob makes of a nil slice the empty one: nil is NULL in every library.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// check says if a column's bytes are of its type.
func (l *Layout) check(column int, bytes []byte) error {
	if l.Columns[column].Type != store.IntegerColumn {
		return nil
	}
	if _, err := strconv.ParseInt(string(bytes), 10, 64); err != nil {
		return fmt.Errorf("%s: %w: column %s is no integer", l.Dialect.Name, ErrNotARecord, l.Columns[column].Name)
	}
	return nil
}

// split appends the columns of a value to arguments.
func (l *Layout) split(arguments [][]byte, value []byte) ([][]byte, error) {
	if !l.hasColumns() {
		return append(arguments, blob(value)), nil
	}
	for i := range l.Columns {
		column, rest, ok := store.NextColumn(value)
		if !ok {
			return arguments, fmt.Errorf("%s: %w", l.Dialect.Name, ErrNotARecord)
		}
		if err := l.check(i, column); err != nil {
			return arguments, err
		}
		arguments, value = append(arguments, blob(column)), rest
	}
	if len(value) > 0 {
		return arguments, fmt.Errorf("%s: %w", l.Dialect.Name, ErrNotARecord)
	}
	return arguments, nil
}

// join puts a value together again.
func (l *Layout) join(dst []byte, columns [][]byte) []byte {
	if !l.hasColumns() {
		return append(dst, columns[0]...)
	}
	for _, column := range columns {
		dst = store.AppendColumn(dst, column)
	}
	return dst
}
