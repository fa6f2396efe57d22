package misbehave

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"assay/internal/base/histogram"
	"assay/internal/base/memfile"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/worker"
)

// Kinds returns the kinds of workers that Serve can be, sorted.
func Kinds() []string {
	var kinds []string
	for kind := range lies {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// lie is what a worker does to an honest worker's answers. It may change the counters of the phase
// that just ran, and gets the reply's line, without its end; what it returns is written instead.
type lie struct {
	prepare func(*control.Prepare) // changes what the honest worker gets
	rewrite func(*trace.Thread)    // likewise: of each thread of the trace
	linger  bool                   // after the end of input
	count   func(*counters.File)
	open    func(*control.Open) // changes what the honest worker gets
	// changes what a thread has recorded, and its counters
	past  func(*trace.File, *counters.File, int, []counters.Recorded)
	reply func(request control.Request, line []byte) []byte
}

// EarlyWork is the CPU time that a worker of kind works-early uses before each phase.
const EarlyWork = 500 * time.Millisecond

var lies = map[string]lie{
	"counts-twice": {count: func(c *counters.File) {
		slot := c.Slot(0, 0)
		slot.Outcomes[counters.OK]++
		slot.Service[histogram.Bucket(slot.ServiceMaxNS)]++
	}},
	"counts-attempts": {count: func(c *counters.File) {
		c.Thread(0).Attempted += 5
		c.Thread(0).Acknowledged += 5
	}},
	"counts-nothing": {count: func(c *counters.File) {
		eachSlot(c, func(slot *counters.Slot) { *slot = counters.Slot{} })
	}},
	"counts-no-times": {count: func(c *counters.File) {
		eachSlot(c, func(slot *counters.Slot) { slot.Service = [histogram.Buckets]uint64{} })
	}},
	"counts-all-ok": {count: func(c *counters.File) {
		eachSlot(c, func(slot *counters.Slot) {
			for outcome := counters.OK + 1; outcome < counters.Outcomes; outcome++ {
				slot.Outcomes[counters.OK] += slot.Outcomes[outcome]
				slot.Outcomes[outcome] = 0
			}
		})
	}},
	"answers-garbage": {reply: func(_ control.Request, line []byte) []byte {
		return append([]byte("opening the store …\n"), line...)
	}},
	"answers-wrong-id": {reply: func(r control.Request, line []byte) []byte {
		return bytes.Replace(line, fmt.Appendf(nil, `"id":%d`, r.ID), fmt.Appendf(nil, `"id":%d`, r.ID+1), 1)
	}},
	"answers-never": {reply: func(r control.Request, line []byte) []byte {
		if r.Command == control.CommandOpen {
			time.Sleep(time.Hour) // not select {}: Go ends a process in which nothing can ever go on
		}
		return line
	}},
	"closes-stdout": {reply: func(r control.Request, line []byte) []byte {
		if r.Command == control.CommandOpen {
			return nil
		}
		return line
	}},
	"counts-bytes": {count: func(c *counters.File) {
		eachSlot(c, func(slot *counters.Slot) {
			slot.BytesWritten, slot.BytesRead = 2*slot.BytesWritten, 2*slot.BytesRead
		})
	}},
	"counts-items": {count: func(c *counters.File) {
		eachSlot(c, func(slot *counters.Slot) { slot.Items *= 10 })
	}},
	"works-early": {prepare: func(*control.Prepare) { // as one would that does its writes before its time begins
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for began := host.ThreadCPU(); host.ThreadCPU()-began < EarlyWork; {
		}
	}},
	"counts-early-end": {count: func(c *counters.File) { c.SetEndNS(c.StartNS() + 1) }},
	// A machine that has just begun has no hour behind it.
	"counts-early-start": {count: func(c *counters.File) { c.SetStartNS(c.StartNS() / 2) }},
	"counts-no-reads": {count: func(c *counters.File) { // as if half of them had been skipped
		eachSlot(c, func(slot *counters.Slot) { slot.BytesRead /= 2 })
	}},
	"times-one": {count: func(c *counters.File) { // a nanosecond, each
		eachSlot(c, func(slot *counters.Slot) {
			var n uint64
			for i := range slot.Service {
				n, slot.Service[i] = n+slot.Service[i], 0
			}
			if n > 0 {
				slot.Service[histogram.Bucket(1)], slot.ServiceMaxNS = n, 1
			}
		})
	}},
	"times-unasked": {count: func(c *counters.File) { // all operations, where one in so many is to be
		eachSlot(c, func(slot *counters.Slot) {
			var outcomes, timed uint64
			for _, n := range slot.Outcomes {
				outcomes += n
			}
			for _, n := range slot.Service {
				timed += n
			}
			slot.Service[histogram.Bucket(slot.ServiceMaxNS)] += outcomes - timed
		})
	}},
	"counts-late-end": {count: func(c *counters.File) { c.SetEndNS(c.EndNS() + 3600e9) }},
	"counts-no-handles": {count: func(c *counters.File) {
		for thread := range c.Threads() {
			c.Thread(thread).HandlesOpened = 0
		}
	}},
	"late-never": {count: func(c *counters.File) { eachThread(c, countNoneLate) }},
	"late-uncounted": {count: func(c *counters.File) {
		eachThread(c, func(_ int, head *counters.Thread) { head.Late = [counters.LatenessWords]uint64{} })
	}},
	"late-twice": {count: func(c *counters.File) {
		eachThread(c, func(_ int, head *counters.Thread) {
			for word := range head.Late {
				head.Late[word] *= 2
			}
		})
	}},
	"late-word-zero": {count: func(c *counters.File) {
		eachThread(c, func(_ int, head *counters.Thread) {
			if head.LatenessMaxNS > 0 { // of open load
				head.Late, head.LatenessMaxNS = [counters.LatenessWords]uint64{head.Acknowledged}, 1<<40
			}
		})
	}},
	"late-wrong-word": {count: func(c *counters.File) {
		eachThread(c, func(_ int, head *counters.Thread) {
			var late uint64
			for _, n := range head.Late {
				late += n
			}
			head.Late = [counters.LatenessWords]uint64{late}
		})
	}},
	"late-queue": {count: func(c *counters.File) { // its lateness counts from the due time, also that of a slow store
		eachThread(c, func(thread int, head *counters.Thread) {
			if c.HasResponse() {
				head.Late, head.LatenessMaxNS = [counters.LatenessWords]uint64{}, 0
				for slot := range c.Operations() {
					countFromDue(head, c.Slot(thread, slot), c.Response(thread, slot))
				}
			}
		})
	}},
	"late-first-only": {count: func(c *counters.File) { // it looks at the phase's beginning and never again
		eachThread(c, func(thread int, head *counters.Thread) {
			if head.Acknowledged > 1 {
				countNoneLate(thread, head)
			}
		})
	}},
	"questions-as-one": {count: func(c *counters.File) { // counts all questions of an operation as the first
		eachQuestion(c, func(first, slot *counters.Slot) {
			for outcome, n := range slot.Outcomes {
				first.Outcomes[outcome] += n
			}
			first.Items, first.BytesRead, first.SortSum =
				first.Items+slot.Items, first.BytesRead+slot.BytesRead, first.SortSum+slot.SortSum
			timesTo(first, slot)
			*slot = counters.Slot{}
		})
	}},
	"questions-timed-as-one": {count: func(c *counters.File) { eachQuestion(c, timesTo) }},
	"late-closed-load": {count: func(c *counters.File) {
		eachThread(c, func(_ int, head *counters.Thread) {
			if !c.HasResponse() {
				head.Late[3], head.LatenessMaxNS = 1, counters.LatenessFromNS(3)
			}
		})
	}},
	"requests-of-last-step": {past: func(t *trace.File, c *counters.File, thread int, records []counters.Recorded) {
		eachRequest(t, thread, records, func(slot *counters.Slot, _, last counters.Recorded) {
			slot.CountTime(int64(last.EndNS - last.BeginNS))
		}, c)
	}},
	"requests-all-ok": {count: func(c *counters.File) {
		eachRequestSlot(c, func(slot *counters.Slot) {
			all := uint64(0)
			for outcome, n := range slot.Outcomes {
				all, slot.Outcomes[outcome] = all+n, 0
			}
			slot.Outcomes[counters.OK] = all
		})
	}},
	"requests-handle-each-step": {count: func(c *counters.File) {
		eachRequestSlot(c, func(*counters.Slot) {
			for thread := range c.Threads() {
				if head := c.Thread(thread); head.HandlesOpened > 0 {
					head.HandlesOpened = head.Acknowledged / 4 * 3
				}
			}
		})
	}},
	"requests-at-once": {past: func(t *trace.File, c *counters.File, thread int, records []counters.Recorded) {
		// a pool's handle is with two threads
		for i, back := 0, records[0].BeginNS; i < len(records) && t.HasRequests(); i++ {
			records[i].BeginNS, records[i].EndNS = records[i].BeginNS-back, records[i].EndNS-back
		}
	}},
	"requests-cut": {count: func(c *counters.File) {
		eachRequestSlot(c, func(slot *counters.Slot) {
			slot.Outcomes[counters.OK]--
			for bucket := range slot.Service {
				if slot.Service[bucket] > 1 {
					slot.Service[bucket]--
					break
				}
			}
			c.Thread(0).Attempted--
			c.Thread(0).Acknowledged--
		})
	}},
	"ignores-tag":     {prepare: func(p *control.Prepare) { p.Values.TrialTag = 1 }},
	"ignores-turns":   {rewrite: func(t *trace.Thread) { t.FromNS, t.UntilNS = 0, 0 }},
	"records-nothing": {past: func(_ *trace.File, c *counters.File, _ int, records []counters.Recorded) { clear(records) }},
	"wipes-at-open": {open: func(o *control.Open) { // each opening has a directory of its own
		if o.Directory != "" {
			if made, err := os.MkdirTemp(o.Directory, "opening"); err == nil {
				o.Directory = made
			}
		}
	}},
	"skips-reads": {count: func(c *counters.File) { // every second read counts as having found its value
		for thread := range c.Threads() {
			for slot, o := range c.Operations() {
				if o == trace.Read {
					outcomes := &c.Slot(thread, slot).Outcomes
					skipped := outcomes[counters.Miss] / 2
					outcomes[counters.Miss] -= skipped
					outcomes[counters.OK] += skipped
				}
			}
		}
	}},
	"times-a-tenth": {past: func(t *trace.File, c *counters.File, thread int, records []counters.Recorded) {
		for i := range records {
			records[i].EndNS = records[i].BeginNS + (records[i].EndNS-records[i].BeginNS)/10
		}
		timeAgain(t, c, thread, records)
	}},
	"times-a-tenth-of-counts": {past: func(t *trace.File, c *counters.File, thread int, records []counters.Recorded) {
		honest := slices.Clone(records)
		for i := range records {
			records[i].EndNS = records[i].BeginNS + (records[i].EndNS-records[i].BeginNS)/10
		}
		timeAgain(t, c, thread, records)
		copy(records, honest)
	}},
	"times-before-the-call": {past: func(t *trace.File, c *counters.File, thread int, records []counters.Recorded) {
		const making = 100 // ns from the end of one operation to the call of the next
		before := uint64(0)
		for i := range records {
			called := records[i].BeginNS + making
			records[i].BeginNS, records[i].EndNS = before, max(called, before)
			before = records[i].EndNS
		}
		timeAgain(t, c, thread, records)
	}},
	"ignores-deadline": {prepare: func(p *control.Prepare) { p.DeadlineNS = 0 }},
	"ignores-verify":   {prepare: func(p *control.Prepare) { p.Verify = false }},
	"ignores-must-hit": {prepare: func(p *control.Prepare) { p.MustHitBelow = 0 }},
	"ignores-loaded":   {prepare: func(p *control.Prepare) { p.LoadedRecords = 1 << 40 }},
	"ignores-stride":   {rewrite: func(t *trace.Thread) { t.Stride = 0 }},
	"ignores-pauses":   {rewrite: func(t *trace.Thread) { clear(t.Pauses) }},
	"ignores-due":      {rewrite: func(t *trace.Thread) { clear(t.Due) }},
	"ignores-limit":    {rewrite: func(t *trace.Thread) { t.Limit++ }},
	"prints-after-run": {reply: func(r control.Request, line []byte) []byte {
		if r.Command == control.CommandRun {
			return append(line, "\nphase done"...)
		}
		return line
	}},
	"refuses-as-failed": {reply: func(_ control.Request, line []byte) []byte {
		line = bytes.Replace(line, []byte(`"class":"refused"`), []byte(`"class":"failed"`), 1)
		return bytes.Replace(line, []byte(`"class":"bad_request"`), []byte(`"class":"failed"`), 1)
	}},
	"accepts-everything": {reply: func(r control.Request, line []byte) []byte {
		if bytes.Contains(line, []byte(`"ok":false`)) {
			return fmt.Appendf(nil, `{"id":%d,"ok":true,"result":{}}`, r.ID)
		}
		return line
	}},
	"keys-one-length": {prepare: func(p *control.Prepare) {
		if len(p.Keys.Lengths) > 0 {
			p.Keys.Bytes, p.Keys.Lengths = p.Keys.BytesMax(), nil
		}
	}},
	"outlives-input": {linger: true},
	"truncates": {prepare: func(p *control.Prepare) { // it does no harm: the files are sealed
		for _, name := range []string{p.Trace, p.Counters} {
			if file, err := os.OpenFile(name, os.O_RDWR, 0); err == nil {
				go truncateAgain(file)
			}
		}
	}},
	"floods-stderr": {reply: func(_ control.Request, line []byte) []byte { // no lie: standard error is free
		fmt.Fprintln(os.Stderr, strings.Repeat("flood ", 100_000))
		return line
	}},
}

// truncateAgain tries also while the phase runs and its counters are read.
func truncateAgain(file *os.File) {
	defer file.Close()
	for range 50 {
		_ = file.Truncate(0)
		time.Sleep(5 * time.Millisecond)
	}
}

// timeAgain makes a thread's counters fit the records, all of whose operations are recorded.
func timeAgain(t *trace.File, c *counters.File, thread int, records []counters.Recorded) {
	for slot := range c.Operations() {
		s := c.Slot(thread, slot)
		s.Service, s.ServiceMaxNS = [histogram.Buckets]uint64{}, 0
	}
	slots := t.Slots()
	for _, r := range records {
		e, _ := t.Threads[thread].EntryAt(r.Sequence())
		s := c.Slot(thread, slots.Of(e))
		took := r.EndNS - r.BeginNS
		s.Service[histogram.Bucket(took)]++
		s.ServiceMaxNS = max(s.ServiceMaxNS, took)
		c.Thread(thread).NowNS = r.EndNS
	}
}

func eachSlot(c *counters.File, change func(*counters.Slot)) {
	for thread := range c.Threads() {
		for slot := range c.Operations() {
			change(c.Slot(thread, slot))
		}
	}
}

// eachQuestion changes what each thread counts of a question that is not its operation's first, and
// of that.
func eachQuestion(c *counters.File, change func(first, slot *counters.Slot)) {
	for thread := range c.Threads() {
		for slot, o := range c.Operations() {
			if first := slices.Index(c.Operations(), o); first < slot {
				change(c.Slot(thread, first), c.Slot(thread, slot))
			}
		}
	}
}

// timesTo counts the times of a slot in another.
func timesTo(first, slot *counters.Slot) {
	for bucket, n := range slot.Service {
		first.Service[bucket] += n
	}
	first.ServiceMaxNS = max(first.ServiceMaxNS, slot.ServiceMaxNS)
	slot.Service, slot.ServiceMaxNS = [histogram.Buckets]uint64{}, 0
}

// eachRequestSlot changes what the first thread counts of requests.
func eachRequestSlot(c *counters.File, change func(*counters.Slot)) {
	for slot, o := range c.Operations() {
		if o == trace.Request {
			change(c.Slot(0, slot))
		}
	}
}

// eachRequest counts the times of a thread's requests anew. records are of all their steps.
func eachRequest(t *trace.File, thread int, records []counters.Recorded,
	count func(slot *counters.Slot, first, last counters.Recorded), c *counters.File) {
	if !t.HasRequests() {
		return
	}
	slot := c.Slot(thread, slices.Index(t.Operations, trace.Request))
	slot.Service, slot.ServiceMaxNS = [histogram.Buckets]uint64{}, 0
	first := records[0]
	for i, r := range records {
		if next, _ := t.Threads[thread].EntryAt(r.Sequence() + 1); next.Operation() == trace.Request {
			count(slot, first, r)
			if i+1 < len(records) {
				first = records[i+1]
			}
		}
	}
}

func eachThread(c *counters.File, change func(thread int, head *counters.Thread)) {
	for thread := range c.Threads() {
		change(thread, c.Thread(thread))
	}
}

func countNoneLate(_ int, head *counters.Thread) {
	head.Late, head.LatenessMaxNS = [counters.LatenessWords]uint64{}, 0
}

// countFromDue counts operations as late by their response times without the shortest service time.
func countFromDue(head *counters.Thread, slot *counters.Slot, response *[histogram.Buckets]uint64) {
	service := uint64(0)
	for bucket, n := range slot.Service {
		if n > 0 {
			service = histogram.Lowest(bucket)
			break
		}
	}
	for bucket, n := range response {
		late := histogram.Lowest(bucket) - min(histogram.Lowest(bucket), service)
		if word := counters.LatenessWord(late); word >= 0 && n > 0 {
			head.Late[word] += n
		}
		if n > 0 {
			head.LatenessMaxNS = max(head.LatenessMaxNS, late)
		}
	}
}

// Serve is a worker that lies in one of Kinds. It hosts Drivers and lets an honest worker do the
// work. It returns when in ends; a kind that closes its output returns nothing until then.
func Serve(kind string, in io.Reader, out io.WriteCloser) error {
	l, ok := lies[kind]
	if !ok {
		return fmt.Errorf("no worker misbehaves as %q: expected one of %v", kind, Kinds())
	}
	toWorker, requests := io.Pipe()
	replies, fromWorker := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := worker.Serve(toWorker, fromWorker, Drivers()...)
		fromWorker.CloseWithError(io.EOF)
		ended <- err
	}()
	p := &proxy{lie: l, in: control.NewLines(in), out: out, requests: requests, replies: control.NewLines(replies)}
	err := p.serve()
	if l.linger {
		time.Sleep(time.Hour)
	}
	return errors.Join(err, requests.Close(), <-ended)
}

// proxy stands between a conductor and an honest worker.
type proxy struct {
	lie      lie
	in       *control.Lines
	out      io.WriteCloser
	requests io.Writer
	replies  *control.Lines
	counters *counters.File // of the phase that waits or runs
	history  *counters.History
	trace    *trace.File
	unmap    func() error
	changed  *os.File // the trace that the honest worker is given instead
	closed   bool
}

func (p *proxy) serve() error {
	for {
		line, err := p.in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var r control.Request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("a request: %w", err)
		}
		if err := p.mapCounters(r); err != nil {
			return err
		}
		if line, err = p.change(r, line); err != nil {
			return err
		}
		if _, err := p.requests.Write(append(line, '\n')); err != nil {
			return err
		}
		reply, err := p.replies.Next()
		if err != nil {
			return fmt.Errorf("the honest worker's reply: %w", err)
		}
		if err := p.answer(r, reply); err != nil {
			return err
		}
	}
}

