// Package cassandra drives an Apache Cassandra cluster through its project's own Go client: a table
// of keys and values with prepared statements, in a keyspace of Assay's own.
//
//	cassandra.go  the driver: options, limits, opening
//	session.go    a session of the client, and what its errors are
//	class.go      which durability class the nodes' settings give
//	keyspace.go   the keyspace: made, recognised, dropped
//	handle.go     the operations
//	inspect.go    settings and statistics, as the nodes tell them
//	server.go     the nodes, for trials that start them
package cassandra

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"assay/drivers/internal/wire"
	"assay/store"
)

// Driver connects to a cluster.
type Driver struct{}

const (
	keyBytesMax = 65535 // of a partition key
	// valueBytesMax is far below max_mutation_size (16 MiB by default), and below what one client
	// may have on the way at a node with a heap of 512 MiB (12.8 MiB).
	valueBytesMax = 4 << 20
	// batchBytesMax is batch_size_fail_threshold, 50 KiB by default; batchMax follows Cassandra's
	// documentation, where logged batches are for few records.
	batchMax      = 100
	batchBytesMax = 50 << 10
)

// The choices of the option entry.
const (
	entryOne    = "one"
	entryAll    = "all"
	entryPrefer = "prefer"
)

// asWrites is the choice of read_consistency that is none of its own.
const asWrites = "same"

// expiry is that of cells: whole seconds of the coordinator's clock, cut off, and at most 20 years.
var expiry = &store.Expiry{UnitNS: int64(time.Second), MostNS: int64(20 * 365 * 24 * time.Hour),
	EarlyNS: int64(time.Second),
	LateNS:  int64(100 * time.Millisecond)}

// Describe says what Cassandra can do.
func (Driver) Describe() store.Description {
	levels := []string{levelOne, levelQuorum, levelLocalQuorum, levelAll}
	return store.Description{
		Name:    "cassandra",
		Summary: "Apache Cassandra cluster: partitioned log-structured store with replicas, CQL over TCP",
		Library: "cassandra", // the server: its version is the one that counts
		Licence: "Apache-2.0",
		Kind:    store.Server,
		Durability: []store.DurabilityClaim{
			{Class: store.D2, How: "commitlog_sync: periodic on each node: the log is synced in the background, and writes wait while the last sync is older than " +
				"periodic_commitlog_sync_lag_block (1.5 × commitlog_sync_period, 15 s by default), which is the least T"},
			{Class: store.D3, How: "commitlog_sync: batch or group on each node: each replica that a write waits for has synced its log before the reply"},
			{Class: store.D4, How: "commitlog_sync: periodic on each node, and writes wait for k replicas, 2 or more (replication and consistency): k nodes have the write before the reply, and need not have synced it"},
		},
		ServerSetsClass: true,
		Options: append([]store.Option{
			{Name: "consistency", Type: store.Choice, Default: levelQuorum, Choices: levels,
				Help: "how many replicas a write waits for, and a read asks"},
			{Name: "read_consistency", Type: store.Choice, Default: asWrites, Choices: append([]string{asWrites}, levels...),
				Help: "how many replicas a read asks, where that is not the same"},
			{Name: "replication", Type: store.Int, Default: "1", Help: "replicas of each record (replication_factor of the keyspace that Assay makes)"},
			{Name: "entry", Type: store.Choice, Default: entryAll, Choices: []string{entryOne, entryAll, entryPrefer},
				Help: "which node coordinates an operation. one: the first endpoint, for all; all: the endpoints in turn; prefer: a replica of the key, as the client computes it (token-aware)"},
			{Name: "keyspace", Type: store.String, Default: "assay",
				Help: "keyspace for Assay's table; made if it is not there, and dropped when a trial has left it empty. A keyspace that Assay did not make is refused"},
			{Name: "flush_at_open", Type: store.Bool, Default: "false",
				Help: "drop the keyspace at the first opening of each trial, if Assay made it: what earlier trials left in it goes, tombstones too"},
			{Name: "write_coalesce_wait", Type: store.Duration, Default: "200µs",
				Help: "for how long the client waits for more requests before it writes them to a socket; 0s: not at all"},
			{Name: "operation_timeout", Type: store.Duration, Default: "11s", Help: "deadline of one operation (the client's Timeout)"},
		}, wire.AccessOptions()...),
		ConnectionsOwn:   2, // each session has one for the operations and one for its own control
		ConnectionsEach:  2,
		HandlesShareable: true,
		KeyBytesMin:      1,
		KeyBytesMax:      keyBytesMax,
		ValueBytesMax:    valueBytesMax,
		BatchMax:         batchMax,
		Expiry:           expiry,
		BatchBytesMax:    batchBytesMax,
		Abilities:        store.Probe((*db)(nil), (*handle)(nil)),
		Note: "the version is the server's; a handle is a session of the client, with one connection to each node that it uses and one more for the client's own control; " +
			"a batch is logged: all of it is done in the end, or nothing, but others may see a part meanwhile, and a node refuses one of more than batch_size_fail_threshold (50 KiB); " +
			"of two writes of a key in one batch the last is sent; add and compare-and-swap are lightweight transactions; keys have no order, so that there is no scan; " +
			"overwritten and deleted records stay on disk until a compaction: use flush_at_open, or servers of the trial's own, for trials that start alike",
	}
}

