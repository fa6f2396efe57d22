// Package riakstandin stands in for a cluster of Riak KV in tests, as far as the driver speaks to
// one: gets, puts with vector clocks and siblings, deletes with tombstones, properties of buckets,
// quorums that nodes which are down can't give, and errors in Riak's own words. It is written from
// the protocol (riak_pb) and from what riak_kv does with it, and shares no code with the driver. It
// lies where a test wants it to.
//
// It is no Riak: its nodes share one memory, so that nothing is ever stale, and a node that is down
// still answers those who connect to it.
//
//	cluster.go  the nodes, and what they are asked
//	record.go   what is stored: siblings and their clocks
//	codec.go    the protocol's messages
//
// # Decisions
//
//   - What no package has is tested against a stand-in that is called one
//     (internal/testkit/tyrantstandin), and against the real server where it is in PATH.
//   - Riak is tested against a stand-in, because no package has it and no recipe that builds it is
//     kept here; docs/servers/riak.md says what three real nodes have shown. The stand-in is a
//     package of its own, below the driver and without its code (internal/testkit/riakstandin), so
//     that the kit and whole experiments run on it too. A server that is only named has a
//     server.Program as well (drivers.Found): doctor looks for it, and nothing starts it.
package riakstandin

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"assay/internal/testkit/loopback"
)

// Version is what the nodes say that they are.
const Version = "3.2.1-stand-in"

// Cluster is a cluster of nodes.
type Cluster struct {
	// Endpoints are the nodes', on loopback.
	Endpoints []string

	lock    sync.Mutex
	version string
	lie     Lie
	down    map[int]bool
	buckets map[string]map[int]uint64 // properties that differ from the server's own
	records map[string]*record
	clock   uint64 // microseconds
	counts  Counts
}

// Counts are the requests that were answered, lies included.
type Counts struct {
	Gets, Puts, Deletes int
	PutsWithVClock      int
	SiblingReads        int   // gets whose answer had several contents
	ByNode              []int // gets, puts and deletes of each node
}

// Lie answers a request itself and returns true, or returns false. w also closes the connection
// (io.Closer). It is called under the cluster's lock.
type Lie func(r Request, w io.Writer) bool

// Request is what a node is asked.
type Request struct {
	Code   byte
	Node   int
	Bucket string
	Key    string
	VClock []byte // of a put; nil: none
	Value  []byte // of a put
	fields map[int]value
}

// Codes of requests.
const (
	Ping       = 1
	ServerInfo = 7
	Get        = 9
	Put        = 11
	Delete     = 13
)

// Start starts a cluster of so many nodes, which ends with the test.
func Start(t testing.TB, nodes int) *Cluster {
	t.Helper()
	c := &Cluster{version: Version, down: map[int]bool{}, buckets: map[string]map[int]uint64{},
		records: map[string]*record{}, clock: 1_700_000_000_000_000, counts: Counts{ByNode: make([]int, nodes)}}
	for node := range nodes {
		c.Endpoints = append(c.Endpoints, loopback.Listen(t, func(socket net.Conn) { c.serve(node, socket) }))
	}
	return c
}

// SetLie makes the nodes lie, from the next request on; nil: no more.
func (c *Cluster) SetLie(lie Lie) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.lie = lie
}

// SetDown says which nodes are down: others store their replicas for them, and confirm no more than
// what they are.
func (c *Cluster) SetDown(nodes ...int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	clear(c.down)
	for _, node := range nodes {
		c.down[node] = true
	}
}

// SetVersion says what the nodes say that they are.
func (c *Cluster) SetVersion(version string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.version = version
}

// Counts returns what was done so far.
func (c *Cluster) Counts() Counts {
	c.lock.Lock()
	defer c.lock.Unlock()
	counts := c.counts
	counts.ByNode = append([]int(nil), counts.ByNode...)
	return counts
}

// Properties returns the numbers of the properties that a bucket has of its own, sorted by nothing.
func (c *Cluster) Properties(bucket string) map[int]uint64 {
	c.lock.Lock()
	defer c.lock.Unlock()
	own := map[int]uint64{}
	for number, v := range c.buckets[bucket] {
		own[number] = v
	}
	return own
}

