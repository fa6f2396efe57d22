package riakstandin

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// clock is a version vector: how many writes of each node it knows.
type clock map[int]uint64

// bytes are opaque to clients.
func (c clock) bytes() []byte {
	b := []byte("vclock")
	for _, node := range slices.Sorted(maps.Keys(c)) {
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(node)), c[node])
	}
	return b
}

func readClock(b []byte) (clock, error) {
	c := clock{}
	if len(b) == 0 {
		return c, nil
	}
	if len(b) < 6 || string(b[:6]) != "vclock" || (len(b)-6)%16 != 0 {
		return nil, errors.New("a vector clock that no node has made")
	}
	for b = b[6:]; len(b) > 0; b = b[16:] {
		c[int(binary.BigEndian.Uint64(b))] = binary.BigEndian.Uint64(b[8:])
	}
	return c, nil
}

// sibling is a value and the write that it comes from: the how manieth of which node.
type sibling struct {
	value   []byte
	deleted bool
	written uint64 // microseconds
	node    int
	event   uint64
}

// record is a key with its values: dotted version vectors, as riak_kv keeps them.
type record struct {
	bucket   string
	clock    clock
	siblings []sibling
}

// gone reports whether only tombstones are left.
func (r *record) gone() bool {
	return !slices.ContainsFunc(r.siblings, func(s sibling) bool { return !s.deleted })
}

// add puts a value in place of those that its writer knew. Without siblings the newest is kept, which
// it is.
func (r *record) add(s sibling, node int, known clock, allowMult bool) {
	r.siblings = slices.DeleteFunc(r.siblings, func(old sibling) bool {
		return !allowMult || known[old.node] >= old.event
	})
	for at, events := range known {
		r.clock[at] = max(r.clock[at], events)
	}
	r.clock[node]++
	s.node, s.event = node, r.clock[node]
	r.siblings = append(r.siblings, s)
}

func (r *record) contents() (contents [][]byte) {
	for _, s := range r.siblings {
		contents = append(contents, Content(s.value, s.written, s.deleted))
	}
	return contents
}
