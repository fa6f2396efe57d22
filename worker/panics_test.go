package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

// brittle is a client of a server that panics in some of its calls.
type brittle struct {
	*fake
	panics func(doing string, n int64) bool // n: of these calls, from 1
	calls  map[string]*atomic.Int64
}

func newBrittle(panics func(doing string, n int64) bool) *brittle {
	b := &brittle{fake: &fake{kind: store.Server, shareable: true}, panics: panics, calls: map[string]*atomic.Int64{}}
	for _, doing := range []string{"open", "handle", "get", "put", "close"} {
		b.calls[doing] = new(atomic.Int64)
	}
	return b
}

func (b *brittle) does(doing string) {
	if n := b.calls[doing].Add(1); b.panics(doing, n) {
		panic(fmt.Sprintf("in %s", doing))
	}
}

func (b *brittle) Open(ctx context.Context, c store.Config) (store.Store, error) {
	b.does("open")
	s, err := b.fake.Open(ctx, c)
	return &brittleStore{s.(*fakeStore), b}, err
}

type brittleStore struct {
	*fakeStore
	brittle *brittle
}

func (s *brittleStore) Handle() (store.Handle, error) {
	s.brittle.does("handle")
	h, err := s.fakeStore.Handle()
	return &brittleHandle{Handle: h, brittle: s.brittle}, err
}

type brittleHandle struct {
	store.Handle
	brittle *brittle
	within  bool // a call of it has not come back
}

// call panics where a test says so; the handle is then of no more use.
func (h *brittleHandle) call(doing string, then func() error) error {
	if h.within {
		return errors.New("used after its panic")
	}
	h.within = true
	h.brittle.does(doing)
	h.within = false
	return then()
}

func (h *brittleHandle) Get(key, buf []byte) (value []byte, err error) {
	err = h.call("get", func() error {
		value, err = h.Handle.Get(key, buf)
		return err
	})
	return value, err
}

func (h *brittleHandle) Put(key, value []byte) error {
	return h.call("put", func() error { return h.Handle.Put(key, value) })
}

func (h *brittleHandle) Close() error {
	h.brittle.does("close")
	return h.Handle.Close()
}

// A client that panics over an answer has failed one operation, and goes on with another connection.
//
// Fault (clients): a client's library panics over what a server sends, at login or in an operation
// Assay: the opening fails, or one operation is an error ("the client panicked: …"); the next
// operation opens another handle. The stack is in worker.log
// With: mariadb.TestLibraryThatPanicsIsAnError
func TestClientThatPanicsHasFailed(t *testing.T) {
	for _, c := range []struct {
		handles       string
		threads, pool int
		opened        int64 // handles, in all
	}{
		{control.HandlesPerThread, 1, 0, 1 + 2},
		{control.HandlesPerThread, 2, 0, 2 + 2},
		{control.HandlesPool, 2, 1, 1 + 2},
		{control.HandlesPerOperation, 1, 0, 1 + 5 + 10},
	} {
		t.Run(fmt.Sprint(c.handles, c.threads), func(t *testing.T) {
			b := newBrittle(func(doing string, n int64) bool { return doing == "get" && (n == 2 || n == 5) })
			s := serve(t, b)
			s.open(c.handles, c.threads, c.pool)
			puts := []trace.Entry{
				entry(trace.Upsert, 1), entry(trace.Upsert, 2), entry(trace.Upsert, 3), entry(trace.Upsert, 4),
				entry(trace.Upsert, 5),
			}
			s.run(newPhase(1, puts...))
			var gets []trace.Entry
			for range 2 {
				for _, put := range puts {
					gets = append(gets, entry(trace.Read, put.Index()))
				}
			}
			p := newPhase(c.threads, gets...)
			counted, _ := s.run(p)
			got := outcomes(counted, 0)
			all := uint64(c.threads * len(gets))
			if got[counters.Error] != 2 || got[counters.OK] != all-2 {
				t.Errorf("outcomes %v; messages %+v", got, counted.Messages())
			}
			if m := counted.Messages(); len(m) != 1 || m[0].Text != "the client panicked: in get" || m[0].Count != 2 {
				t.Errorf("messages %+v", m)
			}
			if opened, closed := b.calls["handle"].Load(), b.calls["close"].Load(); opened != c.opened {
				t.Errorf("opened %d handles, closed %d, expected %d opened", opened, closed, c.opened)
			}
			if err := s.call(control.Request{Command: control.CommandClose}, nil); err != nil {
				t.Error(err)
			}
			if opened, closed := b.calls["handle"].Load(), b.calls["close"].Load(); opened != closed {
				t.Errorf("opened %d handles, closed %d", opened, closed)
			}
		})
	}
}

