package agents

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"assay/internal/base/clock"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/execution/phasefiles"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

func isLoopback(endpoint string) bool { return experiment.IsLoopback(endpoint) }

// hosted is a worker that an agent runs. Its orders are done one after the other, by a goroutine of
// its own: a phase lasts.
type hosted struct {
	sitting *sitting
	number  int
	orders  chan *order

	mu     sync.Mutex
	worker *conductor.Worker // nil: not started, or ended
	last   int64             // the newest order
	answer *reply            // to it; nil: it is being done
	ended  bool

	files   *phasefiles.Files // of the phase; nil: none
	first   int
	count   int
	process int
	stats   int
	sampler *host.Sampler
	stops   *host.StopWatch // nil: there is no worker
}

func newHosted(s *sitting, number int) *hosted {
	h := &hosted{sitting: s, number: number, orders: make(chan *order, 1)}
	go func() {
		for o := range h.orders {
			h.do(o)
		}
	}()
	return h
}

// order does an order once, however often it comes: one that is answered is answered again, one that
// is being done needs nothing.
func (h *hosted) order(o *order) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ended || o.ID < h.last:
	case o.ID == h.last:
		if h.answer != nil {
			h.sitting.send(*h.answer, nil)
		}
	case h.last != 0 && h.answer == nil:
		h.sitting.send(reply{Kind: replyDone, ID: o.ID, Worker: h.number, Error: &failure{Message: "the order before is not done"}}, nil)
	default:
		h.last, h.answer = o.ID, nil
		h.orders <- o // there is room: the one before is done
	}
}

// do does one order and sends its answer.
func (h *hosted) do(o *order) {
	result, err := h.result(o)
	answer := reply{Kind: replyDone, ID: o.ID, Worker: h.number, Error: failureOf(err)}
	if err == nil {
		if answer.Result, err = json.Marshal(result); err != nil {
			answer.Error = failureOf(err)
		}
	}
	h.mu.Lock()
	h.answer = &answer
	h.mu.Unlock()
	h.sitting.send(answer, nil)
}

func failureOf(err error) *failure {
	var refused *control.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return &failure{Class: refused.Class, Message: refused.Message}
	}
	return &failure{Message: err.Error(), Died: errors.Is(err, conductor.ErrDied), Hung: errors.Is(err,
		conductor.ErrHung), Taken: killed(err)}
}

// killed says if a worker was killed from outside: not by itself, as one that aborts.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, known := exit.Sys().(syscall.WaitStatus)
	return known && status.Signaled() && slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM,
		syscall.SIGINT, syscall.SIGHUP}, status.Signal())
}

func refusal(err error) error {
	return &control.Error{Class: control.ClassRefused, Message: err.Error()}
}

func (h *hosted) result(o *order) (any, error) {
	switch {
	case o.Kind == orderStart:
		return struct{}{}, h.start()
	case o.Kind == orderAsk && o.Request != nil:
		if err := h.sitting.consent(o.Request); err != nil {
			return nil, refusal(err)
		}
		return h.ask(*o.Request)
	case o.Kind == orderPrepare && o.Share != nil:
		return h.prepare(o.Share)
	case o.Kind == orderHistory:
		return h.history(o.Thread, o.From)
	}
	return nil, &control.Error{Class: control.ClassBadRequest, Message: fmt.Sprintf("the order %q is not known, or has no fields", o.Kind)}
}

func (h *hosted) start() error {
	if err := h.sitting.ensureGuard(); err != nil {
		return err
	}
	w, err := conductor.Start(h.sitting.Worker, h.sitting.Log)
	if err != nil {
		return err
	}
	h.sitting.guarded().watch(w.PID())
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended { // meanwhile
		w.Kill()
		go func() { _ = w.End(time.Second) }() // it was killed
		return errors.New("the session is over")
	}
	h.worker, h.sampler, h.stops = w, host.NewSampler("", w.PID()), host.WatchStops(w.PID())
	return nil
}

var errNoWorker = fmt.Errorf("%w: it is not started", conductor.ErrDied)

// ask passes a request on and waits for the answer, however long that takes: how long it may take is
// the conductor's affair, who kills the worker.
func (h *hosted) ask(r control.Request) (json.RawMessage, error) {
	h.mu.Lock()
	w := h.worker
	h.mu.Unlock()
	if w == nil {
		return nil, errNoWorker
	}
	pending, err := w.Send(r)
	if err != nil {
		return nil, err
	}
	var result json.RawMessage
	for {
		if done, err := pending.Wait(time.Hour, &result); done {
			return result, err
		}
	}
}

