package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"assay/store"
)

// handle is a connection, which multiplexes the requests of many threads.
type handle struct {
	connection *nats.Conn
	bucket     jetstream.KeyValue
	stream     jetstream.JetStream // publishes what the bucket's methods have no option for
	allowTTL   func(context.Context) error
	timeout    time.Duration
	onDisk     bool // the bucket's storage is files
}

func (h *handle) Close() error {
	h.connection.Close()
	return nil
}

func (h *handle) begin() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), h.timeout)
}

var (
	errKey   = errors.New("nats: the key is longer than a subject may be with the bucket's name")
	errValue = errors.New("nats: the value is longer than a message may be with its header")
)

// check refuses what the server would answer by closing the connection. Other keys that can't be
// are refused by the client.
func check(key, value []byte) error {
	if len(key) > keyBytesMax {
		return errKey
	}
	if len(value) > valueBytesMax {
		return errValue
	}
	return nil
}

func (h *handle) get(ctx context.Context, doing string, key []byte) (jetstream.KeyValueEntry, error) {
	if err := check(key, nil); err != nil {
		return nil, err
	}
	entry, err := h.bucket.Get(ctx, string(key))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, store.ErrNotFound
	}
	return entry, failure(doing, err)
}

func (h *handle) Get(key, _ []byte) ([]byte, error) {
	ctx, cancel := h.begin()
	defer cancel()
	entry, err := h.get(ctx, "get", key)
	if err != nil {
		return nil, err
	}
	return entry.Value(), nil
}

func (h *handle) Put(key, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	_, err := h.bucket.Put(ctx, string(key), value)
	return h.refused("put", err)
}

// PutFor publishes what Put does, with the header that gives the message an end: the library's Put has
// no option for it.
func (h *handle) PutFor(key, value []byte, ttl time.Duration) error {
	if err := check(key, value); err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	if err := h.allowTTL(ctx); err != nil {
		return err
	}
	message := &nats.Msg{Subject: "$KV." + h.bucket.Bucket() + "." + string(key), Data: value}
	_, err := h.stream.PublishMsg(ctx, message, jetstream.WithMsgTTL(ttl))
	return h.refused("put", err)
}

// Delete writes a marker, whether the key is there or not.
func (h *handle) Delete(key []byte) error {
	if err := check(key, nil); err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	return h.refused("delete", h.bucket.Delete(ctx, string(key)))
}

// Add is a write on the condition that the key has no revision, or that of a delete marker.
func (h *handle) Add(key, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	_, err := h.bucket.Create(ctx, string(key), value)
	return h.conditional("add", err)
}

// CompareAndSwap compares here, and writes on the condition of the revision that it compared.
func (h *handle) CompareAndSwap(key, old, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	ctx, cancel := h.begin()
	defer cancel()
	entry, err := h.get(ctx, "compare and swap", key)
	if err != nil {
		return err
	}
	if !bytes.Equal(entry.Value(), old) {
		return store.ErrConflict
	}
	_, err = h.bucket.Update(ctx, string(key), value, entry.Revision())
	return h.conditional("compare and swap", err)
}

// conditional tells a condition that did not hold as a conflict.
func (h *handle) conditional(doing string, err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant) {
		return store.ErrConflict
	}
	return h.refused(doing, err)
}

// Codes of the server, for which the library has no names.
const (
	insufficientResources = 10023
	storageExceeded       = 10047
)

// refused tells a write that the server has no room for as that. Its limit of disk (max_file_store)
// is by default three quarters of what was free when it started.
func (h *handle) refused(doing string, err error) error {
	var api *jetstream.APIError
	if h.onDisk && errors.As(err, &api) &&
		(api.ErrorCode == insufficientResources || api.ErrorCode == storageExceeded) {
		err = fmt.Errorf("%w (max_file_store is reached): %w", err, unix.ENOSPC)
	}
	return failure(doing, err)
}