// Keys returns how many records a bucket has: tombstones are none.
func (c *Cluster) Keys(bucket string) (n int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, r := range c.records {
		if r.bucket == bucket && !r.gone() {
			n++
		}
	}
	return n
}

// Store puts a record there that no client has sent.
func (c *Cluster) Store(bucket, key, value string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.store(Request{Bucket: bucket, Key: key}, sibling{value: []byte(value)}, clock{})
}

func (c *Cluster) serve(node int, socket net.Conn) {
	for {
		head := make([]byte, 4)
		if _, err := io.ReadFull(socket, head); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(socket, frame); err != nil || len(frame) == 0 {
			return
		}
		r, err := readRequest(node, frame)
		if err != nil {
			_, _ = socket.Write(Error(err.Error()))
			return
		}
		if answer, lied := c.answer(r, socket); !lied {
			if _, err := socket.Write(answer); err != nil {
				return
			}
		}
	}
}

func readRequest(node int, frame []byte) (r Request, err error) {
	r = Request{Code: frame[0], Node: node}
	if r.fields, err = fieldsOf(frame[1:]); err != nil {
		return r, err
	}
	r.Bucket, r.Key = string(r.fields[1].bytes), string(r.fields[2].bytes)
	if r.Code == Put {
		r.VClock = r.fields[3].bytes
		content, err := fieldsOf(r.fields[4].bytes)
		if err != nil {
			return r, err
		}
		if !content[1].there {
			return r, fmt.Errorf("a content without a value")
		}
		r.Value = content[1].bytes
	}
	return r, nil
}

// answer returns what a node answers.
func (c *Cluster) answer(r Request, w io.Writer) (answer []byte, lied bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if r.Code == Get || r.Code == Put || r.Code == Delete {
		c.counts.ByNode[r.Node]++
	}
	switch r.Code {
	case Get:
		c.counts.Gets++
	case Put:
		c.counts.Puts++
		if r.VClock != nil {
			c.counts.PutsWithVClock++
		}
	case Delete:
		c.counts.Deletes++
	}
	if c.lie != nil && c.lie(r, w) {
		return nil, true
	}
	return c.truth(r), false
}

// truth is the honest answer; the lock is held.
func (c *Cluster) truth(r Request) []byte {
	switch r.Code {
	case Ping:
		return Message(2, nil)
	case ServerInfo:
		return Message(8, appendText(appendText(nil, 1, fmt.Sprintf("riak@127.0.0.%d", r.Node+1)), 2, c.version))
	}
	if r.Bucket == "" {
		return Error("Bucket cannot be zero-length")
	}
	switch r.Code {
	case 19:
		return Message(20, appendBytes(nil, 1, c.told(r.Bucket)))
	case 21:
		return c.setBucket(r)
	case 29:
		delete(c.buckets, r.Bucket)
		return Message(30, nil)
	}
	if r.Key == "" {
		return Error("Key cannot be zero-length")
	}
	switch r.Code {
	case Get:
		return c.get(r)
	case Put:
		return c.put(r)
	case Delete:
		return c.remove(r)
	}
	return Error(fmt.Sprintf("Unknown message code: %d", r.Code))
}

// Numbers of bucket properties.
const (
	NVal, AllowMult, LastWriteWins = 1, 2, 3
)

// Symbols of quorums.
const (
	one      = 4294967294
	majority = 4294967293
	all      = 4294967292
	byBucket = 4294967291
)

// own are the server's properties of a bucket that has none of its own.
var own = map[int]uint64{NVal: 3, AllowMult: 0, LastWriteWins: 0, 14: 0, 15: majority, 16: majority, 17: 0,
	18: majority, 19: majority, 20: 0, 21: 1}

func (c *Cluster) property(bucket string, number int) uint64 {
	if v, is := c.buckets[bucket][number]; is {
		return v
	}
	return own[number]
}

func (c *Cluster) told(bucket string) (props []byte) {
	for number := range own {
		props = appendNumber(props, number, c.property(bucket, number))
	}
	return props
}

func (c *Cluster) setBucket(r Request) []byte {
	props, err := fieldsOf(r.fields[2].bytes)
	if err != nil {
		return Error(err.Error())
	}
	if c.buckets[r.Bucket] == nil {
		c.buckets[r.Bucket] = map[int]uint64{}
	}
	for number, v := range props {
		c.buckets[r.Bucket][number] = v.number
	}
	return Message(22, nil)
}

