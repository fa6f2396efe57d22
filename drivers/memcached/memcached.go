// Package memcached drives memcached servers by two ways that an experiment chooses from: a lean
// client of its own (one connection a handle and server, one request on the way at a time, no
// allocation in the steady path), which speaks any of the server's protocols, and gomemcache, the
// client that most Go programs use.
//
//	memcached.go   the driver: options, limits, opening
//	handle.go      the lean client's handle; library.go: one of gomemcache
//	server.go      the server that Assay starts; sasl.go: with a login by SASL
//	protocol.go    what the protocols share, in text.go, meta.go and binary.go
//	datagram.go    the text protocol by UDP
//	connection.go  a connection; speaker.go does the operations on it, for handles and lanes
//	spread.go      several servers; distribution.go says which one has a key
//
// # Decisions
//
//   - Keys are spread over several memcached servers by the client, as memcached leaves it to
//     clients: one distribution for both of the driver's clients, so that both find each other's
//     records. A handle is then a connection to each server, and one server costs nothing of it.
package memcached

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

// Driver connects to one server, or spreads keys over several.
type Driver struct{}

// The two clients.
const (
	lean       = "lean"
	gomemcache = "gomemcache"
)

// The server's limits: KEY_MAX_LENGTH of memcached.h, and the item that fits the default -I 1m with
// its header, the longest key and the cas value.
const (
	keyBytesMax   = 250
	valueBytesMax = 1<<20 - 512
)

// expiry is that of items: memcached.c's realtime() adds whole seconds to the present one, of a clock
// that ticks once a second, and takes more than 30 days for a date.
var expiry = &store.Expiry{UnitNS: int64(time.Second), MostNS: int64(30 * 24 * time.Hour),
	EarlyNS: int64(1200 * time.Millisecond), LateNS: int64(time.Second)}

// Describe says what memcached can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name:    "memcached",
		Summary: "memory cache server, text, meta and binary protocol over TCP, text over UDP",
		Library: "memcached", // the server: the client is this package
		Licence: "BSD-3-Clause",
		Kind:    store.Server,
		Durability: []store.DurabilityClaim{
			{Class: store.D0, How: "items live in the server's memory, and may be evicted from it at any time"},
		},
		Options: append([]store.Option{
			{Name: "client", Type: store.Choice, Default: lean, Choices: []string{lean, gomemcache},
				Help: "lean: this package's own, no allocation; gomemcache: github.com/bradfitz/gomemcache, as an application has it"},
			{Name: "protocol", Type: store.Choice, Default: textProtocol, Choices: []string{textProtocol, metaProtocol, binaryProtocol, udpProtocol},
				Help: "what the lean client speaks. text: get, set, add, cas, append, touch, delete; meta: mg, ms, md; binary: frames, and SASL where the server demands a login; " +
					"udp: text in datagrams (the server's -U at the same port), where a lost datagram is a timeout, and a request is one datagram"},
			{Name: "hashing", Type: store.Choice, Default: hashModulo, Choices: []string{hashModulo, hashKetama},
				Help: "which of several endpoints has a key. modulo: CRC-32 of the key, modulo the sum of the weights (gomemcache's own, where these are 1); " +
					"ketama: the circle of libmemcached's weighted ketama: MD5, 160 points for a server of average weight"},
			{Name: "weights", Type: store.String, Default: "", Help: "a weight for each endpoint, in their order: 3,1,1. Unset: 1 for each"},
			{Name: "operation_timeout", Type: store.Duration, Default: "1s", Help: "deadline of one operation, set on the socket (gomemcache's default is 500ms); after it the connection is given up, and the next operation connects anew"},
			{Name: "flush_at_open", Type: store.Bool, Default: "false", Help: "send flush_all at the first opening of each trial: DELETES EVERYTHING ON THE SERVER, whoever stored it. Without it, keys begin with the trial's name, and no other key is touched"},
		}, wire.AccessOptions()...),
		KeyText:       true,
		KeyBytesMin:   1,
		KeyBytesMax:   keyBytesMax,
		ValueBytesMax: valueBytesMax, ValueBytesOption: "protocol",
		ValueBytesChoices: map[string]int{udpProtocol: datagramValueBytesMax},
		UnixSockets:       true,
		Variants:          []store.Variant{{Option: "protocol", Choice: udpProtocol, NoMultiGet: true}},
		ConnectionsOwn:    1,
		Expiry:            expiry,
		Abilities:         store.Probe((*db)(nil), (*handle)(nil)),
		Note: "keys of 1 to 250 bytes without spaces and control characters: a binary key is refused before it is sent; values up to the server's -I (1 MiB less its header by default); " +
			"a full server evicts, which shows as misses; keys are spread over several endpoints by the client, and a server that is gone takes its keys with it; compare-and-swap is gets, a comparison in the client, and cas with the token: two round trips, " +
			"and a conflict too if the item was written with the same bytes in between; an acknowledged write is lost with the server's process",
	}
}