// Where the new handle can't be had either, operations are errors until one can.
func TestHandleIsReplacedWhenPossible(t *testing.T) {
	b := newBrittle(func(doing string, n int64) bool {
		return doing == "get" && n == 1 || doing == "handle" && (n == 2 || n == 3) || doing == "close" && n == 1
	})
	s := serve(t, b)
	s.open(control.HandlesPerThread, 1, 0)
	s.run(newPhase(1, entry(trace.Upsert, 1)))
	reads := slices.Repeat([]trace.Entry{entry(trace.Read, 1)}, 5)
	p := newPhase(1, reads...)
	p.file.Flags = trace.FlagRecordVersions
	counted, _ := s.run(p)
	if got := outcomes(counted, 0); got[counters.Error] != 3 || got[counters.OK] != 2 {
		t.Errorf("outcomes %v; messages %+v", got, counted.Messages())
	}
	for i, seen := range counted.Observed() {
		if failed := i < 3; failed != (seen == counters.ObservedError) {
			t.Errorf("read %d observed %x", i, seen)
		}
	}
	var said []string
	for _, m := range counted.Messages() {
		said = append(said, m.Text)
	}
	slices.Sort(said)
	want := []string{
		"closing a handle: the client panicked: in close",
		"opening a handle: the client panicked: in handle",
		"the client panicked: in get",
	}
	if !slices.Equal(said, want) {
		t.Errorf("said %q", said)
	}
}

// A request goes on behind a step that panicked, and all of its steps are counted.
func TestRequestSurvivesAPanic(t *testing.T) {
	for _, handles := range []string{control.HandlesPerThread, control.HandlesPool} {
		b := newBrittle(func(doing string, n int64) bool { return doing == "put" && n == 2 })
		s := serve(t, b)
		s.open(handles, 1, 1)
		s.run(newPhase(1, entry(trace.Upsert, 1)))
		p := newPhase(1, entry(trace.Upsert, 1), entry(trace.Read, 1), trace.MakeEntry(trace.Request, 1, 2, false))
		p.file.Amounts[2] = 2
		counted, _ := s.run(p)
		totals := counted.Sample(false).Totals
		var all [counters.Outcomes]uint64
		for _, total := range totals {
			for outcome, n := range total.Outcomes {
				all[outcome] += n
			}
		}
		if all[counters.OK] != 1 || all[counters.Error] != 2 {
			t.Errorf("%s: outcomes %v; messages %+v", handles, all, counted.Messages())
		}
	}
}

// What panics while the store is opened, or told to close, is the reply.
func TestRequestThatPanicsIsAnError(t *testing.T) {
	for _, doing := range []string{"open", "handle"} {
		b := newBrittle(func(d string, n int64) bool { return d == doing && n == 1 })
		s := serve(t, b)
		open := control.Request{Command: control.CommandOpen, Open: &control.Open{Driver: "fake", Durability: store.D0,
			Handles: control.HandlesShared, Threads: 1}}
		err := s.call(open, nil)
		refusedWith(t, err, control.ClassFailed, "the client panicked: in "+doing)
		if err := s.call(open, nil); err != nil { // the worker lives
			t.Error(err)
		}
	}
}

// An embedded store's panic is its own.
func TestPanicOfAnEmbeddedStoreEndsTheTrial(t *testing.T) {
	defer func() {
		if trouble := recover(); trouble != "freelist" {
			t.Errorf("recovered %v", trouble)
		}
	}()
	_ = surviving(&store.Description{Kind: store.Embedded}, func() error { panic("freelist") })
	t.Error("the panic was swallowed")
}

// A loop of lanes that panics ends the phase with an error.
func TestLanesThatPanicEndThePhase(t *testing.T) {
	d := &driver{lanes: []*lane{{thread: &thread{survives: true}}}}
	func() {
		defer d.survive()
		panic("over an answer")
	}()
	if d.err == nil || !strings.Contains(d.err.Error(), "the client panicked: over an answer") {
		t.Errorf("got %v", d.err)
	}
}
