package mariadb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sys/unix"

	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// connection is the library's own, without database/sql above it: no pool, no locks, and columns as
// they stand in the library's buffer.
type connection struct{ driver.Conn }

func connect(connector driver.Connector) (sqlkv.Connection, error) {
	c, err := connector.Connect(context.Background())
	if err != nil {
		return nil, told(err)
	}
	return connection{c}, nil
}

func (c connection) Broken() bool { return !c.Conn.(driver.Validator).IsValid() }

func (c connection) Prepare(text string, kinds []sqlkv.Kind) (sqlkv.Statement, error) {
	s, err := c.Conn.Prepare(text)
	if err != nil {
		return nil, told(err)
	}
	return &statement{s: s, kinds: kinds}, nil
}

// Apply is a transaction, a round trip for each call: the protocol has one answer before the next
// request.
func (c connection) Apply(calls []sqlkv.Call) error {
	transaction, err := c.Begin()
	if err != nil {
		return told(err)
	}
	for _, call := range calls {
		if _, err := call.Statement.Exec(call.Arguments); err != nil {
			if back := transaction.Rollback(); back != nil && !c.Broken() {
				return errors.Join(err, back)
			}
			return err
		}
	}
	return told(transaction.Commit())
}

type statement struct {
	s     driver.Stmt
	kinds []sqlkv.Kind

	values  []driver.Value
	into    []driver.Value
	row     [][]byte
	numbers []byte // integers in decimal
}

func (s *statement) fill(arguments [][]byte) error {
	s.values = s.values[:0]
	for i, a := range arguments {
		if s.kinds[i] != sqlkv.Integer {
			s.values = append(s.values, a)
			continue
		}
		n, err := strconv.ParseInt(string(a), 10, 64)
		if err != nil {
			return err
		}
		s.values = append(s.values, n)
	}
	return nil
}

func (s *statement) Exec(arguments [][]byte) (int64, error) {
	if err := s.fill(arguments); err != nil {
		return 0, err
	}
	//lint:ignore SA1019 ExecContext would ask for a context
	result, err := s.s.Exec(s.values)
	clear(s.values)
	if err != nil {
		return 0, told(err)
	}
	return result.RowsAffected()
}

func (s *statement) Query(arguments [][]byte, visit func(row [][]byte) bool) (err error) {
	if err := s.fill(arguments); err != nil {
		return err
	}
	//lint:ignore SA1019 QueryContext would ask for a context
	rows, err := s.s.Query(s.values)
	clear(s.values)
	if err != nil {
		return told(err)
	}
	defer func() {
		if closing := rows.Close(); err == nil {
			err = told(closing)
		}
	}()
	if s.into == nil {
		n := len(rows.Columns())
		s.into, s.row = make([]driver.Value, n), make([][]byte, n)
	}
	for {
		if err := rows.Next(s.into); err != nil {
			if err == io.EOF {
				return nil
			}
			return told(err)
		}
		if err := s.texts(); err != nil {
			return err
		}
		if !visit(s.row) {
			return nil
		}
	}
}

// texts puts integers in decimal.
func (s *statement) texts() error {
	s.numbers = s.numbers[:0]
	for i, value := range s.into {
		switch v := value.(type) {
		case []byte:
			s.row[i] = v
		case int64:
			from := len(s.numbers)
			s.numbers = strconv.AppendInt(s.numbers, v, 10)
			s.row[i] = s.numbers[from:]
		default:
			return fmt.Errorf("mariadb: column %d came as %T", i, value)
		}
	}
	return nil
}

// Codes of errors: https://mariadb.com/kb/en/mariadb-error-code-reference/.
const (
	recordChanged   = 1020
	duplicateKey    = 1062
	diskFull        = 1021
	tableFull       = 1114 // what InnoDB says when a file can't grow
	lockWaitTimeout = 1205
	deadlock        = 1213
)

// told says what an error means. A lock that did not come in time undoes the statement, and a batch
// is then rolled back. A duplicate key is met by a plain INSERT alone.
func told(err error) error {
	var server *mysql.MySQLError
	if !errors.As(err, &server) {
		return err
	}
	switch server.Number {
	case deadlock, lockWaitTimeout, recordChanged:
		return fmt.Errorf("%s (error %d): %w", server.Message, server.Number, store.ErrConflict)
	case duplicateKey: // its message has the key
		return store.ErrConflict
	case tableFull, diskFull: // their messages do not say what the kernel says
		return fmt.Errorf("%s (error %d): %w", server.Message, server.Number, unix.ENOSPC)
	}
	return fmt.Errorf("%s (error %d)", server.Message, server.Number)
}