// Open connects once to each server, to learn its version and settings.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	if c.Durability != store.D0 {
		return nil, fmt.Errorf("memcached can't reach %s: its items die with the server's process: %w", c.Durability, store.ErrRefused)
	}
	if len(c.Endpoints) == 0 {
		return nil, fmt.Errorf("memcached: expected an endpoint, got none: %w", store.ErrRefused)
	}
	timeout := c.Options.Duration("operation_timeout")
	if timeout <= 0 {
		return nil, fmt.Errorf("memcached: operation_timeout is %v, expected more than 0: %w", timeout, store.ErrRefused)
	}
	weights, err := parseWeights(c.Options.String("weights"), len(c.Endpoints))
	if err != nil {
		return nil, err
	}
	access, err := wire.ReadAccess("memcached", c.Options)
	d := &db{
		client: c.Options.Choice("client"), protocol: c.Options.Choice("protocol"),
		hashing: c.Options.Choice("hashing"), timeout: timeout, access: access, blocks: blocking.Suits(c),
	}
	if err == nil {
		err = errors.Join(refuseProtocol(d.protocol, d.client, access), access.RefuseSocket("memcached", c.Endpoints))
	}
	if err == nil && d.protocol == udpProtocol {
		err = wire.RefuseSocket("memcached", "has no protocol udp at a Unix socket", c.Endpoints)
	}
	if err != nil {
		return nil, err
	}
	if d.distribution, err = newDistribution(d.hashing, c.Endpoints, weights); err != nil {
		return nil, err
	}
	if d.members, err = newMembers(c.Endpoints, weights, timeout, access, protocols[d.protocol]); err != nil {
		return nil, err
	}
	for _, m := range d.members {
		if err := d.openMember(ctx, m, c.First && c.Options.Bool("flush_at_open")); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// db is the open store. Handle, Inspect and Close come from one goroutine at a time, as the worker
// answers one request at a time.
type db struct {
	members      []*member // in the order of the endpoints
	client       string
	protocol     string
	hashing      string
	distribution distribution
	timeout      time.Duration
	access       wire.Access
	blocks       bool // sockets of handles: blocking.Suits

	reconnects atomic.Uint64 // of handles
	wire.Bound               // of what handles read
}

func (d *db) openMember(ctx context.Context, m *member, flush bool) error {
	err := m.control.Dial(ctx)
	if err == nil {
		err = m.open()
	}
	if err != nil {
		return fmt.Errorf("open memcached at %s: %w", m.endpoint, err)
	}
	if d.protocol == udpProtocol {
		if err := d.probe(ctx, m.endpoint); err != nil {
			return fmt.Errorf("open memcached at %s by UDP: %w", m.endpoint, err)
		}
	}
	if flush {
		if err := m.control.protocol.flush(&m.control); err != nil {
			return fmt.Errorf("empty memcached at %s: %w", m.endpoint, err)
		}
	}
	return nil
}

// probe asks by UDP: a socket alone does not show that the server listens there.
func (d *db) probe(ctx context.Context, endpoint string) error {
	c := d.newConnection(endpoint)
	if err := c.Dial(ctx); err != nil {
		return err
	}
	_, err := c.version()
	return errors.Join(err, c.Close())
}

// Held is the sum of the servers' curr_items.
func (d *db) Held() (items uint64, known bool) {
	for _, m := range d.members {
		if !m.heldTold {
			return 0, false
		}
		items += m.held
	}
	return items, true
}

// newConnection is that of a handle to one of the servers.
func (d *db) newConnection(endpoint string) connection {
	c := newConnection(endpoint, d.timeout, d.access, protocols[d.protocol])
	if d.protocol == udpProtocol {
		c.Network, c.Knock = dialDatagrams, nil
	}
	c.Reconnects, c.Bound = &d.reconnects, &d.Bound
	return c
}

// Handle opens one more connection to each server.
func (d *db) Handle() (store.Handle, error) {
	if d.client == gomemcache {
		return newLibraryHandle(d)
	}
	s := &spread{distribution: d.distribution}
	for _, m := range d.members {
		h := newHandle(d.newConnection(m.endpoint))
		h.Link().Blocks = d.blocks
		if err := h.Open(context.Background()); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.servers = append(s.servers, h)
	}
	var h oneByOne = s
	if len(s.servers) == 1 {
		h = s.servers[0]
	}
	if d.protocol == udpProtocol {
		return datagramHandle{h}, nil
	}
	return h, nil
}

func (d *db) Close() error {
	var failed error
	for _, m := range d.members {
		failed = errors.Join(failed, m.control.Close())
	}
	return failed
}

// Settings are what the servers' `stats settings` tell.
func (d *db) Settings() map[string]string {
	settings := settingsOfAll(d.members)
	settings["driver.operation_timeout"] = d.timeout.String()
	settings["driver.client"] = d.client
	settings["driver.protocol"] = d.protocol
	if d.client == gomemcache {
		settings["driver.client"] += " " + libraryVersion()
	}
	d.access.Tell(settings)
	blocking.Tell(settings, d.blocks)
	if len(d.members) > 1 {
		settings["driver.servers"] = strconv.Itoa(len(d.members))
		settings["driver.hashing"] = d.hashing
		settings["driver.weights"] = weightsText(d.members)
		settings["driver.shares_of_keys"] = sharesText(d.distribution)
	}
	return settings
}

// Inspect takes the numbers of `stats` under the server's own names, and the driver's of its
// connections.
func (d *db) Inspect() store.Inspection {
	inspection := store.Inspection{Stats: d.members[0].stats()}
	if len(d.members) > 1 {
		inspection.Stats = statsOfAll(d.members)
	}
	if inspection.Stats == nil {
		inspection.Stats = make(map[string]float64)
	}
	inspection.Busy = busy(inspection.Stats)
	inspection.Stats["reconnects"] = float64(d.reconnects.Load())
	return inspection
}
