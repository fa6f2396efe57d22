package memcached

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"assay/drivers/internal/wire"
	"assay/store"
)

const libraryModule = "github.com/bradfitz/gomemcache"

// libraryVersion is the one in the program's build info; the library does not report its own.
func libraryVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == libraryModule {
				return cmp.Or(module.Version, "(unknown)")
			}
		}
	}
	return "(unknown)"
}

// libraryHandle is a client of gomemcache that keeps one connection to each server, so that a
// handle means the same on both paths. What several goroutines pay for a pool that they share is
// not in it.
type libraryHandle struct {
	client       *memcache.Client
	bound        *wire.Bound
	distribution distribution
	texts        []string // keys of a multi-get, reused
	asked        []bool   // servers that have some of them, reused
}

func newLibraryHandle(d *db) (store.Handle, error) {
	s := &selector{distribution: d.distribution}
	for _, m := range d.members {
		s.servers = append(s.servers, address(m.endpoint))
	}
	h := &libraryHandle{client: memcache.NewFromSelector(s), bound: &d.Bound, distribution: d.distribution,
		asked: make([]bool, len(d.members))}
	h.client.Timeout, h.client.MaxIdleConns = d.timeout, 1
	// The library knows no login: its connections are made, and let in, by the lean path. It dials
	// in the goroutine of the operation.
	connected, lock := map[string]bool{}, sync.Mutex{} // a multi-get has a goroutine for each server
	h.client.DialContext = func(ctx context.Context, _, endpoint string) (net.Conn, error) {
		c := newConnection(endpoint, d.timeout, d.access, text{})
		c.Blocks = d.blocks
		if err := c.Dial(ctx); err != nil {
			return nil, err
		}
		lock.Lock()
		if connected[endpoint] {
			d.reconnects.Add(1)
		}
		connected[endpoint] = true
		lock.Unlock()
		socket, err := c.Release()
		if err != nil {
			return nil, err
		}
		return d.Guard(socket, announced), nil
	}
	if err := h.client.Ping(); err != nil {
		return nil, errors.Join(told("connect", err), h.client.Close())
	}
	return h, nil
}

// announced returns the length that the first line of an answer names: VALUE key flags bytes.
func announced(answer []byte) int64 {
	line, _, _ := bytes.Cut(answer, []byte("\r\n"))
	words := bytes.Fields(line)
	if len(words) < 4 || string(words[0]) != "VALUE" {
		return 0
	}
	length, _ := strconv.ParseInt(string(words[3]), 10, 64) // the library says what is wrong with it
	return length
}

// address is a server's endpoint as the library asks for it. A name is not resolved before it is
// connected to.
type address string

func (a address) Network() string { return store.Network(string(a)) }
func (a address) String() string  { return string(a) }

// selector gives gomemcache the distribution of the lean path. One goroutine uses it at a time, as
// its handle.
type selector struct {
	servers      []net.Addr
	distribution distribution
	key          []byte // reused
}

func (s *selector) PickServer(key string) (net.Addr, error) {
	if len(s.servers) == 1 {
		return s.servers[0], nil
	}
	s.key = append(s.key[:0], key...)
	return s.servers[s.distribution.pick(s.key)], nil
}

func (s *selector) Each(visit func(net.Addr) error) error {
	for _, server := range s.servers {
		if err := visit(server); err != nil {
			return err
		}
	}
	return nil
}

// told translates the library's errors.
func told(doing string, err error) error {
	var connecting *memcache.ConnectTimeoutError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, memcache.ErrCacheMiss):
		return store.ErrNotFound
	case errors.As(err, &connecting):
		return wire.Failure("memcached", "connect", context.DeadlineExceeded)
	}
	return wire.Failure("memcached", doing, err)
}

func (h *libraryHandle) Close() error { return h.client.Close() }

func (h *libraryHandle) Get(key, _ []byte) ([]byte, error) {
	item, err := h.get(key)
	if err != nil {
		return nil, err
	}
	return item.Value, nil
}

// get looks at the key of the answer, which the library does not compare.
func (h *libraryHandle) get(key []byte) (*memcache.Item, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	item, err := h.client.Get(string(key))
	if err != nil {
		return nil, told("get", err)
	}
	if item.Key != string(key) {
		return nil, errors.New("memcached: get: the answer has another key")
	}
	return item, nil
}

// MultiGet is the library's GetMulti, which asks all servers at once.
func (h *libraryHandle) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	h.texts = h.texts[:0]
	clear(h.asked)
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return 0, err
		}
		h.texts = append(h.texts, string(key))
		if server := h.distribution.pick(key); !h.asked[server] {
			h.asked[server] = true
			calls++
		}
	}
	h.bound.ExpectMany(len(keys))
	items, err := h.client.GetMulti(h.texts)
	if err != nil {
		return 0, told("multi-get", err)
	}
	for i, text := range h.texts {
		if item := items[text]; item != nil {
			from := len(buf)
			buf = append(buf, item.Value...)
			values[i] = buf[from:len(buf):len(buf)]
		}
	}
	return calls, nil
}

func (h *libraryHandle) Put(key, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return h.set(&memcache.Item{Key: string(key), Value: value})
}

func (h *libraryHandle) PutFor(key, value []byte, ttl time.Duration) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return h.set(&memcache.Item{Key: string(key), Value: value, Expiration: int32(ttl / time.Second)})
}

// Touch is the library's Touch, in whole seconds.
func (h *libraryHandle) Touch(key []byte, ttl time.Duration) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return told("touch", h.client.Touch(string(key), int32(ttl/time.Second)))
}

// Append is the library's Append.
func (h *libraryHandle) Append(key, part []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	err := h.client.Append(&memcache.Item{Key: string(key), Value: part})
	switch {
	case errors.Is(err, memcache.ErrNotStored):
		return store.ErrNotFound
	case errors.Is(err, memcache.ErrCacheMiss): // NOT_FOUND is no answer to append
		return fmt.Errorf("memcached: append: %s", err)
	}
	return told("append", err)
}

func (h *libraryHandle) set(item *memcache.Item) error {
	err := h.client.Set(item)
	if errors.Is(err, memcache.ErrCacheMiss) { // NOT_FOUND is no answer to set
		return fmt.Errorf("memcached: set: %s", err)
	}
	return told("set", err)
}

func (h *libraryHandle) Add(key, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	err := h.client.Add(&memcache.Item{Key: string(key), Value: value})
	switch {
	case errors.Is(err, memcache.ErrNotStored):
		return store.ErrConflict
	case errors.Is(err, memcache.ErrCacheMiss):
		return fmt.Errorf("memcached: add: %s", err)
	}
	return told("add", err)
}

func (h *libraryHandle) Delete(key []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return told("delete", h.client.Delete(string(key)))
}

// CompareAndSwap is the library's Get, which asks for the token, a comparison, and its
// CompareAndSwap.
func (h *libraryHandle) CompareAndSwap(key, old, value []byte) error {
	item, err := h.get(key)
	if err != nil {
		return err
	}
	if !bytes.Equal(item.Value, old) {
		return store.ErrConflict
	}
	item.Value = value
	if err = h.client.CompareAndSwap(item); errors.Is(err, memcache.ErrCASConflict) {
		return store.ErrConflict
	}
	return told("cas", err)
}
