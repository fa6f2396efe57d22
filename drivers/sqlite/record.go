package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"assay/store"
)

// Records with columns have a table of their own, so that Open, which knows nothing of columns yet, can go on making the
// plain one: it stays empty, one page of the file. The key's column has a name that no column of a record can have.
const (
	recordsTable = `"records with columns"`
	keyColumn    = `"#key"`
)

// layout is how records are kept: as a key and a value, or with columns of their own.
type layout struct {
	table   string
	key     string
	names   []string // of the columns, quoted
	columns []store.Column
}

var plainLayout = layout{table: "records", key: "k", names: []string{"v"}}

// hasColumns says if records are taken apart.
func (l *layout) hasColumns() bool { return l.columns != nil }

func (l *layout) list() string { return strings.Join(l.names, ", ") }

func (l *layout) getSQL() string {
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s = ?", l.list(), l.table, l.key)
}

func (l *layout) putSQL() string {
	updates := make([]string, len(l.names))
	for i, name := range l.names {
		updates[i] = name + " = excluded." + name
	}
	return fmt.Sprintf("INSERT INTO %s (%s, %s) VALUES (?%s) ON CONFLICT (%[2]s) DO UPDATE SET %[5]s",
		l.table, l.key, l.list(), strings.Repeat(", ?", len(l.names)), strings.Join(updates, ", "))
}

func (l *layout) deleteSQL() string {
	return fmt.Sprintf("DELETE FROM %s WHERE %s = ?", l.table, l.key)
}

func (l *layout) scanSQL() string {
	return fmt.Sprintf("SELECT %s, %s FROM %s WHERE %[1]s >= ? ORDER BY %[1]s", l.key, l.list(), l.table)
}

func (l *layout) querySQL(column int) string {
	return fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s = ? LIMIT ?", l.key, l.list(), l.table, l.names[column])
}

func (l *layout) countSQL(column int) string {
	return fmt.Sprintf("SELECT count(*) FROM %s WHERE %s = ?", l.table, l.names[column])
}

// sqlTypes are affinities as well (https://www.sqlite.org/datatype3.html): text that looks like a number stays text.
var sqlTypes = map[store.ColumnType]string{store.TextColumn: "TEXT", store.IntegerColumn: "INTEGER", store.BytesColumn: "BLOB"}

// Define makes the table and its indexes in one transaction.
func (d *db) Define(columns []store.Column, indexes []store.Index) error {
	for _, index := range indexes {
		if index.Kind != store.OrderedIndex {
			return fmt.Errorf("sqlite: an index of kind %s of %s: there are ordered ones only: %w", index.Kind, columns[index.Column].Name, store.ErrRefused)
		}
	}
	folded := map[string]string{} // SQLite's names are the same in upper and lower case
	l := layout{table: recordsTable, key: keyColumn, columns: append([]store.Column{}, columns...)}
	definitions := []string{keyColumn + " BLOB NOT NULL PRIMARY KEY"}
	for _, c := range columns {
		if other, taken := folded[strings.ToLower(c.Name)]; taken {
			return fmt.Errorf("sqlite: columns %s and %s have the same name to it: %w", other, c.Name, store.ErrRefused)
		}
		folded[strings.ToLower(c.Name)] = c.Name
		sqlType, known := sqlTypes[c.Type]
		if !known {
			return fmt.Errorf("sqlite: column %s is of type %q, which there is not: %w", c.Name, c.Type, store.ErrRefused)
		}
		name := `"` + c.Name + `"`
		l.names = append(l.names, name)
		definitions = append(definitions, name+" "+sqlType+" NOT NULL")
	}
	statements := []string{fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s) WITHOUT ROWID", l.table, strings.Join(definitions, ", "))}
	for _, index := range indexes {
		statements = append(statements, fmt.Sprintf(`CREATE INDEX IF NOT EXISTS "index of %s" ON %s (%s)`, columns[index.Column].Name, l.table, l.names[index.Column]))
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	if err := inTransaction(d.own, statements); err != nil {
		return fmt.Errorf("sqlite: define columns: %w", err)
	}
	d.layout = l
	return nil
}

func inTransaction(own *sql.Conn, statements []string) error {
	transaction, err := own.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	for _, text := range statements {
		if _, err := transaction.Exec(text); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", text, err), transaction.Rollback())
		}
	}
	return transaction.Commit()
}

