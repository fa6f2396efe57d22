// Package mongodb drives servers that speak MongoDB's protocol through MongoDB's own Go driver: a
// collection of keys and values, or of records whose columns are the documents' fields, in a
// database of Assay's own. It has two drivers, for the two servers promise different things: mongod,
// and FerretDB v1 on SQLite.
//
//	mongodb.go   the drivers: options, limits, opening
//	class.go     which durability class a server gives, and how that is known
//	ferretdb.go  the settings of a FerretDB server, from its process
//	database.go  the database: made, recognised, dropped
//	document.go  keys, values and records as documents, and back
//	handle.go    the operations
//	explain.go   how a query is answered
//	inspect.go   settings and statistics, as the server tells them
//	server.go    the servers, for trials that start one
package mongodb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"golang.org/x/sys/unix"

	"assay/drivers/internal/wire"
	"assay/internal/base/bounded"
	"assay/store"
)

// Driver connects to mongod.
type Driver struct{}

// FerretDB connects to a FerretDB server, of version 1 with SQLite behind it.
type FerretDB struct{}

// A document has at most 16 MiB, with its key, which may take two bytes for one, and its fields'
// names.
const (
	keyBytesMax   = 64 << 10
	valueBytesMax = 15 << 20
)

// ferretBatchMax leaves connections to four threads at once. updateDocument
// (internal/handler/msg_update.go of v1.24.2) closes no statement's iterator before the last
// statement is done, and each holds one of the pool's 100 connections.
const ferretBatchMax = 20

// Where the name and the password come from, unless options name others.
const (
	userVariable     = "MONGODB_USER"
	passwordVariable = "MONGODB_PASSWORD"
)

// Describe says what mongod can do.
func (Driver) Describe() store.Description {
	d := description()
	d.Name, d.Summary = "mongodb", "MongoDB server: documents in WiredTiger, journalled, through MongoDB's Go driver"
	// https://www.mongodb.com/docs/manual/core/journaling/: journal records wait in WiredTiger's
	// buffers, in mongod's memory, and are synced each storage.journal.commitIntervalMs or when a
	// write asks for it by j: true.
	d.Durability = []store.DurabilityClaim{
		{Class: store.D0, How: "w: 1, j: false: acknowledged from mongod's memory, where the journal's records wait for up to commitIntervalMs; killed, mongod loses them"},
		{Class: store.D2, How: "w: 1, j: false, and the journal is synced each commitIntervalMs (100 ms; at most 500); T is at least " + journalLoss.String() + ". A kill of the process loses acknowledged writes too"},
		{Class: store.D3, How: "w: 1, j: true: the journal is synced before the reply"},
	}
	// The TTL monitor begins a pass every ttlMonitorSleepSecs, 60 s; a pass takes its time, too. The client's
	// clock gives the date, of milliseconds.
	d.Expiry = &store.Expiry{UnitNS: int64(time.Millisecond), EarlyNS: int64(10 * time.Millisecond),
		LateNS: int64(70 * time.Second)}
	d.TokenIndexes = true // multikey, of an array beside the text
	d.Abilities = store.Probe(syncing{}, (*swapper)(nil))
	d.Note = "write concern 0 is not offered: the server's errors would be lost; " + keysNote + "; " + batchNote +
		"; compare-and-swap is one replacement that names the old value, and a look at the key where it finds none"
	return d
}

// Describe says what FerretDB can do.
func (FerretDB) Describe() store.Description {
	d := description()
	d.Name, d.Summary = "ferretdb", "FerretDB server: MongoDB's protocol on SQLite, through MongoDB's Go driver"
	d.ServerSetsClass = true
	d.ConnectionsOwn, d.ConnectionsEach = 2, 2
	d.Durability = []store.DurabilityClaim{
		{Class: store.D1, How: "SQLite with synchronous=off, or normal in WAL mode: write(2) to the log before the reply"},
		{Class: store.D3, How: "SQLite with synchronous=full, FerretDB's default: the log is synced before the reply"},
	}
	d.BatchMax = ferretBatchMax
	d.IndexesIdle = true
	d.Abilities = store.Probe(syncing{}, (*handle)(nil))
	d.Note = "FerretDB ignores write concerns: SQLite's settings decide, and it does not tell them by the protocol, so that they are read from its process, on this machine only; " +
		"there is no compare-and-swap and no increment: FerretDB finds and replaces in two steps, between which others write; " +
		"it uses no index to find documents, of the key neither (its explain says SCAN): each operation but add reads the whole collection, so that only small ones can be measured; " +
		"each document that a batch replaces holds one of its 100 connections to SQLite until the batch ends, and where they run out all wait until the deadline; " + keysNote + "; " + batchNote
	return d
}