// quorum is what a request's field asks for, or else the bucket's property.
func (c *Cluster) quorum(r Request, field, property int) int {
	n := int(c.property(r.Bucket, NVal))
	v, asked := r.fields[field].number, r.fields[field].there
	if !asked || v == byBucket {
		if property == 0 {
			return 0
		}
		v = c.property(r.Bucket, property)
	}
	switch v {
	case one:
		return 1
	case majority:
		return n/2 + 1
	case all:
		return n
	}
	return int(v)
}

// unsatisfied is the error of a write that has too few replicas. Each record's are on the nodes from
// the first on, a node that is down is stood in for by those that are not.
func (c *Cluster) unsatisfied(r Request, w, dw, pw, confirms int) string {
	n := int(c.property(r.Bucket, NVal))
	primaries := c.primaries(n)
	up := min(len(c.Endpoints)-len(c.down), n)
	switch {
	case max(w, dw, pw, confirms) > n:
		return fmt.Sprintf("{n_val_violation,%d}", n)
	case pw > primaries:
		return fmt.Sprintf("{pw_val_unsatisfied,%d,%d}", pw, primaries)
	case confirms > up:
		return fmt.Sprintf("{node_confirms_val_unsatisfied,%d,%d}", confirms, up)
	}
	return ""
}

// primaries are how many of n replicas are on nodes that are up.
func (c *Cluster) primaries(n int) (up int) {
	for replica := range n {
		if !c.down[replica%len(c.Endpoints)] {
			up++
		}
	}
	return up
}

func (c *Cluster) get(r Request) []byte {
	n := int(c.property(r.Bucket, NVal))
	pr, primaries := c.quorum(r, 4, 14), c.primaries(n)
	switch {
	case c.quorum(r, 3, 15) > n || pr > n:
		return Error(fmt.Sprintf("{n_val_violation,%d}", n))
	case pr > primaries:
		return Error(fmt.Sprintf("{pr_val_unsatisfied,%d,%d}", pr, primaries))
	}
	stored := c.records[r.Bucket+"\x00"+r.Key]
	switch {
	case stored == nil:
		return Message(10, nil)
	case stored.gone() && r.fields[9].number == 0:
		return Message(10, nil)
	case stored.gone():
		return Message(10, appendBytes(nil, 2, stored.clock.bytes()))
	}
	if len(stored.siblings) > 1 {
		c.counts.SiblingReads++
	}
	return Found(stored.contents(), stored.clock.bytes())
}

func (c *Cluster) put(r Request) []byte {
	w, dw, pw, confirms := c.quorum(r, 5, 16), c.quorum(r, 6, 18), c.quorum(r, 8, 17), c.quorum(r, 17, 0)
	if text := c.unsatisfied(r, w, dw, pw, confirms); text != "" {
		return Error(text)
	}
	known, err := readClock(r.VClock)
	if err != nil {
		return Error(err.Error())
	}
	c.store(r, sibling{value: r.Value}, known)
	return Message(12, nil)
}

func (c *Cluster) remove(r Request) []byte {
	stored := c.records[r.Bucket+"\x00"+r.Key]
	if stored == nil || stored.gone() {
		return Message(14, nil) // delete succeeds if already deleted
	}
	w, dw, pw := c.quorum(r, 6, 16), c.quorum(r, 9, 18), c.quorum(r, 8, 17)
	if text := c.unsatisfied(r, w, dw, pw, 0); text != "" {
		return Error(text)
	}
	c.store(r, sibling{deleted: true}, stored.clock)
	return Message(14, nil)
}

// store adds a value, by the node that was asked.
func (c *Cluster) store(r Request, s sibling, known clock) {
	id := r.Bucket + "\x00" + r.Key
	stored := c.records[id]
	if stored == nil {
		stored = &record{bucket: r.Bucket, clock: clock{}}
		c.records[id] = stored
	}
	c.clock++
	s.written = c.clock
	stored.add(s, r.Node, known, c.property(r.Bucket, AllowMult) == 1)
}
