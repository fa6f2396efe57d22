package riak

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"assay/store"
)

// The classes follow riak_kv 3.0 (riak_kv_put_fsm.erl, riak_kv_put_core.erl, riak_kv_delete.erl):
//
//   - What a node does with a write depends on its storage backend and on that one's settings
//     (bitcask.sync_strategy, none by default), which the protocol does not report. So nothing is
//     proved of one node: D0.
//   - A put with dw and node_confirms of k is acknowledged once so many replicas, on so many nodes,
//     have given it to their backends (count_diverse_nodes counts those that answered dw). With k of
//     2 or more that is D4(k). A server that does not know node_confirms ignores it: it came with
//     2.9.0. A cluster of fewer nodes refuses each such put, and one whose ring gives a node two
//     replicas of some records refuses those. Both are tried at open.
//   - A delete (RpbDelReq) has no node_confirms. At D4 it asks for r, dw and pw of all: the node
//     looks at every replica for a record, and every primary one is then a tombstone, so that no
//     loss of nodes leaves an older value.
//   - sync_on_write, a bucket's property since 3.0, syncs before the answer. The protocol neither
//     tells it nor sets it, so that no D3 is claimed.

// copiesMin is k of D4(k) unless node_confirms says more.
const copiesMin = 2

// quorums are how many replicas an operation waits for.
type quorums struct {
	r, pr, w, dw, pw quorum
	nodeConfirms     int
	class            store.Durability
}

func readQuorums(o store.Options, class store.Durability) (q quorums, err error) {
	for _, read := range []struct {
		name string
		into *quorum
	}{{"r", &q.r}, {"pr", &q.pr}, {"w", &q.w}, {"dw", &q.dw}, {"pw", &q.pw}} {
		if *read.into, err = parseQuorum(read.name, o.String(read.name)); err != nil {
			return q, err
		}
	}
	q.nodeConfirms, q.class = o.Int("node_confirms"), class
	if q.nodeConfirms < 0 {
		return q, fmt.Errorf("riak: node_confirms is %d, expected 0 or more: %w", q.nodeConfirms,
			store.ErrRefused)
	}
	if class != store.D4 {
		return q, nil
	}
	if q.nodeConfirms == 0 {
		q.nodeConfirms = copiesMin
	}
	if q.dw == quorumDefault {
		q.dw = quorum(q.nodeConfirms)
	}
	return q, nil
}

// ofDelete are the quorums of a delete.
func (q quorums) ofDelete() quorums {
	if q.class == store.D4 {
		q.r, q.dw, q.pw = quorumAll, quorumAll, quorumAll
	}
	return q
}

// quorumNames are the symbols, as Riak's documentation has them.
var quorumNames = map[string]quorum{
	"default": quorumDefault, "one": quorumOne, "quorum": quorumMajority, "all": quorumAll,
}

// replicasMax is more than any n_val.
const replicasMax = 1000

func parseQuorum(option, text string) (quorum, error) {
	if symbol, is := quorumNames[text]; is {
		return symbol, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > replicasMax {
		return 0, fmt.Errorf("riak: %s is %q, expected a number of replicas, one, quorum, all or "+
			"default: %w", option, text, store.ErrRefused)
	}
	return quorum(n), nil
}

func (q quorum) String() string {
	for text, symbol := range quorumNames {
		if q == symbol {
			return text
		}
	}
	return strconv.FormatUint(uint64(q), 10)
}

// of resolves the symbols for n replicas. What the bucket decides is 0: it guarantees nothing that
// was asked for.
func (q quorum) of(n int) int {
	switch q {
	case quorumDefault:
		return 0
	case quorumOne:
		return 1
	case quorumMajority:
		return n/2 + 1
	case quorumAll:
		return n
	}
	return int(q)
}

// fit refuses quorums that n replicas can't give: the server would refuse each operation.
func (q quorums) fit(n int) error {
	for _, one := range []struct {
		name  string
		value int
	}{{"r", q.r.of(n)}, {"pr", q.pr.of(n)}, {"w", q.w.of(n)}, {"dw", q.dw.of(n)}, {"pw", q.pw.of(n)},
		{"node_confirms", q.nodeConfirms}} {
		if one.value > n {
			return fmt.Errorf("riak: %s is %d, but the bucket's n_val is %d: %w", one.name, one.value, n,
				store.ErrRefused)
		}
	}
	return nil
}

// refuseClass says why these options and this server can't give the class.
func (d *db) refuseClass(replicas int) error {
	switch {
	case d.client != lean && d.quorums.nodeConfirms > 0:
		return fmt.Errorf("riak: %s can't ask for node_confirms, which D4 needs; client: lean can: %w",
			d.client, store.ErrRefused)
	case d.quorums.class != store.D4:
		return nil
	case d.quorums.nodeConfirms < copiesMin || d.quorums.dw.of(replicas) < d.quorums.nodeConfirms:
		return fmt.Errorf("riak can't reach D4 with node_confirms %d and dw %s: expected node_confirms "+
			"of %d or more, and dw no less than it: %w", d.quorums.nodeConfirms, d.quorums.dw, copiesMin,
			store.ErrRefused)
	}
	for _, n := range d.nodes {
		if !knowsNodeConfirms(n.version) {
			return fmt.Errorf("riak at %s can't reach D4: its version is %q, and node_confirms came with "+
				"2.9.0: %w", n.endpoint, n.version, store.ErrRefused)
		}
	}
	return nil
}

var versionNumbers = regexp.MustCompile(`^[^0-9]*([0-9]+)\.([0-9]+)`)

func knowsNodeConfirms(version string) bool {
	parts := versionNumbers.FindStringSubmatch(version)
	if parts == nil {
		return false
	}
	major, errMajor := strconv.Atoi(parts[1])
	minor, errMinor := strconv.Atoi(parts[2])
	return errMajor == nil && errMinor == nil && (major > 2 || major == 2 && minor >= 9)
}

// probeKeys begin with no trial's name. Where two neighbouring partitions of the ring are of one
// node, only the records there have two replicas on it. So many keys meet one in a hundred of them
// with a chance of 92 %.
const (
	probeKey  = "assay:class-probe-"
	probeKeys = 256
)

// proveClass writes records with the class's quorums: a cluster of too few nodes refuses each, and
// one whose ring gives a node two replicas of some records refuses those.
func (d *db) proveClass(ctx context.Context) (failed error) {
	if d.quorums.class != store.D4 {
		return nil
	}
	h := d.leanHandle(d.nodes[0].endpoint)
	if err := h.Dial(ctx); err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, h.Close()) }()
	var put [][]byte
	defer func() {
		plain := newRequests(d.bucket, quorums{r: quorumDefault, pr: quorumDefault, w: quorumDefault,
			dw: quorumDefault, pw: quorumDefault}, false)
		h.requests = &plain
		for _, key := range put {
			if err := h.Delete(key); err != nil {
				failed = errors.Join(failed, err)
				return
			}
		}
	}()
	for i := range probeKeys {
		key := strconv.AppendInt([]byte(probeKey), int64(i), 10)
		put = append(put, key)
		err := h.Put(key, []byte("assay"))
		if text, is := refused(err); is {
			return fmt.Errorf("riak at %s can't reach D4: a put that %d nodes must confirm is answered "+
				"%s: %w", d.nodes[0].endpoint, d.quorums.nodeConfirms, text, store.ErrRefused)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
