package redis

import (
	"errors"
	"fmt"

	"assay/internal/execution/server"
	"assay/store"
)

// Where reads go: choices of the option read_from.
const (
	fromPrimary = "primary"
	fromReplica = "replica"
)

// leanReader writes at the primary by the handle that it embeds, and reads at a replica. What is
// neither a Get nor a MultiGet is the primary's, also where it reads first.
type leanReader struct {
	*leanHandle
	replica *leanHandle
}

func (h *leanReader) Get(key, buf []byte) ([]byte, error) { return h.replica.Get(key, buf) }

// MultiGet is one MGET at the replica.
func (h *leanReader) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	return h.replica.MultiGet(keys, values, buf)
}

func (h *leanReader) Close() error { return errors.Join(h.leanHandle.Close(), h.replica.Close()) }

// libraryReader is the same by go-redis.
type libraryReader struct {
	*libraryHandle
	replica *libraryHandle
}

func (h *libraryReader) Get(key, buf []byte) ([]byte, error) { return h.replica.Get(key, buf) }

// MultiGet is one MGET at the replica.
func (h *libraryReader) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	return h.replica.MultiGet(keys, values, buf)
}

func (h *libraryReader) Close() error {
	return errors.Join(h.libraryHandle.Close(), h.replica.Close())
}

// openReader opens a handle at the primary, and one at a replica: handles take the replicas in turn.
func (d *db) openReader() (store.Handle, error) {
	at := d.members[1+int(d.readers.Add(1)-1)%(len(d.members)-1)]
	if d.client == goRedis {
		primary, err := newLibraryHandle(d, d.members[0].endpoint)
		if err != nil {
			return nil, err
		}
		replica, err := newLibraryHandle(d, at.endpoint)
		if err != nil {
			return nil, errors.Join(err, primary.Close())
		}
		return &libraryReader{primary, replica}, nil
	}
	primary, err := d.openLean(d.members[0].endpoint)
	if err != nil {
		return nil, err
	}
	replica, err := d.openLean(at.endpoint)
	if err != nil {
		return nil, errors.Join(err, primary.Close())
	}
	return &leanReader{primary, replica}, nil
}

// refuseStrangers says why the servers behind the first are no replicas of it. A replica tells the
// primary's replication ID as its own: its address may be another one here.
func (d *db) refuseStrangers() error {
	primary := d.members[0]
	for _, m := range d.members[1:] {
		switch {
		case !m.follows:
			return fmt.Errorf("redis: %d servers are named, of which 0 are nodes of a cluster, and %s is no replica: "+
				"the driver spreads keys over the masters of one cluster, and reads from replicas of the first: %w",
				len(d.members), m.endpoint, store.ErrRefused)
		case m.info["master_link_status"] != "up":
			return fmt.Errorf("redis at %s is a replica that has lost its primary: %w", m.endpoint, store.ErrRefused)
		case m.info["master_replid"] != primary.info["master_replid"]:
			return fmt.Errorf("redis at %s is a replica of another primary than %s: %w", m.endpoint, primary.endpoint,
				store.ErrRefused)
		}
	}
	return nil
}

// following is an error while a server that Assay has started as a replica has not all of its primary's
// records yet.
func following(c connection) error {
	text, err := c.text("INFO replication", "INFO", "replication")
	if err != nil {
		return err
	}
	info := parseInfo(text)
	if info["master_link_status"] != "up" || info["master_sync_in_progress"] != "0" {
		return fmt.Errorf("the replica's master_link_status is %q, expected up", info["master_link_status"])
	}
	return nil
}

// replicates is what a server that Assay starts is asked for where it has replicas, or is one.
func replicates(i *server.Instance, asked map[string]string) {
	if i.Replicas == 0 {
		return
	}
	asked["repl-diskless-sync-delay"] = "0" // otherwise the first replica waits 5 s for others
	if i.Primary != nil {
		asked[replicaOf] = fmt.Sprintf("%s %d", i.Primary.Host, i.Primary.Port)
	}
}

// replicaOf is a setting of two words.
const replicaOf = "replicaof"
