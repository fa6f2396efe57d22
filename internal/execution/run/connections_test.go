package run

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/drivers/memory"
	"assay/internal/base/finding"
	"assay/internal/presentation/tell"
	"assay/store"
)

// dialler is the map of driver memory, which holds connections to an endpoint as the driver of a
// server would: one for each handle, and one of its own.
type dialler struct {
	memory.Driver
	name  string
	each  int  // connections of a handle beyond the first
	leaks bool // of the operations in leakEvery, one leaves a connection open
	surge int  // so many more are opened once, surgeAfter the first operation on the loaded store
}

// leakEvery bounds a leak to what the machine holds.
const leakEvery = 20 * time.Millisecond

const surgeAfter = 700 * time.Millisecond

func (d dialler) Describe() store.Description {
	return store.Description{Name: d.name, Summary: "dials as a server's driver does", Licence: "NONE",
		Kind: store.Server, ConnectionsOwn: 1, Durability: []store.DurabilityClaim{{Class: store.D0, How: "says so"}}}
}

func (d dialler) Open(ctx context.Context, c store.Config) (store.Store, error) {
	inMemory, err := d.Driver.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	own, err := net.Dial("tcp", c.Endpoints[0])
	return &dialled{Store: inMemory, driver: d, endpoint: c.Endpoints[0], own: own, loading: c.First}, err
}

type dialled struct {
	store.Store
	driver   dialler
	endpoint string
	own      net.Conn
	loading  bool

	lock        sync.Mutex
	leaked      []net.Conn // or the collector would close them
	first, last time.Time  // operation, leak
}

func (s *dialled) Handle() (store.Handle, error) {
	h, err := s.Store.Handle()
	if err != nil {
		return nil, err
	}
	d := &dialledHandle{Handle: h, of: s}
	for range 1 + s.driver.each {
		c, err := net.Dial("tcp", s.endpoint)
		if err != nil {
			return nil, err
		}
		d.connections = append(d.connections, c)
	}
	return d, nil
}

func (s *dialled) Close() error {
	_ = s.own.Close()
	return s.Store.Close()
}

type dialledHandle struct {
	store.Handle
	of          *dialled
	connections []net.Conn
}

func (h *dialledHandle) Close() error {
	for _, c := range h.connections {
		_ = c.Close()
	}
	return h.Handle.Close()
}

func (h *dialledHandle) Put(key, value []byte) error {
	if d := h.of.driver; d.leaks || d.surge > 0 && !h.of.loading {
		h.of.leak()
	}
	return h.Handle.Put(key, value)
}

func (s *dialled) leak() {
	s.lock.Lock()
	defer s.lock.Unlock()
	now, more := time.Now(), 0
	if s.first.IsZero() {
		s.first = now
	}
	switch {
	case s.driver.leaks && now.Sub(s.last) > leakEvery:
		more = 1
	case s.driver.surge > 0 && s.last.IsZero() && now.Sub(s.first) > surgeAfter:
		more = s.driver.surge
	default:
		return
	}
	s.last = now
	for range more {
		if c, err := net.Dial("tcp", s.endpoint); err == nil {
			s.leaked = append(s.leaked, c)
		}
	}
}

const diallingRun = `name: connections
stores: [{driver: DRIVER, worker: WORKER, endpoints: ['ENDPOINT']}]
durability: D0
threads: 2
handles: HANDLES
records: 100
blocks: 1
busy_machine: tell
keys: {format: decimal, digits: 12}
values: {bytes: 100}
phases:
  - {name: load, load: true}
  - {name: update, mix: {update: 1}, rate: 400, for: 2s}
`

// A driver that opens two connections a handle is found, one that leaks, and a pool that fills and
// does not shrink, with the second in which it did; one that opens one each is not found, however
// handles are shared.
func TestConnectionsBeyondTheHandlesAreFound(t *testing.T) {
	ofFigures(t)
	for _, c := range []struct {
		driver, handles string
		allowed         float64 // 0: nothing is found
		course          string
		after           time.Duration // of the phase's begin
	}{
		{"one-each", "per_thread", 0, "", 0}, {"one-each", "per_operation", 0, "", 0}, {"one-each", "pool(1)", 0, "", 0},
		{"one-each", "pool(8)", 0, "", 0},
		{"two-each", "per_thread", 3, finding.ConnectionsStay, 0},
		{"leaking", "per_thread", 3, finding.ConnectionsGrow, 0},
		{"surging", "pool(1)", 2, finding.ConnectionsStay, surgeAfter},
	} {
		t.Run(c.driver+"/"+c.handles, func(t *testing.T) {
			t.Parallel()
			text := strings.NewReplacer("WORKER", fmt.Sprintf("[%q, worker]", os.Args[0]), "DRIVER", c.driver,
				"HANDLES", c.handles, "ENDPOINT", listening(t)).Replace(diallingRun)
			trial, _, run := runCounted(t, text, c.driver, "")
			if why := trial.NotMeasured["worker.connections"]; why != "" {
				t.Skip("SKIPPED: ", why)
			}
			updates := trial.Phases[len(trial.Phases)-1]
			taken := c.handles != "per_thread"
			if times := updates.HandleTimes; (times != nil) != taken || taken && times.Count() != updates.Operations[0].Done() {
				t.Errorf("takes of handles that were timed: %+v", times)
			}
			var counts []float64
			for _, s := range run.Series[run.Plan[0].ID] {
				if n, counted := s.Resource("worker.connections"); counted && s.Phase == "update" {
					counts = append(counts, n)
				}
			}
			result, err := tell.Result(run)
			if err != nil {
				t.Fatal(err)
			}
			var found []finding.Finding
			for _, f := range result.Findings {
				if f.Code == finding.ConnectionsExceed {
					found = append(found, f)
				}
			}
			if c.allowed == 0 && len(found) == 0 && len(counts) > 0 {
				return
			}
			if len(found) != 1 || found[0].Params["allowed"] != c.allowed || found[0].Params["course"] != c.course {
				t.Fatalf("found %+v in %v", found, counts)
			}
			if began := found[0].Params["began_s"].(float64); began < c.after.Seconds() {
				t.Errorf("began at %v s, not before %v", began, c.after)
			}
		})
	}
}

// listening takes every connection, in this process, and says nothing.
func listening(t *testing.T) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
		}
	}()
	return l.Addr().String()
}