const (
	keysNote = "a key is a string in which each byte is a character, since binary ones are ordered by their lengths first (two bytes each from 0x80 on)"
	// What one thread's batch does is seen by others document by document.
	batchNote = "batches are bulk writes and not atomic"
)

func description() store.Description {
	return store.Description{
		Library: "go.mongodb.org/mongo-driver/v2",
		Licence: "Apache-2.0", // the client's
		Kind:    store.Server,
		Options: []store.Option{
			{Name: "database", Type: store.String, Default: "assay", Help: "database for Assay's collections; made if it is not there, and dropped when a trial has left it empty. A database that Assay did not make is refused"},
			{Name: "flush_at_open", Type: store.Bool, Default: "false", Help: "drop Assay's collections in the database at the first opening of each trial: what earlier trials left in them goes"},
			{Name: "batch_order", Type: store.Choice, Default: "ordered", Choices: []string{"ordered", "unordered"}, Help: "ordered: the server does a batch's writes one after the other, and stops at the first that fails; unordered: in any order, and of two writes of a key the last is sent"},
			{Name: "connections_max", Type: store.Int, Default: "100", Help: "connections of one handle (maxPoolSize)"},
			{Name: "operation_timeout", Type: store.Duration, Default: "30s", Help: "deadline of one operation, which is sent to the server too (maxTimeMS)"},
			{Name: "user", Type: store.String, Default: "", Help: "user to log in as; unset: the environment variable " + userVariable + ", or no login"},
			{Name: "password_file", Type: store.String, Default: "", Help: "file whose first line is the password; unset: the environment variable " + passwordVariable},
			{Name: "auth_database", Type: store.String, Default: "admin", Help: "database that knows the user (authSource)"},
			{Name: "tls", Type: store.Choice, Default: "auto", Choices: []string{"auto", "verify", "off"}, Help: "verify: TLS, with the server's certificate verified; auto: off on loopback and at Unix sockets, verify elsewhere"},
		},
		HandlesShareable: true,
		// A client has a connection that watches the server, and mongod's also one that measures its
		// round trips, beside those of its pool.
		UnixSockets:     true,
		ConnectionsOwn:  3,
		ConnectionsEach: 3,
		HandlePools:     true,
		KeyBytesMax:     keyBytesMax,
		ValueBytesMax:   valueBytesMax,
		WriteConflicts:  true, // two upserts of a new key: one finds a duplicate
	}
}

// Open connects, and holds the server to the class.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	return open(ctx, Driver{}.Describe(), mongod{}, c)
}

// Open connects, and holds the server to the class.
func (FerretDB) Open(ctx context.Context, c store.Config) (store.Store, error) {
	return open(ctx, FerretDB{}.Describe(), ferret{}, c)
}

// kind is what differs between the servers.
type kind interface {
	// prove asks the server for what the class rests on.
	prove(ctx context.Context, d *db) error
	// concern is the write concern of a class.
	concern(class store.Durability) *writeconcern.WriteConcern
	// indexes is nil if the server has indexes of a kind.
	indexes(kind store.IndexKind) error
	// counters are where serverStatus has what Inspect returns.
	counters() map[string][]string
	// sync makes everything acknowledged durable.
	sync(ctx context.Context, d *db) error
	handle(h *handle) store.Handle
}

// controlTimeoutMin bounds what is no operation: making a collection, dropping one.
const controlTimeoutMin = time.Minute

