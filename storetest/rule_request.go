package storetest

import (
	"cmp"
	"slices"
	"time"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
)

// request appends the steps of a request, each a value's length or 0, and the request.
func (s *script) request(thread int, index uint64, steps ...write) {
	for _, step := range steps {
		s.do(thread, step.operation, index, step.length)
	}
	s.append(thread, trace.MakeEntry(trace.Request, index, s.sizeClass(len(steps)), false))
}

// carts fills a script with requests: each thread writes a record of its own, reads it and
// overwrites it.
func (b *bench) carts(s *script, each int) {
	for thread := range s.threads {
		for i := range uint64(each) {
			s.request(thread, b.base(s.keys)+uint64(thread)*1000+i%40,
				write{operation: trace.Upsert, length: 300}, write{operation: trace.Read},
				write{operation: trace.Update, length: 600})
		}
	}
	s.recordAll()
}

// requestRule holds requests against the records of their steps: where they begin and end, how they
// end, which handle they have, and that none is left in the middle.
func requestRule(b *bench) error {
	if b.target.Handles == handlesAsync {
		return b.requestsRefused()
	}
	if err := b.requestOutcomes(); err != nil {
		return err
	}
	for _, o := range []opening{{handles: handlesPerOperation, threads: b.threads(2)}, {handles: handlesPool,
		poolHandles: 1, threads: 2}} {
		if err := b.requestHandles(o); err != nil {
			return err
		}
	}
	if err := b.requestsBeside(); err != nil {
		return err
	}
	return b.requestsWhole()
}

// requestsBeside has a thread whose operations belong to no request beside one that does requests.
func (b *bench) requestsBeside() error {
	threads := b.threads(2)
	if threads < 2 {
		return nil
	}
	if err := b.openAny(opening{threads: threads}); err != nil {
		return err
	}
	s := b.script(threads)
	base, n := b.base(s.keys), b.many(30)
	for i := range uint64(n) {
		s.request(0, base+i%40, write{operation: trace.Upsert, length: 300}, write{operation: trace.Read})
		s.do(1, trace.Upsert, base+1000+i%40, 200)
		s.do(1, trace.Read, base+1000+i%40, 0)
	}
	s.recordAll()
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.auditHistory(r)
	if got := r.outcomesOf[1][trace.Request]; got != [counters.Outcomes]uint64{} {
		b.fault("requests: a thread whose operations belong to none counted %v", got)
	}
	if got, want := r.sample.Acknowledged, []uint64{3 * uint64(n), 2 * uint64(n)}; !slices.Equal(got, want) {
		b.fault("requests: of a thread with requests and one without, %v entries were acknowledged, of %v", got, want)
	}
	return b.close()
}

// requestsRefused has the steps of requests refused where operations overlap.
func (b *bench) requestsRefused() error {
	if err := b.openAny(opening{}); err != nil {
		return err
	}
	s := b.script(1)
	b.carts(s, 1)
	_, err := b.prepare(s)
	return b.judgeRefusal("requests on asynchronous handles", control.ClassRefused, err)
}

func (b *bench) requestOutcomes() error {
	if err := b.openAny(opening{}); err != nil {
		return err
	}
	s := b.script(1)
	base := b.base(s.keys)
	const rounds = 30
	for i := range uint64(rounds) {
		s.request(0, base+i, write{operation: trace.Read}, write{operation: trace.Upsert, length: 100})
		s.request(0, base+i, write{operation: trace.Upsert, length: 200}, write{operation: trace.Read},
			write{operation: trace.Update, length: 700})
		s.request(0, base+i, write{operation: trace.Delete})
	}
	s.recordAll()
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.auditHistory(r)
	b.auditRequests(r)
	if b.description.Kind == "none" {
		return b.close()
	}
	if total := r.total(trace.Request); total.Outcomes[counters.Miss] != rounds ||
		total.Outcomes[counters.OK] != 2*rounds {
		b.fault("requests: %d whose first step finds nothing, %d that find all: counted %s", rounds, 2*rounds, r.outcomes(trace.Request))
	}
	if total := r.total(trace.Request); total.BytesWritten+total.BytesRead+total.Items != 0 {
		b.fault("requests: bytes and items are those of the steps, a request has none of its own")
	}
	return b.close()
}

