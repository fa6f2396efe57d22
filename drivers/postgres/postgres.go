// Package postgres drives a PostgreSQL server through jackc/pgx: a table of keys and values, or of
// records with typed columns, in a schema of Assay's own.
//
//	postgres.go    the driver: options, limits, opening
//	class.go       which durability class a session has, as the server tells it
//	schema.go      the schema: made, recognised, dropped
//	connection.go  the lean client: pgx's connection without database/sql
//	lane.go        asynchronous handles: the protocol on connections that pgx made
//	jsonb.go       records with columns as documents
//	plan.go        plans of queries, as the server tells them
//	inspect.go     settings and statistics, as the server tells them
//	replica.go     reads from standbys
//	server.go      the server, for trials that start one
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sys/unix"

	"assay/drivers/internal/sqlkv"
	"assay/drivers/internal/wire"
	"assay/internal/base/bounded"
	"assay/store"
)

// Driver connects to a server.
type Driver struct{}

// An entry of a B-tree has at most 2,704 bytes (BTMaxItemSize, access/nbtree.h), of which 8 are its
// header, 4 the key's length and 4 padding. Long keys that compress would fit, and others not, so
// that the limit is that of keys that don't.
const (
	keyBytesMax   = 2688
	valueBytesMax = 64 << 20 // a bytea may have 1 GiB; the driver holds to less, which a test can store
)

var dialect = sqlkv.Dialect{
	Name: "postgres", Quote: `"`, Numbered: true,
	KeyType: "bytea NOT NULL PRIMARY KEY",
	// Collation C compares bytes; another one orders by a language, and costs more.
	Types: map[store.ColumnType]string{
		store.TextColumn: `text COLLATE "C"`, store.IntegerColumn: "bigint", store.BytesColumn: "bytea",
	},
	Has: func(column string) string { return wordsOf(column) + " @> ARRAY[?::text]" },
	TokenIndex: func(name, table, column string) string {
		return "CREATE INDEX IF NOT EXISTS " + name + " ON " + table + " USING gin (" + wordsOf(column) + ")"
	},
	Overwrite:   sqlkv.OnConflict,
	Skip:        "ON CONFLICT DO NOTHING",
	Document:    asJSONB,
	Some:        sqlkv.SomeByKey,
	Explain:     sqlkv.Explaining{Before: "EXPLAIN (FORMAT JSON) ", Read: readPlan},
	KeyBytesMax: keyBytesMax, ValueBytesMax: valueBytesMax,
}

// wordsOf is the array of a text's words.
func wordsOf(column string) string {
	return "(string_to_array(translate(" + column + ", ',', ' '), ' '))"
}

// Describe says what PostgreSQL can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name:    "postgres",
		Summary: "PostgreSQL server: heap table with a B-tree index, write-ahead log, through jackc/pgx",
		Library: "postgresql", // the server: its version is the one that counts
		Licence: "PostgreSQL",
		Kind:    store.Server,
		// https://www.postgresql.org/docs/15/runtime-config-wal.html. synchronous_commit is the
		// session's, and the driver sets it; fsync and full_page_writes are the server's, and it
		// reads them.
		Durability: []store.DurabilityClaim{
			{Class: store.D0, How: "synchronous_commit=off in each session, whatever the server's settings: a commit waits in the server's memory"},
			{Class: store.D1, How: "synchronous_commit=on, and the server runs with fsync=off: the log is written and never synced, and a power cut may damage everything"},
			{Class: store.D2, How: "synchronous_commit=off in each session, and the server runs with fsync=on and full_page_writes=on: its log's writer syncs what commits left in memory; T is at least 3 × wal_writer_delay, 600ms by default"},
			{Class: store.D3, How: "synchronous_commit=on, and the server runs with fsync=on and full_page_writes=on: the log is synced before a commit is acknowledged"},
		},
		ServerSetsClass: true,
		TokenIndexes:    true,
		Options: []store.Option{
			{Name: "client", Type: store.Choice, Default: "lean", Choices: []string{"lean", "database/sql"}, Help: "lean: a connection of pgx for each handle, a batch sent at once; database/sql: pgx under database/sql, as most applications use it, a batch a statement at a time"},
			{Name: "user", Type: store.String, Default: "", Help: "role to connect as; unset: PGUSER, or the user who runs Assay. The password comes from PGPASSWORD, PGPASSFILE or ~/.pgpass, never from an option"},
			{Name: "password_file", Type: store.String, Default: "", Help: "file in the format of .pgpass, in place of these"},
			{Name: "database", Type: store.String, Default: "postgres", Help: "database to connect to"},
			{Name: "schema", Type: store.String, Default: "assay", Help: "schema for Assay's tables; made if it is not there, and dropped when a trial has left it empty. A schema that Assay did not make is refused"},
			{Name: "columns_as", Type: store.Choice, Default: "table", Choices: []string{"table", "jsonb"}, Help: "how columns of records are kept: table: as columns of the table; jsonb: as the fields of one jsonb document, indexed by expressions, bytes as base64; the server makes the document of the columns, and takes it apart"},
			{Name: "read_from", Type: store.Choice, Default: fromPrimary, Choices: []string{fromPrimary, fromReplica}, Help: "where reads, scans and queries go: the primary, or its standbys, which are the endpoints behind the first; each handle has one more connection, to one of them in turn"},
			{Name: "flush_at_open", Type: store.Bool, Default: "false", Help: "drop the schema at the first opening of each trial, if Assay made it: what earlier trials left in its tables goes, dead rows too"},
			{Name: "tls", Type: store.Choice, Default: "auto", Choices: []string{"auto", "verify", "off"}, Help: "verify: TLS, with the server's certificate verified (PGSSLROOTCERT names the authority); auto: off on loopback and at Unix sockets, verify elsewhere"},
			{Name: "operation_timeout", Type: store.Duration, Default: "30s", Help: "deadline of one operation, set on the socket (the library has none); after it the connection is given up, and the next operation connects anew"},
		},
		KeyBytesMax:    keyBytesMax,
		ValueBytesMax:  valueBytesMax,
		BatchAtomic:    true,
		WriteConflicts: true,
		UnixSockets:    true,
		Variants:       []store.Variant{{Option: "read_from", Choice: fromReplica, Eventual: true}},
		ConnectionsOwn: 1,
		Abilities:      store.Probe((*db)(nil), (*sqlkv.Handle)(nil)),
		Note: "the version is the server's; a text column can't hold a zero byte; an index of a text column takes texts of up to 2,688 bytes; " +
			"batches that write the same keys in another order may deadlock, and the victim is counted as a conflict; " +
			"overwritten and deleted rows stay until autovacuum comes: use flush_at_open, or a server of the trial's own, for trials that start alike",
	}
}

