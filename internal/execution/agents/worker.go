package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"assay/internal/base/clock"
	"assay/internal/base/format"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
)

// Worker is a worker of an agent. Its methods are those of conductor.Worker, and are called from one
// goroutine, but Kill may be called from any.
type Worker struct {
	Agent  *Agent
	number int
	broken error

	mu      sync.Mutex
	pending *Pending

	mirror      *counters.File // the conductor's; nil: no phase is under way
	process     int
	first       int
	count       int
	since       int64     // looks with such a number or a lower one are not of this phase
	applied     int64     // the newest look of which something was taken
	look        int64     // the look that is waited for
	parts       int       // of it that are missing; -1: none has come
	partAt      time.Time // when one of them came, or the look was asked for
	asked       time.Time // when it was
	link        Link
	took        chan struct{}
	startNS     int64                 // when the phase was to begin, on the agent's clock
	words       counters.ProcessWords // as the agent told them
	lookedAtNS  int64                 // on the agent's clock
	usage, base Usage
	based       bool // base is what the worker had used when the phase's first look came
}

// StartWorker starts a worker on an agent.
func (a *Agent) StartWorker(ctx context.Context, patience time.Duration) (*Worker, error) {
	a.mu.Lock()
	a.nextID++
	w := &Worker{Agent: a, number: int(a.nextID % workersMax), took: make(chan struct{}, 1)}
	a.workers[w.number] = w
	a.mu.Unlock()
	if err := w.do(ctx, order{Kind: orderStart}, "start", patience, nil); err != nil {
		w.forget()
		return nil, fmt.Errorf("starting a worker on the agent %s: %w", a.Name, err)
	}
	return w, nil
}

func (w *Worker) forget() {
	w.Agent.mu.Lock()
	delete(w.Agent.workers, w.number)
	w.Agent.mu.Unlock()
}

// Pending is an order that was sent and not yet answered.
type Pending struct {
	worker *Worker
	what   string
	order  order
	answer chan *reply
	sent   time.Time
}

// again is after how long an order that is not answered is sent again: NATS loses what is on its way
// when a connection breaks.
const again = time.Second

func (w *Worker) send(o order, what string) (*Pending, error) {
	if w.broken != nil {
		return nil, fmt.Errorf("%s: %w", what, w.broken)
	}
	a := w.Agent
	a.mu.Lock()
	a.nextID++
	o.ID, o.Worker = a.nextID, w.number
	a.mu.Unlock()
	p := &Pending{worker: w, what: what, order: o, answer: make(chan *reply, 1), sent: time.Now()}
	w.mu.Lock()
	w.pending = p
	w.mu.Unlock()
	a.send(o)
	return p, nil
}

// answered takes an answer.
func (w *Worker) answered(r *reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pending; p != nil && p.order.ID == r.ID {
		w.pending = nil
		p.answer <- r
	}
}

// Send sends a request without waiting for its reply.
func (w *Worker) Send(r control.Request) (*Pending, error) {
	return w.send(order{Kind: orderAsk, Request: &r}, r.Command)
}

// Wait is as conductor.Pending.Wait.
func (p *Pending) Wait(timeout time.Duration, result any) (done bool, err error) {
	return p.wait(context.Background(), timeout, result)
}

func (p *Pending) wait(ctx context.Context, timeout time.Duration, result any) (done bool, err error) {
	until := time.Now().Add(timeout)
	for {
		select {
		case r := <-p.answer: // however short the timeout
			return true, p.take(r, result)
		default:
		}
		left := time.Until(until)
		timer := time.NewTimer(max(min(left, time.Until(p.sent.Add(again))), 0))
		select {
		case r := <-p.answer:
			timer.Stop()
			return true, p.take(r, result)
		case <-p.worker.Agent.gone:
			timer.Stop()
			p.worker.broken = p.worker.Agent.Lost()
			return true, fmt.Errorf("%s: %w", p.what, p.worker.broken)
		case <-ctx.Done():
			timer.Stop()
			return false, nil
		case <-timer.C:
		}
		if time.Since(p.sent) >= again {
			p.sent = time.Now()
			p.worker.Agent.send(p.order)
		}
		if left <= 0 {
			return false, nil
		}
	}
}

