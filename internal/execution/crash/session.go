package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"assay/internal/base/memfile"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/execution/powercut"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// session is one life of a store's files: workers that open them, one after the other, and what the
// phases so far have done to them.
type session struct {
	ctx       context.Context
	target    *Target
	directory string // of the store's files
	tag       uint32 // in the check of every value
	log       io.Writer
	command   []string // of the worker
	timeout   time.Duration
	rig       *powercut.Rig // that records what reaches the disk; nil: none
	program   func(driver string) (server.Program, error)
	server    *server.Group // that Assay has started, or had; nil: none
	node      *node         // of it, the one that is cut off; nil: all are

	worker    *conductor.Worker
	unwatch   func() bool   // of ctx
	opened    bool          // once, by any worker
	columns   bool          // of its records
	parts     int           // of the single writes; 0: one
	writesFor time.Duration // most time of the single writes; 0: any
	failed    []uint64      // operations of each phase that has ended, of which the store has said an error
	fine      []uint64      // and that it has done
	abilities control.Opened
	phases    []audit.Phase
	names     []string // of the phases
}

// start starts the store's server, if it has one, and a worker, which ends with the context.
func (s *session) start() error {
	if err := s.startServer(); err != nil {
		return err
	}
	w, err := conductor.Start(s.command, s.log)
	if err != nil {
		return err
	}
	s.worker, s.unwatch = w, context.AfterFunc(s.ctx, w.Kill)
	return nil
}

// drop ends worker and server at once.
func (s *session) drop() error {
	s.killWorker()
	return s.dropServer()
}

// killWorker ends the worker by SIGKILL, if there is one, and waits until it is gone.
func (s *session) killWorker() {
	if s.worker == nil {
		return
	}
	s.worker.Kill()
	_ = s.worker.End(s.timeout) // it says that the worker was killed
	s.unwatch()
	s.worker = nil
}

// end lets the worker end by itself, and then the server.
func (s *session) end() (err error) {
	if s.worker != nil {
		err = s.worker.End(s.timeout)
		s.unwatch()
		s.worker = nil
	}
	return errors.Join(err, s.closeServer())
}

func (s *session) call(r control.Request, result any) error {
	return s.worker.CallContext(s.ctx, r, s.timeout, result)
}

// openRequest asks for the store in the class that is tested, loads included: what is cut there must
// be as durable as what comes after it.
func (s *session) openRequest() control.Request {
	c := s.target.Cell
	directory, endpoints, options := s.reach()
	return control.Request{Command: control.CommandOpen, Open: &control.Open{
		Driver: s.target.Store.Driver, First: !s.opened, Directory: directory, Endpoints: endpoints,
		Durability:   c.Durability,
		LossWindowNS: int64(c.LossWindow), Options: options, Handles: c.Handles,
		PoolHandles: min(c.PoolHandles, c.Threads), Pipeline: c.Pipeline, Threads: c.Threads,
	}}
}

func (s *session) open() error {
	err := s.call(s.openRequest(), &s.abilities)
	s.opened = true
	if err != nil || !s.columns {
		return err
	}
	return s.call(control.Request{Command: control.CommandDefine, Define: s.target.define()}, nil)
}

func (s *session) close() error { return s.call(control.Request{Command: control.CommandClose}, nil) }

// phase is one that a worker does, with the files that outlive it.
type phase struct {
	name     string
	number   int
	load     bool
	file     *trace.File
	trace    *os.File
	shared   *os.File
	counters *counters.File
	pending  *conductor.Pending
}

// prepare makes the files of a phase and lets the worker map them.
func (s *session) prepare(name string, number int, load bool, file *trace.File) (_ *phase, err error) {
	p := &phase{name: name, number: number, load: load, file: file}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("phase %s: %w", name, err), p.release())
		}
	}()
	if p.trace, err = memfile.Create("assay-trace"); err != nil {
		return nil, err
	}
	if err := errors.Join(file.WriteIn(p.trace), memfile.SealAll(p.trace)); err != nil {
		return nil, err
	}
	if p.shared, err = memfile.Create("assay-counters"); err != nil {
		return nil, err
	}
	if p.counters, err = counters.CreateIn(p.shared, file, 1); err != nil {
		return nil, err
	}
	if err := memfile.SealSize(p.shared); err != nil {
		return nil, err
	}
	t := s.target
	// A fresh worker knows nothing of what others wrote before it: the audit holds what it reads back
	// against their acknowledgements. What a query finds proves no version, and is verified.
	return p, s.call(control.Request{Command: control.CommandPrepare, Prepare: &control.Prepare{
		Phase: name, Number: number, Trace: p.trace.Name(), Counters: p.shared.Name(), Keys: t.keys(s.tag),
		Values: keyval.ValueShape{PoolBytes: t.PoolBytes, PoolSeed: t.PoolSeed, RepeatedPermille: t.RepeatedPermille,
			LengthMax: t.Cell.ValueBytes, ShortLengths: keyval.ShortLength(t.Cell.ValueBytes), TrialTag: s.tag},
		ZeroVersions: load, Verify: number == numberFind, LoadedRecords: t.Records, Clock: "auto",
	}}, nil)
}

