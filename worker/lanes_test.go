package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

// asyncFake is fake with an asynchronous form, whose lanes end in an order that is drawn.
type asyncFake struct {
	fake
	swap    bool  // each lane's answers come in the wrong order
	fail    error // of Reap
	depth   int   // most operations on a lane's way
	steps   bool  // batches take several requests
	crowded bool  // an operation was submitted behind one that must be alone
	batches []int // how many operations were submitted at a time, between two answers
}

func (f *asyncFake) Describe() store.Description {
	d := f.fake.Describe()
	d.Abilities = store.Abilities{Add: true, CompareAndSwap: true, Batch: true, Async: true}
	return d
}

func (f *asyncFake) Open(context.Context, store.Config) (store.Store, error) {
	return &asyncFakeStore{fakeStore{fake: &f.fake, values: map[string][]byte{}}, f}, nil
}

type asyncFakeStore struct {
	fakeStore
	of *asyncFake
}

func (s *asyncFakeStore) Loop(lanes, _ int) (store.Loop, error) {
	return &fakeLoop{of: s.of, handle: &fakeHandle{&s.fakeStore}, lanes: make([][]fakeAnswer, lanes)}, nil
}

type fakeLoop struct {
	of     *asyncFake
	handle *fakeHandle
	lanes  [][]fakeAnswer
}

type fakeAnswer struct {
	value []byte
	err   error
	alone bool
}

func (l *fakeLoop) Submit(lane int, r *store.Request) {
	var a fakeAnswer
	switch r.Operation {
	case store.OpGet:
		a.value, a.err = l.handle.Get(r.Key, nil)
	case store.OpDelete:
		a.err = l.handle.Delete(r.Key)
	case store.OpAdd:
		a.alone = true
		if _, err := l.handle.Get(r.Key, nil); err == nil {
			a.err = store.ErrConflict
			break
		}
		a.err = l.handle.Put(r.Key, r.Value)
	case store.OpApply:
		a.alone = l.of.steps
		for _, w := range r.Writes {
			a.err = errors.Join(a.err, l.handle.Put(w.Key, w.Value))
		}
	default:
		a.alone = r.Operation == store.OpCompareAndSwap
		a.err = l.handle.Put(r.Key, r.Value)
	}
	if waiting := l.lanes[lane]; len(waiting) > 0 && (waiting[len(waiting)-1].alone ||
		r.Operation == store.OpCompareAndSwap) {
		l.of.crowded = true
	}
	if l.of.batches == nil {
		l.of.batches = []int{0}
	}
	l.of.batches[len(l.of.batches)-1]++
	l.lanes[lane] = append(l.lanes[lane], a)
	l.of.depth = max(l.of.depth, len(l.lanes[lane]))
}

func (l *fakeLoop) Reap(_ time.Duration, ended store.Ended) error {
	if l.of.fail != nil {
		return l.of.fail
	}
	lane := rand.IntN(len(l.lanes))
	for i := range l.lanes { // the first from the drawn one on that has an answer
		at := (lane + i) % len(l.lanes)
		waiting := l.lanes[at]
		if len(waiting) == 0 {
			continue
		}
		if l.of.swap && len(waiting) > 1 {
			waiting[0], waiting[1] = waiting[1], waiting[0]
		}
		l.lanes[at] = waiting[1:]
		if len(l.of.batches) > 0 && l.of.batches[len(l.of.batches)-1] > 0 {
			l.of.batches = append(l.of.batches, 0)
		}
		ended(at, waiting[0].value, waiting[0].err)
		break
	}
	return nil
}

func (l *fakeLoop) StepsInBatches() bool { return l.of.steps }

func (l *fakeLoop) Close() error { return nil }

