package powercut

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"assay/internal/experiment"
)

// Strict is the name of a file system of our own that keeps what POSIX says that it keeps, and no more:
// a sync of a file makes its bytes and its length durable, and not its name; a sync of a directory makes
// the names in it durable. A cut leaves any part of the rest. What real file systems forgive, such as a
// directory that was not synced, is lost on it.
const Strict = experiment.StrictFileSystem

// tree is such a file system, in memory. Whatever is done to it is one [change].
type tree struct {
	nodes map[uint64]*node
	next  uint64
}

const rootNode = 1

// node is a file, or a directory.
type node struct {
	directory bool
	access    access
	data      sparse
	names     map[string]uint64
}

// access says who may do what: a server may run as another user than Assay.
type access struct{ mode, uid, gid uint32 }

func newTree() *tree {
	return &tree{map[uint64]*node{rootNode: {directory: true, access: access{mode: 0o755},
		names: map[string]uint64{}}}, rootNode + 1}
}

// changeKind is what a change does.
type changeKind int

const (
	changeBytes  changeKind = iota // of node: data at offset
	changeLength                   // of node: to offset
	changeLink                     // name in node is target, which is made where it is not there
	changeUnlink                   // name in node
	changeRename                   // name in node becomes newName in target
	changeAccess                   // of node; kept in any case
	syncNode                       // what came before it of node is durable
	syncAll                        // all that came before it is
	syncFailed                     // of node, whose bytes since the sync before are never durable
)

// change is one that was made.
type change struct {
	kind          changeKind
	node, target  uint64
	name, newName string
	offset        int64
	data          []byte
	directory     bool
	access        access
}

// do makes a change, or none where what it changes is not there.
func (t *tree) do(c *change) {
	t.next = max(t.next, c.target+1)
	n := t.nodes[c.node]
	if c.kind == changeLink && t.nodes[c.target] == nil {
		made := &node{directory: c.directory, access: c.access}
		if c.directory {
			made.names = map[string]uint64{}
		}
		t.nodes[c.target] = made
	}
	if n == nil {
		return
	}
	switch c.kind {
	case changeBytes:
		n.data.write(c.offset, c.data)
	case changeLength:
		n.data.resize(c.offset)
	case changeLink:
		if n.directory {
			n.names[c.name] = c.target
		}
	case changeUnlink:
		delete(n.names, c.name)
	case changeRename:
		moved, there := n.names[c.name]
		if to := t.nodes[c.target]; there && to != nil && to.directory {
			delete(n.names, c.name)
			to.names[c.newName] = moved
		}
	case changeAccess:
		n.access = c.access
	case syncNode, syncAll, syncFailed:
	}
}

// cutTree does to a tree what a cut leaves of a log. The tree holds what was there before it.
func (l *Log) cutTree(t *tree, c Cut) error {
	if c.From < 0 || c.At < c.From || c.At > len(l.entries) {
		return fmt.Errorf("a cut at event %d of %d, from %d on", c.At, len(l.entries), c.From)
	}
	synced, all := map[uint64]int{}, c.From // the last sync of each node, and of everything
	for i := range l.entries[:c.At] {
		switch made := l.entries[i].change; {
		case made == nil || c.IgnoresFlushes:
		case made.kind == syncNode:
			synced[made.node] = i
		case made.kind == syncAll:
			all = max(all, i)
		}
	}
	doomed := l.doomed(c)
	random := rand.New(rand.NewPCG(c.Seed, 0))
	for i := range l.entries[:c.At] {
		made := l.entries[i].change
		if made == nil {
			continue
		}
		durable := i < all || i < synced[made.node] && !doomed[i]
		if made.kind == changeRename { // in both directories
			durable = i < all || i < synced[made.node] && i < synced[made.target]
		}
		switch {
		case durable, made.kind == changeAccess, c.Keep == KeepAll:
			t.do(made)
		case c.Keep == KeepHalf, c.Keep == KeepTorn && made.kind != changeBytes:
			if random.IntN(2) == 0 {
				t.do(made)
			}
		case c.Keep == KeepTorn:
			t.tear(made, random)
		case c.Keep != KeepNone:
			return fmt.Errorf("a cut keeps %q: expected one of %v", c.Keep, Keeps)
		}
		t.next = max(t.next, made.target+1) // a number is never given again
	}
	return nil
}

// doomed are the writes whose first sync failed: the kernel has marked their pages clean, so that no
// later sync writes them.
func (l *Log) doomed(c Cut) map[int]bool {
	doomed, failed := map[int]bool{}, map[uint64]bool{} // by node: whether the next sync of it fails
	for i := c.At - 1; i >= c.From; i-- {
		switch made := l.entries[i].change; {
		case made == nil:
		case made.kind == syncFailed, made.kind == syncNode:
			failed[made.node] = made.kind == syncFailed
		case made.kind == changeBytes && failed[made.node]:
			doomed[i] = true
		}
	}
	return doomed
}

// tear writes some sectors of a write.
func (t *tree) tear(c *change, random *rand.Rand) {
	for at := 0; at < len(c.data); at += sectorBytes {
		if random.IntN(2) == 0 {
			part := *c
			part.offset, part.data = c.offset+int64(at), c.data[at:min(at+sectorBytes, len(c.data))]
			t.do(&part)
		}
	}
}

// digest names what the tree holds: SHA-256 over paths, in order, and their bytes.
func (t *tree) digest() string {
	sum := sha256.New()
	t.walk(func(path string, n *node) {
		fmt.Fprintf(sum, "%q %v %d\n", path, n.directory, n.data.length)
		n.data.writeTo(sum)
	})
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// walk visits everything that has a name, by path.
func (t *tree) walk(visit func(path string, n *node)) {
	on := map[uint64]bool{} // a cut may leave a directory in itself
	var enter func(path string, id uint64)
	enter = func(path string, id uint64) {
		n := t.nodes[id]
		if n == nil || on[id] {
			return
		}
		visit(cmp.Or(path, "/"), n)
		if n.directory {
			on[id] = true
			for _, name := range slices.Sorted(maps.Keys(n.names)) {
				enter(path+"/"+name, n.names[name])
			}
			on[id] = false
		}
	}
	enter("", rootNode)
}