// Open connects, and holds the server to the class.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	commit, claimed := synchronousCommit[c.Durability]
	if !claimed {
		return nil, fmt.Errorf("postgres can't reach %s: %w", c.Durability, store.ErrRefused)
	}
	d := &db{documents: c.Options.Choice("columns_as") == "jsonb"}
	d.Rows = d.rows
	if err := d.Configure("postgres", "schema", c, true); err != nil {
		return nil, err
	}
	if err := d.configure(c, commit); err != nil {
		return nil, err
	}
	d.Layout = dialect.Plain(d.table(sqlkv.PlainTable))
	err := d.connect(ctx)
	if err == nil {
		err = d.prepare(c.First && c.Options.Bool("flush_at_open"))
	}
	if err == nil {
		err = d.meetReplicas(ctx, c)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open postgres at %s: %w", c.Endpoints[0], err), d.hangUp())
	}
	return d, nil
}

type db struct {
	sqlkv.Server
	config    *pgx.ConnConfig
	replicas  []*pgx.ConnConfig // of the endpoints behind the first
	reads     bool              // from these
	readers   atomic.Uint64     // handles that were opened so
	loopback  bool
	documents bool // columns of records are in one

	lock    sync.Mutex // of the store's own connection: Inspect may come while Sync runs
	control *pgconn.PgConn
}

// configure leaves to pgx what its environment variables and the password file say. No error of it
// holds the password: pgx leaves it out.
func (d *db) configure(c store.Config, synchronousCommit string) error {
	host, _, err := placeOf(c.Endpoints[0])
	if err != nil {
		return fmt.Errorf("postgres: %w: %w", err, store.ErrRefused)
	}
	d.loopback = wire.IsLoopback(host)
	for i, endpoint := range c.Endpoints {
		config, err := configOf(c, endpoint, synchronousCommit)
		if err != nil {
			return err
		}
		if i == 0 {
			d.config = config
		} else {
			d.replicas = append(d.replicas, config)
		}
	}
	return nil
}

// configOf is how one of the servers is connected to.
func configOf(c store.Config, endpoint, synchronousCommit string) (*pgx.ConnConfig, error) {
	host, port, err := placeOf(endpoint)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w: %w", err, store.ErrRefused)
	}
	words := []string{"host=" + quoted(host), "port=" + quoted(port), "sslmode=disable",
		"dbname=" + quoted(c.Options.String("database"))}
	if wire.Encrypts(c.Options.Choice("tls"), host) {
		if err := wire.RefuseSocket("postgres", "has no TLS at a Unix socket", c.Endpoints); err != nil {
			return nil, err
		}
		words[2] = "sslmode=verify-full"
	}
	for option, word := range map[string]string{"user": "user", "password_file": "passfile"} {
		if value := c.Options.String(option); value != "" {
			words = append(words, word+"="+quoted(value))
		}
	}
	if file := c.Options.String("password_file"); file != "" {
		if _, err := bounded.ReadFile(file, passwordsMax); err != nil { // pgx would go on without a password
			return nil, fmt.Errorf("postgres: password_file: %w: %w", err, store.ErrRefused)
		}
	}
	config, err := pgx.ParseConfig(strings.Join(words, " "))
	if err != nil {
		return nil, fmt.Errorf("postgres: %w: %w", err, store.ErrRefused)
	}
	config.BuildFrontend = frontend
	config.Fallbacks = nil // PGTARGETSESSIONATTRS and others would try again
	config.RuntimeParams["application_name"] = "assay"
	config.RuntimeParams["synchronous_commit"] = synchronousCommit
	return config, nil
}

