package tarantool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	iproto "github.com/tarantool/go-iproto"
	tarantool "github.com/tarantool/go-tarantool/v2"

	"assay/store"
)

// swapSQL is the statement that sets a record's fields where they still are the old ones. No update of the
// protocol's own has a condition.
func swapSQL(name string, columns []store.Column) string {
	var sets, wheres []string
	for _, f := range formatOf(columns)[1:] {
		sets = append(sets, fmt.Sprintf(`"%s" = ?`, f.Name))
	}
	wheres = append([]string{fmt.Sprintf(`"%s" = ?`, keyField)}, sets...)
	return fmt.Sprintf(`UPDATE "%s" SET %s WHERE %s`, strings.ReplaceAll(name, `"`, `""`),
		strings.Join(sets, ", "), strings.Join(wheres, " AND "))
}

// arguments appends the fields of a value that was checked.
func (s *space) arguments(to []any, value []byte) ([]any, error) {
	if s.columns == nil {
		return append(to, string(value)), nil
	}
	for _, c := range s.columns {
		var column []byte
		if column, value, _ = store.NextColumn(value); c.Type != store.IntegerColumn {
			to = append(to, string(column))
			continue
		}
		n, err := strconv.ParseInt(string(column), 10, 64)
		if err != nil {
			return nil, errInteger
		}
		to = append(to, number(n))
	}
	return to, nil
}

// CompareAndSwap is one UPDATE that names the old value. Where it finds no row, a read asks if the key is
// there at all.
func (h *handle) CompareAndSwap(key, old, value []byte) error {
	if err := errors.Join(h.space.check(old), h.space.check(value)); err != nil {
		return err
	}
	arguments, err := h.space.arguments(nil, value)
	if err != nil {
		return err
	}
	if arguments, err = h.space.arguments(append(arguments, string(key)), old); err != nil {
		return err
	}
	changed, err := h.execute(h.space.swap, arguments)
	switch {
	case is(err, iproto.ER_TRANSACTION_CONFLICT):
		return store.ErrConflict
	case err != nil || changed > 0:
		return err
	}
	if _, err := h.Get(key, nil); err != nil {
		return err
	}
	return store.ErrConflict
}

// execute returns how many rows a statement changed.
func (h *handle) execute(statement string, arguments []any) (changed uint64, err error) {
	c, err := h.link.connection()
	if err != nil {
		return 0, err
	}
	response, err := c.Do(tarantool.NewExecuteRequest(statement).Args(arguments)).GetResponse()
	if err != nil {
		return 0, failure("execute", err)
	}
	told, ok := response.(*tarantool.ExecuteResponse)
	if !ok {
		return 0, errAnswer
	}
	info, err := told.SQLInfo()
	return info.AffectedCount, failure("execute", err)
}
