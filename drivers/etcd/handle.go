package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/client/v3"

	"assay/store"
)

// handle is a client, which multiplexes the requests of many threads over one connection.
type handle struct {
	client  *clientv3.Client
	timeout time.Duration
}

func (h *handle) Close() error { return h.client.Close() }

func (h *handle) begin() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), h.timeout)
}

var (
	errKey   = errors.New("etcd: a key has at least one byte")
	errValue = errors.New("etcd: the value is longer than a request may be with its key")
)

func check(key, value []byte) error {
	if len(key) == 0 {
		return errKey
	}
	if len(value) > valueBytesMax {
		return errValue
	}
	return nil
}

func (h *handle) Get(key, _ []byte) ([]byte, error) {
	if err := check(key, nil); err != nil {
		return nil, err
	}
	ctx, cancel := h.begin()
	defer cancel()
	response, err := h.client.Get(ctx, string(key))
	if err != nil {
		return nil, failure("get", err)
	}
	if len(response.Kvs) == 0 {
		return nil, store.ErrNotFound
	}
	return response.Kvs[0].Value, nil
}

// MultiGet is one transaction of as many ranges of one key.
func (h *handle) MultiGet(keys, values [][]byte, _ []byte) (calls int, err error) {
	operations := make([]clientv3.Op, len(keys))
	for i, key := range keys {
		if err := check(key, nil); err != nil {
			return 0, err
		}
		operations[i] = clientv3.OpGet(string(key))
	}
	ctx, cancel := h.begin()
	defer cancel()
	response, err := h.client.Txn(ctx).Then(operations...).Commit()
	if err != nil {
		return 0, failure("multi-get", err)
	}
	if len(response.Responses) != len(keys) {
		return 0, fmt.Errorf("etcd: multi-get: %d answers to %d ranges", len(response.Responses), len(keys))
	}
	for i, answer := range response.Responses {
		for _, record := range answer.GetResponseRange().Kvs {
			if string(record.Key) != string(keys[i]) {
				return 0, errors.New("etcd: multi-get: a range has another key")
			}
			if values[i] = record.Value; values[i] == nil {
				values[i] = []byte{} // an empty value comes as nil
			}
		}
	}
	return 1, nil
}

func (h *handle) Put(key, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	_, err := h.client.Put(ctx, string(key), string(value))
	return failure("put", err)
}

// PutFor grants a lease, and puts under it: etcd has no other way, and who reuses a lease lets its keys
// expire together. A put that fails leaves the lease, which ends by itself.
func (h *handle) PutFor(key, value []byte, ttl time.Duration) error {
	if err := check(key, value); err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	lease, err := h.client.Grant(ctx, int64(ttl/time.Second))
	if err != nil {
		return failure("grant a lease", err)
	}
	if lease.TTL != int64(ttl/time.Second) {
		return fmt.Errorf("etcd: the server grants a lease of %d s in place of %s: %w", lease.TTL, ttl, store.ErrRefused)
	}
	_, err = h.client.Put(ctx, string(key), string(value), clientv3.WithLease(lease.ID))
	return failure("put", err)
}

func (h *handle) Delete(key []byte) error {
	if err := check(key, nil); err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	response, err := h.client.Delete(ctx, string(key))
	if err == nil && response.Deleted == 0 {
		return store.ErrNotFound
	}
	return failure("delete", err)
}

// Add is a transaction on the key's not being there.
func (h *handle) Add(key, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	response, err := h.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(string(key)), "=", 0)).Then(clientv3.OpPut(string(key), string(value))).Commit()
	if err == nil && !response.Succeeded {
		return store.ErrConflict
	}
	return failure("add", err)
}

// CompareAndSwap is a transaction that the server compares in: one round trip.
func (h *handle) CompareAndSwap(key, old, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	response, err := h.client.Txn(ctx).If(
		clientv3.Compare(clientv3.CreateRevision(string(key)), ">", 0), // without it, a key that is not there compares as the empty value
		clientv3.Compare(clientv3.Value(string(key)), "=", string(old)),
	).Then(clientv3.OpPut(string(key), string(value))).Else(clientv3.OpGet(string(key),
		clientv3.WithCountOnly())).Commit()
	switch {
	case err != nil:
		return failure("compare and swap", err)
	case response.Succeeded:
		return nil
	case response.Responses[0].GetResponseRange().Count == 0:
		return store.ErrNotFound
	}
	return store.ErrConflict
}

// Apply is one transaction. It takes each key once: no reader sees the writes before the last.
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
	operations := make([]clientv3.Op, 0, len(last))
	for i := range writes {
		key := string(writes[i].Key)
		switch {
		case last[key] != i:
		case writes[i].Delete:
			operations = append(operations, clientv3.OpDelete(key))
		default:
			operations = append(operations, clientv3.OpPut(key, string(writes[i].Value)))
		}
	}
	ctx, cancel := h.begin()
	defer cancel()
	_, err := h.client.Txn(ctx).Then(operations...).Commit()
	return failure("batch", err)
}

// Scan asks for as many records as the caller will take, and for more behind them if it goes on.
func (h *handle) Scan(start []byte, limit int, visit func(key, value []byte) bool) error {
	for from := string(start); ; {
		ctx, cancel := h.begin()
		response, err := h.client.Get(ctx, from, clientv3.WithFromKey(), clientv3.WithLimit(int64(min(max(limit, 1),
			pageMax))))
		cancel()
		if err != nil {
			return failure("scan", err)
		}
		for _, record := range response.Kvs {
			if !visit(record.Key, record.Value) {
				return nil
			}
			from = string(record.Key) + "\x00"
		}
		if !response.More {
			return nil
		}
	}
}
