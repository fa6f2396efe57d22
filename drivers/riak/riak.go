// Package riak drives a Riak KV cluster by its protocol-buffers protocol, by two ways that an
// experiment chooses from: a lean client of its own (one TCP connection a handle, one request on
// its way at a time, no allocation in the steady path), and riak-go-client, which most Go programs
// use.
//
//	riak.go        the driver: options, limits, opening
//	bucket.go      the bucket and its properties
//	class.go       quorums, and which durability class they give
//	message.go     the messages of the protocol (riak_pb's riak.proto and riak_kv.proto)
//	connection.go  a connection of the lean client
//	handle.go      the lean client's operations
//	library.go     riak-go-client's operations
//	siblings.go    what becomes of a record with several values
//	inspect.go     what the nodes tell of themselves
//	server.go      the program, which assay doctor finds and Assay does not start
//
// # Decisions
//
//   - Riak's D4 is asked for in each write, and not derived from the cluster's size: dw counts
//     replicas, and two of them may be on one node. node_confirms counts nodes.
package riak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"assay/drivers/internal/wire"
	"assay/store"
)

// Driver connects to nodes of a cluster.
type Driver struct{}

const name = "riak"

// The two clients.
const (
	lean   = "lean"
	goRiak = "riak-go-client"
)

// Which nodes handles connect to.
const (
	entryOne = "one"
	entryAll = "all"
)

// serversOwn leaves a property as it is on the server.
const serversOwn = "default"

const (
	// keyBytesMax is half of what bitcask has for a bucket and a key, 16 bits.
	keyBytesMax = 32 << 10
	// valueBytesMax leaves 64 KiB of object.size.maximum, 50 MiB by default, to metadata.
	valueBytesMax = 50<<20 - 64<<10
)

// Describe says what Riak can do.
func (Driver) Describe() store.Description {
	quorumOption := func(name, of string) store.Option {
		return store.Option{Name: name, Type: store.String, Default: serversOwn,
			Help: of + ": a number, one, quorum or all; default: the bucket's property"}
	}
	propertyOption := func(name, says string) store.Option {
		return store.Option{Name: name, Type: store.Choice, Default: serversOwn,
			Choices: []string{serversOwn, "true", "false"}, Help: says + "; default: the server's own"}
	}
	return store.Description{
		Name: name,
		Summary: "replicated key-value store without a master (Dynamo), protocol buffers over " +
			"TCP",
		Library: "riak", // the server
		Licence: "Apache-2.0",
		Kind:    store.Server,
		Durability: []store.DurabilityClaim{
			{Class: store.D0, How: "any server: its storage backend and that one's sync settings are not " +
				"reported, so that nothing is proved of what a node keeps"},
			{Class: store.D4, How: "dw and node_confirms of k, 2 or more, in each put: k nodes have given " +
				"it to their backends before the reply, synced or not; deletes with r, dw and pw of all. Tried at open; " +
				"needs client lean and Riak 2.9 or newer"},
		},
		ServerSetsClass: true,
		Options: []store.Option{
			{Name: "client", Type: store.Choice, Default: lean, Choices: []string{lean, goRiak},
				Help: "lean: this package's own, no allocation; riak-go-client: " + libraryModule +
					", as an application has it, but with one attempt: after a lost connection it fails " +
					"operations until its check, each 125 ms, has connected again"},
			{Name: "entry", Type: store.Choice, Default: entryAll, Choices: []string{entryOne, entryAll},
				Help: "which endpoints handles connect to. one: the first; all: each in turn"},
			{Name: "n_val", Type: store.Int, Default: "0",
				Help: "replicas of a record, a property of the bucket; 0: the server's own, 3 unless changed"},
			quorumOption("r", "replicas that a get waits for"),
			quorumOption("pr", "of them primary ones"),
			quorumOption("w", "replicas that have received a write before the reply"),
			quorumOption("dw", "replicas whose backends have taken it"),
			quorumOption("pw", "of them primary ones"),
			{Name: "node_confirms", Type: store.Int, Default: "0",
				Help: "nodes whose backends must have taken a put before the reply; 0: not asked for, and 2 " +
					"at D4"},
			propertyOption("allow_mult", "the bucket keeps siblings"),
			propertyOption("last_write_wins", "the bucket keeps the write with the latest time, without a "+
				"vector clock"),
			{Name: "siblings", Type: store.Choice, Default: newest, Choices: []string{newest, failOnSiblings},
				Help: "a get of a record with siblings gives the newest by the nodes' clocks, or fails"},
			{Name: "stats", Type: store.String, Default: "",
				Help: "HOST:PORT of the nodes' HTTP interfaces, one for each endpoint, in their order, with " +
					"commas: counters are read from /stats"},
			{Name: "operation_timeout", Type: store.Duration, Default: "5s",
				Help: "deadline of one operation, riak-go-client's default; after it the connection is " +
					"given up, and the next operation connects anew"},
		},
		KeyBytesMin:    1,
		KeyBytesMax:    keyBytesMax,
		ValueBytesMax:  valueBytesMax,
		ConnectionsOwn: 1,
		Eventual:       true,
		Abilities:      store.Probe((*db)(nil), (*leanHandle)(nil)),
		Note: "tested against a stand-in, since no package has a Riak; " +
			"a put that directly follows a get of the same key on the same handle sends the vector clock " +
			"back, any other put sends none; " +
			"there is no compare-and-swap and no add: if_not_modified and if_none_match are a get and a " +
			"put inside the server, between which others may write; " +
			"a delete does not tell if there was a record, and leaves a tombstone for a while; " +
			"records are in the bucket assay (with other properties: assay-PROPERTY=VALUE), whose keys " +
			"are never listed: that reads every key of the cluster; no TLS and no login",
	}
}