// socketName is what the names of PostgreSQL's Unix sockets begin with; the port follows.
const socketName = ".s.PGSQL."

// placeOf returns where a server is as pgx takes it: of a Unix socket, the directory stands for the host.
func placeOf(endpoint string) (host, port string, err error) {
	if store.Network(endpoint) == "tcp" {
		if host, port, err = net.SplitHostPort(endpoint); err != nil {
			err = fmt.Errorf("expected an endpoint HOST:PORT: %w", err)
		}
		return host, port, err
	}
	port, is := strings.CutPrefix(path.Base(endpoint), socketName)
	if !is {
		return "", "", fmt.Errorf("expected a Unix socket that is called %sPORT, got %s", socketName, endpoint)
	}
	return path.Dir(endpoint), port, nil
}

// messageMax bounds a message until what the store is to hold is known: pgx has memory for all that a
// server announces, a gigabyte at most. Greetings, settings and errors are short.
const messageMax = 16 << 20

const passwordsMax = 1 << 20 // of a file of passwords

func frontend(r io.Reader, w io.Writer) *pgproto3.Frontend {
	f := pgproto3.NewFrontend(r, w)
	f.SetMaxBodyLen(messageMax)
	return f
}

// quoted is a value of a connection string.
func quoted(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}

func (d *db) connect(ctx context.Context) error {
	config := d.config.Config.Copy()
	config.DialFunc = d.Link.DialOnce()
	d.Link.Begin()
	control, err := pgconn.ConnectConfig(ctx, config)
	if err == nil {
		d.control = control
	}
	return err
}

// reconnect connects anew where the server has ended since, and takes the lock that its session had.
func (d *db) reconnect() error {
	if !d.control.IsClosed() {
		return nil
	}
	if err := d.connect(context.Background()); err != nil {
		return err
	}
	_, using := d.locks()
	_, err := d.control.Exec(context.Background(), "SELECT pg_advisory_lock_shared("+using+")").ReadAll()
	return err
}

// rows runs statements on the store's own connection and returns the rows of the last one as text.
func (d *db) rows(text string, _ ...any) ([][]string, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if err := d.reconnect(); err != nil {
		return nil, told(err)
	}
	d.Link.Begin()
	results, err := d.control.Exec(context.Background(), text).ReadAll()
	if err != nil || len(results) == 0 {
		return nil, told(err)
	}
	var all [][]string
	for _, row := range results[len(results)-1].Rows {
		texts := make([]string, len(row))
		for i := range row {
			texts[i] = string(row[i])
		}
		all = append(all, texts)
	}
	return all, nil
}

// hangUp closes the store's own connection, and with it ends the session's locks.
func (d *db) hangUp() error {
	if d.control == nil {
		return nil
	}
	d.Link.Begin()
	return d.control.Close(context.Background())
}

// Handle connects once more.
func (d *db) Handle() (store.Handle, error) {
	if d.reads {
		return d.openReader()
	}
	return d.handleAt(d.config)
}

func (d *db) handleAt(server *pgx.ConnConfig) (*sqlkv.Handle, error) {
	link := d.HandleLink()
	build := func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := frontend(r, w)
		link.Limit = f.SetMaxBodyLen
		return f
	}
	if d.Lean {
		return sqlkv.NewHandle(&d.Layout, link, func() (sqlkv.Connection, error) {
			config := server.Config.Copy()
			config.DialFunc, config.BuildFrontend = link.DialOnce(), build
			return connect(config)
		})
	}
	before := stdlib.OptionBeforeConnect(func(_ context.Context, c *pgx.ConnConfig) error {
		c.DialFunc, c.BuildFrontend = link.DialOnce(), build
		return nil
	})
	connector := stdlib.GetConnector(*server.Copy(), before)
	return sqlkv.NewHandle(&d.Layout, link, func() (sqlkv.Connection, error) {
		return sqlkv.OpenDatabase(connector, told)
	})
}

// Close drops the schema if no record is left in it and no other Assay uses it.
func (d *db) Close() error { return errors.Join(d.leave(), d.hangUp()) }

// Sync commits a message to the log in a session that waits for it: the log is one stream, so that
// all commits before it are then durable too. A server with fsync=off has only written them: on
// this machine sync(2) does the rest, and elsewhere nothing can.
func (d *db) Sync() error {
	fsync, err := d.Value("BEGIN; SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, 'assay', 'sync'); COMMIT; SHOW fsync")
	if err != nil || fsync == "on" {
		return err
	}
	if !d.loopback {
		return errors.New("postgres: the server runs with fsync=off on another machine: nothing makes its writes durable")
	}
	unix.Sync()
	return nil
}