// Open connects to each endpoint, and holds the nodes to the class.
func (Driver) Open(ctx context.Context, c store.Config) (_ store.Store, err error) {
	if _, claimed := (Driver{}).Describe().Claim(c.Durability); !claimed {
		return nil, fmt.Errorf("cassandra can't reach %s: %w", c.Durability, store.ErrRefused)
	}
	d, err := configure(c)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.hangUp()
			err = d.access.Hide(err)
		}
	}()
	for _, endpoint := range c.Endpoints {
		m, err := d.openMember(ctx, endpoint)
		if err != nil {
			return nil, fmt.Errorf("open cassandra at %s: %w", endpoint, err)
		}
		d.members = append(d.members, m)
	}
	d.control = d.members[0].session
	if err := d.prove(c.Durability, c.LossWindow); err != nil {
		return nil, err
	}
	if err := d.openKeyspace(ctx, c.First && c.Options.Bool("flush_at_open")); err != nil {
		return nil, err
	}
	return d, nil
}

// configure reads the options.
func configure(c store.Config) (*db, error) {
	d := &db{
		class: c.Durability, window: c.LossWindow,
		endpoints: c.Endpoints, entry: c.Options.Choice("entry"), keyspace: c.Options.String("keyspace"),
		replication: c.Options.Int("replication"), write: c.Options.Choice("consistency"),
		read: c.Options.Choice("read_consistency"), timeout: c.Options.Duration("operation_timeout"),
		coalesce: c.Options.Duration("write_coalesce_wait"),
	}
	if d.read == asWrites {
		d.read = d.write
	}
	switch {
	case len(d.endpoints) == 0:
		return nil, fmt.Errorf("cassandra: expected an endpoint, got none: %w", store.ErrRefused)
	case d.timeout <= 0 || d.coalesce < 0:
		return nil, fmt.Errorf("cassandra: operation_timeout is %v and write_coalesce_wait %v, expected more than 0 and at least 0: %w",
			d.timeout, d.coalesce, store.ErrRefused)
	case d.replication < 1:
		return nil, fmt.Errorf("cassandra: replication is %d, expected at least 1: %w", d.replication, store.ErrRefused)
	case !keyspaceName.MatchString(d.keyspace):
		return nil, fmt.Errorf("cassandra: keyspace %q: expected up to 48 small letters, digits and _, a letter first: %w",
			d.keyspace, store.ErrRefused)
	}
	var err error
	d.access, err = wire.ReadAccess("cassandra", c.Options)
	return d, err
}

// db has a session of its own for each endpoint, so that a look at a node's settings and numbers
// asks that node.
type db struct {
	class       store.Durability
	window      time.Duration // T of D2(T)
	endpoints   []string
	entry       string
	keyspace    string
	replication int
	write, read string // consistency levels
	timeout     time.Duration
	coalesce    time.Duration
	access      wire.Access

	members    []*member
	control    *gocql.Session // of one of them: for what is no operation
	session    string         // this store's row in the table of sessions
	held       uint64
	heldTold   bool
	reconnects atomic.Uint64 // of handles
}

// Handle opens one more session.
func (d *db) Handle() (store.Handle, error) {
	h, err := d.newHandle()
	if err != nil {
		return nil, d.access.Hide(failure("connect", err))
	}
	return h, nil
}

// Held is nothing where the keyspace was not there; how many records there are, Cassandra does not
// know without reading them.
func (d *db) Held() (records uint64, known bool) { return d.held, d.heldTold }

// Eventual reports whether the replicas that a read asks may be others than those that a write
// waited for.
func (d *db) Eventual() bool {
	return acknowledgements(d.read, d.replication)+acknowledgements(d.write, d.replication) <= d.replication
}

// Close drops the keyspace if no record is left in it and no other Assay uses it.
func (d *db) Close() error {
	err := d.leave()
	d.hangUp()
	return err
}

func (d *db) hangUp() {
	for _, m := range d.members {
		m.session.Close()
	}
}