func (p *Pending) take(r *reply, result any) error {
	w := p.worker
	switch e := r.Error; {
	case e == nil && result == nil:
		return nil
	case e == nil:
		if err := json.Unmarshal(r.Result, result); err != nil {
			w.broken = fmt.Errorf("the agent's result can't be read: %w", err)
			break
		}
		if texts, outside := result.(interface{ Bound() }); outside {
			texts.Bound()
		}
		return nil
	case e.Class != "":
		refused := &control.Error{Class: e.Class, Message: e.Message}
		refused.Bound()
		return refused
	case e.Taken:
		w.broken = fmt.Errorf("%w on the agent %s: %s", ErrTaken, w.Agent.Name, format.Clean(e.Message))
	case e.Died:
		w.broken = fmt.Errorf("%w on the agent %s: %s", conductor.ErrDied, w.Agent.Name, format.Clean(e.Message))
	case e.Hung:
		w.broken = fmt.Errorf("%w on the agent %s: %s", conductor.ErrHung, w.Agent.Name, format.Clean(e.Message))
	default:
		w.broken = fmt.Errorf("the agent %s: %s", w.Agent.Name, format.Clean(e.Message))
	}
	return fmt.Errorf("%s: %w", p.what, w.broken)
}

// do sends an order and waits for its answer; one that takes longer is the end of the worker.
func (w *Worker) do(ctx context.Context, o order, what string, timeout time.Duration, result any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	pending, err := w.send(o, what)
	if err != nil {
		return err
	}
	done, err := pending.wait(ctx, timeout, result)
	switch {
	case done:
		return err
	case ctx.Err() != nil:
		w.Kill()
		w.broken = fmt.Errorf("%s: %w", what, ctx.Err())
		return w.broken
	}
	return w.Hung(fmt.Sprintf("%s took longer than %v", what, timeout))
}

// CallContext is as conductor.Worker.CallContext.
func (w *Worker) CallContext(ctx context.Context, r control.Request, timeout time.Duration, result any) error {
	return w.do(ctx, order{Kind: orderAsk, Request: &r}, r.Command, timeout, result)
}

// Prepare lets the agent make its share of a phase, and the worker get ready for it. What the worker
// counts is copied into mirror from then on, until [Worker.Detach].
func (w *Worker) Prepare(ctx context.Context, s Share, mirror *counters.File, timeout time.Duration) (Prepared, error) {
	w.Agent.mu.Lock()
	since := w.Agent.nextID
	w.Agent.stopped = false
	w.Agent.mu.Unlock()
	w.mu.Lock()
	w.mirror, w.process, w.first, w.count = mirror, s.Prepare.Process, s.Prepare.FirstThread, s.Prepare.ThreadCount
	w.since, w.applied, w.look, w.words, w.based = since, since, 0, counters.ProcessWords{}, false
	w.mu.Unlock()
	var p Prepared
	err := w.do(ctx, order{Kind: orderPrepare, Share: &s}, control.CommandPrepare, timeout, &p)
	return p, err
}

// Detach ends the copying: the mirror may be unmapped then.
func (w *Worker) Detach() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mirror = nil
}

// Run returns when the phase begins on the agent's clock: for all of its workers at one moment.
func (w *Worker) Run(startNS int64) control.Run {
	at := w.Agent.startAt(startNS)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.startNS = at
	return control.Run{StartNS: at}
}

// History copies what the worker's threads have recorded of keys in the phase.
func (w *Worker) History(ctx context.Context, first, count int, into *counters.History, timeout time.Duration) error {
	for thread := first; thread < first+count; thread++ {
		for from, all := 0, 1; from < all; {
			var r recorded
			if err := w.do(ctx, order{Kind: orderHistory, Thread: thread, From: from}, "history", timeout, &r); err != nil {
				return err
			}
			if err := into.SetRecords(thread, from, r.Dropped, r.Records); err != nil {
				return fmt.Errorf("the agent %s reported %w", w.Agent.Name, err)
			}
			got := len(r.Records) / recordBytes
			if all = r.Count; got == 0 && from < all {
				return fmt.Errorf("the agent %s has %d records of thread %d, and sends none", w.Agent.Name, all, thread)
			}
			from += got
		}
	}
	return nil
}

