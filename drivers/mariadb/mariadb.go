// Package mariadb drives a MariaDB server through go-sql-driver/mysql: an InnoDB table of keys and
// values, or of records with typed columns, in a database of Assay's own.
//
//	mariadb.go     the driver: options, limits, opening
//	class.go       which durability class the server has, as it tells it
//	schema.go      the database: made, recognised, dropped
//	connection.go  the lean client: the library's connection without database/sql
//	lane.go        asynchronous handles: the protocol on connections that the library made
//	plan.go        plans of queries, as the server tells them
//	inspect.go     settings and statistics, as the server tells them
//	server.go      the server, for trials that start one
package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"

	"assay/drivers/internal/sqlkv"
	"assay/drivers/internal/wire"
	"assay/internal/base/bounded"
	"assay/store"
)

// Driver connects to a server.
type Driver struct{}

// InnoDB's index of 16 KiB pages takes 3,072 bytes of a key. A statement is at most
// max_allowed_packet long, by default 16 MiB, and compare-and-swap has two values in one.
const (
	keyBytesMax    = 3072
	valueBytesMax  = 7 << 20
	packetBytesMin = 2*valueBytesMax + 1<<20
)

var dialect = sqlkv.Dialect{
	Name: "mariadb", Quote: "`",
	KeyType: fmt.Sprintf("VARBINARY(%d) NOT NULL PRIMARY KEY", keyBytesMax),
	// Collations that pad find "a " where "a" was asked for.
	Types: map[store.ColumnType]string{
		store.TextColumn:    "TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
		store.IntegerColumn: "BIGINT", store.BytesColumn: "MEDIUMBLOB",
	},
	TableEnd:    " ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
	IndexedText: "(255)", // characters: an index takes no whole TEXT
	NamesFold:   true,
	Has: func(column string) string {
		return "INSTR(CONCAT(' ', REPLACE(" + column + ", ',', ' '), ' '), CONCAT(' ', ?, ' ')) > 0"
	},
	Overwrite: func(names []string) string {
		updates := make([]string, len(names)-1)
		for i, name := range names[1:] {
			updates[i] = name + " = VALUES(" + name + ")"
		}
		return "ON DUPLICATE KEY UPDATE " + strings.Join(updates, ", ")
	},
	Some: func(table, _, condition string, atMost int) string {
		return fmt.Sprintf("DELETE FROM %s WHERE %s LIMIT %d", table, condition, atMost)
	},
	Explain:     sqlkv.Explaining{Before: "EXPLAIN FORMAT=JSON ", Read: readPlan},
	KeyBytesMax: keyBytesMax, ValueBytesMax: valueBytesMax,
}

// passwordVariable is the one of MariaDB's own clients.
const passwordVariable = "MYSQL_PWD"

// Describe says what MariaDB can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name:    "mariadb",
		Summary: "MariaDB server: InnoDB table clustered by its key, redo log, through go-sql-driver/mysql",
		Library: "mariadb", // the server: its version is the one that counts
		Licence: "GPL-2.0-only",
		Kind:    store.Server,
		// https://mariadb.com/kb/en/innodb-system-variables/#innodb_flush_log_at_trx_commit. With the binary
		// log, recovery takes its word for what was committed, so that it must be synced too.
		Durability: []store.DurabilityClaim{
			{Class: store.D0, How: "the server runs with innodb_flush_log_at_trx_commit=0: a commit waits in the server's memory"},
			{Class: store.D1, How: "the server runs with innodb_flush_log_at_trx_commit=2: a commit is written to the log, which is synced in the background"},
			{Class: store.D2, How: "the server runs with innodb_flush_log_at_trx_commit=0 or 2, and otherwise as for D3: the log is synced once in innodb_flush_log_at_timeout, 1 s by default; T is at least " + lossBeyond.String() + " more"},
			{Class: store.D3, How: "the server runs with innodb_flush_log_at_trx_commit=1, innodb_doublewrite=ON and, where log_bin=ON, sync_binlog=1: the log is synced before a commit is acknowledged"},
		},
		ServerSetsClass: true,
		Options: []store.Option{
			{Name: "client", Type: store.Choice, Default: "lean", Choices: []string{"lean", "database/sql"}, Help: "lean: a connection of go-sql-driver for each handle, called directly; database/sql: the same library under database/sql, as applications use it"},
			{Name: "user", Type: store.String, Default: "", Help: "user to connect as; unset: the user who runs Assay. The password comes from " + passwordVariable + ", never from an option"},
			{Name: "password_file", Type: store.String, Default: "", Help: "file whose first line is the password, in place of " + passwordVariable},
			{Name: "database", Type: store.String, Default: "assay", Help: "database for Assay's tables; made if it is not there, and dropped when a trial has left it empty. A database that Assay did not make is refused"},
			{Name: "flush_at_open", Type: store.Bool, Default: "false", Help: "drop the database's tables at the first opening of each trial, if Assay made it: what earlier trials left goes, rows that are not purged yet too"},
			{Name: "tls", Type: store.Choice, Default: "auto", Choices: []string{"auto", "verify", "off"}, Help: "verify: TLS, with the server's certificate verified by the system's authorities; auto: off on loopback and at Unix sockets, verify elsewhere"},
			{Name: "operation_timeout", Type: store.Duration, Default: "30s", Help: "deadline of one operation, set on the socket (the library has none); after it the connection is given up, and the next operation connects anew"},
		},
		KeyBytesMax:    keyBytesMax,
		ValueBytesMax:  valueBytesMax,
		BatchAtomic:    true,
		WriteConflicts: true,
		UnixSockets:    true,
		ConnectionsOwn: 1,
		Abilities:      store.Probe((*db)(nil), (*sqlkv.Handle)(nil)),
		Note: "the version is the server's, and MySQL is refused; a batch is a transaction, a round trip for each write; an index of a text column holds 255 characters of it; " +
			"writes of neighbouring keys may deadlock, and the victim is counted as a conflict",
	}
}

