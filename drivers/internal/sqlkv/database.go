package sqlkv

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
)

// Database is a [Connection] by database/sql, as applications use it: a pool, of one connection
// here, that connects anew by itself where the library says that nothing was sent.
type Database struct {
	pool *sql.DB
	told func(error) error
}

// OpenDatabase opens a pool of one connection and connects. told says what an error of the
// library's means.
func OpenDatabase(connector driver.Connector, told func(error) error) (*Database, error) {
	pool := sql.OpenDB(Surviving(connector))
	pool.SetMaxOpenConns(1)
	if err := pool.PingContext(context.Background()); err != nil {
		return nil, errors.Join(told(err), pool.Close())
	}
	return &Database{pool, told}, nil
}

// Broken is always false: the pool replaces a connection by itself.
func (d *Database) Broken() bool { return false }

// Close closes the pool.
func (d *Database) Close() error { return d.pool.Close() }

// Prepare readies a statement.
func (d *Database) Prepare(text string, parameters []Kind) (Statement, error) {
	s, err := prepare(d.pool, d.told, text, parameters)
	if err != nil {
		return nil, err // a nil pointer would be no nil interface
	}
	return s, nil
}

func prepare(c interface {
	PrepareContext(ctx context.Context, text string) (*sql.Stmt, error)
}, told func(error) error, text string, parameters []Kind) (*databaseStatement, error) {
	s, err := c.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, told(err)
	}
	return &databaseStatement{statement: s, kinds: parameters, told: told}, nil
}

// Apply is a transaction, a round trip for each call.
func (d *Database) Apply(calls []Call) error {
	transaction, err := d.pool.Begin()
	if err != nil {
		return d.told(err)
	}
	for _, c := range calls {
		s := c.Statement.(*databaseStatement)
		if err := s.fill(c.Arguments); err != nil {
			return errors.Join(err, transaction.Rollback())
		}
		_, err := transaction.Stmt(s.statement).Exec(s.values...)
		clear(s.values)
		if err != nil {
			return undone(d.told(err), transaction.Rollback())
		}
	}
	return d.told(transaction.Commit())
}

// undone leaves out what a rollback says where the connection has gone with the transaction.
func undone(cause, rollback error) error {
	if rollback == nil || errors.Is(rollback, driver.ErrBadConn) || errors.Is(rollback, sql.ErrTxDone) {
		return cause
	}
	return errors.Join(cause, rollback)
}

// Session is a [Connection] of a pool that others share, for a database in this process: it does
// not break.
type Session struct {
	connection *sql.Conn
	begin      string
	statements []*sql.Stmt
}

// NewSession is on a connection of a pool. begin is the database's word for a transaction that writes.
func NewSession(c *sql.Conn, begin string) *Session { return &Session{connection: c, begin: begin} }

// Broken is always false.
func (s *Session) Broken() bool { return false }

// Prepare readies a statement.
func (s *Session) Prepare(text string, parameters []Kind) (Statement, error) {
	prepared, err := prepare(s.connection, unchanged, text, parameters)
	if err != nil {
		return nil, err
	}
	s.statements = append(s.statements, prepared.statement)
	return prepared, nil
}

// Close closes the statements, and then the connection. database/sql forgets statements that were
// prepared on one connection, and SQLite keeps a connection until the last of them is closed.
func (s *Session) Close() error {
	var failed []error
	for _, prepared := range s.statements {
		failed = append(failed, prepared.Close())
	}
	return errors.Join(append(failed, s.connection.Close())...)
}

func unchanged(err error) error { return err }

// Apply is a transaction.
func (s *Session) Apply(calls []Call) error {
	ctx := context.Background()
	if _, err := s.connection.ExecContext(ctx, s.begin); err != nil {
		return err
	}
	for _, c := range calls {
		if _, err := c.Statement.Exec(c.Arguments); err != nil {
			return s.undo(err)
		}
	}
	if _, err := s.connection.ExecContext(ctx, "COMMIT"); err != nil {
		return s.undo(err)
	}
	return nil
}

func (s *Session) undo(cause error) error {
	_, err := s.connection.ExecContext(context.Background(), "ROLLBACK")
	return errors.Join(cause, err)
}

type databaseStatement struct {
	statement *sql.Stmt
	kinds     []Kind
	told      func(error) error

	values []any
	raw    []sql.RawBytes
	into   []any // pointers to raw
	row    [][]byte
}

func (s *databaseStatement) fill(arguments [][]byte) error {
	s.values = s.values[:0]
	for i, a := range arguments {
		switch s.kinds[i] {
		case Blob:
			s.values = append(s.values, a)
		case Text:
			s.values = append(s.values, string(a))
		case Integer:
			n, err := strconv.ParseInt(string(a), 10, 64)
			if err != nil {
				return err
			}
			s.values = append(s.values, n)
		}
	}
	return nil
}

func (s *databaseStatement) Exec(arguments [][]byte) (int64, error) {
	if err := s.fill(arguments); err != nil {
		return 0, err
	}
	result, err := s.statement.Exec(s.values...)
	clear(s.values)
	if err != nil {
		return 0, s.told(err)
	}
	return result.RowsAffected()
}

func (s *databaseStatement) Query(arguments [][]byte, visit func(row [][]byte) bool) error {
	if err := s.fill(arguments); err != nil {
		return err
	}
	rows, err := s.statement.Query(s.values...)
	clear(s.values)
	if err != nil {
		return s.told(err)
	}
	if s.raw == nil {
		names, err := rows.Columns()
		if err != nil {
			return errors.Join(s.told(err), rows.Close())
		}
		s.raw, s.row = make([]sql.RawBytes, len(names)), make([][]byte, len(names))
		for i := range s.raw {
			s.into = append(s.into, &s.raw[i])
		}
	}
	for rows.Next() {
		if err := rows.Scan(s.into...); err != nil {
			return errors.Join(s.told(err), rows.Close())
		}
		for i := range s.raw {
			s.row[i] = s.raw[i]
		}
		if !visit(s.row) {
			break
		}
	}
	err = rows.Err()
	if closing := rows.Close(); err == nil {
		err = closing
	}
	return s.told(err)
}
