package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"assay/store"
)

// Handle opens a connection and prepares its statements.
func (d *db) Handle() (store.Handle, error) {
	ctx := context.Background()
	connection, err := d.pool.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open sqlite connection: %w", err)
	}
	h := &handle{connection: connection, layout: d.layout}
	h.raw = make([]sql.RawBytes, 1+len(h.layout.names))
	for i := range h.raw {
		h.into = append(h.into, &h.raw[i])
	}
	for _, s := range []struct {
		into **sql.Stmt
		text string
	}{
		{&h.get, h.layout.getSQL()},
		{&h.put, h.layout.putSQL()},
		{&h.remove, h.layout.deleteSQL()},
		{&h.scan, h.layout.scanSQL()},
		{&h.begin, "BEGIN IMMEDIATE"}, // takes the writer's lock at once: a later upgrade could fail with SQLITE_BUSY
		{&h.commit, "COMMIT"},
		{&h.rollback, "ROLLBACK"},
	} {
		statement, err := connection.PrepareContext(ctx, s.text)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("prepare %q: %w", s.text, err), h.Close())
		}
		*s.into = statement
	}
	return h, nil
}

type handle struct {
	connection                                      *sql.Conn
	get, put, remove, scan, begin, commit, rollback *sql.Stmt

	layout          layout
	queries, counts []*sql.Stmt // by column; nil where none was asked for yet

	arguments []any          // of a put
	raw       []sql.RawBytes // key and columns of a row
	into      []any          // pointers to raw
	record    []byte         // in its encoded form
}

func (h *handle) Close() error {
	var err error
	for _, s := range slices.Concat([]*sql.Stmt{h.get, h.put, h.remove, h.scan, h.begin, h.commit, h.rollback}, h.queries, h.counts) {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return errors.Join(err, h.connection.Close())
}

var (
	errKeyTooLong   = fmt.Errorf("sqlite: the key is longer than %d bytes", keyBytesMax)
	errValueTooLong = fmt.Errorf("sqlite: the value is longer than %d bytes", int(valueBytesMax))
)

// blob makes of a nil slice the empty blob: to database/sql it is NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func (h *handle) Get(key, buf []byte) ([]byte, error) {
	rows, err := h.get.Query(blob(key))
	if err != nil {
		return nil, err
	}
	if !rows.Next() {
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
		return nil, store.ErrNotFound
	}
	if h.layout.hasColumns() {
		if err := rows.Scan(h.into[1:]...); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		buf = join(buf[:0], h.raw[1:])
		return buf, rows.Close()
	}
	var raw sql.RawBytes // not a second copy: valid until rows are closed
	if err := rows.Scan(&raw); err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	buf = append(buf[:0], raw...)
	return buf, rows.Close()
}

func (h *handle) Put(key, value []byte) error {
	if len(key) > keyBytesMax {
		return errKeyTooLong
	}
	if len(value) > valueBytesMax {
		return errValueTooLong
	}
	if h.layout.hasColumns() {
		return h.putRecord(key, value)
	}
	_, err := h.put.Exec(blob(key), blob(value))
	return err
}

func (h *handle) Delete(key []byte) error {
	_, err := h.remove.Exec(blob(key))
	return err
}

func (h *handle) Apply(writes []store.Write) error {
	if _, err := h.begin.Exec(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	for _, w := range writes {
		var err error
		if w.Delete {
			err = h.Delete(w.Key)
		} else {
			err = h.Put(w.Key, w.Value)
		}
		if err != nil {
			return h.undo(err)
		}
	}
	if _, err := h.commit.Exec(); err != nil {
		return h.undo(fmt.Errorf("commit: %w", err))
	}
	return nil
}

func (h *handle) undo(cause error) error {
	if _, err := h.rollback.Exec(); err != nil {
		return fmt.Errorf("%w; then roll back: %w", cause, err)
	}
	return cause
}

// Scan has no LIMIT: it ends when the visitor says so, and SQLite makes rows one by one.
func (h *handle) Scan(start []byte, _ int, visit func(key, value []byte) bool) error {
	rows, err := h.scan.QueryContext(context.Background(), blob(start))
	if err != nil {
		return err
	}
	if h.layout.hasColumns() {
		return h.visitRecords(rows, visit)
	}
	var key, value sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&key, &value); err != nil {
			return errors.Join(err, rows.Close())
		}
		if !visit(key, value) {
			break
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
