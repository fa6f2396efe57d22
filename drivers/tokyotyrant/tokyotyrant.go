// Package tokyotyrant drives Tokyo Tyrant servers, each of which hosts one database of Tokyo
// Cabinet. It speaks the binary protocol, and the server's memcached and HTTP faces.
//
//	tokyotyrant.go  the drivers: options, limits, opening
//	class.go     which durability class a kind of database gives
//	binary.go    the binary protocol
//	faces.go     the memcached and HTTP faces
//	speaker.go   get, put, delete and add, for handles and lanes
//	handle.go    what a handle adds
//	batch.go     batches
//	tree.go      the scans of a B+ tree
//	table.go     columns and indexes
//	row.go       records with columns
//	query.go     queries and counts
//	search.go    how they ask; explain.go: how they are answered
//	arguments.go how a search is put together
//	server.go    how Assay starts a ttserver
//
// The protocol is that of spex.html in the source of Tokyo Tyrant 1.1.41.
package tokyotyrant

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"assay/drivers/internal/wire"
	"assay/store"
)

// Driver connects to a server that hosts a hash database, in a file or in memory, or an ordered one
// in memory.
type Driver struct{}

// Tree connects to a server that hosts a B+ tree in a file.
type Tree struct{}

// Table connects to a server that hosts a table.
type Table struct{}

// The values of the options protocol and write.
const (
	protocolBinary    = "binary"
	protocolMemcached = "memcached"
	protocolHTTP      = "http"

	writePut   = "put"
	writePutNR = "putnr"
)

const (
	keyBytesMax = 1 << 20
	// argumentBytesMax is MAXARGSIZ of ttserver.c.
	argumentBytesMax = 256 << 20
	// batchMax is half of MAXARGNUM of ttserver.c: a record is two arguments.
	batchMax = 1 << 19
	// memcachedKeyBytesMax is the protocol's; the server takes longer lines, and reads them byte by
	// byte.
	memcachedKeyBytesMax = 250
	// httpKeyBytesMax is what percent-encoding makes a line of 3 KiB of.
	httpKeyBytesMax = 1 << 10
)

func describe(name, summary string, options []store.Option) store.Description {
	return store.Description{
		Name:            name,
		Summary:         summary,
		Library:         "tokyotyrant", // the server
		Licence:         "LGPL-2.1-or-later",
		Kind:            store.Server,
		ServerSetsClass: true,
		Options: append(options,
			store.Option{Name: "write", Type: store.Choice, Default: writePut, Choices: []string{writePut, writePutNR},
				Help: "put: the server answers; putnr: it does not, so that a put is acknowledged once the " +
					"kernel took it, and its failure is never seen. Batches and add are answered"},
			store.Option{Name: "operation_timeout", Type: store.Duration, Default: "30s",
				Help: "deadline of one operation, set on the socket; after it the connection is given up, " +
					"and the next operation connects anew"},
			store.Option{Name: "flush_at_open", Type: store.Bool, Default: "false",
				Help: "send vanish at the first opening of each trial: DELETES EVERYTHING ON THE SERVER, " +
					"whoever stored it. Without it, keys begin with the trial's name, and no other key is touched"}),
		KeyBytesMin:    1,
		KeyBytesMax:    keyBytesMax,
		ValueBytesMax:  argumentBytesMax,
		UnixSockets:    true,
		ConnectionsOwn: 1,
		Variants:       []store.Variant{{Option: "write", Choice: writePutNR, Eventual: true}},
	}
}

const noteOfAll = "the class is the server's kind of database and the option write: every other one is " +
	"refused; " +
	"the protocol has one code for every failure, so that a read, a delete or an add that fails for another " +
	"reason than its key looks like a miss or a conflict; "

// Describe says what a server with a hash database can do.
func (Driver) Describe() store.Description {
	d := describe("tokyotyrant", "server of a Tokyo Cabinet hash database, in a file or in memory",
		[]store.Option{
			{Name: "protocol", Type: store.Choice, Default: protocolBinary,
				Choices: []string{protocolBinary, protocolMemcached, protocolHTTP},
				Help: "which of the protocols of the server's one port is spoken; memcached: flags are dropped, " +
					"keys are text of at most 250 bytes; http: a key has at most 1024 bytes, and is percent-encoded"},
		})
	d.Durability = []store.DurabilityClaim{
		{Class: store.D0, How: "a database in memory; or write: putnr, which has no answer, and whose errors " +
			"are not seen: a put that is under way when " +
			"either end dies is lost, and so is one that the server could not do"},
		{Class: store.D1, How: "tchdbput before the answer: shared mapped memory and pwrite, never synced but " +
			"by the command sync"},
	}
	d.BatchMax = batchMax
	d.Abilities = store.Probe((*db)(nil), (*handle)(nil))
	d.Variants = append(d.Variants,
		store.Variant{Option: "protocol", Choice: protocolMemcached, KeyText: true,
			KeyBytesMax: memcachedKeyBytesMax},
		store.Variant{Option: "protocol", Choice: protocolHTTP, KeyBytesMax: httpKeyBytesMax})
	d.Note = noteOfAll + "a batch is putlist and outlist, by the faces a pipeline, and is not atomic; " +
		"a database in memory with a limit (capnum, capsiz) evicts, which the server does not tell"
	return d
}