const recordBytes = 32

// Clock returns by how much times since the phase's start on the agent are behind those on the
// conductor, startNS being that start there, and by how much a time of the phase may then be wrong.
func (w *Worker) Clock(startNS, lastedNS int64) (shiftNS, errorNS int64) {
	w.mu.Lock()
	begin := w.startNS
	w.mu.Unlock()
	c := &w.Agent.clocks
	const looks = 64
	step := lastedNS/looks + 1
	at, _ := c.toConductor(begin)
	shiftNS = at - startNS
	for i := range int64(looks + 1) {
		at, within := c.toConductor(begin + i*step)
		away := at - i*step - startNS - shiftNS
		errorNS = max(errorNS, within+max(away, -away))
	}
	return shiftNS, errorNS + int64(float64(step)*driftMax)
}

// looked takes a part of a look.
func (w *Worker) looked(r *reply, tail []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mirror == nil || r.ID <= w.since || r.ID < w.applied {
		return nil // of a phase that is over, or older than what is known
	}
	err := eachThread(tail, func(thread int, copied []byte) error {
		if thread < w.first || thread >= w.first+w.count {
			return fmt.Errorf("thread %d is not of this worker's share", thread)
		}
		return w.mirror.SetThread(thread, copied)
	})
	if err != nil {
		return err
	}
	if w.applied = r.ID; r.Words != nil {
		w.words, w.lookedAtNS = *r.Words, r.AtNS
		w.mirror.Process(w.process).SetProcessWords(w.translated())
	}
	if r.Usage != nil {
		if w.usage = *r.Usage; !w.based {
			w.base, w.based = w.usage, true
		}
	}
	if r.ID == w.look {
		w.partAt, w.link = time.Now(), Link{Bytes: w.link.Bytes + len(tail), Took: time.Since(w.asked)}
		if w.parts < 0 {
			w.parts = r.Of
		}
		if w.parts--; w.parts == 0 {
			select {
			case w.took <- struct{}{}:
			default:
			}
		}
	}
	return nil
}

// translated are the worker's words with the times of the conductor's clock.
func (w *Worker) translated() counters.ProcessWords {
	words := w.words
	for _, ns := range []*uint64{&words.StartNS, &words.EndNS} {
		if *ns != 0 {
			at, _ := w.Agent.clocks.toConductor(int64(*ns))
			*ns = uint64(max(at, 1))
		}
	}
	return words
}

// Link is how long the newest look at a worker's counters took, and how many bytes of it came: over a slow
// link they come later, and no less whole.
type Link struct {
	Bytes int
	Took  time.Duration
}

// Link returns that of the newest look.
func (w *Worker) Link() Link {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.link
}

// Look reads the counters of some workers into their mirrors, all of which asked for at one moment,
// and waits up to a time for them. complete says if all have come: what is missing is what it was.
// Workers of agents that are lost are not waited for.
func Look(workers []*Worker, histograms bool, patience time.Duration) (complete bool) {
	ask(workers, histograms)
	return await(workers, patience)
}

// arrivalPatience is how long the parts of a look may be apart: then one of them was lost, with a
// connection that broke.
const arrivalPatience = 5 * time.Second

// LookOn goes on waiting for what [Look] has asked for, and asks anew those of whom nothing of it comes:
// over a slow link, counters that are asked for again and again would never have come.
func LookOn(workers []*Worker, histograms bool, patience time.Duration) (complete bool) {
	var again, all []*Worker
	for _, w := range workers {
		w.mu.Lock()
		missing, silent := w.parts != 0, time.Since(w.partAt) > arrivalPatience
		w.mu.Unlock()
		if !missing {
			continue
		}
		all = append(all, w)
		if silent {
			again = append(again, w)
		}
	}
	ask(again, histograms)
	return await(all, patience)
}

func ask(workers []*Worker, histograms bool) {
	var agents []*Agent
	of := map[*Agent][]*Worker{}
	for _, w := range workers {
		if of[w.Agent] == nil {
			agents = append(agents, w.Agent)
		}
		of[w.Agent] = append(of[w.Agent], w)
	}
	for _, a := range agents {
		a.mu.Lock()
		a.nextID++
		o := order{Kind: orderLook, ID: a.nextID, Histograms: histograms}
		a.mu.Unlock()
		for _, w := range of[a] {
			w.expect(o.ID)
		}
		a.send(o)
	}
}