// serveAsync opens the fake with lanes.
func serveAsync(t *testing.T, f *asyncFake, threads, pipeline int) *served {
	t.Helper()
	s := serve(t, f)
	if err := s.call(control.Request{Command: control.CommandOpen, Open: &control.Open{
		Driver: "fake", Durability: store.D0, Handles: control.HandlesAsync, Threads: threads, Pipeline: pipeline,
	}}, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// own gives each of an open phase's threads keys of its own.
func own(p *testPhase) {
	for i := range p.file.Threads {
		t := &p.file.Threads[i]
		mine := make([]trace.Entry, len(t.Entries))
		for k, e := range t.Entries {
			mine[k] = entry(e.Operation(), e.Index()+uint64(i)*1000)
		}
		t.Entries = mine
	}
}

var laneMix = []trace.Entry{
	entry(trace.Upsert, 1), entry(trace.Read, 1), entry(trace.Upsert, 2), entry(trace.ReadModifyWrite, 1),
	entry(trace.Read, 1),
	entry(trace.Read, 2), entry(trace.CompareAndSwap, 2), entry(trace.Read, 2), entry(trace.Add, 2),
	entry(trace.Read, 2), entry(trace.Read, 1),
}

func TestLanesDoWhatThreadsDo(t *testing.T) {
	for _, pipeline := range []int{1, 4, 100} {
		f := &asyncFake{}
		s := serveAsync(t, f, 5, pipeline)
		p := newPhase(5, laneMix...)
		own(p)
		for i := range p.file.Threads {
			p.file.Threads[i].Limit = 30 * uint64(len(laneMix))
		}
		c, _ := s.run(p)
		for i, total := range c.Sample(true).Totals {
			want := counters.OK
			if total.Operation == trace.Add {
				want = counters.Conflict
			}
			if total.Outcomes[want] != total.Operations() || total.Operations() == 0 ||
				total.Service.Count() != total.Operations() {
				t.Errorf("pipeline %d: slot %d, %s: %v", pipeline, i, total.Operation, total.Outcomes)
			}
		}
		for i := range p.file.Threads {
			if head := c.Thread(i); head.Acknowledged != head.Attempted ||
				head.Attempted != p.file.Threads[i].Limit || head.State != counters.Ended {
				t.Errorf("pipeline %d: thread %d: %+v", pipeline, i, *head)
			}
		}
		if f.depth > pipeline || f.crowded || pipeline == 4 && f.depth < 3 {
			t.Errorf("pipeline %d: up to %d operations were on a lane's way; beside one that must be alone: %v", pipeline, f.depth, f.crowded)
		}
	}
}

// A batch of several requests has its lane for itself, and one of a single request does not.
func TestBatchesInStepsAreAlone(t *testing.T) {
	for _, steps := range []bool{false, true} {
		f := &asyncFake{steps: steps}
		s := serveAsync(t, f, 1, 4)
		const members = 2
		p := newPhase(1, trace.MakeEntry(trace.Batch, 0, members, false), entry(trace.Upsert, 1).Member(),
			entry(trace.Upsert, 2).Member(), entry(trace.Read, 1), entry(trace.Read, 2))
		p.file.Amounts[members] = members
		p.file.Threads[0].Limit *= 30
		c, _ := s.run(p)
		for _, total := range c.Sample(true).Totals {
			if total.Outcomes[counters.OK] != total.Operations() || total.Operations() == 0 {
				t.Errorf("%s: %v", total.Operation, total.Outcomes)
			}
		}
		if f.crowded || f.depth > 3 != !steps {
			t.Errorf("batches in steps: %v: %d operations were on the way, beside a batch in steps: %v", steps, f.depth, f.crowded)
		}
	}
}

// A full pipeline first, then half of one at a time, and last what is left.
func TestPipelinesRefillInHalves(t *testing.T) {
	for pipeline, want := range map[int][]int{1: {1, 1, 1, 1, 1}, 2: {2, 1, 1, 1}, 5: {5, 3, 3, 3, 2}, 8: {8, 4, 4,
		4, 4}} {
		f := &asyncFake{}
		s := serveAsync(t, f, 1, pipeline)
		p := newPhase(1, entry(trace.Upsert, 1))
		p.file.Threads[0].Limit = 0
		for _, n := range want {
			p.file.Threads[0].Limit += uint64(n)
		}
		c, _ := s.run(p)
		expect(t, c, counters.OK, p.file.Threads[0].Limit)
		got := slices.DeleteFunc(f.batches, func(n int) bool { return n == 0 })
		if !slices.Equal(got, want) {
			t.Errorf("pipeline %d: %v operations at a time, want %v", pipeline, got, want)
		}
	}
}

// A loop that mixes a lane's answers up gives reads the values of other keys.
func TestAnswersInTheWrongOrderAreWrong(t *testing.T) {
	s := serveAsync(t, &asyncFake{swap: true}, 1, 4)
	s.run(newPhase(1, entry(trace.Upsert, 1), entry(trace.Upsert, 2)))
	p := newPhase(1, entry(trace.Read, 1), entry(trace.Read, 2))
	p.file.Threads[0].Limit = 100
	c, _ := s.run(p)
	if got := outcomes(c, 0); got[counters.Wrong] < 50 {
		t.Errorf("outcomes %v", got)
	}
}

func TestLoopThatCannotGoOnFailsThePhase(t *testing.T) {
	s := serveAsync(t, &asyncFake{fail: errors.New("no more events")}, 2, 1)
	if _, err := s.ready(newPhase(2, entry(trace.Upsert, 1))); err != nil {
		t.Fatal(err)
	}
	refusedWith(t, s.call(control.Request{Command: control.CommandRun}, nil), control.ClassFailed, "no more events")
}

func TestAsynchronousHandlesAreRefused(t *testing.T) {
	open := func(d store.Driver, pipeline int) error {
		return serve(t, d).call(control.Request{Command: control.CommandOpen, Open: &control.Open{
			Driver: "fake", Durability: store.D0, Handles: control.HandlesAsync, Threads: 1, Pipeline: pipeline}}, nil)
	}
	refusedWith(t, open(&fake{}, 1), control.ClassRefused, "no asynchronous handles")
	refusedWith(t, open(&asyncFake{}, 0), control.ClassBadRequest, "pipeline of at least 1")
}

// Moments come in their order, whatever the order in which they were added.
func TestMomentsAreAscending(t *testing.T) {
	var m moments
	for range 1000 {
		m.add(rand.Int64N(300), nil)
	}
	for last := int64(0); len(m) > 0; m.drop() {
		if m[0].ns < last {
			t.Fatalf("%d after %d", m[0].ns, last)
		}
		last = m[0].ns
	}
}

// Open load: a lane begins no operation before it is due, and one that waits for room is not late.
func TestLanesKeepDueTimes(t *testing.T) {
	const n = 20
	every := 2 * time.Millisecond
	p := openPhase(n, every)
	s := serveAsync(t, &asyncFake{}, 1, 2)
	c, _ := s.run(p)
	expect(t, c, counters.OK, n)
	if head := c.Thread(0); head.NowNS < uint64((n-1)*every) {
		t.Errorf("the last operation ended after %d ns, and was due after %d", head.NowNS, (n-1)*every)
	}
}
