// Package redis drives a Redis server, by two ways that an experiment chooses from: a lean client
// of its own (one TCP connection a handle, one request on its way at a time, no allocation in the
// steady path), and go-redis, the client that most Go programs use. What speaks Redis's protocol
// and tells its settings as Redis does, such as Valkey, is driven too.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

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
				Help: "lean: this package's own, RESP2, no allocation; go-redis: github.com/redis/go-redis, as an application has it, but without its retries; once it could not connect, it gives that error for up to a second before it tries again"},
			{Name: "operation_timeout", Type: store.Duration, Default: "1s",
				Help: "deadline of one operation, set on the socket (go-redis's default is 5s); after it the connection is given up, and the next operation connects anew"},
			{Name: "database", Type: store.Int, Default: "0", Help: "number of the database, of those that one server has"},
			{Name: "flush_at_open", Type: store.Bool, Default: "false",
				Help: "send FLUSHDB at the first opening of each trial: DELETES EVERYTHING IN THE DATABASE, whoever stored it. Without it, keys begin with the trial's name, and no other key is touched"},
		}, wire.AccessOptions()...),
		ValueBytesMax: valueBytesMax,
		Abilities:     store.Probe((*db)(nil), (*leanHandle)(nil)),
		Note: "the class is the server's setting: opening is refused where CONFIG GET does not show it; a server with a limit of memory and an allkeys policy evicts, which shows as lost records; " +
			"a batch is a pipeline of SET and DEL, which is not atomic; compare-and-swap is WATCH and GET, a comparison in the client, and MULTI, SET, EXEC: two round trips, " +
			"and a conflict too if the record was written with the same bytes in between; records with columns are hashes (HSET, HMGET), on which add is a transaction too, since HSETNX " +
			"sets single fields; there is no order among keys, so no scans, and no index of a column; on both paths a handle is one connection",
	}
}

// Open connects once, to learn what the server is and which class its settings give.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	if _, ok := wanted[c.Durability]; !ok {
		return nil, fmt.Errorf("redis can't reach %s: one server has no replica that acknowledges: %w", c.Durability, store.ErrRefused)
	}
	if len(c.Endpoints) != 1 {
		return nil, fmt.Errorf("redis: expected one endpoint, got %d: the driver does not spread keys over servers: %w", len(c.Endpoints), store.ErrRefused)
	}
	timeout := c.Options.Duration("operation_timeout")
	if timeout <= 0 {
		return nil, fmt.Errorf("redis: operation_timeout is %v, expected more than 0: %w", timeout, store.ErrRefused)
	}
	e := entry{database: c.Options.Int("database")}
	if e.database < 0 {
		return nil, fmt.Errorf("redis: database is %d, expected 0 or more: %w", e.database, store.ErrRefused)
	}
	var err error
	if e.access, err = wire.ReadAccess("redis", c.Options); err != nil {
		return nil, err
	}
	d := &db{
		endpoint: c.Endpoints[0], timeout: timeout, entry: e, client: c.Options.Choice("client"),
		control: newConnection(c.Endpoints[0], max(timeout, controlTimeout), e),
	}
	if err := d.open(ctx, c); err != nil {
		return nil, errors.Join(err, d.control.Close())
	}
	return d, nil
}

// controlTimeout is enough for FLUSHDB of a large database.
const controlTimeout = time.Minute

// db has a connection of its own, so that a look at the statistics waits for no operation, and no
// operation for it. Handle, Inspect, Define and Close come from one goroutine at a time, as the
// worker answers one request at a time.
type db struct {
	endpoint string
	timeout  time.Duration
	entry    entry
	client   string
	control  connection
	version  string
	held     uint64 // records in the database when it was opened
	columns  []string

	reconnects atomic.Uint64 // of handles
}

func (d *db) open(ctx context.Context, c store.Config) error {
	connecting, cancel := context.WithTimeout(ctx, d.timeout) // the control connection's own is longer
	defer cancel()
	if err := d.control.Dial(connecting); err != nil {
		return err
	}
	info, err := d.info()
	if err != nil {
		return err
	}
	if err := refuseRole(d.endpoint, info); err != nil {
		return err
	}
	d.version = cmp.Or(info["valkey_version"], info["redis_version"])
	if info["valkey_version"] != "" {
		d.version = "valkey " + d.version
	}
	config, err := d.config()
	if err != nil {
		return fmt.Errorf("redis at %s does not tell its settings, so that no class is shown: %w (%w)", d.endpoint, err, store.ErrRefused)
	}
	if err := refuseClass(d.endpoint, config, c.Durability, c.LossWindow); err != nil {
		return err
	}
	if err := d.awaitLog(ctx, info, c); err != nil {
		return err
	}
	if d.held, err = d.size(); err != nil {
		return err
	}
	if c.First && c.Options.Bool("flush_at_open") {
		if err := d.flush(); err != nil {
			return fmt.Errorf("empty redis at %s: %w", d.endpoint, err)
		}
	}
	return nil
}