// Describe says what a server with a B+ tree can do.
func (Tree) Describe() store.Description {
	d := describe("tokyotyrant-btree", "server of a Tokyo Cabinet B+ tree, ordered, in a file", nil)
	d.Durability = []store.DurabilityClaim{
		{Class: store.D0, How: "tcbdbput: leaves are changed in the server's cache, and written when they " +
			"leave it or by the " +
			"command sync; or write: putnr, which has no answer, and whose errors are not seen"},
	}
	d.Abilities = store.Probe((*db)(nil), (*treeHandle)(nil))
	d.Note = noteOfAll + "a batch is a pipeline, since putlist would store duplicates, and is not atomic; " +
		"a scan is the command range, whose cursor moves when others write into the same leaf: it can pass a " +
		"record over"
	return d
}

// Describe says what a server with a table can do.
func (Table) Describe() store.Description {
	d := describe("tokyotyrant-table",
		"server of a Tokyo Cabinet table: records with columns, indexes, queries", nil)
	d.Durability = []store.DurabilityClaim{
		{Class: store.D0, How: "tctdbput: as D1, but for the leaves of indexes, which are written when they " +
			"leave the server's " +
			"cache or by the command sync; or write: putnr, which has no answer, and whose errors are not seen"},
		{Class: store.D1, How: "tctdbput of a table without indexes: shared mapped memory and pwrite, never " +
			"synced but by the command sync"},
	}
	d.TokenIndexes = true
	d.Abilities = store.Probe((*tableDB)(nil), (*tableHandle)(nil))
	d.Note = noteOfAll + "a batch is a pipeline, and is not atomic; putnr carries no column with a zero " +
		"byte, and no condition " +
		"of a query does, so that queries by a column of type bytes are refused; an index is made where there " +
		"is none, and stays on a server that somebody else started; " +
		"one index a column; several conjunctions are a metasearch, which searches once for each; a query's " +
		"records are " +
		"fetched after the search, in the same request, or in further ones where a column or a key may have zero " +
		"bytes; a count makes the list of all keys; texts with zero bytes inside may be passed over by " +
		"conditions; " +
		"words of a text end at control characters, too; " +
		"there is no update of some columns and no increment: putcat adds only columns that a record has " +
		"not, addint adds to the column _num alone and makes a record where there is none, and ext needs a " +
		"server with Lua"
	return d
}

// Open connects once, to learn what the server hosts.
func (d Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	return open(ctx, d.Describe(), c, c.Options.Choice("protocol"))
}

// Open connects once, to learn what the server hosts.
func (d Tree) Open(ctx context.Context, c store.Config) (store.Store, error) {
	opened, err := open(ctx, d.Describe(), c, protocolBinary)
	if err != nil {
		return nil, err
	}
	opened.face = func() face { return treeFace{} }
	return &treeDB{opened}, nil
}

// Open connects once, to learn what the server hosts.
func (d Table) Open(ctx context.Context, c store.Config) (store.Store, error) {
	opened, err := open(ctx, d.Describe(), c, protocolBinary)
	if err != nil {
		return nil, err
	}
	t := &tableDB{db: opened, class: c.Durability,
		layout: newLayout([]store.Column{{Name: plainColumn, Type: store.BytesColumn}}, nil)}
	opened.face = func() face { return &tableFace{layout: t.layout} }
	return t, nil
}

// controlTimeout is enough to vanish, to sync or to index a large database.
const controlTimeout = time.Minute

// db has a connection of its own, so that a look at the statistics waits for no operation, and no
// operation for it. Its methods are called from one goroutine at a time.
type db struct {
	name     string // of the driver
	endpoint string
	protocol string
	timeout  time.Duration
	noAnswer bool // puts are putnr
	face     func() face
	control  connection
	held     uint64 // records when it was opened
	told     status // when it was opened

	reconnects atomic.Uint64 // of handles
	wire.Bound               // of what handles read
}

