// Package tarantool drives a Tarantool server with Tarantool's own Go client, over IPROTO.
//
//	tarantool.go  the driver: options, limits, opening
//	link.go       a connection that is made again after it broke, and what its errors mean
//	space.go      the space of records: made, recognised, dropped
//	tuple.go      records as tuples: written into requests, and read out of answers
//	handle.go     the operations
//	swap.go       compare-and-swap, by SQL
//	class.go      which durability class a server's wal_mode gives
//	inspect.go    what the server tells of itself
//	server.go     the server, for trials that start one
//
// # Decisions
//
//   - Operations are requests of the protocol itself, never Lua: an application's own procedure on the
//     server would be measured as the store's ability. Lua makes the space and reads settings and
//     counters.
//   - The client does not reconnect by itself, which is its default. A handle connects anew in the
//     operation after the one that met the end of its connection.
//   - Keys and values are of the type string, which Tarantool compares byte by byte and does not hold
//     to be UTF-8.
package tarantool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"assay/drivers/internal/wire"
	"assay/store"
)

// Driver connects to a server.
type Driver struct{}

const (
	// tupleBytesMax is memtx_max_tuple_size's and vinyl_max_tuple_size's default.
	tupleBytesMax = 1 << 20
	// valueBytesMax leaves 4 KiB of it to the key, and to what a tuple has beside its fields.
	valueBytesMax = tupleBytesMax - 4<<10
	// pageMax is how many records a scan asks for at once.
	pageMax = 1000
)

// The engines.
const (
	memtx = "memtx"
	vinyl = "vinyl"
)

// Describe says what Tarantool can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name:    "tarantool",
		Summary: "in-memory database with a write-ahead log (B+ tree of tuples), IPROTO over TCP",
		Library: "github.com/tarantool/go-tarantool/v2",
		Licence: "BSD-2-Clause",
		Kind:    store.Server,
		Durability: []store.DurabilityClaim{
			{Class: store.D0, How: "wal_mode none: no log; a snapshot (checkpoint_interval) holds records of up to an hour ago"},
			{Class: store.D1, How: "wal_mode write: write(2) to the log before the reply, and no sync"},
			{Class: store.D3, How: "wal_mode fsync: the log is open with O_SYNC, so that write(2) has synced before the reply, " +
				"once for all requests that came together"},
		},
		ServerSetsClass: true,
		Options: append([]store.Option{
			{Name: "engine", Type: store.Choice, Default: memtx, Choices: []string{memtx, vinyl},
				Help: "memtx: all records in memory; vinyl: an LSM tree on disk. Both write the same log"},
			{Name: "space", Type: store.String, Default: "assay",
				Help: "how the names of the spaces begin that hold Assay's records; they are made if they are not there, " +
					"and dropped when a trial has left them empty. One that Assay did not make is refused"},
			{Name: "operation_timeout", Type: store.Duration, Default: "5s",
				Help: "deadline of one operation (the client has none of its own)"},
			{Name: "flush_at_open", Type: store.Bool, Default: "false",
				Help: "empty Assay's spaces at the first opening of each trial: what earlier trials left in them goes"},
		}, wire.LoginOptions()...),
		HandlesShareable: true,
		ValueBytesMax:    valueBytesMax,
		UnixSockets:      true,
		ConnectionsOwn:   1,
		Abilities:        store.Probe((*db)(nil), (*handle)(nil)),
		Note: "the class is the server's setting: opening is refused where box.cfg.wal_mode does not give it; " +
			"the server answers a write with the whole record that it stored, and a delete with the one that it removed " +
			"(vinyl: with nothing, so that a delete of nothing is not reported); " +
			"a batch is a pipeline of requests, which is not atomic, and has a key once, so that of two writes of it the last is sent; " +
			"compare-and-swap is an UPDATE in SQL, and a read behind it where no row was changed; " +
			"the protocol has no read of several keys and no TTL: procedures in Lua, which could do these, " +
			"are not measured; memtx shows a write to others before the log has it, and refuses writes once memtx_memory (256 MiB by default) is full; " +
			"the client pings each connection three times in operation_timeout",
	}
}

// openPatience is enough to empty large spaces.
const openPatience = time.Minute

