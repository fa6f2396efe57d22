// Package redis drives a Redis server, by two ways that an experiment chooses from: a lean client
// of its own (one TCP connection a handle, one request on its way at a time, no allocation in the
// steady path), and go-redis, the client that most Go programs use. What speaks Redis's protocol
// and tells its settings as Redis does, such as Valkey, is driven too. The lean client also drives
// the masters of a cluster.
//
//	redis.go    the driver: options, limits, opening
//	server.go   the server that Assay starts; server_cluster.go: as a node of a cluster
//	member.go   a server, by the connection that asks it for settings and statistics; class.go, inspect.go
//	resp.go     the protocol: requests, and replies of RESP2 and RESP3; columns.go: records as hashes
//	replica.go  reads from replicas, and the replicas of a server that Assay starts
//	speaker.go  the lean client's operations, on what lean_client.go builds and reads; for handles
//	            (lean.go) and lanes
//	cluster.go  a handle of a cluster
//	library.go  a handle of go-redis
//	modify.go   updates of some columns, by all three
//
// # Decisions
//
//   - All masters of a Redis cluster are named. Clients learn the nodes from one of them; a
//     cluster may then name a server that nobody meant to load. The redirects that clients follow
//     are followed once and counted, since they are answers and no failures.
package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"assay/drivers/internal/blocking"
	"assay/drivers/internal/wire"
	"assay/store"
)

// Driver connects to a server.
type Driver struct{}

// valueBytesMax is proto-max-bulk-len's default.
const valueBytesMax = 512 << 20

// The two clients.
const (
	lean    = "lean"
	goRedis = "go-redis"
)

// respOfClient is the version of the protocol that a client has by default.
const respOfClient = "client"

var ownRESP = map[string]string{lean: "2", goRedis: "3"}

// expiry is that of PX: milliseconds of the server's clock, which a read is held against. What is over is
// gone for every read, whenever its memory is freed.
var expiry = &store.Expiry{UnitNS: int64(time.Millisecond), EarlyNS: int64(5 * time.Millisecond),
	LateNS: int64(5 * time.Millisecond)}

// Describe says what Redis can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name:    "redis",
		Summary: "in-memory data structure server with an append-only log, RESP over TCP",
		Library: "redis", // the server
		Licence: "BSD-3-Clause",
		Kind:    store.Server,
		Durability: []store.DurabilityClaim{
			{Class: store.D0, How: "appendonly no: records live in the server's memory; a snapshot (save) holds those of some minutes ago"},
			{Class: store.D1, How: "appendonly yes, appendfsync no: write(2) to the log before the reply"},
			{Class: store.D2, How: "appendonly yes, appendfsync everysec: synced once a second by a thread; T is at least " + everySecondLoss.String() + ". While a sync is under way, " +
				"write(2) is put off, so that a kill of the process loses acknowledged writes too"},
			{Class: store.D3, How: "appendonly yes, appendfsync always: fdatasync(2) before the reply, one for all clients' requests that came together"},
		},
		ServerSetsClass: true,
		Options: append([]store.Option{
			{Name: "client", Type: store.Choice, Default: lean, Choices: []string{lean, goRedis},
				Help: "lean: this package's own, no allocation; go-redis: github.com/redis/go-redis, as an application has it, but without its retries; once it could not connect, it gives that error for up to a second before it tries again"},
			{Name: "resp", Type: store.Choice, Default: respOfClient, Choices: []string{respOfClient, "2", "3"},
				Help: "version of the protocol. client: the client's own: 2 for lean, 3 for go-redis"},
			{Name: "operation_timeout", Type: store.Duration, Default: "1s",
				Help: "deadline of one operation, set on the socket (go-redis's default is 5s); after it the connection is given up, and the next operation connects anew"},
			{Name: "read_from", Type: store.Choice, Default: fromPrimary, Choices: []string{fromPrimary, fromReplica},
				Help: "where get and multi_read go: the primary, or its replicas, which are the endpoints behind the first; each handle has one more connection, to one of them in turn"},
			{Name: "database", Type: store.Int, Default: "0", Help: "number of the database, of those that one server has"},
			{Name: "flush_at_open", Type: store.Bool, Default: "false",
				Help: "send FLUSHDB at the first opening of each trial: DELETES EVERYTHING IN THE DATABASE, whoever stored it. Without it, keys begin with the trial's name, and no other key is touched"},
		}, wire.AccessOptions()...),
		ValueBytesMax:  valueBytesMax,
		UnixSockets:    true,
		ConnectionsOwn: 1,
		Expiry:         expiry,
		AppendMakes:    true,
		Variants:       []store.Variant{{Option: "read_from", Choice: fromReplica, Eventual: true}},
		Abilities:      store.Probe((*db)(nil), (*leanHandle)(nil)),
		Note: "the class is the server's setting: opening is refused where CONFIG GET does not show it; a server with a limit of memory and an allkeys policy evicts, which shows as misses; " +
			"a batch is a pipeline of SET and DEL, which is not atomic; compare-and-swap is WATCH and GET, a comparison in the client, and MULTI, SET, EXEC: two round trips, " +
			"and a conflict too if the record was written with the same bytes in between; records with columns are hashes (HSET, HMGET), on which add is a transaction too, since HSETNX " +
			"sets single fields; modify is a script of EXISTS and HSET, which by itself would make a hash that is not there; there is no order among keys, so no scans, and no index of a column; on both paths a handle is one connection; " +
			"of a cluster, all masters are named as endpoints: a handle is then a connection to each, a redirect is followed once and counted, and one that a batch meets is an error",
	}
}

