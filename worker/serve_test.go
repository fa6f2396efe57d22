package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// fake is a driver of a map that fails where a test asks for it.
type fake struct {
	kind      store.Kind
	shareable bool
	handleErr func(n int64) error // of the n-th handle, from 1
	closeErr  error               // of a handle
	delay     time.Duration       // of a put
	maxOpen   int64               // most handles that were open at once, written by the store
	expected  atomic.Int64        // the longest value that Open announced
	opened    atomic.Int64
	closed    atomic.Int64
}

func (f *fake) Describe() store.Description {
	return store.Description{
		Name: "fake", Kind: f.kind, HandlesShareable: f.shareable,
		Durability: []store.DurabilityClaim{{Class: store.D0, How: "a map"}},
		Options:    []store.Option{{Name: "depth", Type: store.Int, Default: "3"}},
	}
}

func (f *fake) Open(context.Context, store.Config) (store.Store, error) {
	return &fakeStore{fake: f, values: map[string][]byte{}}, nil
}

type fakeStore struct {
	*fake
	lock   sync.RWMutex
	values map[string][]byte
}

func (s *fakeStore) Handle() (store.Handle, error) {
	n := s.opened.Add(1)
	if s.handleErr != nil {
		if err := s.handleErr(n); err != nil {
			s.opened.Add(-1)
			return nil, err
		}
	}
	s.lock.Lock()
	s.maxOpen = max(s.maxOpen, n-s.closed.Load())
	s.lock.Unlock()
	return &fakeHandle{s}, nil
}
func (s *fakeStore) Settings() map[string]string { return map[string]string{"depth": "3"} }
func (s *fakeStore) Close() error                { return nil }
func (s *fakeStore) Expect(valueBytesMax int)    { s.expected.Store(int64(valueBytesMax)) }

type fakeHandle struct{ *fakeStore }

func (h *fakeHandle) Get(key, buf []byte) ([]byte, error) {
	h.lock.RLock()
	defer h.lock.RUnlock()
	if value, ok := h.values[string(key)]; ok {
		return append(buf, value...), nil
	}
	return nil, store.ErrNotFound
}

func (h *fakeHandle) Put(key, value []byte) error {
	if h.delay > 0 {
		time.Sleep(h.delay)
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	if old, ok := h.values[string(key)]; ok && len(old) == len(value) {
		copy(old, value) // so that an overwrite allocates nothing
		return nil
	}
	h.values[string(key)] = append([]byte(nil), value...)
	return nil
}

func (h *fakeHandle) Delete(key []byte) error {
	h.lock.Lock()
	defer h.lock.Unlock()
	delete(h.values, string(key))
	return nil
}

func (h *fakeHandle) Close() error {
	h.closed.Add(1)
	return h.closeErr
}

// served is a worker that serves over pipes in this process.
type served struct {
	t       *testing.T
	in      *io.PipeWriter
	replies *control.Lines
	ended   chan error
	id      int64
	dir     string
	phases  int
}

func serve(t *testing.T, drivers ...store.Driver) *served {
	in, requests := io.Pipe()
	replies, out := io.Pipe()
	s := &served{t: t, in: requests, replies: control.NewLines(replies), ended: make(chan error, 1), dir: t.TempDir()}
	go func() {
		err := Serve(in, out, drivers...)
		out.CloseWithError(io.EOF)
		s.ended <- err
	}()
	t.Cleanup(func() {
		requests.Close()
		go io.Copy(io.Discard, replies)
	})
	return s
}

func (s *served) send(r control.Request) {
	s.t.Helper()
	s.id++
	r.ID = s.id
	if err := control.Write(s.in, r); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) reply(result any) error {
	s.t.Helper()
	line, err := s.replies.Next()
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := control.ParseReply(line)
	if err != nil {
		s.t.Fatal(err)
	}
	if r.ID != s.id {
		s.t.Fatalf("reply to %d, expected %d", r.ID, s.id)
	}
	if r.Error != nil {
		return r.Error
	}
	if result != nil {
		if err := json.Unmarshal(r.Result, result); err != nil {
			s.t.Fatal(err)
		}
	}
	return nil
}

func (s *served) call(r control.Request, result any) error {
	s.t.Helper()
	s.send(r)
	return s.reply(result)
}

func (s *served) open(handles string, threads, pool int) {
	s.t.Helper()
	if err := s.call(control.Request{Command: control.CommandOpen, Open: &control.Open{
		Driver: "fake", Durability: store.D0, Handles: handles, Threads: threads, PoolHandles: pool,
	}}, nil); err != nil {
		s.t.Fatal(err)
	}
}

// testPhase is a phase, of which the test changes what it likes before prepare.
type testPhase struct {
	file    trace.File
	prepare control.Prepare
}

func newPhase(threads int, entries ...trace.Entry) *testPhase {
	p := &testPhase{file: trace.File{Groups: 1, Threads: make([]trace.Thread, threads)}}
	p.file.Amounts[1] = 100
	for i := range p.file.Threads {
		p.file.Threads[i] = trace.Thread{Entries: entries, Limit: uint64(len(entries))}
	}
	if err := p.file.ListSlots(); err != nil {
		panic(err)
	}
	p.prepare = control.Prepare{
		Phase: "test", Keys: keyval.KeyShape{Format: keyval.Binary, Bytes: 16}, Clock: "monotonic", Verify: true,
		Values: keyval.ValueShape{PoolBytes: 4096, PoolSeed: 1, LengthMax: 100, TrialTag: 7},
	}
	return p
}

func entry(o trace.Operation, index uint64) trace.Entry { return trace.MakeEntry(o, index, 1, false) }

// ready prepares a phase and returns its counters.
func (s *served) ready(p *testPhase) (*counters.File, error) {
	s.t.Helper()
	return s.readyTo(p, nil)
}

// readyTo does the same and decodes the reply.
func (s *served) readyTo(p *testPhase, result *control.Prepared) (*counters.File, error) {
	s.t.Helper()
	s.phases++
	p.prepare.Number = s.phases
	p.prepare.Trace = filepath.Join(s.dir, fmt.Sprintf("%d.trace", s.phases))
	p.prepare.Counters = filepath.Join(s.dir, fmt.Sprintf("%d.counters", s.phases))
	if err := p.file.Write(p.prepare.Trace); err != nil {
		s.t.Fatal(err)
	}
	c, err := counters.Create(p.prepare.Counters, &p.file)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := c.Unmap(); err != nil {
			s.t.Error(err)
		}
	})
	var into any
	if result != nil {
		into = result
	}
	return c, s.call(control.Request{Command: control.CommandPrepare, Prepare: &p.prepare}, into)
}