var errNotARecord = errors.New("sqlite: a value that is no record of the columns that were defined")

// value makes of a column in its encoded form what SQLite is given. Text and blob are never equal to each other in SQLite,
// so that a column must always be given as what it is.
func (l *layout) value(column int, encoded []byte) (any, error) {
	switch l.columns[column].Type {
	case store.TextColumn:
		return string(encoded), nil
	case store.IntegerColumn:
		n, err := strconv.ParseInt(string(encoded), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: column %s: %w", errNotARecord, l.columns[column].Name, err)
		}
		return n, nil
	}
	return encoded, nil
}

// split takes a record apart, behind the key.
func (h *handle) split(key, record []byte) ([]any, error) {
	h.arguments = append(h.arguments[:0], blob(key))
	for i := range h.layout.columns {
		column, rest, ok := store.NextColumn(record)
		if !ok {
			return nil, errNotARecord
		}
		value, err := h.layout.value(i, column)
		if err != nil {
			return nil, err
		}
		h.arguments = append(h.arguments, value)
		record = rest
	}
	if len(record) > 0 {
		return nil, errNotARecord
	}
	return h.arguments, nil
}

// join puts a record together again: database/sql writes integers in decimal.
func join(dst []byte, columns []sql.RawBytes) []byte {
	for _, column := range columns {
		dst = store.AppendColumn(dst, column)
	}
	return dst
}

func (h *handle) putRecord(key, record []byte) error {
	arguments, err := h.split(key, record)
	if err != nil {
		return err
	}
	_, err = h.put.Exec(arguments...)
	clear(h.arguments) // the caller's key and columns are not kept
	return err
}

// visitRecords ends rows. Their first column is the key.
func (h *handle) visitRecords(rows *sql.Rows, visit func(key, record []byte) bool) error {
	for rows.Next() {
		if err := rows.Scan(h.into...); err != nil {
			return errors.Join(err, rows.Close())
		}
		h.record = join(h.record[:0], h.raw[1:])
		if !visit(h.raw[0], h.record) {
			break
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

var errNoColumns = errors.New("sqlite: no columns were defined")

// Query looks through the whole table where the column has no index.
func (h *handle) Query(column int, value []byte, limit int, visit func(key, record []byte) bool) error {
	statement, wanted, err := h.ask(&h.queries, column, value, (*layout).querySQL)
	if err != nil {
		return err
	}
	rows, err := statement.Query(wanted, limit)
	if err != nil {
		return err
	}
	return h.visitRecords(rows, visit)
}

// Count lets SQLite count.
func (h *handle) Count(column int, value []byte) (records uint64, err error) {
	statement, wanted, err := h.ask(&h.counts, column, value, (*layout).countSQL)
	if err != nil {
		return 0, err
	}
	err = statement.QueryRow(wanted).Scan(&records)
	return records, err
}

// ask returns the statement of a column, and what it is to be given. It is prepared when it is first asked for: a handle that
// prepared one for each column of wide records would take longer to open than most of its operations.
func (h *handle) ask(prepared *[]*sql.Stmt, column int, value []byte, text func(*layout, int) string) (*sql.Stmt, any, error) {
	if !h.layout.hasColumns() {
		return nil, nil, errNoColumns
	}
	wanted, err := h.layout.value(column, value)
	if err != nil {
		return nil, nil, err
	}
	if *prepared == nil {
		*prepared = make([]*sql.Stmt, len(h.layout.columns))
	}
	statement := &(*prepared)[column]
	if *statement == nil {
		query := text(&h.layout, column)
		if *statement, err = h.connection.PrepareContext(context.Background(), query); err != nil {
			return nil, nil, fmt.Errorf("prepare %q: %w", query, err)
		}
	}
	return *statement, wanted, nil
}