// prepare makes the trace of a share, its counters, and lets the worker get ready.
func (h *hosted) prepare(s *Share) (Prepared, error) {
	var p Prepared
	h.unmap()
	file, err := h.sitting.traces.of(s.Specs, s.Recorded)
	if err != nil {
		return p, err
	}
	request := s.Prepare
	first, count := request.FirstThread, request.ThreadCount
	if first < 0 || count < 1 || count > len(file.Threads)-first || s.Processes < 1 ||
		s.Processes > trace.ProcessesMax ||
		request.Process < 0 || request.Process >= s.Processes {
		return p, &control.Error{Class: control.ClassBadRequest, Message: fmt.Sprintf("%d threads from number %d on, by process %d of %d: the trace has %d threads",
			count, first, request.Process, s.Processes, len(file.Threads))}
	}
	if s.HistoryRoom < 0 || s.HistoryRoom > historyRoomMax {
		return p, &control.Error{Class: control.ClassBadRequest, Message: fmt.Sprintf("room for %d records of a thread's history", s.HistoryRoom)}
	}
	// The whole trace, for what others write is proven by it.
	files, err := phasefiles.MakeShare(file, s.Processes, s.HistoryRoom, counters.Share{Process: request.Process,
		First: first, Count: count})
	if err != nil {
		return p, err
	}
	defer files.Forget()
	h.mu.Lock()
	if h.ended {
		err = errors.Join(errNoWorker, files.Unmap())
	} else {
		h.files, h.first, h.count, h.process = files, first, count, request.Process
	}
	h.mu.Unlock()
	if err != nil {
		return p, err
	}
	request.Trace, request.Counters, request.History = files.Trace.Name(), files.CountersFile.Name(), ""
	if files.HistoryFile != nil {
		request.History = files.HistoryFile.Name()
	}
	result, err := h.ask(control.Request{Command: control.CommandPrepare, Prepare: &request})
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(result, &p.Prepared); err != nil {
		return p, fmt.Errorf("the worker's result can't be read: %w", err)
	}
	p.Prepared.Bound()
	h.mu.Lock()
	h.stats = len(p.Stats)
	h.mu.Unlock()
	p.Digest = file.Digest(first, first+count)
	return p, nil
}

// historyRoomMax bounds what a conductor may have an agent make room for: 32 MiB a thread.
const historyRoomMax = 1 << 20

// history returns a part of what a thread has recorded.
func (h *hosted) history(thread, from int) (recorded, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var r recorded
	if h.files == nil || h.files.History == nil || thread < h.first || thread >= h.first+h.count || from < 0 {
		return r, &control.Error{Class: control.ClassBadRequest, Message: fmt.Sprintf("the history of thread %d, which this worker has not recorded", thread)}
	}
	r.Records, r.Count, r.Dropped = h.files.History.AppendRecords(nil, thread, from, recordsMax)
	return r, nil
}

func (h *hosted) unmap() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files == nil {
		return
	}
	if err := h.files.Unmap(); err != nil {
		fmt.Fprintf(h.sitting.Log, "assay agent: unmapping the counters: %v\n", err)
	}
	h.files = nil
}

func (h *hosted) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files != nil {
		h.files.Counters.Stop()
	}
}

// partBytesMax is what a part of a look has of counters, unless one thread has more: little enough for
// something to be heard of an agent each second over a link of 60 kB/s.
const partBytesMax = 32 << 10

// look sends what the worker's threads have counted, in parts that fit a message. All of it is read
// before the first part is sent, at one moment as nearly as can be.
func (h *hosted) look(o order) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files == nil || h.ended {
		return
	}
	atNS := clock.MonotonicNS()
	words := h.files.Counters.Process(h.process).ProcessWords(h.stats)
	var parts [][]byte
	var part []byte
	for i := h.first; i < h.first+h.count; i++ {
		copied := h.files.Counters.AppendThread(nil, i, o.Histograms)
		if len(part) > 0 && len(part)+len(copied) > partBytesMax {
			parts, part = append(parts, part), nil
		}
		part = appendThread(part, i, copied)
	}
	parts = append(parts, part)
	usage := h.usage()
	for i, part := range parts {
		r := reply{Kind: replyLook, ID: o.ID, Worker: h.number, AtNS: atNS, Part: i + 1, Of: len(parts)}
		if i == 0 {
			r.Words, r.Usage = &words, usage
		}
		h.sitting.send(r, part)
	}
}

func (h *hosted) usage() *Usage {
	u := &Usage{}
	if now := h.sampler.Sample(); now.CPUSeconds != nil {
		u.CPUSeconds, u.RSSBytes = *now.CPUSeconds, *now.RSSBytes
	}
	u.AgentCPUSeconds = host.ProcessCPU().Seconds()
	u.Stops = h.stopped()
	return u
}

// stopped are the newest stops of the worker or of the machine. A gap is the agent's own, which its
// silence tells.
func (h *hosted) stopped() []host.Stop {
	h.stops.Look()
	all := slices.DeleteFunc(h.stops.Since(0), func(s host.Stop) bool { return s.Why == host.StoppedGap })
	return all[max(len(all)-stopsMax, 0):]
}

func (h *hosted) kill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.worker != nil {
		h.worker.Kill()
	}
}

// endPatience is how long a worker may take to end once its session is over: its store's state does not
// matter any more.
const endPatience = time.Second

// end ends the worker, by force where it does not end by itself.
func (h *hosted) end() {
	h.stop()
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return
	}
	h.ended = true
	w := h.worker
	close(h.orders)
	h.mu.Unlock()
	if w != nil {
		h.stops.End()
		_ = w.End(endPatience) // however it ended, it is gone
		h.sitting.guarded().forget(w.PID())
	}
	h.unmap()
}

// traceCache keeps the trace that was made last: several workers of an agent do shares of one.
type traceCache struct {
	mu   sync.Mutex
	key  [sha256.Size]byte
	file *trace.File
}

func (c *traceCache) of(specs []trace.Spec, recorded []uint64) (*trace.File, error) {
	text, err := json.Marshal([]any{specs, recorded})
	if err != nil {
		return nil, err
	}
	if len(specs) == 0 {
		return nil, &control.Error{Class: control.ClassBadRequest, Message: "a phase without specs"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := sha256.Sum256(text); c.file == nil || c.key != key {
		c.file = nil // the one before need not be held beside the new one
		file, err := trace.Generate(specs...)
		if err != nil {
			return nil, fmt.Errorf("making the trace: %w", err)
		}
		file.RecordKeys(recorded)
		file.MarkFinds(specs[0].Finds)
		c.key, c.file = key, file
	}
	return c.file, nil
}
