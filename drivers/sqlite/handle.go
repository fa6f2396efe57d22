package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// Records with columns have a table of their own, so that Open, which knows nothing of columns yet,
// can go on making the plain one: it stays empty, one page of the file.
const recordsTable = `"records with columns"`

var dialect = sqlkv.Dialect{
	Name: "sqlite", Quote: `"`,
	KeyType: "BLOB NOT NULL PRIMARY KEY",
	// They are affinities as well (https://www.sqlite.org/datatype3.html): text that looks like a
	// number stays text.
	Types: map[store.ColumnType]string{
		store.TextColumn: "TEXT", store.IntegerColumn: "INTEGER", store.BytesColumn: "BLOB",
	},
	TableEnd:  " WITHOUT ROWID",
	NamesFold: true,
	RowByRow:  true,
	Overwrite: sqlkv.OnConflict,
	Has: func(column string) string {
		return "instr(' ' || replace(" + column + ", ',', ' ') || ' ', ' ' || ? || ' ') > 0"
	},
	Skip:        "ON CONFLICT DO NOTHING",
	Some:        sqlkv.SomeByKey,
	Explain:     sqlkv.Explaining{Before: "EXPLAIN QUERY PLAN ", Read: readPlan},
	KeyBytesMax: keyBytesMax, ValueBytesMax: valueBytesMax,
}

var plain = dialect.Plain("records")

// Handle opens a connection. A batch takes the writer's lock at once: a later upgrade could fail
// with SQLITE_BUSY.
func (d *db) Handle() (store.Handle, error) {
	return sqlkv.NewHandle(&d.layout, sqlkv.NewLink(0, nil), func() (sqlkv.Connection, error) {
		c, err := d.pool.Conn(context.Background())
		if err != nil {
			return nil, err
		}
		return sqlkv.NewSession(c, "BEGIN IMMEDIATE"), nil
	})
}

// Define makes the table and its indexes in one transaction.
func (d *db) Define(columns []store.Column, indexes []store.Index, queries []store.Query) error {
	l, err := dialect.Records(recordsTable, columns, indexes, queries)
	if err != nil {
		return err
	}
	statements := []string{l.CreateSQL()}
	for _, index := range indexes {
		statements = append(statements, l.IndexSQL("index of "+columns[index.Column].Name, index))
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