// requestHandles has one handle serve all steps of a request.
func (b *bench) requestHandles(o opening) error {
	err := b.openFor(o)
	if b.refusesHandles(o.handles, err) != "" {
		return nil
	}
	if err != nil {
		return err
	}
	s := b.script(o.threads)
	b.carts(s, b.many(30))
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.auditHistory(r)
	spans := b.auditRequests(r)
	if requests := r.total(trace.Request).Operations(); o.handles == handlesPerOperation &&
		r.sample.HandlesOpened != requests {
		b.fault("requests: %d handles were opened for %d requests: a request has one for all of its steps", r.sample.HandlesOpened, requests)
	}
	if o.handles == handlesPool {
		slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
		for i := 1; i < len(spans); i++ {
			if spans[i].begin+clockSlackNS < spans[i-1].end {
				b.fault("requests: one handle served two requests at once: one from %d to %d ns, another from %d ns on",
					spans[i-1].begin, spans[i-1].end, spans[i].begin)
				break
			}
		}
	}
	return b.close()
}

// clockSlackNS is by how much the clocks of two threads may differ.
const clockSlackNS = 1000

// requestsWhole has requests that are due, and an end that comes in the middle of some.
func (b *bench) requestsWhole() error {
	if err := b.openAny(opening{}); err != nil {
		return err
	}
	const n, every = 20, 2e6
	due := b.script(1)
	due.flags = trace.FlagDue
	b.carts(due, n)
	for i := range uint64(n) {
		due.threads[0].Due = append(due.threads[0].Due, slices.Repeat([]uint64{i * every}, 4)...)
	}
	due.threads[0].LapNS = n * every
	r, err := b.run(due)
	if err != nil {
		return err
	}
	response := histogram.New()
	for i, s := range b.auditRequests(r) {
		if s.begin < uint64(i)*every {
			b.fault("requests: request %d was due at %d ns and began at %d ns", i, uint64(i)*uint64(every), s.begin)
		}
		response.Counts[histogram.Bucket(s.end-min(uint64(i)*every, s.end))]++
	}
	if !slices.Equal(response.Counts, r.total(trace.Request).Response.Counts) {
		b.fault("requests: response times are not those from when each was due to the end of its last step")
	}

	endless := b.script(1)
	b.carts(endless, 40)
	endless.flags, endless.endless, endless.deadline = 0, true, 20*time.Millisecond
	for p, e := range endless.threads[0].Entries {
		endless.threads[0].Entries[p] = e &^ trace.Entry(0).Record()
	}
	if r, err = b.run(endless); err != nil {
		return err
	}
	if done := r.sample.Acknowledged[0]; done%4 != 0 {
		b.fault("requests: a thread ended after %d entries, in the middle of a request of 4", done)
	}
	return b.close()
}

// span is from when a request began to when it ended.
type span struct{ begin, end uint64 }

// auditRequests holds the times and outcomes of requests against the records of their steps, all of
// which are recorded.
func (b *bench) auditRequests(r *ran) (spans []span) {
	times := histogram.New()
	for thread := range r.file.Threads {
		var now span
		var outcomes [counters.Outcomes]uint64
		outcome, steps, next := counters.OK, 0, 0
		records := r.history[thread]
		for sequence := range r.sample.Acknowledged[thread] {
			if e, _ := r.file.Threads[thread].EntryAt(sequence); e.Operation() == trace.Request {
				spans = append(spans, now)
				times.Counts[histogram.Bucket(now.end-now.begin)]++
				outcomes[outcome]++
				outcome, steps = counters.OK, 0
				continue
			}
			if next == len(records) || records[next].Sequence() != sequence {
				b.fault("requests: the step of entry %d has no record", sequence)
				return nil
			}
			if steps == 0 {
				now.begin = records[next].BeginNS
			}
			if outcome == counters.OK {
				outcome = records[next].Outcome()
			}
			now.end = records[next].EndNS
			steps, next = steps+1, next+1
		}
		if outcomes != r.outcomesOf[thread][trace.Request] {
			b.fault("requests: outcomes are counted as %v, those of the first step that is not ok are %v", r.outcomesOf[thread][trace.Request], outcomes)
		}
	}
	if !slices.Equal(times.Counts, r.total(trace.Request).Service.Counts) {
		b.fault("requests: service times are not those from the begin of the first step to the end of the last")
	}
	return spans
}