func (s *served) run(p *testPhase) (*counters.File, control.Ran) {
	s.t.Helper()
	c, err := s.ready(p)
	if err != nil {
		s.t.Fatal(err)
	}
	var ran control.Ran
	if err := s.call(control.Request{Command: control.CommandRun}, &ran); err != nil {
		s.t.Fatal(err)
	}
	if c.State() != counters.Ended {
		s.t.Errorf("state %d after run", c.State())
	}
	return c, ran
}

func outcomes(c *counters.File, slot int) (sum [counters.Outcomes]uint64) {
	return c.Sample(false).Totals[slot].Outcomes
}

func expect(t *testing.T, c *counters.File, outcome counters.Outcome, n uint64) {
	t.Helper()
	var expected [counters.Outcomes]uint64
	expected[outcome] = n
	if got := outcomes(c, 0); got != expected {
		t.Errorf("outcomes %v, expected %v; messages %+v", got, expected, c.Messages())
	}
}

func refusedWith(t *testing.T, err error, class, part string) {
	t.Helper()
	var no *control.Error
	if !errors.As(err, &no) || no.Class != class || !strings.Contains(no.Message, part) {
		t.Errorf("got %v, expected class %s and %q", err, class, part)
	}
}

func TestReadsWhatItWrote(t *testing.T) {
	f := &fake{shareable: true}
	s := serve(t, f)
	s.open(control.HandlesShared, 2, 0)
	c, _ := s.run(newPhase(1, entry(trace.Upsert, 1), entry(trace.Upsert, 2)))
	if told := f.expected.Load(); told != 100 {
		t.Errorf("the store was told to expect values of %d bytes, want 100", told)
	}
	expect(t, c, counters.OK, 2)
	c, _ = s.run(newPhase(2, entry(trace.Read, 1), entry(trace.Read, 2)))
	expect(t, c, counters.OK, 4)
	if read := c.Sample(false).Totals[0].BytesRead; read != 400 {
		t.Errorf("%d bytes read", read)
	}
}