// db has a client of its own for what is no operation.
type db struct {
	name     string // of the driver
	kind     kind
	endpoint string
	class    store.Durability
	window   time.Duration
	timeout  time.Duration
	ordered  bool
	options  *options.ClientOptions
	client   *mongo.Client
	database *mongo.Database
	session  bson.ObjectID
	held     uint64
	settings map[string]string // told at opening
	syncs    bool              // the server has a way to make what it acknowledged durable
	layout   layout            // Define changes it, while no handle is open
}

func open(ctx context.Context, description store.Description, k kind, c store.Config) (store.Store, error) {
	name := description.Name
	if _, claimed := description.Claim(c.Durability); !claimed {
		return nil, fmt.Errorf("%s can't reach %s: %w", name, c.Durability, store.ErrRefused)
	}
	if len(c.Endpoints) != 1 {
		return nil, fmt.Errorf("%s: expected one endpoint, got %d: %w", name, len(c.Endpoints), store.ErrRefused)
	}
	d := &db{
		name: name, kind: k, endpoint: c.Endpoints[0], class: c.Durability, window: c.LossWindow,
		timeout: c.Options.Duration("operation_timeout"), ordered: c.Options.Choice("batch_order") == "ordered",
		layout: plain(name), settings: map[string]string{},
	}
	if err := d.configure(c); err != nil {
		return nil, err
	}
	var err error
	if d.client, err = mongo.Connect(d.options); err != nil {
		// What the library says of options may hold the password.
		return nil, fmt.Errorf("%s: the client's options don't go together: %w", name, store.ErrRefused)
	}
	d.database = d.client.Database(c.Options.String("database"))
	ctx, cancel := context.WithTimeout(ctx, max(d.timeout, controlTimeoutMin))
	defer cancel()
	if err = k.prove(ctx, d); err == nil {
		err = d.prepare(ctx, c.First && c.Options.Bool("flush_at_open"))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s at %s: %w", name, d.endpoint, err), d.hangUp())
	}
	if !d.syncs {
		return d, nil
	}
	return syncing{d}, nil
}

// socketEnd is how the client knows the path of a Unix socket from a host's name.
const socketEnd = "sock"

// configure makes the client's options: nothing is tried twice, and no other server is looked for.
func (d *db) configure(c store.Config) error {
	refuse := func(format string, arguments ...any) error {
		return fmt.Errorf("%s: "+format+": %w", append(append([]any{d.name}, arguments...), store.ErrRefused)...)
	}
	host := d.endpoint
	if store.Network(d.endpoint) == "tcp" {
		var err error
		if host, _, err = net.SplitHostPort(d.endpoint); err != nil {
			return refuse("expected an endpoint HOST:PORT: %w", err)
		}
	} else if !strings.HasSuffix(d.endpoint, socketEnd) {
		return refuse("expected a Unix socket whose name ends in %s, got %s", socketEnd, d.endpoint)
	}
	connections := c.Options.Int("connections_max")
	database := c.Options.String("database")
	switch {
	case d.timeout <= 0:
		return refuse("operation_timeout is %v, expected more than 0", d.timeout)
	case connections <= 0:
		return refuse("connections_max is %d, expected 1 or more", connections)
	case database == "" || len(database) > 63 || strings.ContainsAny(database, "/\\. \"$*<>:|?\x00"):
		return refuse("database is %q, expected a name of 1 to 63 bytes without spaces, dots or any of /\\\"$*<>:|?", database)
	}
	o := options.Client().SetHosts([]string{d.endpoint}).SetDirect(true).SetAppName("assay").
		SetRetryReads(false).SetRetryWrites(false).SetMaxAdaptiveRetries(0).
		SetMaxPoolSize(uint64(connections)).SetConnectTimeout(d.timeout).SetServerSelectionTimeout(d.timeout).
		SetWriteConcern(d.kind.concern(d.class))
	if wire.Encrypts(c.Options.Choice("tls"), host) {
		if err := wire.RefuseSocket(d.name, "has no TLS at a Unix socket", c.Endpoints); err != nil {
			return err
		}
		o.SetTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	if user := orVariable(c.Options.String("user"), userVariable); user != "" {
		password := os.Getenv(passwordVariable)
		if file := c.Options.String("password_file"); file != "" {
			var err error
			if password, err = bounded.Line(file); err != nil {
				return refuse("password_file: %w", err)
			}
		}
		o.SetAuth(options.Credential{Username: user, Password: password, PasswordSet: true,
			AuthSource: c.Options.String("auth_database")})
	} else if c.Options.String("password_file") != "" {
		return refuse("password_file is set, and no user: option user, or the environment variable %s", userVariable)
	}
	d.options = o
	return nil
}

func orVariable(value, variable string) string {
	if value != "" {
		return value
	}
	return os.Getenv(variable)
}

// command runs one on a database and returns its answer.
func (d *db) command(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	answer, err := d.client.Database(database).RunCommand(ctx, command).Raw()
	return answer, failure(d.name, command[0].Key, err)
}

// commandNotFound is the server's code for a command that it does not have.
const commandNotFound = 59

// adminCommand is command, of a name that not every server knows.
func (d *db) adminCommand(ctx context.Context, name string) (answer bson.Raw, known bool, err error) {
	answer, err = d.client.Database("admin").RunCommand(ctx, bson.D{{Key: name, Value: 1}}).Raw()
	var told mongo.ServerError
	if errors.As(err, &told) && told.HasErrorCode(commandNotFound) {
		return nil, false, nil
	}
	return answer, true, failure(d.name, name, err)
}

// control bounds what is no operation.
func (d *db) control() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), max(d.timeout, controlTimeoutMin))
}