func open(ctx context.Context, description store.Description, c store.Config, protocol string) (*db, error) {
	name := description.Name
	if _, claimed := description.Claim(c.Durability); !claimed {
		return nil, fmt.Errorf("%s can't reach %s: nothing is synced before the answer: %w", name,
			c.Durability, store.ErrRefused)
	}
	if len(c.Endpoints) != 1 {
		return nil, fmt.Errorf("%s: expected one endpoint, got %d: the driver does not spread keys over "+
			"servers: %w",
			name, len(c.Endpoints), store.ErrRefused)
	}
	timeout := c.Options.Duration("operation_timeout")
	if timeout <= 0 {
		return nil, fmt.Errorf("%s: operation_timeout is %v, expected more than 0: %w", name, timeout,
			store.ErrRefused)
	}
	d := &db{name: name, endpoint: c.Endpoints[0], protocol: protocol, timeout: timeout,
		noAnswer: c.Options.Choice("write") == writePutNR}
	if d.noAnswer && c.Handles < c.Threads {
		return nil, fmt.Errorf("%s: write: putnr needs a handle for each thread: through another one a thread "+
			"may not read what it has put: %w", name, store.ErrRefused)
	}
	if d.noAnswer && protocol != protocolBinary {
		return nil, fmt.Errorf("%s: write: putnr is of protocol: binary, not of %s: %w", name, protocol,
			store.ErrRefused)
	}
	d.face = func() face { return faces[protocol] }
	d.control = d.connection(max(timeout, controlTimeout))
	d.control.Bound = wire.ExpectsNoValue()
	if err := d.enter(ctx, c); err != nil {
		return nil, errors.Join(err, d.control.Close())
	}
	return d, nil
}

func (d *db) connection(timeout time.Duration) connection {
	return connection{Connection: wire.Connection{Server: d.name, Endpoint: d.endpoint, Timeout: timeout}}
}

// enter looks at what the server hosts before anything is changed.
func (d *db) enter(ctx context.Context, c store.Config) (err error) {
	connecting, cancel := context.WithTimeout(ctx, d.timeout) // the control connection's own is longer
	defer cancel()
	if err := d.control.Dial(connecting); err != nil {
		return err
	}
	if d.told, err = d.control.stat(); err != nil {
		return err
	}
	if err := refuse(d.name, d.endpoint, d.told, d.noAnswer, c.Durability); err != nil {
		return err
	}
	if d.held, err = d.told.records(); err != nil {
		return fmt.Errorf("%s at %s: %w", d.name, d.endpoint, err)
	}
	if c.First && c.Options.Bool("flush_at_open") {
		if err := d.control.do(commandVanish); err != nil {
			return fmt.Errorf("empty %s at %s: %w", d.name, d.endpoint, err)
		}
	}
	return nil
}

// Held is how many records the server said that it held.
func (d *db) Held() (records uint64, known bool) { return d.held, true }

// Handle opens one more connection.
func (d *db) Handle() (store.Handle, error) {
	h, err := d.newHandle()
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (d *db) newHandle() (*handle, error) {
	h := newHandle(d.newSpeaker(1), d.noAnswer)
	if err := h.Open(context.Background()); err != nil {
		return nil, err
	}
	return h, nil
}

// Sync is the command of that name: msync(2) and fsync(2) of the database's file.
func (d *db) Sync() error { return d.control.do(commandSync) }

// Close closes the store's own connection.
func (d *db) Close() error { return d.control.Close() }

// Settings are what the server's stat reports, and the driver's own.
func (d *db) Settings() map[string]string {
	settings := map[string]string{
		"driver.operation_timeout": d.timeout.String(), "driver.protocol": d.protocol, "driver.write": writePut,
	}
	if d.noAnswer {
		settings["driver.write"] = writePutNR
	}
	for _, name := range []string{"version", "type", "path", "sid", "mhost", "mport"} {
		if value, told := d.told[name]; told {
			settings[name] = value
		}
	}
	return settings
}

// Inspect takes the numbers of stat under the server's own names, and the driver's own.
func (d *db) Inspect() store.Inspection {
	stats := map[string]float64{"reconnects": float64(d.reconnects.Load())}
	told, err := d.control.stat()
	if err != nil {
		return store.Inspection{Stats: stats} // what the server does not report is left out
	}
	for name, value := range told.numbers() {
		if strings.HasPrefix(name, "cnt_") || gauges[name] {
			stats[name] = value
		}
	}
	stats["fatal"] = 0 // the server reports it once the database is broken
	if _, broken := told["fatal"]; broken {
		stats["fatal"] = 1
	}
	return store.Inspection{Stats: stats}
}

// gauges are the numbers of stat that change and are no counters of commands.
var gauges = map[string]bool{
	"rnum": true, "size": true, "memsize": true, "memrss": true, "ru_user": true, "ru_sys": true,
}