func await(workers []*Worker, patience time.Duration) (complete bool) {
	complete = true
	over := make(chan struct{})
	stop := time.AfterFunc(patience, func() { close(over) })
	defer stop.Stop()
	for _, w := range workers {
		select {
		case <-w.took:
		case <-w.Agent.gone:
			complete = false
		case <-over:
			complete = false
		}
	}
	return complete
}

func (w *Worker) expect(look int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look, w.parts, w.asked, w.link = look, -1, time.Now(), Link{}
	w.partAt = w.asked
	select {
	case <-w.took:
	default:
	}
}

// Stop asks the phases of all agents' workers to end, however often that must be said.
func (w *Worker) Stop() {
	w.Agent.mu.Lock()
	w.Agent.stopped = true
	w.Agent.nextID++
	o := order{Kind: orderPing, ID: w.Agent.nextID, Stop: true}
	w.Agent.pings[o.ID] = clock.MonotonicNS()
	w.Agent.mu.Unlock()
	w.Agent.send(o)
}

// Hung is as conductor.Worker.Hung.
func (w *Worker) Hung(why string) error {
	w.Kill()
	w.broken = fmt.Errorf("%w: %s, on the agent %s; it was killed", conductor.ErrHung, why, w.Agent.Name)
	return w.broken
}

// Kill ends the worker at once, as soon as the agent hears of it.
func (w *Worker) Kill() { w.dismiss(orderKill) }

func (w *Worker) dismiss(kind string) {
	w.Agent.mu.Lock()
	w.Agent.nextID++
	o := order{Kind: kind, ID: w.Agent.nextID, Worker: w.number}
	w.Agent.mu.Unlock()
	w.Agent.send(o)
}

// End ends the worker: its store is closed by then, or its session is over.
func (w *Worker) End(time.Duration) error {
	w.Detach()
	w.dismiss(orderEnd)
	w.forget()
	return nil
}

// Left returns how many processes the worker left behind: the agent ends them.
func (w *Worker) Left() int { return 0 }

// PID returns the agent's process where it is on this machine, which its workers are below; 0: they
// are on another.
func (w *Worker) PID() int {
	if w.Agent.IsHere() {
		return w.Agent.Hello.PID
	}
	return 0
}

// Start returns when the worker's threads began on the conductor's clock, and by how much that may be
// wrong; 0: it has not told.
func (w *Worker) Start() (ns, errorNS int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.words.StartNS == 0 {
		return 0, 0
	}
	return w.Agent.clocks.toConductor(int64(w.words.StartNS))
}

// LookedAt returns to when what was heard of the worker's counts goes, in seconds since the phase's start.
func (w *Worker) LookedAt() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(float64(w.lookedAtNS-w.startNS)/1e9, 0)
}

// Usage returns what the worker used since the phase's first look.
func (w *Worker) Usage() Usage {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.based {
		return Usage{}
	}
	return Usage{CPUSeconds: w.usage.CPUSeconds - w.base.CPUSeconds, RSSBytes: w.usage.RSSBytes,
		AgentCPUSeconds: w.usage.AgentCPUSeconds - w.base.AgentCPUSeconds}
}

// Stops returns when something outside stopped the worker or its machine after a moment, on the
// conductor's clock.
func (w *Worker) Stops(sinceNS int64) (all []host.Stop) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.usage.Stops {
		from, _ := w.Agent.clocks.toConductor(s.FromNS)
		to, _ := w.Agent.clocks.toConductor(s.ToNS)
		if to > max(from, sinceNS) && s.SleptNS >= 0 {
			all = append(all, host.Stop{Why: s.Why, FromNS: max(from, sinceNS), ToNS: to, SleptNS: s.SleptNS})
		}
	}
	return all
}

// Refresh translates the worker's times again, with all that is known of its clock by now.
func (w *Worker) Refresh() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mirror != nil && w.words.State != 0 {
		w.mirror.Process(w.process).SetProcessWords(w.translated())
	}
}