// startPhase lets a prepared phase run.
func (s *session) startPhase(p *phase) (err error) {
	p.pending, err = s.worker.Send(control.Request{Command: control.CommandRun})
	return err
}

// release gives the memory of a phase's files back. The trace stays.
func (p *phase) release() (err error) {
	if p.counters != nil {
		err = p.counters.Unmap()
		p.counters = nil
	}
	for _, file := range []*os.File{p.trace, p.shared} {
		if file != nil {
			_ = file.Close() // memory: there is nothing to lose
		}
	}
	return err
}

// attempted returns how many entries each thread has begun, and acknowledged how many it has done.
func (p *phase) attempted() []uint64 {
	return p.each(func(t *counters.Thread) *uint64 { return &t.Attempted })
}

func (p *phase) acknowledged() []uint64 {
	return p.each(func(t *counters.Thread) *uint64 { return &t.Acknowledged })
}

func (p *phase) each(word func(*counters.Thread) *uint64) []uint64 {
	words := make([]uint64, p.counters.Threads())
	for i := range words {
		words[i] = atomic.LoadUint64(word(p.counters.Thread(i)))
	}
	return words
}

func sum(words []uint64) (total uint64) {
	for _, w := range words {
		total += w
	}
	return total
}

// stampPeriod is how often the acknowledgements are written down beside the time.
const stampPeriod = time.Millisecond

// Stamp is how far the threads of a phase were at a moment.
type Stamp struct {
	NS                      int64 // since some fixed moment
	Phase                   int   // position among the session's phases
	Attempted, Acknowledged []uint64
}

// watch waits until a phase has ended, so many entries are acknowledged (0: any number), or the store's
// time is over. It returns whether the phase has ended by itself.
func (s *session) watch(p *phase, until uint64, began time.Time, stamps *[]Stamp) (ended bool, err error) {
	const look = 100 * time.Microsecond
	deadline := time.Now().Add(s.timeout)
	last := time.Time{}
	for {
		now, acknowledged := time.Now(), p.acknowledged()
		if now.Sub(last) >= stampPeriod {
			// Acknowledged is read before attempted: each acknowledged entry was attempted.
			*stamps = append(*stamps, Stamp{now.Sub(began).Nanoseconds(), len(s.phases), p.attempted(), acknowledged})
			last = now
		}
		if until > 0 && sum(acknowledged) >= until || s.writesFor > 0 && p.number == phaseWrites &&
			now.After(deadline.Add(s.writesFor-s.timeout)) {
			return false, nil
		}
		done, err := p.pending.Wait(look, nil)
		switch {
		case s.ctx.Err() != nil:
			return done, s.ctx.Err()
		case done:
			return true, err
		case now.After(deadline):
			return true, s.worker.Hung(fmt.Sprintf("phase %s had not ended after %v", p.name, s.timeout))
		}
	}
}

// cut ends the store in the middle of a phase, as a crash does, and keeps what the phase has done. What
// the client had been told before the kill is what counts: a worker whose server is gone goes on
// failing for a while, and its failures are of no operation that was acknowledged.
func (s *session) cut(p *phase) error {
	before := audit.NewPhase(p.number, p.file, p.load, p.counters)
	err := s.killServer()
	s.killWorker()
	if s.server == nil { // the store was in the worker: nothing went on without it
		before = audit.NewPhase(p.number, p.file, p.load, p.counters)
	}
	before.Attempted = p.attempted()
	s.phases, s.names = append(s.phases, before), append(s.names, p.name)
	return err
}

// remember keeps what a phase that has ended by itself has done.
func (s *session) remember(p *phase) {
	failed, fine := uint64(0), uint64(0)
	for _, total := range p.counters.Sample(false).Totals {
		failed += total.Outcomes[counters.Error] + total.Outcomes[counters.Timeout]
		fine += total.Outcomes[counters.OK]
	}
	s.failed, s.fine = append(s.failed, failed), append(s.fine, fine)
	s.phases, s.names = append(s.phases, audit.NewPhase(p.number, p.file, p.load, p.counters)), append(s.names, p.name)
}

// keys returns what the keys of a store look like.
func (t *Target) keys(tag uint32) keyval.KeyShape {
	shape := t.Keys
	if rest, named := strings.CutPrefix(shape.Prefix, experiment.KeyPlaceholder); named {
		shape.Prefix = fmt.Sprintf("%08x", tag) + rest
	}
	return shape
}