// Open connects once, to learn what the server is and which class its settings give.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	if _, ok := wanted[c.Durability]; !ok {
		return nil, fmt.Errorf("redis can't reach %s: one server has no replica that acknowledges: %w", c.Durability, store.ErrRefused)
	}
	if len(c.Endpoints) == 0 {
		return nil, fmt.Errorf("redis: expected an endpoint, got none: %w", store.ErrRefused)
	}
	timeout := c.Options.Duration("operation_timeout")
	if timeout <= 0 {
		return nil, fmt.Errorf("redis: operation_timeout is %v, expected more than 0: %w", timeout, store.ErrRefused)
	}
	client, resp := c.Options.Choice("client"), c.Options.Choice("resp")
	if resp == respOfClient {
		resp = ownRESP[client]
	}
	e := entry{database: c.Options.Int("database"), resp3: resp == "3"}
	if e.database < 0 {
		return nil, fmt.Errorf("redis: database is %d, expected 0 or more: %w", e.database, store.ErrRefused)
	}
	var err error
	if e.access, err = wire.ReadAccess("redis", c.Options); err == nil {
		err = e.access.RefuseSocket("redis", c.Endpoints)
	}
	if err != nil {
		return nil, err
	}
	d := &db{timeout: timeout, entry: e, client: client, class: c.Durability, window: c.LossWindow,
		blocks: blocking.Suits(c), fromReplica: c.Options.Choice("read_from") == fromReplica}
	if client != lean {
		e.resp3 = false // go-redis falls back by itself where the server has no RESP3
	}
	for _, endpoint := range c.Endpoints {
		m := &member{endpoint: endpoint, control: newConnection(endpoint, max(timeout, controlTimeout), e)}
		m.control.Bound = wire.ExpectsNoValue()
		d.members = append(d.members, m)
	}
	if err := d.open(ctx, c); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// controlTimeout is enough for FLUSHDB of a large database.
const controlTimeout = time.Minute

// db is the open store. Handle, Inspect, Define and Close come from one goroutine at a time, as the
// worker answers one request at a time.
type db struct {
	members []*member // in the order of the endpoints: one, or all masters of a cluster
	slots   *slots    // nil: no cluster
	timeout time.Duration
	entry   entry
	client  string
	class   store.Durability
	window  time.Duration // T of D2(T)
	columns []string
	blocks  bool // sockets of handles: blocking.Suits

	fromReplica bool          // reads are of the members behind the first
	readers     atomic.Uint64 // handles that were opened so

	reconnects atomic.Uint64 // of handles
	wire.Bound               // of what handles read
	redirects  atomic.Uint64 // answers of a cluster that another node has the key
}

