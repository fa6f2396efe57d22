package misbehave

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"assay/internal/testkit/loopback"
	"assay/store"
)

// Remote is the name of a server's driver that breaks no promise and has no ability: it implements
// what the contract requires, and nothing else.
const Remote = "remote"

// Server keeps the records of this package's drivers of servers.
type Server struct {
	Endpoint string // of one that StartServer runs

	lock    sync.Mutex
	goesOn  *sync.Cond // that it answers again
	records map[string][]byte
	open    map[net.Conn]bool
	halted  bool // it does not answer
}

// NewServer returns a server without records.
func NewServer() *Server {
	s := &Server{records: map[string][]byte{}, open: map[net.Conn]bool{}}
	s.goesOn = sync.NewCond(&s.lock)
	return s
}

// StartServer runs a server in the test's process until the test ends.
func StartServer(t testing.TB) *Server {
	s := NewServer()
	s.Endpoint = loopback.Listen(t, s.Serve)
	return s
}

// Cut ends all connections, as a kill of the server does. Until halted has returned it accepts
// connections but does not answer. It answers again after that, and has kept all that it acknowledged.
func (s *Server) Cut(halted func()) error {
	s.lock.Lock()
	s.halted = true
	s.lock.Unlock()
	halted()
	s.lock.Lock()
	defer s.lock.Unlock()
	for connection := range s.open {
		_ = connection.Close() // its handle sees it
	}
	s.halted = false
	s.goesOn.Broadcast()
	return nil
}

// question is an operation on its way: Of is "get", "put" or "delete".
type question struct {
	Of         string
	Key, Value []byte
}

type reply struct {
	Found bool
	Value []byte
}

// Serve answers a client until it goes.
func (s *Server) Serve(connection net.Conn) {
	s.lock.Lock()
	s.open[connection] = true
	s.lock.Unlock()
	defer func() {
		s.lock.Lock()
		defer s.lock.Unlock()
		delete(s.open, connection)
	}()
	in, out := gob.NewDecoder(connection), gob.NewEncoder(connection)
	for {
		var q question
		if in.Decode(&q) != nil {
			return // the client has gone, or its connection was cut
		}
		r, serves := s.answer(q)
		if !serves || out.Encode(r) != nil {
			return
		}
	}
}

func (s *Server) answer(q question) (r reply, serves bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.halted {
		for s.halted {
			s.goesOn.Wait()
		}
		return r, false // the question is lost with its connection
	}
	r.Value, r.Found = s.records[string(q.Key)]
	switch q.Of {
	case "put":
		s.records[string(q.Key)] = bytes.Clone(q.Value)
	case "delete":
		delete(s.records, string(q.Key))
	}
	return r, true
}

// remotes are the drivers of servers.
var remotes = []remote{
	NewRemote(Remote, store.D1).(remote),
	{name: "lies-connections", summary: "holds two connections for each handle, and says one", class: store.D1, spare: true},
	{name: "lies-reconnects", summary: "never connects again", class: store.D1, once: true},
}

// NewRemote returns an honest driver of a [Server], in the class that the server gives.
func NewRemote(name string, class store.Durability) store.Driver {
	return remote{name: name, summary: "keeps every promise, on a server", class: class}
}

// remote is a driver of [Server].
type remote struct {
	name, summary string
	class         store.Durability

	spare bool // holds a connection more for each handle
	once  bool // uses a broken connection again and again
}

// OnServer reports if a driver of this package needs a [Server].
func OnServer(driver string) bool {
	for _, r := range remotes {
		if r.name == driver {
			return true
		}
	}
	return false
}

func (r remote) Describe() store.Description {
	return store.Description{
		Name: r.name, Summary: r.summary, Licence: "NONE", Kind: store.Server,
		Durability: []store.DurabilityClaim{{Class: r.class, How: "the server keeps records in its memory"}},
	}
}

func (r remote) Open(ctx context.Context, c store.Config) (store.Store, error) {
	if len(c.Endpoints) != 1 {
		return nil, fmt.Errorf("%d endpoints, where one server is known: %w", len(c.Endpoints), store.ErrRefused)
	}
	s := &remoteStore{remote: r, endpoint: c.Endpoints[0]}
	h, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return s, h.Close()
}

type remoteStore struct {
	remote
	endpoint string
}

func (s *remoteStore) Handle() (store.Handle, error) { return s.dial(context.Background()) }
func (s *remoteStore) Settings() map[string]string   { return map[string]string{"records": "in memory"} }
func (s *remoteStore) Close() error                  { return nil }
func (s *remoteStore) dial(ctx context.Context) (*remoteHandle, error) {
	h := &remoteHandle{remoteStore: s}
	return h, h.connect(ctx)
}

type remoteHandle struct {
	*remoteStore
	connection, spare net.Conn // connection is nil where it was lost
	in                *gob.Decoder
	out               *gob.Encoder
}

func (h *remoteHandle) connect(ctx context.Context) (err error) {
	var d net.Dialer
	if h.connection, err = d.DialContext(ctx, "tcp", h.endpoint); err != nil {
		h.connection = nil
		return fmt.Errorf("connecting to the server: %w", err)
	}
	if h.in, h.out = gob.NewDecoder(h.connection), gob.NewEncoder(h.connection); h.remote.spare {
		h.spare, err = d.DialContext(ctx, "tcp", h.endpoint)
	}
	return err
}

// ask does one operation. The one that meets a lost connection is an error.
func (h *remoteHandle) ask(q question) (r reply, err error) {
	if h.connection == nil {
		if err := h.connect(context.Background()); err != nil {
			return r, err
		}
	}
	if err = h.out.Encode(q); err == nil {
		err = h.in.Decode(&r)
	}
	if err == nil {
		return r, nil
	}
	if !h.once {
		_ = h.Close() // it is of no use any more
		h.connection = nil
	}
	return r, fmt.Errorf("asking the server: %w", err)
}

func (h *remoteHandle) Get(key, buf []byte) ([]byte, error) {
	r, err := h.ask(question{"get", key, nil})
	if err == nil && !r.Found {
		err = store.ErrNotFound
	}
	return append(buf, r.Value...), err
}

func (h *remoteHandle) Put(key, value []byte) error {
	_, err := h.ask(question{"put", key, value})
	return err
}

func (h *remoteHandle) Delete(key []byte) error {
	r, err := h.ask(question{"delete", key, nil})
	if err == nil && !r.Found {
		err = store.ErrNotFound
	}
	return err
}

func (h *remoteHandle) Close() error {
	var errs []error
	for _, connection := range []net.Conn{h.connection, h.spare} {
		if connection != nil {
			errs = append(errs, connection.Close())
		}
	}
	return errors.Join(errs...)
}
