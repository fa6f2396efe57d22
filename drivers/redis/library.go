package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"assay/drivers/internal/blocking"
	"assay/drivers/internal/wire"
	"assay/store"
)

// libraryHandle is a client of go-redis with one connection, so that a handle means the same on
// both paths. What several goroutines pay for a pool that they share is not in it.
type libraryHandle struct {
	client *redis.Client
	fields []string
	access wire.Access
	bound  *wire.Bound
}

func libraryVersion() string { return redis.Version() }

// newLibraryHandle leaves the library's defaults, but for its retries and its separate pool for
// pipelines.
func newLibraryHandle(d *db, endpoint string) (*libraryHandle, error) {
	const none = -1
	protocol := 2
	if d.entry.resp3 {
		protocol = 3
	}
	access := d.entry.access
	user, password, _ := access.Login()
	var connected atomic.Bool
	dial := func(ctx context.Context, _, address string) (net.Conn, error) {
		c, err := access.Dial(ctx, address, d.timeout)
		if err == nil && d.blocks {
			c, err = blocking.Take(c)
		}
		if err != nil {
			return nil, err
		}
		return d.Guard(c, announced), nil
	}
	h := &libraryHandle{fields: d.columns, access: access, bound: &d.Bound, client: redis.NewClient(&redis.Options{
		OnConnect: func(context.Context, *redis.Conn) error {
			if connected.Swap(true) {
				d.reconnects.Add(1)
			}
			return nil
		},
		Dialer: dial, Addr: endpoint, Protocol: protocol, Username: user, Password: password,
		DB: d.entry.database, TLSConfig: access.TLS(),
		DialTimeout: d.timeout, ReadTimeout: d.timeout, WriteTimeout: d.timeout, PoolTimeout: d.timeout,
		MaxRetries: none, DialerRetries: 1, PoolSize: 1, MaxActiveConns: 1, PipelinePoolSize: none,
	})}
	if err := h.client.Ping(context.Background()).Err(); err != nil {
		return nil, errors.Join(h.told("connect", err), h.client.Close())
	}
	return h, nil
}

// announced returns the length that an answer begins with, or the first of its elements: $bytes.
func announced(answer []byte) int64 {
	line, rest, _ := bytes.Cut(answer, []byte("\r\n"))
	if len(line) > 0 && line[0] == '*' {
		line, _, _ = bytes.Cut(rest, []byte("\r\n"))
	}
	if len(line) == 0 || line[0] != '$' {
		return 0
	}
	length, _ := strconv.ParseInt(string(line[1:]), 10, 64) // the library says what is wrong with it
	return length
}

func (h *libraryHandle) Close() error { return h.client.Close() }

// told translates the library's errors.
func (h *libraryHandle) told(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redis.TxFailedErr):
		return store.ErrConflict
	case errors.Is(err, redis.ErrPoolTimeout):
		return fmt.Errorf("redis: %s: no connection: %w", doing, store.ErrTimeout)
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound), errors.Is(err,
		errPart), errors.Is(err, errColumns):
		return err // out of a transaction's function
	}
	return h.access.Hide(wire.Failure("redis", doing, err)) // a new connection may have been logged in
}

func (h *libraryHandle) Get(key, buf []byte) ([]byte, error) {
	return h.get(context.Background(), h.client, key, buf)
}

// MultiGet is one MGET.
func (h *libraryHandle) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	if len(h.fields) > 0 {
		return 0, errHashMany
	}
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = string(key)
	}
	h.bound.ExpectMany(len(keys))
	all, err := h.client.MGet(context.Background(), texts...).Result()
	if err != nil {
		return 0, h.told("MGET", err)
	}
	if len(all) != len(keys) {
		return 0, errors.New("redis: MGET: another number of values than was asked for")
	}
	for i, one := range all {
		if value, there := one.(string); there {
			from := len(buf)
			buf = append(buf, value...)
			values[i] = buf[from:len(buf):len(buf)]
		}
	}
	return 1, nil
}

// get reads through a client or a transaction.
func (h *libraryHandle) get(ctx context.Context, from redis.Cmdable, key, buf []byte) ([]byte, error) {
	if len(h.fields) == 0 {
		value, err := from.Get(ctx, string(key)).Bytes()
		if errors.Is(err, redis.Nil) {
			return nil, store.ErrNotFound
		}
		return value, h.told("GET", err)
	}
	all, err := from.HMGet(ctx, string(key), h.fields...).Result()
	if err != nil {
		return nil, h.told("HMGET", err)
	}
	record, missing := buf[:0], 0
	for _, one := range all {
		column, there := one.(string)
		if !there {
			missing++
		}
		record = store.AppendColumn(record, []byte(column))
	}
	switch {
	case missing == len(h.fields):
		return nil, store.ErrNotFound
	case missing > 0 || len(all) != len(h.fields):
		return nil, errPart
	}
	return record, nil
}