// Open connects to each endpoint, gives the bucket its properties, and proves the class.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	if _, claimed := (Driver{}).Describe().Claim(c.Durability); !claimed {
		return nil, fmt.Errorf("riak can't reach %s: the protocol does not tell if a node syncs; D4 asks "+
			"for more nodes than one: %w", c.Durability, store.ErrRefused)
	}
	if len(c.Endpoints) == 0 {
		return nil, fmt.Errorf("riak: expected an endpoint, got none: %w", store.ErrRefused)
	}
	d := &db{timeout: c.Options.Duration("operation_timeout"), client: c.Options.Choice("client"),
		entry: c.Options.Choice("entry")}
	d.http.Transport = &http.Transport{MaxConnsPerHost: 1}
	d.resolver.fail = c.Options.Choice("siblings") == failOnSiblings
	if d.timeout <= 0 {
		return nil, fmt.Errorf("riak: operation_timeout is %v, expected more than 0: %w", d.timeout,
			store.ErrRefused)
	}
	var err error
	if d.quorums, err = readQuorums(c.Options, c.Durability); err != nil {
		return nil, err
	}
	if d.wanted, err = readProperties(c.Options); err != nil {
		return nil, err
	}
	d.bucket = d.wanted.bucket()
	if d.nodes, err = newNodes(c.Endpoints, c.Options.String("stats"), d.timeout); err != nil {
		return nil, err
	}
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// db has a connection of its own to each node, so that a look at the settings waits for no
// operation. Handle, Inspect and Close come from one goroutine at a time.
type db struct {
	nodes      []node // in the order of the endpoints
	client     string
	entry      string
	timeout    time.Duration
	quorums    quorums
	wanted     wantedProperties
	bucket     string
	madeBucket bool // this store has set the bucket's properties
	properties map[string]string
	requests   requests
	resolver   resolver
	http       http.Client // for the nodes' counters

	reconnects atomic.Uint64 // of handles
	bound      wire.Bound    // of what handles read
}

// node is one endpoint.
type node struct {
	endpoint string
	stats    string // HOST:PORT of its HTTP interface; "": not named
	control  connection
	name     string
	version  string
	handles  int // opened to it so far
}