func TestLoopAllocatesNothing(t *testing.T) {
	const operations = 50_000
	for _, kind := range []store.Kind{store.Memory, store.None, store.Server} {
		for _, o := range []trace.Operation{trace.Read, trace.Update, trace.ReadModifyWrite} {
			t.Run(fmt.Sprintf("%s/%s", kind, o), func(t *testing.T) {
				s := serve(t, &fake{kind: kind, shareable: true})
				s.open(control.HandlesShared, 1, 0)
				s.run(newPhase(1, entry(trace.Upsert, 1), entry(trace.Upsert, 2)))
				p := newPhase(1, entry(o, 1), entry(o, 2))
				p.file.Threads[0].Limit = operations
				c, ran := s.run(p)
				expect(t, c, counters.OK, operations)
				// The loop has none; the runtime, the clock's watcher and this test's own
				// goroutines have a few.
				if perOperation := ran.Runtime["allocs"] / operations; perOperation > 0.01 {
					t.Errorf("%.3f allocations an operation", perOperation)
				}
			})
		}
	}
}

func TestNullDriverIsNeverWrong(t *testing.T) {
	s := serve(t, nothingFound{})
	if err := s.call(control.Request{Command: control.CommandOpen, Open: &control.Open{Driver: "nothing", Durability: store.D0, Handles: control.HandlesShared, Threads: 1}}, nil); err != nil {
		t.Fatal(err)
	}
	for _, loaded := range []uint64{0, 100} {
		p := newPhase(1, entry(trace.Read, 1))
		p.prepare.LoadedRecords = loaded
		c, _ := s.run(p)
		expect(t, c, counters.OK, 1)
	}
}

// nothingFound is the null driver: each read gives the empty value.
type nothingFound struct{ nothing }

func TestDeadlineAndStop(t *testing.T) {
	for _, open := range []bool{false, true} {
		s := serve(t, &fake{shareable: true})
		s.open(control.HandlesShared, 2, 0)
		endless := func() *testPhase {
			p := newPhase(2, entry(trace.Upsert, 1))
			for i := range p.file.Threads {
				p.file.Threads[i].Limit = 0
				if open {
					p.file.Flags = trace.FlagDue
					p.file.Threads[i].Due, p.file.Threads[i].LapNS = []uint64{0}, uint64(time.Millisecond)
				}
			}
			return p
		}
		p := endless()
		p.prepare.DeadlineNS = int64(20 * time.Millisecond)
		c, _ := s.run(p)
		// Under open load the last operation may end before the deadline: none was due at it.
		if took := time.Duration(c.EndNS() - c.StartNS()); !open && took < 20*time.Millisecond {
			t.Errorf("ended after %v", took)
		}
		if c.Sample(false).Attempted[1] == 0 {
			t.Error("a thread did nothing")
		}

		c, err := s.ready(endless())
		if err != nil {
			t.Fatal(err)
		}
		s.send(control.Request{Command: control.CommandRun})
		for c.Sample(false).Acknowledged[0] < 5 {
			time.Sleep(time.Millisecond)
		}
		c.Stop()
		if err := s.reply(nil); err != nil {
			t.Error(err)
		}
	}
}

