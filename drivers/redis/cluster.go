package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"assay/store"
)

// slotCount is that of Redis Cluster: a key belongs to slot CRC16(key) mod 16384, and a slot to a
// master.
const slotCount = 1 << 14

// slots says which node has a slot. All handles share it; a server's MOVED changes it.
type slots [slotCount]atomic.Int32

// noNode is the node of a slot that has none.
const noNode = -1

// slotOf is keyHashSlot of src/cluster.c: of a key with a part in braces, that part alone counts.
func slotOf(key []byte) int {
	for i, b := range key {
		if b != '{' {
			continue
		}
		for j, end := range key[i+1:] {
			if end != '}' {
				continue
			}
			if j > 0 {
				key = key[i+1 : i+1+j]
			}
			break
		}
		break
	}
	return int(crc16(key)) & (slotCount - 1)
}

// crc16 is CRC-16/XMODEM: polynomial 0x1021, no reflection, from 0.
func crc16(key []byte) (sum uint16) {
	for _, b := range key {
		sum = sum<<8 ^ crcTable[byte(sum>>8)^b]
	}
	return sum
}

var crcTable = func() (table [256]uint16) {
	for i := range table {
		sum := uint16(i) << 8
		for range 8 {
			carry := sum&0x8000 != 0
			if sum <<= 1; carry {
				sum ^= 0x1021
			}
		}
		table[i] = sum
	}
	return table
}()

// readSlots asks a node which master has each slot. Each master must be one of the endpoints:
// Assay connects to no server that the experiment does not name.
func readSlots(c connection, endpoints []string) (*slots, error) {
	ranges, err := c.told("CLUSTER SLOTS", "CLUSTER", "SLOTS")
	if err != nil {
		return nil, err
	}
	table := new(slots)
	for i := range table {
		table[i].Store(noNode)
	}
	var masters []string
	for _, r := range ranges.items {
		first, last, master, ok := parseRange(r, c.Endpoint)
		if !ok {
			return nil, c.GiveUp("CLUSTER SLOTS", errors.New("the answer is not as it should be"))
		}
		if !slices.Contains(masters, master) {
			masters = append(masters, master)
		}
		for slot := first; slot <= last; slot++ {
			table[slot].Store(int32(slices.Index(endpoints, master))) // noNode if it is not named
		}
	}
	slices.Sort(masters)
	if len(masters) == 0 {
		return nil, fmt.Errorf("redis at %s is a node of a cluster without slots, which takes no keys: "+
			"CLUSTER ADDSLOTSRANGE 0 16383 gives it all: %w", strings.Join(endpoints, ", "), store.ErrRefused)
	}
	for i, endpoint := range endpoints {
		switch {
		case slices.Contains(endpoints[:i], endpoint):
			return nil, fmt.Errorf("redis: %s is named twice: %w", endpoint, store.ErrRefused)
		case !slices.Contains(masters, endpoint):
			return nil, fmt.Errorf("redis: %s is no master of the cluster: expected %s: %w",
				endpoint, strings.Join(masters, ", "), store.ErrRefused)
		}
	}
	if len(masters) != len(endpoints) {
		return nil, fmt.Errorf("redis: the cluster has %d masters, and %d are named as endpoints: "+
			"expected %s: %w", len(masters), len(endpoints), strings.Join(masters, ", "), store.ErrRefused)
	}
	for i := range table {
		if table[i].Load() == noNode {
			return nil, fmt.Errorf("redis: no master of the cluster has slot %d: %w", i, store.ErrRefused)
		}
	}
	return table, nil
}

// parseRange reads a range of CLUSTER SLOTS: its first and its last slot, and the nodes that have
// it, of which the master is the first. A node without a host is at that of the one that was asked.
func parseRange(r answer, asked string) (first, last int, master string, ok bool) {
	if len(r.items) < 3 || len(r.items[2].items) < 2 {
		return 0, 0, "", false
	}
	first, last = r.items[0].n, r.items[1].n
	host, port := r.items[2].items[0].text, r.items[2].items[1].n
	if host == "" {
		host, _, _ = net.SplitHostPort(asked)
	}
	ok = first >= 0 && first <= last && last < slotCount && port > 0 && port < 1<<16
	return first, last, net.JoinHostPort(host, strconv.Itoa(port)), ok
}

// weights returns how many slots each node has.
func (t *slots) weights(nodes int) []int {
	weights := make([]int, nodes)
	for i := range t {
		if node := t[i].Load(); node != noNode {
			weights[node]++
		}
	}
	return weights
}

