package counters

import (
	"cmp"
	"slices"
	"sync/atomic"

	"assay/internal/base/histogram"
	"assay/internal/experiment/trace"
)

// Total is what all threads have counted in one slot, up to one moment.
type Total struct {
	Operation    trace.Operation
	Query        int // that the operation asks; 0: it asks none, or the first one
	Outcomes     [Outcomes]uint64
	BytesWritten uint64
	BytesRead    uint64
	Items        uint64
	SortSum      uint64 // of queries with an order
	Absent       uint64 // keys of multi-reads that were not there
	Calls        uint64 // that multi-reads made
	ServiceMaxNS uint64
	Foreign      uint64               // of the wrong ones: values of another trial
	Service      *histogram.Histogram // nil where histograms were not asked for
	Response     *histogram.Histogram // nil for closed load
}

// Sample is the sum over all threads at one moment. Words of a running worker are read one by one,
// so that a sample may be an operation ahead here and behind there; at the end of a phase it is
// exact.
type Sample struct {
	Totals        []Total // one a slot
	Attempted     []uint64
	Acknowledged  []uint64
	HandleWaitNS  uint64
	HandlesOpened uint64
	HandleTimes   *histogram.Histogram // nil: not counted, or histograms were not asked for
	LatenessMaxNS uint64
	Late          [LatenessWords]uint64
	StuckThreads  int
}

// Sample adds up all threads. Histograms cost 37 KB of reading for each thread and slot: leave them
// out where threads are many and the moment is not the last.
func (f *File) Sample(histograms bool) Sample {
	s := Sample{
		Totals:    make([]Total, len(f.slots.Operations)),
		Attempted: make([]uint64, f.threads), Acknowledged: make([]uint64, f.threads),
	}
	for i, o := range f.slots.Operations {
		s.Totals[i].Operation, s.Totals[i].Query = o, f.slots.Query(i)
		if histograms {
			s.Totals[i].Service = histogram.New()
			if f.response {
				s.Totals[i].Response = histogram.New()
			}
		}
	}
	if histograms && f.handleTimes {
		s.HandleTimes = histogram.New()
	}
	for i := range f.threads {
		t := f.Thread(i)
		if s.HandleTimes != nil {
			addBuckets(s.HandleTimes, f.HandleTimes(i))
		}
		// Acknowledged first: read the other way round, an operation that ends in between would
		// look acknowledged before it began.
		s.Acknowledged[i] = atomic.LoadUint64(&t.Acknowledged)
		s.Attempted[i] = atomic.LoadUint64(&t.Attempted)
		s.HandleWaitNS += atomic.LoadUint64(&t.HandleWaitNS)
		s.HandlesOpened += atomic.LoadUint64(&t.HandlesOpened)
		s.LatenessMaxNS = max(s.LatenessMaxNS, atomic.LoadUint64(&t.LatenessMaxNS))
		for word := range t.Late {
			s.Late[word] += atomic.LoadUint64(&t.Late[word])
		}
		if atomic.LoadUint64(&t.State) == Stuck {
			s.StuckThreads++
		}
		for k := range f.slots.Operations {
			f.addSlot(&s.Totals[k], i, k)
		}
	}
	return s
}

// Join adds samples of parts of a file, in their order, up to that of the whole. Of one part it is
// the part's own.
func Join(parts []Sample) Sample {
	if len(parts) == 1 {
		return parts[0]
	}
	var all Sample
	for _, p := range parts {
		all.Attempted, all.Acknowledged = append(all.Attempted, p.Attempted...), append(all.Acknowledged,
			p.Acknowledged...)
		all.HandleWaitNS, all.HandlesOpened = all.HandleWaitNS+p.HandleWaitNS, all.HandlesOpened+p.HandlesOpened
		all.HandleTimes = joined(all.HandleTimes, p.HandleTimes)
		all.LatenessMaxNS, all.StuckThreads = max(all.LatenessMaxNS, p.LatenessMaxNS), all.StuckThreads+p.StuckThreads
		for word, n := range p.Late {
			all.Late[word] += n
		}
		if all.Totals == nil {
			all.Totals = make([]Total, len(p.Totals))
		}
		for slot := range p.Totals {
			all.Totals[slot].Add(&p.Totals[slot])
		}
	}
	return all
}

// Add adds what other threads have counted in the same slot, or in another of the same operation:
// the query is then of no meaning.
func (t *Total) Add(o *Total) {
	t.Operation, t.Query = o.Operation, o.Query
	for outcome, n := range o.Outcomes {
		t.Outcomes[outcome] += n
	}
	t.BytesWritten, t.BytesRead, t.Items = t.BytesWritten+o.BytesWritten, t.BytesRead+o.BytesRead, t.Items+o.Items
	t.ServiceMaxNS, t.Foreign, t.SortSum = max(t.ServiceMaxNS, o.ServiceMaxNS), t.Foreign+o.Foreign, t.SortSum+o.SortSum
	t.Absent, t.Calls = t.Absent+o.Absent, t.Calls+o.Calls
	t.Service, t.Response = joined(t.Service, o.Service), joined(t.Response, o.Response)
}

func joined(a, b *histogram.Histogram) *histogram.Histogram {
	if b == nil {
		return a
	}
	if a == nil {
		a = histogram.New()
	}
	a.Add(b)
	return a
}

func (f *File) addSlot(total *Total, thread, slot int) {
	c := f.Slot(thread, slot)
	for o := range c.Outcomes {
		total.Outcomes[o] += atomic.LoadUint64(&c.Outcomes[o])
	}
	total.BytesWritten += atomic.LoadUint64(&c.BytesWritten)
	total.BytesRead += atomic.LoadUint64(&c.BytesRead)
	total.Items += atomic.LoadUint64(&c.Items)
	total.SortSum += atomic.LoadUint64(&c.SortSum)
	total.Absent += atomic.LoadUint64(&c.Absent)
	total.Calls += atomic.LoadUint64(&c.Calls)
	total.Foreign += atomic.LoadUint64(&c.Foreign)
	total.ServiceMaxNS = max(total.ServiceMaxNS, atomic.LoadUint64(&c.ServiceMaxNS))
	if total.Service != nil {
		addBuckets(total.Service, &c.Service)
	}
	if total.Response != nil {
		addBuckets(total.Response, f.Response(thread, slot))
	}
}

func addBuckets(into *histogram.Histogram, from *[histogram.Buckets]uint64) {
	for b := range from {
		into.Counts[b] += atomic.LoadUint64(&from[b])
	}
}

// Operations returns how many operations have an outcome.
func (t Total) Operations() uint64 {
	var n uint64
	for _, outcome := range t.Outcomes {
		n += outcome
	}
	return n
}

func sortMessages(messages []Message) {
	slices.SortFunc(messages, func(a, b Message) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Text, b.Text))
	})
}
