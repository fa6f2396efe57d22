package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"assay/drivers/internal/sqlkv"
	"assay/drivers/internal/wire"
	"assay/store"
)

// connection is pgx's own, with prepared statements and the bytes of the protocol as they are. No
// context bounds an operation: the link's deadline does.
type connection struct {
	*pgconn.PgConn
	statements int
}

func connect(config *pgconn.Config) (sqlkv.Connection, error) {
	c, err := pgconn.ConnectConfig(context.Background(), config)
	if err != nil {
		return nil, told(err)
	}
	return &connection{PgConn: c}, nil
}

func (c *connection) Close() error { return c.PgConn.Close(context.Background()) }
func (c *connection) Broken() bool { return c.IsClosed() }

var types = map[sqlkv.Kind]uint32{sqlkv.Blob: pgtype.ByteaOID, sqlkv.Text: pgtype.TextOID,
	sqlkv.Integer: pgtype.Int8OID}

// Formats of parameters and columns in the protocol.
const textFormat, binaryFormat int16 = 0, 1

func (c *connection) Prepare(text string, kinds []sqlkv.Kind) (sqlkv.Statement, error) {
	c.statements++
	s := &statement{c: c, name: strconv.Itoa(c.statements)}
	oids := make([]uint32, len(kinds))
	for i, kind := range kinds {
		oids[i] = types[kind]
		s.parameters = append(s.parameters, formatOf(oids[i]))
	}
	description, err := c.PgConn.Prepare(context.Background(), s.name, text, oids)
	if err != nil {
		return nil, told(err)
	}
	for _, field := range description.Fields {
		s.results = append(s.results, formatOf(field.DataTypeOID))
	}
	return s, nil
}

// formatOf has bytes as they are, and numbers in decimal, as records have them.
func formatOf(oid uint32) int16 {
	if oid == pgtype.ByteaOID {
		return binaryFormat
	}
	return textFormat
}

// Apply sends all calls before it waits for the first answer. They end in one Sync of the protocol,
// which makes them one transaction.
func (c *connection) Apply(calls []sqlkv.Call) error {
	var batch pgconn.Batch
	for _, call := range calls {
		s := call.Statement.(*statement)
		batch.ExecPrepared(s.name, call.Arguments, s.parameters, s.results)
	}
	return told(c.ExecBatch(context.Background(), &batch).Close())
}

type statement struct {
	c                   *connection
	name                string
	parameters, results []int16
}

func (s *statement) Exec(arguments [][]byte) (int64, error) {
	tag, err := s.c.ExecPrepared(context.Background(), s.name, arguments, s.parameters, s.results).Close()
	return tag.RowsAffected(), told(err)
}

func (s *statement) Query(arguments [][]byte, visit func(row [][]byte) bool) error {
	rows := s.c.ExecPrepared(context.Background(), s.name, arguments, s.parameters, s.results)
	for rows.NextRow() && visit(rows.Values()) {
	}
	_, err := rows.Close()
	return told(err)
}

// refusedByOthers are the codes of statements that were undone because of another session's: a
// serialization failure, a deadlock, a lock that was not to be had.
var refusedByOthers = map[string]bool{"40001": true, "40P01": true, "55P03": true}

// told says what an error means. It leaves out details, which may hold keys: each text is counted
// by itself.
func told(err error) error {
	var server *pgconn.PgError
	var long *pgproto3.ExceededMaxBodyLenErr
	switch {
	case errors.As(err, &long):
		return wire.Refuse(int64(long.ActualBodyLen), int64(long.MaxExpectedBodyLen))
	case !errors.As(err, &server):
		return err
	}
	if refusedByOthers[server.Code] {
		return fmt.Errorf("%s (SQLSTATE %s): %w", server.Message, server.Code, store.ErrConflict)
	}
	return fmt.Errorf("%s (SQLSTATE %s)", server.Message, server.Code)
}