// The conductor that goes away in the middle of a phase without an end must not leave a worker
// behind.
func TestEndOfInputEndsAPhase(t *testing.T) {
	s := serve(t, &fake{shareable: true})
	s.open(control.HandlesShared, 1, 0)
	p := newPhase(1, entry(trace.Upsert, 1))
	p.file.Threads[0].Limit = 0
	c, err := s.ready(p)
	if err != nil {
		t.Fatal(err)
	}
	s.send(control.Request{Command: control.CommandRun})
	for c.Sample(false).Acknowledged[0] < 5 {
		time.Sleep(time.Millisecond)
	}
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.reply(nil); err != nil {
		t.Error(err)
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

func TestLapsAndOneLapOfAVerifyPhase(t *testing.T) {
	s := serve(t, &fake{shareable: true})
	s.open(control.HandlesShared, 1, 0)
	p := newPhase(1, trace.MakeEntry(trace.Insert, 0, 1, true), trace.MakeEntry(trace.Insert, 1, 1, true))
	p.file.Threads[0].Stride, p.file.Threads[0].Limit = 10, 5
	s.run(p)

	p = newPhase(1, entry(trace.Read, 0), entry(trace.Read, 1), entry(trace.Read, 10), entry(trace.Read, 11),
		entry(trace.Read, 20), entry(trace.Read, 21))
	p.file.Flags = trace.FlagRecordVersions
	p.file.Threads[0].Limit = 0 // a verify phase does one lap, whatever else it says
	c, _ := s.run(p)
	for position, expected := range []uint64{0, 1, 2, 3, 4} {
		if got := c.Observed()[position]; got != keyval.Version(1, 0, expected) {
			t.Errorf("position %d: %x", position, got)
		}
	}
	if c.Observed()[5] != counters.ObservedMiss {
		t.Errorf("past the last insert: %x", c.Observed()[5])
	}
	if n := c.Sample(false).Attempted[0]; n != 6 {
		t.Errorf("%d reads", n)
	}
}

func TestHandlesPerOperation(t *testing.T) {
	f := &fake{}
	s := serve(t, f)
	s.open(control.HandlesPerOperation, 1, 0)
	c, _ := s.run(newPhase(1, entry(trace.Upsert, 1), entry(trace.Read, 1), entry(trace.Upsert, 1)))
	if n := c.Sample(false).HandlesOpened; n != 3 {
		t.Errorf("%d handles opened, expected 3", n)
	}
	if f.maxOpen != 1 {
		t.Errorf("%d handles were open at once, expected 1: the one that abilities are probed on must not stay", f.maxOpen)
	}
	if err := s.call(control.Request{Command: control.CommandClose}, nil); err != nil {
		t.Error(err)
	}
	if f.opened.Load() != f.closed.Load() {
		t.Errorf("%d handles opened, %d closed", f.opened.Load(), f.closed.Load())
	}
}

// An operation that got no handle is an error, whatever the driver wraps: it is no miss, and no
// conflict.
func TestHandleFails(t *testing.T) {
	for _, c := range []struct {
		err     error
		outcome counters.Outcome
	}{
		{errors.New("too many connections"), counters.Error},
		{fmt.Errorf("no such server: %w", store.ErrNotFound), counters.Error},
		{fmt.Errorf("busy: %w", store.ErrConflict), counters.Error},
		{fmt.Errorf("connecting: %w", store.ErrTimeout), counters.Timeout},
	} {
		s := serve(t, &fake{handleErr: func(n int64) error {
			if n > 1 {
				return c.err
			}
			return nil
		}})
		s.open(control.HandlesPerOperation, 1, 0)
		counted, _ := s.run(newPhase(1, entry(trace.Read, 1), entry(trace.Read, 2)))
		expect(t, counted, c.outcome, 2)
		if m := counted.Messages(); len(m) != 1 || m[0].Count != 2 || !strings.Contains(m[0].Text, "opening a handle") {
			t.Errorf("messages %+v", m)
		}
		p := newPhase(1, entry(trace.Read, 1))
		p.file.Flags = trace.FlagRecordVersions
		counted, _ = s.run(p)
		if counted.Observed()[0] != counters.ObservedError {
			t.Errorf("observed %x", counted.Observed()[0])
		}
	}
}

// Where each operation has a handle of its own, reading back has one for each thread.
func TestReadingBackKeepsAHandle(t *testing.T) {
	f := &fake{}
	s := serve(t, f)
	s.open(control.HandlesPerOperation, 2, 0)
	var puts, gets []trace.Entry
	for i := range uint64(20) {
		puts, gets = append(puts, entry(trace.Upsert, i)), append(gets, entry(trace.Read, i))
	}
	s.run(newPhase(1, puts...))
	before := f.opened.Load()
	p := newPhase(2, gets...)
	c, _ := s.run(p)
	expect(t, c, counters.OK, 40)
	if opened := f.opened.Load() - before; opened != 40 {
		t.Errorf("a measured phase opened %d handles, expected one for each operation", opened)
	}
	before = f.opened.Load()
	p = newPhase(2, gets...)
	p.file.Flags = trace.FlagRecordVersions
	c, _ = s.run(p)
	expect(t, c, counters.OK, 40)
	if opened := f.opened.Load() - before; opened != 2 {
		t.Errorf("reading back opened %d handles, expected one for each thread", opened)
	}
	if opened, closed := f.opened.Load(), f.closed.Load(); opened != closed {
		t.Errorf("opened %d handles, closed %d", opened, closed)
	}
}

func TestHandleThatDoesNotClose(t *testing.T) {
	f := &fake{}
	s := serve(t, f)
	s.open(control.HandlesPerOperation, 1, 0)
	f.closeErr = errors.New("half closed")
	c, _ := s.run(newPhase(1, entry(trace.Upsert, 1)))
	if m := c.Messages(); len(m) != 1 || !strings.Contains(m[0].Text, "half closed") {
		t.Errorf("messages %+v", m)
	}
}

func TestPoolWaits(t *testing.T) {
	s := serve(t, &fake{delay: time.Millisecond})
	s.open(control.HandlesPool, 4, 1)
	c, _ := s.run(newPhase(4, entry(trace.Upsert, 1), entry(trace.Upsert, 2), entry(trace.Upsert, 3)))
	expect(t, c, counters.OK, 12)
	sample := c.Sample(true)
	if sample.HandleWaitNS == 0 || sample.HandlesOpened != 0 {
		t.Errorf("waited %d ns for handles, opened %d", sample.HandleWaitNS, sample.HandlesOpened)
	}
	// Three of four threads wait for one handle: were waiting in the service times, their sum would
	// exceed the phase.
	if service := sample.Totals[0].Service.Mean() * 12; service > 1.1*float64(c.EndNS()-c.StartNS()) {
		t.Errorf("service times add up to %.0f ns in a phase of %d ns with one handle", service, c.EndNS()-c.StartNS())
	}
}

func TestRefusals(t *testing.T) {
	s := serve(t, &fake{})
	open := func(change func(*control.Open)) error {
		o := &control.Open{Driver: "fake", Durability: store.D0, Handles: control.HandlesPerThread, Threads: 1}
		change(o)
		return s.call(control.Request{Command: control.CommandOpen, Open: o}, nil)
	}
	refusedWith(t, open(func(o *control.Open) { o.Durability = store.D3 }), control.ClassRefused, "D3")
	refusedWith(t, open(func(o *control.Open) { o.Handles, o.Threads = control.HandlesShared, 2 }), control.ClassRefused, "shared")
	refusedWith(t, open(func(o *control.Open) { o.Handles = control.HandlesPool }), control.ClassBadRequest, "pool_handles")
	refusedWith(t, open(func(o *control.Open) { o.Options = map[string]string{"dept": "4"} }), control.ClassBadRequest, "dept")
	refusedWith(t, open(func(o *control.Open) { o.Options = map[string]string{"depth": "four"} }), control.ClassBadRequest, "four")
	refusedWith(t, s.call(control.Request{Command: control.CommandRun}, nil), control.ClassBadRequest, "before open")
	s.open(control.HandlesPerThread, 1, 0)
	_, err := s.ready(newPhase(1, entry(trace.Scan, 1)))
	refusedWith(t, err, control.ClassRefused, "scan")
	p := newPhase(1, entry(trace.Upsert, 1))
	p.prepare.Values.LengthMax = 99
	_, err = s.ready(p)
	refusedWith(t, err, control.ClassBadRequest, "length_max")
	refusedWith(t, s.call(control.Request{Command: control.CommandSync}, nil), control.ClassRefused, "sync")
}

// A counters file without room for response times must not be written past its slots.
func TestCountersMustFitTheTrace(t *testing.T) {
	s := serve(t, &fake{})
	s.open(control.HandlesPerThread, 1, 0)
	p := newPhase(1, entry(trace.Upsert, 1))
	closed := p.file
	p.file.Flags = trace.FlagDue
	p.file.Threads = []trace.Thread{{Entries: p.file.Threads[0].Entries, Limit: 1, Due: []uint64{0}, LapNS: 1}}
	p.prepare.Number = 1
	p.prepare.Trace, p.prepare.Counters = filepath.Join(s.dir, "trace"), filepath.Join(s.dir, "counters")
	if err := p.file.Write(p.prepare.Trace); err != nil {
		t.Fatal(err)
	}
	c, err := counters.Create(p.prepare.Counters, &closed)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Unmap()
	refusedWith(t, s.call(control.Request{Command: control.CommandPrepare, Prepare: &p.prepare}, nil), control.ClassBadRequest, "flags")
}

func TestBrokenRequests(t *testing.T) {
	for line, class := range map[string]string{
		`{"id":1,"command":"describe","extra":1}`:    control.ClassBadRequest,
		`{"id":1,"command":"frobnicate"}`:            control.ClassBadRequest,
		`{"id":1,"command":"open"}`:                  control.ClassBadRequest,
		`{"id":1,"command":"define"}`:                control.ClassBadRequest,
		`{"id":1,"command":"describe"} {"id":2}`:     control.ClassBadRequest,
		`{"id":1,"command":"open","open":{"x":"y"}}`: control.ClassBadRequest,
	} {
		s := serve(t, &fake{})
		if _, err := io.WriteString(s.in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		s.id = 1
		refusedWith(t, s.reply(nil), class, "")
		if err := s.call(control.Request{Command: control.CommandDescribe}, nil); err != nil {
			t.Errorf("after %s: %v", line, err)
		}
	}
}

// A reply that can't be written ends the worker: its conductor has gone.
func TestOutputThatBreaks(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if err := Serve(strings.NewReader(`{"id":1,"command":"describe"}`+"\n"), writer, &fake{}); err == nil {
		t.Error("a broken pipe was no error")
	}
}