func newNodes(endpoints []string, stats string, timeout time.Duration) ([]node, error) {
	var interfaces []string
	if stats != "" {
		interfaces = strings.Split(stats, ",")
	}
	if len(interfaces) > 0 && len(interfaces) != len(endpoints) {
		return nil, fmt.Errorf("riak: stats names %d HTTP interfaces for %d endpoints: %w",
			len(interfaces), len(endpoints), store.ErrRefused)
	}
	nodes := make([]node, len(endpoints))
	for i, endpoint := range endpoints {
		nodes[i] = node{endpoint: endpoint, control: newConnection(endpoint, timeout)}
		if len(interfaces) > 0 {
			nodes[i].stats = strings.TrimSpace(interfaces[i])
		}
	}
	return nodes, nil
}

func (d *db) open(ctx context.Context) error {
	for i := range d.nodes {
		n := &d.nodes[i]
		err := n.control.Dial(ctx)
		if err == nil {
			n.name, n.version, err = n.control.serverInfo()
		}
		if err != nil {
			return fmt.Errorf("open riak at %s: %w", n.endpoint, err)
		}
	}
	if err := d.openBucket(ctx); err != nil {
		return err
	}
	copies, err := d.replicas()
	if err != nil {
		return err
	}
	if err := d.quorums.fit(copies); err != nil {
		return err
	}
	if err := d.refuseClass(copies); err != nil {
		return err
	}
	d.requests = newRequests(d.bucket, d.quorums, d.properties["allow_mult"] == "true")
	return d.proveClass(ctx)
}

// Handle connects once more, to the node that is next.
func (d *db) Handle() (store.Handle, error) {
	next := &d.nodes[0]
	if d.entry == entryAll {
		for i := range d.nodes {
			if d.nodes[i].handles < next.handles {
				next = &d.nodes[i]
			}
		}
	}
	next.handles++
	if d.client == goRiak {
		return newLibraryHandle(d, next.endpoint)
	}
	h := d.leanHandle(next.endpoint)
	if err := h.Open(context.Background()); err != nil {
		return nil, err
	}
	return h, nil
}

func (d *db) leanHandle(endpoint string) *leanHandle {
	h := &leanHandle{connection: newConnection(endpoint, d.timeout), requests: &d.requests,
		resolver: &d.resolver}
	h.Reconnects, h.Bound = &d.reconnects, &d.bound
	return h
}

// siblingsMax is the server's own limit of siblings (max_siblings).
const siblingsMax = 100

// Expect bounds an answer, in which all siblings come.
func (d *db) Expect(valueBytesMax int) { d.bound.Expect(siblingsMax * valueBytesMax) }

// Close takes back what this store has set.
func (d *db) Close() error {
	d.http.CloseIdleConnections()
	failed := d.leaveBucket()
	for i := range d.nodes {
		failed = errors.Join(failed, d.nodes[i].control.Close())
	}
	return failed
}

// Settings are the bucket's properties as the server reports them, and what each operation asks for.
func (d *db) Settings() map[string]string {
	settings := maps.Clone(d.properties)
	settings["version"] = d.nodes[0].version
	var names []string
	for i, n := range d.nodes {
		names = append(names, n.name)
		if n.version != d.nodes[0].version {
			settings[store.ServerStat(i, "version")] = n.version
		}
	}
	settings["nodes"] = strings.Join(names, ", ")
	settings["driver.bucket"] = d.bucket
	settings["driver.client"] = d.client
	if d.client == goRiak {
		settings["driver.client"] += " " + libraryVersion()
	}
	settings["driver.entry"] = d.entry
	settings["driver.operation_timeout"] = d.timeout.String()
	settings["driver.siblings"] = newest
	if d.resolver.fail {
		settings["driver.siblings"] = failOnSiblings
	}
	for option, asked := range map[string]quorum{"r": d.quorums.r, "pr": d.quorums.pr, "w": d.quorums.w,
		"dw": d.quorums.dw, "pw": d.quorums.pw} {
		settings["driver."+option] = asked.String()
	}
	settings["driver.node_confirms"] = fmt.Sprint(d.quorums.nodeConfirms)
	return settings
}