// Handle opens one more client, which has connections of its own.
func (d *db) Handle() (store.Handle, error) {
	client, err := mongo.Connect(d.options)
	if err != nil {
		return nil, failure(d.name, "connect", err)
	}
	ctx, cancel := d.control()
	defer cancel()
	if err := client.Ping(ctx, nil); err != nil {
		return nil, errors.Join(failure(d.name, "connect", err), client.Disconnect(ctx))
	}
	collection := client.Database(d.database.Name()).Collection(d.layout.collection)
	return d.kind.handle(&handle{client: client, collection: collection, layout: &d.layout, timeout: d.timeout,
		ordered: d.ordered}), nil
}

// Close drops the database if no record is left in it and no other Assay uses it.
func (d *db) Close() error {
	ctx, cancel := d.control()
	defer cancel()
	return errors.Join(d.leave(ctx), d.hangUp())
}

func (d *db) hangUp() error {
	ctx, cancel := d.control()
	defer cancel()
	return failure(d.name, "disconnect", d.client.Disconnect(ctx))
}

// Held is how many documents were in Assay's collections.
func (d *db) Held() (records uint64, known bool) { return d.held, true }

// syncing is a store whose server has a way to make what it acknowledged durable.
type syncing struct{ *db }

// Sync makes everything acknowledged durable.
func (s syncing) Sync() error {
	ctx, cancel := s.control()
	defer cancel()
	return s.kind.sync(ctx, s.db)
}

func (mongod) sync(ctx context.Context, d *db) error {
	_, err := d.command(ctx, "admin", bson.D{{Key: "fsync", Value: 1}})
	return err
}

// sync is the machine's: the server is on it, and what it acknowledged it has written.
func (ferret) sync(context.Context, *db) error {
	unix.Sync()
	return nil
}

func (mongod) handle(h *handle) store.Handle { return &swapper{h, new(ending)} }
func (ferret) handle(h *handle) store.Handle { return h }

// failure says what an error of the library's means. It leaves out what differs from one message to
// the next: connections' numbers, and keys.
func failure(server, doing string, err error) error {
	if err == nil {
		return nil
	}
	if mongo.IsTimeout(err) {
		return fmt.Errorf("%s: %s: %w", server, doing, store.ErrTimeout)
	}
	var told mongo.ServerError
	if errors.As(err, &told) {
		codes := slices.DeleteFunc(told.ErrorCodes(), func(code int) bool { return code == 0 }) // a broken connection's
		if len(codes) > 0 {
			return fmt.Errorf("%s: %s: the server's error %d", server, doing, slices.Compact(codes))
		}
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return fmt.Errorf("%s: %s: %w", server, doing, op.Err)
	}
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return fmt.Errorf("%s: %s: %w", server, doing, err)
}