func (t *slots) weightsText(nodes int) string {
	var parts []string
	for _, weight := range t.weights(nodes) {
		parts = append(parts, strconv.Itoa(weight))
	}
	return strings.Join(parts, ", ")
}

// redirect is a node's answer that another one has the slot: permanently (MOVED), or for this
// request, while the slot migrates (ASK).
type redirect struct {
	ask      bool
	slot     int
	endpoint string
	told     error // the answer as an error like others
}

func (r *redirect) Error() string { return r.told.Error() }
func (r *redirect) Unwrap() error { return r.told }

// asRedirect reads "MOVED slot host:port"; nil: the line is another error.
func asRedirect(line string, told error) *redirect {
	words := strings.Fields(line)
	if len(words) != 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return nil
	}
	slot, err := strconv.Atoi(words[1])
	if err != nil || slot < 0 || slot >= slotCount {
		return nil
	}
	return &redirect{words[0] == "ASK", slot, words[2], told}
}

// clusterHandle is a connection to each node of a cluster, of which a key has one. An operation on a
// key that is sent to another node is followed once, as cluster clients do, and counted; a second
// one is an error. Of a batch none is followed, and of a transaction no ASK: they are errors.
type clusterHandle struct {
	db    *db
	nodes []*leanHandle // in the order of the endpoints
	parts [][]store.Write
	sent  []*leanHandle // those that a batch's part was sent to, reused

	calls  []slotCall  // of a multi-get, reused
	callOf map[int]int // slot → its call
}

func newClusterHandle(d *db) (store.Handle, error) {
	c := &clusterHandle{db: d, parts: make([][]store.Write, len(d.members))}
	for _, m := range d.members {
		h := newLeanHandle(d.newSpeaker(m.endpoint, 1))
		if err := h.Open(context.Background()); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.nodes = append(c.nodes, h)
	}
	return c, nil
}

func (c *clusterHandle) of(key []byte) *leanHandle {
	return c.nodes[c.db.slots[slotOf(key)].Load()]
}

// follow returns the node that an error sends the operation to; nil: it is not to be followed.
func (c *clusterHandle) follow(err error, isTransaction bool) (*leanHandle, error) {
	//nolint:errorlint // a miss is not to cost a search: it is never wrapped here
	if err == nil || err == store.ErrNotFound || err == store.ErrConflict {
		return nil, err
	}
	var to *redirect
	if !errors.As(err, &to) {
		return nil, err
	}
	c.db.redirects.Add(1)
	node := int32(slices.IndexFunc(c.db.members, func(m *member) bool { return m.endpoint == to.endpoint }))
	if node == noNode {
		return nil, fmt.Errorf("%w, which is no endpoint of the experiment", err)
	}
	if !to.ask {
		c.db.slots[to.slot].Store(node)
		return c.nodes[node], nil
	}
	if isTransaction {
		return nil, err
	}
	h := c.nodes[node]
	if err := h.Begin(); err != nil {
		return nil, err
	}
	return h, h.ask("ASKING", "ASKING")
}

func (c *clusterHandle) Get(key, buf []byte) ([]byte, error) {
	value, err := c.of(key).Get(key, buf)
	h, err := c.follow(err, false)
	if h == nil || err != nil {
		return value, err
	}
	return h.Get(key, buf)
}

func (c *clusterHandle) Put(key, value []byte) error {
	h, err := c.follow(c.of(key).Put(key, value), false)
	if h == nil || err != nil {
		return err
	}
	return h.Put(key, value)
}

func (c *clusterHandle) PutFor(key, value []byte, ttl time.Duration) error {
	h, err := c.follow(c.of(key).PutFor(key, value, ttl), false)
	if h == nil || err != nil {
		return err
	}
	return h.PutFor(key, value, ttl)
}

func (c *clusterHandle) Delete(key []byte) error {
	h, err := c.follow(c.of(key).Delete(key), false)
	if h == nil || err != nil {
		return err
	}
	return h.Delete(key)
}

func (c *clusterHandle) Add(key, value []byte) error {
	h, err := c.follow(c.of(key).Add(key, value), len(c.db.columns) > 0)
	if h == nil || err != nil {
		return err
	}
	return h.Add(key, value)
}

func (c *clusterHandle) CompareAndSwap(key, old, value []byte) error {
	h, err := c.follow(c.of(key).CompareAndSwap(key, old, value), true)
	if h == nil || err != nil {
		return err
	}
	return h.CompareAndSwap(key, old, value)
}