// put stores through a client, a pipeline or a transaction.
func (h *libraryHandle) put(ctx context.Context, to redis.Cmdable, key, value []byte) error {
	if len(h.fields) == 0 {
		return h.told("SET", to.Set(ctx, string(key), value, 0).Err())
	}
	pairs := make([]any, 0, 2*len(h.fields))
	for _, field := range h.fields {
		column, rest, ok := store.NextColumn(value)
		if !ok {
			return errColumns
		}
		pairs, value = append(pairs, field, column), rest
	}
	if len(value) != 0 {
		return errColumns
	}
	return h.told("HSET", to.HSet(ctx, string(key), pairs...).Err())
}

func (h *libraryHandle) Put(key, value []byte) error {
	return h.put(context.Background(), h.client, key, value)
}

// PutFor is SET with PX.
func (h *libraryHandle) PutFor(key, value []byte, ttl time.Duration) error {
	if len(h.fields) > 0 {
		return errHashTTL
	}
	return h.told("SET PX", h.client.SetArgs(context.Background(), string(key), value, redis.SetArgs{TTL: ttl}).Err())
}

func (h *libraryHandle) Delete(key []byte) error {
	deleted, err := h.client.Del(context.Background(), string(key)).Result()
	if err == nil && deleted == 0 {
		return store.ErrNotFound
	}
	return h.told("DEL", err)
}

// Add is SET with NX, and on hashes a transaction.
func (h *libraryHandle) Add(key, value []byte) error {
	ctx := context.Background()
	if len(h.fields) == 0 {
		err := h.client.SetArgs(ctx, string(key), value, redis.SetArgs{Mode: "NX"}).Err()
		if errors.Is(err, redis.Nil) {
			return store.ErrConflict
		}
		return h.told("SET NX", err)
	}
	return h.told("add", h.client.Watch(ctx, func(tx *redis.Tx) error {
		there, err := tx.Exists(ctx, string(key)).Result()
		if err != nil {
			return err
		}
		if there > 0 {
			return store.ErrConflict
		}
		return h.commit(ctx, tx, key, value)
	}, string(key)))
}

// CompareAndSwap is the library's Watch, as its documentation has it.
func (h *libraryHandle) CompareAndSwap(key, old, value []byte) error {
	ctx := context.Background()
	return h.told("compare and swap", h.client.Watch(ctx, func(tx *redis.Tx) error {
		now, err := h.get(ctx, tx, key, nil)
		if err != nil {
			return err
		}
		if !bytes.Equal(now, old) {
			return store.ErrConflict
		}
		return h.commit(ctx, tx, key, value)
	}, string(key)))
}

func (h *libraryHandle) commit(ctx context.Context, tx *redis.Tx, key, value []byte) error {
	_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return h.put(ctx, p, key, value) })
	return err
}

// Apply is a pipeline.
func (h *libraryHandle) Apply(writes []store.Write) error {
	if len(writes) == 0 {
		return nil
	}
	ctx := context.Background()
	_, err := h.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range writes {
			if writes[i].Delete {
				p.Del(ctx, string(writes[i].Key))
			} else if err := h.put(ctx, p, writes[i].Key, writes[i].Value); err != nil {
				return err
			}
		}
		return nil
	})
	return h.told("pipeline", err)
}

// Touch is PEXPIRE.
func (h *libraryHandle) Touch(key []byte, ttl time.Duration) error {
	if len(h.fields) > 0 {
		return errHashString
	}
	done, err := h.client.PExpire(context.Background(), string(key), ttl).Result()
	if err == nil && !done {
		return store.ErrNotFound
	}
	return h.told("PEXPIRE", err)
}

// Append is APPEND.
func (h *libraryHandle) Append(key, part []byte) error {
	if len(h.fields) > 0 {
		return errHashString
	}
	return h.told("APPEND", h.client.Append(context.Background(), string(key), string(part)).Err())
}

// GetAndSet is SET with GET, of Redis 6.2 and later.
func (h *libraryHandle) GetAndSet(key, value, _ []byte) ([]byte, error) {
	if len(h.fields) > 0 {
		return nil, errHashString
	}
	old, err := h.client.SetArgs(context.Background(), string(key), value, redis.SetArgs{Get: true}).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, store.ErrNotFound
	}
	return old, h.told("SET", err)
}
