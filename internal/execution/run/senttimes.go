package run

import (
	"container/heap"
	"sort"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// sentTimes are when the requests of the first lap of open load were sent. A thread sends a request when it
// is due, or once it is done with the one before, if that is later, and a little late.
//
// When a request is due is known of each. How long requests took, and how late the harness began them, is
// known of all together, and drawn from that for each. Times are so those of such a load, not of each
// request; their gaps have the distribution that is compared.
type sentTimes struct {
	threads   []trace.Thread
	attempted []uint64      // of each thread
	service   *serviceDraws // nil: threads wait for no answer
	late      *lateDraw
	queue     []sending
}

// sending is the next request of a thread.
type sending struct {
	thread int
	at     uint64 // position of the request in the lap
	ns     uint64 // when it is sent
}

// Len, Less, Swap, Push and Pop are heap.Interface: the request that is sent first stands on top.
func (s *sentTimes) Len() int           { return len(s.queue) }
func (s *sentTimes) Less(i, j int) bool { return s.queue[i].ns < s.queue[j].ns }
func (s *sentTimes) Swap(i, j int)      { s.queue[i], s.queue[j] = s.queue[j], s.queue[i] }
func (s *sentTimes) Push(x any)         { s.queue = append(s.queue, x.(sending)) }
func (s *sentTimes) Pop() any {
	last := len(s.queue) - 1
	x := s.queue[last]
	s.queue = s.queue[:last]
	return x
}

// each calls for the times in ns from the start, in ascending order.
func (s *sentTimes) each(do func(ns int64)) {
	for i := range s.threads {
		if s.has(i, 0) {
			s.queue = append(s.queue, sending{i, 0, s.threads[i].Due[0] + s.late.next()})
		}
	}
	heap.Init(s)
	for len(s.queue) > 0 {
		next := &s.queue[0]
		do(int64(next.ns))
		t := &s.threads[next.thread]
		free := next.ns + s.service.next(t.Entries[next.at].Operation())
		if next.at++; !s.has(next.thread, next.at) {
			heap.Pop(s)
			continue
		}
		due := t.Due[next.at]
		if s.service == nil {
			free = next.ns // requests of a thread keep their order
			next.ns = max(due+s.late.next(), free)
		} else {
			next.ns = max(due, free) + s.late.next()
		}
		heap.Fix(s, 0)
	}
}

// has reports whether a thread sent its request at a position of the first lap.
func (s *sentTimes) has(thread int, at uint64) bool {
	return at < s.attempted[thread] && at < uint64(len(s.threads[thread].Due))
}

// serviceDraws draw how long requests took.
type serviceDraws struct {
	of    map[trace.Operation]*serviceDraw
	state uint64
}

// serviceDraw has the distribution of an operation: the buckets with counts, and how many lie in those up to
// each.
type serviceDraw struct {
	buckets []int
	upTo    []uint64
}

func newServiceDraws(operations []record.Operation, seed uint64) *serviceDraws {
	draws := &serviceDraws{of: map[trace.Operation]*serviceDraw{}, state: keyval.Mix(seed)}
	for i := range operations {
		o, known := trace.ParseOperation(operations[i].Name)
		if !known || operations[i].Service == nil {
			continue
		}
		d, all := &serviceDraw{}, uint64(0)
		for bucket, n := range operations[i].Service.All() {
			all += n
			d.buckets, d.upTo = append(d.buckets, bucket), append(d.upTo, all)
		}
		if all > 0 {
			draws.of[o] = d
		}
	}
	return draws
}

// next returns a time in ns; 0 where nothing is known.
func (s *serviceDraws) next(o trace.Operation) uint64 {
	if s == nil || s.of[o] == nil {
		return 0
	}
	d := s.of[o]
	s.state = keyval.Mix(s.state)
	nth := s.state % d.upTo[len(d.upTo)-1]
	at := sort.Search(len(d.upTo), func(i int) bool { return d.upTo[i] > nth })
	return uint64(histogram.Middle(d.buckets[at]))
}

// lateDraw draws how late requests were begun.
type lateDraw struct {
	words []uint64 // as record.Phase.Late
	all   uint64
	state uint64
}

func newLateDraw(words []uint64, attempted, seed uint64) *lateDraw {
	return &lateDraw{words: words, all: attempted, state: seed}
}

// next returns a lateness in ns; below 128 ns it is 0: the wait's own looks at the clock.
func (l *lateDraw) next() uint64 {
	if l.all == 0 {
		return 0
	}
	l.state = keyval.Mix(l.state)
	nth := l.state % l.all
	for k, n := range l.words {
		if nth < n {
			from := counters.LatenessFromNS(k)
			return from + l.state>>32%max(from, 1)
		}
		nth -= n
	}
	return 0
}