func (c *clusterHandle) Touch(key []byte, ttl time.Duration) error {
	h, err := c.follow(c.of(key).Touch(key, ttl), false)
	if h == nil || err != nil {
		return err
	}
	return h.Touch(key, ttl)
}

func (c *clusterHandle) Append(key, part []byte) error {
	h, err := c.follow(c.of(key).Append(key, part), false)
	if h == nil || err != nil {
		return err
	}
	return h.Append(key, part)
}

func (c *clusterHandle) GetAndSet(key, value, buf []byte) ([]byte, error) {
	old, err := c.of(key).GetAndSet(key, value, buf)
	h, err := c.follow(err, false)
	if h == nil || err != nil {
		return old, err
	}
	return h.GetAndSet(key, value, buf)
}

// slotCall is an MGET of the keys that one slot has: the server takes no others together.
type slotCall struct {
	node      int32
	keys      [][]byte
	values    [][]byte
	positions []int // of the keys in the multi-get
}

// MultiGet sends each node an MGET for each slot, all of them at once, and then reads all answers. None
// is followed, as of a batch.
func (c *clusterHandle) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	if len(c.nodes[0].columns.names) > 0 {
		return 0, errHashMany
	}
	c.partBySlots(keys)
	var failed error
	asked := make([]bool, len(c.nodes))
	for node, h := range c.nodes {
		request, count := h.Request[:0], 0
		for _, call := range c.calls {
			if call.node == int32(node) {
				request = appendMany(request, call.keys)
				count++
			}
		}
		if count == 0 {
			continue
		}
		err := h.Begin()
		if err == nil {
			err = h.exchange(request)
		}
		failed, asked[node] = errors.Join(failed, err), err == nil
	}
	for _, call := range c.calls {
		if !asked[call.node] || !c.nodes[call.node].Connected() {
			continue
		}
		if buf, err = c.nodes[call.node].readMany(call.values, buf); err != nil {
			failed = errors.Join(failed, err)
		}
		for i, position := range call.positions {
			values[position] = call.values[i]
		}
	}
	calls = len(c.calls)
	for i := range c.calls { // the caller's bytes are not kept
		clear(c.calls[i].keys)
		clear(c.calls[i].values)
	}
	if _, err := c.follow(failed, true); err != nil {
		return calls, err
	}
	return calls, failed
}

// partBySlots makes a call for each slot that has some of the keys.
func (c *clusterHandle) partBySlots(keys [][]byte) {
	if c.callOf == nil {
		c.callOf = make(map[int]int, len(keys))
	}
	clear(c.callOf)
	c.calls = c.calls[:0]
	for i, key := range keys {
		slot := slotOf(key)
		at, known := c.callOf[slot]
		if !known {
			at = len(c.calls)
			c.callOf[slot] = at
			if c.calls = c.calls[:min(at+1, cap(c.calls))]; len(c.calls) == at {
				c.calls = append(c.calls, slotCall{})
			}
			call := &c.calls[at]
			*call = slotCall{c.db.slots[slot].Load(), call.keys[:0], call.values[:0], call.positions[:0]}
		}
		call := &c.calls[at]
		call.keys, call.values, call.positions = append(call.keys, key), append(call.values,
			nil), append(call.positions, i)
	}
}

// Apply sends each node its part in a pipeline, and then reads all answers. The writes of a key are
// in order, for they go to one node.
func (c *clusterHandle) Apply(writes []store.Write) error {
	if err := c.nodes[0].columns.fitAll(writes); err != nil {
		return err
	}
	for i := range writes {
		node := c.db.slots[slotOf(writes[i].Key)].Load()
		c.parts[node] = append(c.parts[node], writes[i])
	}
	var failed error
	sent := c.sent[:0]
	for node, part := range c.parts {
		if len(part) == 0 {
			continue
		}
		if err := c.nodes[node].Submit(store.Request{Operation: store.OpApply, Writes: part}); err != nil {
			failed = errors.Join(failed, err)
		} else {
			sent = append(sent, c.nodes[node])
		}
	}
	c.sent = sent
	for _, node := range sent {
		if err := node.Await(); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	for node, part := range c.parts {
		clear(part) // the caller's bytes are not kept
		c.parts[node] = part[:0]
	}
	if _, err := c.follow(failed, true); err != nil {
		return err
	}
	return failed
}

func (c *clusterHandle) Close() error {
	var failed error
	for _, h := range c.nodes {
		failed = errors.Join(failed, h.Close())
	}
	return failed
}