// awaitLog waits at the trial's first opening for a rewrite of the log that is under way. Where
// CONFIG SET appendonly yes began it, nothing is in the log before it ends, and INFO does not tell
// such a rewrite from others.
func (d *db) awaitLog(ctx context.Context, info map[string]string, c store.Config) error {
	if c.Durability == store.D0 {
		return nil
	}
	for c.First && (info["aof_rewrite_in_progress"] == "1" || info["aof_rewrite_scheduled"] == "1") {
		select {
		case <-ctx.Done():
			return fmt.Errorf("redis at %s still rewrites its log: %w", d.endpoint, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
		var err error
		if info, err = d.info(); err != nil {
			return err
		}
	}
	for _, name := range []string{"aof_last_write_status", "aof_last_bgrewrite_status"} {
		if status := info[name]; status != "ok" {
			return fmt.Errorf("redis at %s: its log is not as it should be: %s is %q", d.endpoint, name, status)
		}
	}
	return nil
}

// Held is the size of the database.
func (d *db) Held() (records uint64, known bool) { return d.held, true }

func (d *db) size() (uint64, error) {
	if err := d.control.Begin(); err != nil {
		return 0, err
	}
	d.control.Request = appendCommand(d.control.Request[:0], "DBSIZE")
	if err := d.control.Send(); err != nil {
		return 0, err
	}
	n, err := d.control.integer("DBSIZE", 0, 1<<62)
	return uint64(n), err
}

// flush empties the database; only the option flush_at_open asks for it.
func (d *db) flush() error {
	if err := d.control.Begin(); err != nil {
		return err
	}
	return d.control.ask("FLUSHDB", "FLUSHDB")
}

// Handle opens one more client.
func (d *db) Handle() (store.Handle, error) {
	if d.client == goRedis {
		return newLibraryHandle(d)
	}
	h := &leanHandle{leanClient: d.newClient()}
	if err := h.Dial(context.Background()); err != nil {
		return nil, err
	}
	return h, nil
}

// Define makes records hashes.
func (d *db) Define(columns []store.Column, indexes []store.Index) error {
	if len(indexes) > 0 {
		return fmt.Errorf("redis has no index of a hash's fields: %w", store.ErrRefused)
	}
	d.columns = nil
	for _, column := range columns {
		d.columns = append(d.columns, column.Name)
	}
	return nil
}

func (d *db) Close() error { return d.control.Close() }

// info asks for the server's state: "name:value" lines.
func (d *db) info() (map[string]string, error) {
	text, err := d.control.text("INFO", "INFO")
	if err != nil {
		return nil, err
	}
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			info[name] = value
		}
	}
	return info, nil
}

// reported are the settings that have a say in what is measured. No other is told: passwords are
// among them.
var reported = []string{
	"activedefrag", "active-expire-effort", "aof-use-rdb-preamble", "appendfsync", "appendonly", "auto-aof-rewrite-min-size", "auto-aof-rewrite-percentage",
	"databases", "dynamic-hz", "hash-max-listpack-entries", "hash-max-listpack-value", "hz", "io-threads", "io-threads-do-reads", "lazyfree-lazy-user-del",
	"maxclients", "maxmemory", "maxmemory-policy", "maxmemory-samples", "no-appendfsync-on-rewrite", "proto-max-bulk-len", "rdbcompression", "save",
	"slowlog-log-slower-than", "tcp-backlog", "tls-port",
}

func (d *db) config() (map[string]string, error) {
	return d.control.config(func(name string) bool { return slices.Contains(reported, name) })
}

// config asks for the settings of these names.
func (c connection) config(wanted func(name string) bool) (map[string]string, error) {
	pairs, err := c.texts("CONFIG GET", "CONFIG", "GET", "*")
	if err != nil {
		return nil, err
	}
	config := make(map[string]string)
	for pair := range slices.Chunk(pairs, 2) {
		if len(pair) == 2 && wanted(pair[0]) {
			config[pair[0]] = pair[1]
		}
	}
	return config, nil
}

// Settings are the server's own, as it tells them now.
func (d *db) Settings() map[string]string {
	settings, err := d.config()
	if err != nil {
		settings = make(map[string]string) // what the server does not tell is left out
	}
	settings["version"] = d.version
	settings["driver.client"] = d.client
	if d.client == goRedis {
		settings["driver.client"] += " " + libraryVersion()
	}
	settings["driver.operation_timeout"] = d.timeout.String()
	d.entry.access.Tell(settings)
	settings["driver.database"] = strconv.Itoa(d.entry.database)
	if settings["maxmemory"] != "" {
		settings["driver.evicts"] = strconv.FormatBool(evicts(settings))
	}
	return settings
}