// mapCounters maps the counters of a phase before their name goes away.
func (p *proxy) mapCounters(r control.Request) error {
	if r.Command == control.CommandPrepare && r.Prepare != nil && p.lie.past != nil && r.Prepare.History != "" {
		return p.mapHistory(r.Prepare)
	}
	if r.Command != control.CommandPrepare || p.lie.count == nil || r.Prepare == nil {
		return nil
	}
	t, unmap, err := trace.Map(r.Prepare.Trace)
	if err != nil {
		return nil // the honest worker says so, too
	}
	c, err := counters.Open(r.Prepare.Counters, t)
	if err == nil {
		p.counters = c
	}
	return unmap()
}

// mapHistory maps all that a phase with recorded entries writes.
func (p *proxy) mapHistory(r *control.Prepare) (err error) {
	if p.trace, p.unmap, err = trace.Map(r.Trace); err != nil {
		return err
	}
	if p.counters, err = counters.Open(r.Counters, p.trace); err != nil {
		return err
	}
	p.history, err = counters.OpenHistory(r.History, p.trace)
	return err
}

// lieOfThePast changes the history of the phase that ran.
func (p *proxy) lieOfThePast() error {
	for i := range p.trace.Threads {
		if records, _ := p.history.Records(i); len(records) > 0 {
			p.lie.past(p.trace, p.counters, i, records)
		}
	}
	err := errors.Join(p.history.Unmap(), p.unmap())
	p.history, p.trace = nil, nil
	return err
}