// Open connects, holds the server to the class, and makes the space.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	if _, ok := wanted[c.Durability]; !ok {
		return nil, fmt.Errorf("tarantool can't reach %s: %w", c.Durability, store.ErrRefused)
	}
	if len(c.Endpoints) != 1 {
		return nil, fmt.Errorf("tarantool: expected one endpoint, got %d: %w", len(c.Endpoints), store.ErrRefused)
	}
	timeout := c.Options.Duration("operation_timeout")
	if timeout <= 0 {
		return nil, fmt.Errorf("tarantool: operation_timeout is %v, expected more than 0: %w", timeout, store.ErrRefused)
	}
	access, err := wire.ReadLogin("tarantool", c.Options)
	if err != nil {
		return nil, err
	}
	d := &db{
		endpoint: c.Endpoints[0], access: access, timeout: timeout, class: c.Durability,
		base: c.Options.String("space"), engine: c.Options.Choice("engine"),
	}
	if d.base == "" {
		return nil, fmt.Errorf("tarantool: space is empty, expected how the names of spaces are to begin: %w", store.ErrRefused)
	}
	d.control = d.newLink(max(timeout, openPatience))
	d.control.greet = d.enter
	if err := d.control.connect(ctx); err != nil {
		return nil, fmt.Errorf("open tarantool at %s: %w", d.endpoint, err)
	}
	if err := d.open(c.First && c.Options.Bool("flush_at_open")); err != nil {
		return nil, errors.Join(fmt.Errorf("open tarantool at %s: %w", d.endpoint, err), d.Close())
	}
	return d, nil
}

// db has a connection of its own for what is no operation. Handle, Define, Settings and Close come from
// one goroutine at a time.
type db struct {
	endpoint string
	access   wire.Access
	timeout  time.Duration
	class    store.Durability
	base     string // how the names of its spaces begin
	engine   string

	control *link
	records space // of the records as they are defined now
	held    uint64

	reconnects atomic.Uint64 // of handles
}

func (d *db) open(flush bool) error {
	told, err := settingsOf(d.control)
	if err != nil {
		return err
	}
	if err := d.refuse(told); err != nil {
		return err
	}
	if d.held, err = d.count(flush); err != nil {
		return err
	}
	d.records, err = d.makeSpace(nil)
	return err
}

// refuse says what of a server's settings the driver can't work with.
func (d *db) refuse(told map[string]string) error {
	if why := refuseClass(d.endpoint, told, d.class); why != nil {
		return why
	}
	if told["read_only"] == "true" {
		return fmt.Errorf("its read_only is true: it takes no writes: %w", store.ErrRefused)
	}
	limit := d.engine + "_max_tuple_size"
	if bytes, err := strconv.ParseFloat(told[limit], 64); err != nil || bytes < tupleBytesMax {
		return fmt.Errorf("its %s is %q, expected %d or more: %w", limit, told[limit], tupleBytesMax, store.ErrRefused)
	}
	return nil
}

// Held counts the records in all of Assay's spaces.
func (d *db) Held() (records uint64, known bool) { return d.held, true }

// Handle opens one more connection.
func (d *db) Handle() (store.Handle, error) {
	h := &handle{link: d.newLink(d.timeout), space: d.records, tellsDeletes: d.engine == memtx}
	h.link.reconnects = &d.reconnects
	if err := h.link.connect(context.Background()); err != nil {
		return nil, err
	}
	return h, nil
}

// Define gives the records' columns fields of their own, in a space of their own. Its handles are no
// [store.Querier], so that no query is sent.
func (d *db) Define(columns []store.Column, indexes []store.Index, _ []store.Query) error {
	if len(indexes) > 0 {
		return fmt.Errorf("tarantool: this driver makes no index of a column: %w", store.ErrRefused)
	}
	made, err := d.makeSpace(columns)
	if err != nil {
		return fmt.Errorf("tarantool: define columns: %w", err)
	}
	d.records = made
	return nil
}

// Settings are box.cfg's, as the server reports them now; where it does not answer, the driver's alone.
func (d *db) Settings() map[string]string {
	settings := map[string]string{}
	if told, err := settingsOf(d.control); err == nil {
		maps.Copy(settings, told)
	}
	settings["driver.engine"], settings["driver.space"] = d.engine, d.records.name
	settings["driver.operation_timeout"] = d.timeout.String()
	d.access.Tell(settings)
	return settings
}

// Close drops the spaces where they are empty and no other Assay uses them.
func (d *db) Close() error { return errors.Join(d.leave(), d.control.Close()) }
