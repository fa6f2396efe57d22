package cassandra

import (
	"errors"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"assay/store"
)

// handle is a session, which multiplexes the requests of many threads over its connections. The
// client prepares each statement once, and keeps it.
type handle struct {
	session     *gocql.Session
	write, read gocql.Consistency
	statements  *statements
}

// statements are those of a keyspace's table.
type statements struct{ get, getMany, put, putFor, delete, add, swap string }

func (d *db) statements() *statements {
	table := d.table(recordsTable)
	return &statements{
		get:     "SELECT v FROM " + table + " WHERE k = ?",
		getMany: "SELECT k, v FROM " + table + " WHERE k IN ?",
		put:     "INSERT INTO " + table + " (k, v) VALUES (?, ?)",
		putFor:  "INSERT INTO " + table + " (k, v) VALUES (?, ?) USING TTL ?",
		delete:  "DELETE FROM " + table + " WHERE k = ?",
		add:     "INSERT INTO " + table + " (k, v) VALUES (?, ?) IF NOT EXISTS",
		swap:    "UPDATE " + table + " SET v = ? WHERE k = ? IF v = ?",
	}
}

func (d *db) newHandle() (*handle, error) {
	endpoints := d.endpoints
	if d.entry == entryOne {
		endpoints = endpoints[:1]
	}
	dials := &dialer{access: d.access, timeout: d.timeout, reconnects: &d.reconnects}
	session, err := connect(dials, endpoints, func(c *gocql.ClusterConfig) {
		c.Consistency = levels[d.write]
		c.SerialConsistency = gocql.Serial
		if d.write == levelLocalQuorum {
			c.SerialConsistency = gocql.LocalSerial
		}
		c.WriteCoalesceWaitTime = d.coalesce
		c.PoolConfig.HostSelectionPolicy = gocql.RoundRobinHostPolicy()
		if d.entry == entryPrefer {
			c.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
			c.Metadata.CacheMode = gocql.KeyspaceOnly
		}
	})
	if err != nil {
		return nil, err
	}
	return &handle{session, levels[d.write], levels[d.read], d.statements()}, nil
}

func (h *handle) Close() error {
	h.session.Close()
	return nil
}

var (
	errKey   = errors.New("cassandra: a key has 1 to 65535 bytes")
	errValue = errors.New("cassandra: the value is longer than 4 MiB")
)

// empty is the value without bytes: nil would be null, which deletes.
var empty = []byte{}

func check(key, value []byte) error {
	if len(key) == 0 || len(key) > keyBytesMax {
		return errKey
	}
	if len(value) > valueBytesMax {
		return errValue
	}
	return nil
}

func blob(value []byte) []byte {
	if value == nil {
		return empty
	}
	return value
}

func (h *handle) Get(key, buf []byte) ([]byte, error) {
	if err := check(key, nil); err != nil {
		return nil, err
	}
	value := blob(buf)
	err := h.session.Query(h.statements.get, key).Consistency(h.read).Scan(&value)
	if errors.Is(err, gocql.ErrNotFound) {
		return nil, store.ErrNotFound
	}
	return value, failure("get", err)
}

// MultiGet is one SELECT of several partitions, which the coordinator asks their replicas for. Its rows
// come in any order.
func (h *handle) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	positions := make(map[string]int, len(keys))
	for i, key := range keys {
		if err := check(key, nil); err != nil {
			return 0, err
		}
		positions[string(key)] = i
	}
	rows := h.session.Query(h.statements.getMany, keys).Consistency(h.read).Iter()
	var key, value []byte
	for rows.Scan(&key, &value) {
		i, asked := positions[string(key)]
		if !asked {
			return 0, errors.Join(errors.New("cassandra: multi-get: a row has another key"), rows.Close())
		}
		from := len(buf)
		buf = append(buf, value...)
		values[i] = buf[from:len(buf):len(buf)]
	}
	return 1, failure("multi-get", rows.Close())
}

func (h *handle) Put(key, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	return failure("put", h.session.Query(h.statements.put, key, blob(value)).Exec())
}

// PutFor is an insert with a time to live.
func (h *handle) PutFor(key, value []byte, ttl time.Duration) error {
	if err := check(key, value); err != nil {
		return err
	}
	return failure("put", h.session.Query(h.statements.putFor, key, blob(value), int(ttl/time.Second)).Exec())
}

// Delete does not tell if the key was there: Cassandra writes a tombstone without a look.
func (h *handle) Delete(key []byte) error {
	if err := check(key, nil); err != nil {
		return err
	}
	return failure("delete", h.session.Query(h.statements.delete, key).Exec())
}

// Add is a lightweight transaction. Where it was not applied, the row that is there comes back.
func (h *handle) Add(key, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	var thereKey, thereValue present
	applied, err := h.session.Query(h.statements.add, key, blob(value)).ScanCAS(&thereKey, &thereValue)
	if err == nil && !applied {
		return store.ErrConflict
	}
	return failure("add", err)
}

// CompareAndSwap is a lightweight transaction. Where it was not applied, the value that is there
// comes back; without a row, no column does.
func (h *handle) CompareAndSwap(key, old, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	var found present
	applied, err := h.session.Query(h.statements.swap, blob(value), key, blob(old)).ScanCAS(&found)
	switch {
	case err != nil:
		return failure("compare and swap", err)
	case applied:
		return nil
	case !bool(found):
		return store.ErrNotFound
	}
	return store.ErrConflict
}

// present says if a column came back, and keeps nothing of it.
type present bool

// UnmarshalCQL makes present a [gocql.Unmarshaler].
func (p *present) UnmarshalCQL(gocql.TypeInfo, []byte) error {
	*p = true
	return nil
}

// Apply is a logged batch. All of its writes have one timestamp, by which two of one key would be
// ordered by their bytes: the last of each key is sent.
func (h *handle) Apply(writes []store.Write) error {
	if len(writes) == 0 {
		return nil
	}
	last := make(map[string]int, len(writes))
	for i := range writes {
		if err := check(writes[i].Key, writes[i].Value); err != nil {
			return err
		}
		last[string(writes[i].Key)] = i
	}
	batch := h.session.Batch(gocql.LoggedBatch)
	for i, w := range writes {
		switch {
		case last[string(w.Key)] != i:
		case w.Delete:
			batch.Query(h.statements.delete, w.Key)
		default:
			batch.Query(h.statements.put, w.Key, blob(w.Value))
		}
	}
	return failure("batch", batch.Exec())
}