// change makes the request that the honest worker gets.
func (p *proxy) change(r control.Request, line []byte) ([]byte, error) {
	if r.Command == control.CommandOpen && r.Open != nil && p.lie.open != nil {
		p.lie.open(r.Open)
		return json.Marshal(r)
	}
	if r.Command != control.CommandPrepare || r.Prepare == nil || p.lie.prepare == nil && p.lie.rewrite == nil {
		return line, nil
	}
	if p.lie.prepare != nil {
		p.lie.prepare(r.Prepare)
	}
	if p.lie.rewrite != nil {
		if err := p.rewrite(r.Prepare); err != nil {
			return nil, err
		}
	}
	return json.Marshal(r)
}

// rewrite writes a changed trace beside the one that was made, if that one can be read.
func (p *proxy) rewrite(request *control.Prepare) error {
	t, unmap, err := trace.Map(request.Trace)
	if err != nil {
		return nil // the honest worker says so, too
	}
	for i := range t.Threads {
		t.Threads[i].Pauses = slices.Clone(t.Threads[i].Pauses)
		t.Threads[i].Due = slices.Clone(t.Threads[i].Due) // the file is mapped read-only
		p.lie.rewrite(&t.Threads[i])
	}
	if p.changed, err = memfile.Create("changed-trace"); err == nil {
		request.Trace = p.changed.Name()
		err = t.WriteIn(p.changed)
	}
	return errors.Join(err, unmap())
}

func (p *proxy) answer(r control.Request, reply []byte) error {
	if p.changed != nil {
		_ = p.changed.Close() // it is mapped by now
		p.changed = nil
	}
	if r.Command == control.CommandRun && p.counters != nil {
		if p.lie.count != nil {
			p.lie.count(p.counters)
		}
		if p.history != nil {
			if err := p.lieOfThePast(); err != nil {
				return err
			}
		}
		if err := p.counters.Unmap(); err != nil {
			return err
		}
		p.counters = nil
	}
	if p.lie.reply != nil {
		reply = p.lie.reply(r, reply)
	}
	if p.closed {
		return nil
	}
	if reply == nil {
		p.closed = true
		return p.out.Close()
	}
	_, err := p.out.Write(append(reply, '\n'))
	return err
}