// open opens each server. Only the nodes of one cluster are several.
func (d *db) open(ctx context.Context, c store.Config) error {
	nodes := 0
	for i, m := range d.members {
		if err := m.open(ctx, d.timeout, c, i > 0); err != nil {
			return err
		}
		if m.isNode {
			nodes++
		}
	}
	switch {
	case nodes == 0:
		if err := d.refuseStrangers(); err != nil {
			return err
		}
		if d.fromReplica && len(d.members) == 1 {
			return fmt.Errorf("redis: read_from: replica, and only %s is named: expected its replicas' endpoints behind it: %w",
				d.members[0].endpoint, store.ErrRefused)
		}
	case d.fromReplica:
		return fmt.Errorf("redis: a cluster's replicas are not read from: expected read_from: %s: %w", fromPrimary, store.ErrRefused)
	case nodes < len(d.members):
		return fmt.Errorf("redis: %d servers are named, of which %d are nodes of a cluster: "+
			"the driver spreads keys over the masters of one cluster alone: %w",
			len(d.members), nodes, store.ErrRefused)
	case d.client != lean:
		return fmt.Errorf("redis: client %s repeats operations where it follows a cluster: expected %s: %w",
			d.client, lean, store.ErrRefused)
	default:
		if err := wire.RefuseSocket("redis: a cluster's nodes", "are reached by HOST:PORT", c.Endpoints); err != nil {
			return err
		}
		var err error
		if d.slots, err = readSlots(d.members[0].control, d.endpoints()); err != nil {
			return err
		}
	}
	if !c.First || !c.Options.Bool("flush_at_open") {
		return nil
	}
	for _, m := range d.masters() {
		if err := m.flush(); err != nil {
			return fmt.Errorf("empty redis at %s: %w", m.endpoint, err)
		}
	}
	return nil
}

// masters are the members that take writes.
func (d *db) masters() []*member {
	if d.slots == nil {
		return d.members[:1]
	}
	return d.members
}

func (d *db) endpoints() (all []string) {
	for _, m := range d.members {
		all = append(all, m.endpoint)
	}
	return all
}

// Held is the size of the database.
func (d *db) Held() (records uint64, known bool) {
	for _, m := range d.masters() {
		records += m.held
	}
	return records, true
}

// Handle opens one more client.
func (d *db) Handle() (store.Handle, error) {
	if d.slots != nil {
		return newClusterHandle(d)
	}
	if d.fromReplica {
		return d.openReader()
	}
	if d.client == goRedis {
		return newLibraryHandle(d, d.members[0].endpoint)
	}
	return d.openLean(d.members[0].endpoint)
}

func (d *db) openLean(endpoint string) (*leanHandle, error) {
	h := newLeanHandle(d.newSpeaker(endpoint, 1))
	h.Link().Blocks = d.blocks
	if err := h.Open(context.Background()); err != nil {
		return nil, err
	}
	return h, nil
}

// Define makes records hashes.
func (d *db) Define(columns []store.Column, indexes []store.Index, _ []store.Query) error {
	if len(indexes) > 0 {
		return fmt.Errorf("redis has no index of a hash's fields: %w", store.ErrRefused)
	}
	d.columns = nil
	for _, column := range columns {
		d.columns = append(d.columns, column.Name)
	}
	return nil
}

func (d *db) Close() error {
	var failed error
	for _, m := range d.members {
		failed = errors.Join(failed, m.control.Close())
	}
	return failed
}

// Settings are the servers' own, as they report them now: once what all of them tell alike, and
// otherwise each one's.
func (d *db) Settings() map[string]string {
	settings := d.members[0].settings()
	for i, m := range d.members[1:] {
		for name, value := range m.settings() {
			if first, told := settings[name]; !told || first != value {
				settings[store.ServerStat(i+1, name)] = value
			}
		}
	}
	settings["driver.client"] = d.client
	settings["driver.resp"] = "2"
	if d.entry.resp3 {
		settings["driver.resp"] = "3"
	}
	if d.client == goRedis {
		settings["driver.client"] += " " + libraryVersion()
	}
	settings["driver.operation_timeout"] = d.timeout.String()
	d.entry.access.Tell(settings)
	blocking.Tell(settings, d.blocks)
	settings["driver.database"] = strconv.Itoa(d.entry.database)
	if settings["maxmemory"] != "" {
		settings["driver.evicts"] = strconv.FormatBool(evicts(settings))
	}
	if d.slots == nil && len(d.members) > 1 {
		settings["driver.replicas"], settings["driver.read_from"] = strconv.Itoa(len(d.members)-1), fromPrimary
		if d.fromReplica {
			settings["driver.read_from"] = fromReplica
		}
	}
	if d.slots != nil {
		settings["driver.servers"] = strconv.Itoa(len(d.members))
		settings["driver.slots"] = d.slots.weightsText(len(d.members))
	}
	return settings
}
