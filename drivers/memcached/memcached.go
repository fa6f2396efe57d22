// Package memcached drives a memcached server over its text protocol, with a lean client of its
// own: one TCP connection a handle, one request on the way at a time, and no allocation in the
// steady path.
//
// The protocol is that of doc/protocol.txt in memcached's source.
package memcached

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"assay/store"
)

// Driver connects to a server.
type Driver struct{}

// The server's limits: KEY_MAX_LENGTH of memcached.h, and the item that fits the default -I 1m with
// its header, the longest key and the cas value.
const (
	keyBytesMax   = 250
	valueBytesMax = 1<<20 - 512
)

// Describe says what memcached can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name:    "memcached",
		Summary: "memory cache server, text protocol over TCP",
		Library: "memcached", // the server: the client is this package
		Licence: "BSD-3-Clause",
		Kind:    store.Server,
		Durability: []store.DurabilityClaim{
			{Class: store.D0, How: "items live in the server's memory, and may be evicted from it at any time"},
		},
		Options: []store.Option{
			{Name: "operation_timeout", Type: store.Duration, Default: "1s", Help: "deadline of one operation, set on the socket (there is no library whose default this could be); after it the connection is given up, and the next operation connects anew"},
			{Name: "flush_at_open", Type: store.Bool, Default: "false", Help: "send flush_all at the first opening of each trial: DELETES EVERYTHING ON THE SERVER, whoever stored it. Without it, keys begin with the trial's name, and no other key is touched"},
		},
		KeyText:       true,
		KeyBytesMin:   1,
		KeyBytesMax:   keyBytesMax,
		ValueBytesMax: valueBytesMax,
		Abilities:     store.Probe((*db)(nil), (*handle)(nil)),
		Note: "keys of 1 to 250 bytes without spaces and control characters: a binary key is refused before it is sent; values up to the server's -I (1 MiB less its header by default); " +
			"a full server evicts, which shows as misses; compare-and-swap is gets, a comparison in the client, and cas with the token: two round trips, " +
			"and a conflict too if the item was written with the same bytes in between; an acknowledged write is lost with the server's process",
	}
}

// Open connects once, to learn the version and the settings.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	if c.Durability != store.D0 {
		return nil, fmt.Errorf("memcached can't reach %s: its items die with the server's process: %w", c.Durability, store.ErrRefused)
	}
	if len(c.Endpoints) != 1 {
		return nil, fmt.Errorf("memcached: expected one endpoint, got %d: the driver does not spread keys over servers: %w", len(c.Endpoints), store.ErrRefused)
	}
	timeout := c.Options.Duration("operation_timeout")
	if timeout <= 0 {
		return nil, fmt.Errorf("memcached: operation_timeout is %v, expected more than 0: %w", timeout, store.ErrRefused)
	}
	d := &db{endpoint: c.Endpoints[0], timeout: timeout, control: newConnection(c.Endpoints[0], timeout)}
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open memcached at %s: %w", d.endpoint, err), d.control.Close())
	}
	if c.First && c.Options.Bool("flush_at_open") {
		if err := d.flush(); err != nil {
			return nil, errors.Join(fmt.Errorf("empty memcached at %s: %w", d.endpoint, err), d.control.Close())
		}
	}
	return d, nil
}

// db has a connection of its own, so that a look at the statistics waits for no operation, and no
// operation for it. Handle, Inspect and Close come from one goroutine at a time, as the worker
// answers one request at a time.
type db struct {
	endpoint string
	timeout  time.Duration
	control  connection
	version  string
	held     uint64 // items when it was opened
	heldTold bool

	reconnects atomic.Uint64 // of handles
}

// Held is the server's curr_items.
func (d *db) Held() (items uint64, known bool) { return d.held, d.heldTold }

func (d *db) open(ctx context.Context) error {
	if err := d.control.Dial(ctx); err != nil {
		return err
	}
	if err := d.control.Begin(); err != nil {
		return err
	}
	d.control.Request = append(d.control.Request[:0], "version\r\n"...)
	line, err := d.control.roundTrip()
	if err != nil {
		return err
	}
	version, ok := strings.CutPrefix(string(line), "VERSION ")
	if !ok {
		return d.control.Unexpected("version", line)
	}
	d.version = version
	// A server that does not tell is none that can't be opened.
	_ = d.control.stats("stats\r\n", func(name, value string) {
		if name != "curr_items" {
			return
		}
		items, err := strconv.ParseUint(value, 10, 64)
		d.held, d.heldTold = items, err == nil
	})
	return nil
}

// flush makes every record of the server unreachable; only the option flush_at_open asks for it.
func (d *db) flush() error {
	if err := d.control.Begin(); err != nil {
		return err
	}
	d.control.Request = append(d.control.Request[:0], "flush_all\r\n"...)
	line, err := d.control.roundTrip()
	if err != nil {
		return err
	}
	if string(line) != "OK" {
		return d.control.Unexpected("flush_all", line)
	}
	return nil
}

// newConnection is that of a handle.
func (d *db) newConnection() connection {
	c := newConnection(d.endpoint, d.timeout)
	c.Reconnects = &d.reconnects
	return c
}

func (d *db) Handle() (store.Handle, error) {
	h := &handle{connection: d.newConnection()}
	if err := h.Dial(context.Background()); err != nil {
		return nil, err
	}
	return h, nil
}

func (d *db) Close() error { return d.control.Close() }

// Settings are what the server's `stats settings` tells.
func (d *db) Settings() map[string]string {
	settings := map[string]string{"version": d.version, "driver.operation_timeout": d.timeout.String()}
	// What the server does not tell is left out.
	_ = d.control.stats("stats settings\r\n", func(name, value string) { settings[name] = value })
	return settings
}

// withoutMeaning are numbers of `stats` that say nothing of the store.
var withoutMeaning = map[string]bool{"pid": true, "time": true, "pointer_size": true}

// Inspect takes the numbers of `stats` under the server's own names, and the driver's of its
// connections. Busy is the server's moving of
// slabs and growing of its hash table.
func (d *db) Inspect() store.Inspection {
	stats := map[string]float64{"reconnects": float64(d.reconnects.Load())}
	err := d.control.stats("stats\r\n", func(name, value string) {
		if number, err := strconv.ParseFloat(value, 64); err == nil && !withoutMeaning[name] {
			stats[name] = number
		}
	})
	if err != nil {
		return store.Inspection{Stats: map[string]float64{"reconnects": stats["reconnects"]}}
	}
	return store.Inspection{Stats: stats, Busy: stats["slab_reassign_running"] > 0 || stats["hash_is_expanding"] > 0}
}