// Open connects, and holds the server to the class.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	if _, claimed := flushes[c.Durability]; !claimed {
		return nil, fmt.Errorf("mariadb can't reach %s: %w", c.Durability, store.ErrRefused)
	}
	d := &db{}
	d.Rows = d.rows
	if err := d.Configure("mariadb", "database", c, false); err != nil {
		return nil, err
	}
	if err := d.configure(c); err != nil {
		return nil, err
	}
	d.Layout = dialect.Plain(d.table(sqlkv.PlainTable))
	err := d.connect(ctx)
	if err == nil {
		err = d.prepare(c.First && c.Options.Bool("flush_at_open"))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open mariadb at %s: %w", c.Endpoints[0], told(err)), d.hangUp())
	}
	return d, nil
}

type db struct {
	sqlkv.Server
	config *mysql.Config

	lock    sync.Mutex // of the store's own connection: Inspect may come while Sync runs
	pool    *sql.DB
	control *sql.Conn
}

func (d *db) configure(c store.Config) error {
	endpoint := c.Endpoints[0]
	host, network := endpoint, store.Network(endpoint)
	if network == "tcp" {
		var err error
		if host, _, err = net.SplitHostPort(endpoint); err != nil {
			return fmt.Errorf("mariadb: expected an endpoint HOST:PORT: %w: %w", err, store.ErrRefused)
		}
	}
	password, err := password(c.Options.String("password_file"))
	if err != nil {
		return err
	}
	d.config = mysql.NewConfig()
	d.config.Net, d.config.Addr = network, endpoint
	d.config.Passwd = password
	d.config.User = cmp.Or(c.Options.String("user"), ownUser())
	d.config.ClientFoundRows = true // an UPDATE to the same value has found its row
	d.config.Logger = &mysql.NopLogger{}
	if wire.Encrypts(c.Options.Choice("tls"), host) {
		if err := wire.RefuseSocket("mariadb", "has no verified TLS at a Unix socket", c.Endpoints); err != nil {
			return err
		}
		d.config.TLSConfig = "true" // verified
	}
	return nil
}

// ownUser is whom MariaDB's own clients connect as.
func ownUser() string {
	u, err := user.Current()
	if err != nil {
		return "" // the server says what it thinks of that
	}
	return u.Username
}

func password(file string) (string, error) {
	if file == "" {
		return os.Getenv(passwordVariable), nil
	}
	line, err := bounded.Line(file)
	if err != nil {
		return "", fmt.Errorf("mariadb: password_file: %w: %w", err, store.ErrRefused)
	}
	return line, nil
}

// connector makes connections by a link, in a database or ("") in none.
func (d *db) connector(link *sqlkv.Link, database string) (driver.Connector, error) {
	config := d.config.Clone()
	config.DBName, config.DialFunc = database, link.Dial
	return connectorOf(config)
}

// connectorOf makes connections as a configuration says. The library panics over an error of two bytes.
func connectorOf(config *mysql.Config) (driver.Connector, error) {
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sqlkv.Surviving(connector), nil
}

func (d *db) connect(ctx context.Context) error {
	connector, err := d.connector(d.Link, "")
	if err != nil {
		return fmt.Errorf("%w: %w", err, store.ErrRefused)
	}
	d.pool = sql.OpenDB(connector)
	d.Link.Begin()
	d.control, err = d.pool.Conn(ctx)
	return err
}

// reconnect connects anew where the server has ended since, and enters the database, as its session
// had. It is called before a lock is taken, never within.
func (d *db) reconnect() error {
	d.lock.Lock()
	defer d.lock.Unlock()
	ctx := context.Background()
	d.Link.Begin()
	if d.control.PingContext(ctx) == nil {
		return nil
	}
	_ = d.control.Close() // it is broken
	control, err := d.pool.Conn(ctx)
	if err != nil {
		return told(err)
	}
	d.control = control
	_, err = control.ExecContext(ctx, "USE "+name(d.Place))
	return told(err)
}

// do runs a statement on the store's own connection.
func (d *db) do(text string, arguments ...any) error {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.Link.Begin()
	_, err := d.control.ExecContext(context.Background(), text, arguments...)
	return told(err)
}

// rows runs a query on the store's own connection, and returns its rows as text.
func (d *db) rows(text string, arguments ...any) (all [][]string, err error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.Link.Begin()
	rows, err := d.control.QueryContext(context.Background(), text, arguments...)
	if err != nil {
		return nil, told(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		raw, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range raw {
			into[i] = &raw[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := make([]string, len(names))
		for i := range raw {
			row[i] = raw[i].String
		}
		all = append(all, row)
	}
	return all, told(rows.Err())
}

// hangUp closes the store's own connection, and with it ends the session's locks.
func (d *db) hangUp() error {
	if d.pool == nil {
		return nil
	}
	d.Link.Begin()
	var err error
	if d.control != nil {
		err = d.control.Close()
	}
	return errors.Join(err, d.pool.Close())
}

// Handle connects once more.
func (d *db) Handle() (store.Handle, error) {
	link := d.HandleLink()
	connector, err := d.connector(link, d.Place)
	if err != nil {
		return nil, err
	}
	return sqlkv.NewHandle(&d.Layout, link, func() (sqlkv.Connection, error) {
		if d.Lean {
			return connect(connector)
		}
		return sqlkv.OpenDatabase(connector, told)
	})
}

// Close drops the database if no record is left in it and no other Assay uses it.
func (d *db) Close() error { return errors.Join(d.leave(), d.hangUp()) }
