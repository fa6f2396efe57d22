package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"assay/internal/base/clock"
	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// session is the worker's state between requests.
type session struct {
	drivers []hosted
	gone    <-chan struct{} // closed when no more requests will come

	open      *control.Open
	hosted    hosted
	store     store.Store
	abilities store.Abilities
	handles   *handles
	record    *keyval.RecordShape // of define; nil: values are plain
	queries   []*keyval.QueryShape

	appends  bool           // a phase since open has appended to values
	phases   map[int]*phase // prepared since open, by number: their traces prove versions
	prepared *phase         // waits for run
}

func (s *session) answer(line []byte) control.Reply {
	request, err := control.ParseRequest(line)
	if err != nil {
		return reply(request.ID, nil, badRequest("%w", err))
	}
	var result any
	err = surviving(&s.hosted.description, func() error {
		result, err = s.do(request)
		return err
	})
	return reply(request.ID, result, err)
}

func reply(id int64, result any, err error) control.Reply {
	if err == nil {
		var text []byte
		if text, err = json.Marshal(result); err == nil {
			return control.Reply{ID: id, OK: true, Result: text}
		}
	}
	return control.Reply{ID: id, Error: &control.Error{Class: classOf(err), Message: err.Error()}}
}

func (s *session) do(r control.Request) (any, error) {
	nothing := struct{}{}
	switch r.Command {
	case control.CommandDescribe:
		return s.describe(), nil
	case control.CommandOpen:
		return s.openStore(r.Open)
	}
	if s.store == nil {
		return nil, badRequest("%s before open", r.Command)
	}
	switch r.Command {
	case control.CommandPrepare:
		if err := s.prepare(r.Prepare); err != nil {
			return nil, err
		}
		return s.prepared.tells(), nil
	case control.CommandDefine:
		return nothing, s.define(r.Define)
	case control.CommandRun:
		return s.run(r.Run)
	case control.CommandInspect:
		return s.inspect(), nil
	case control.CommandExplain:
		return s.explain(r.Explain)
	case control.CommandSync:
		syncer, ok := s.store.(store.Syncer)
		if !ok {
			return nil, refused("%s has no sync", s.hosted.description.Name)
		}
		return nothing, syncer.Sync()
	case control.CommandRemove:
		return s.remove(r.Remove)
	default:
		return nothing, s.close()
	}
}

// remove deletes by a handle of its own: those of the phases are at their threads.
func (s *session) remove(r *control.Remove) (removed control.Removed, err error) {
	if len(r.Prefix) < control.RemovePrefixMin || r.AtMost < 1 {
		return removed, badRequest("remove at most %d records by %q: expected at least 1, and %d bytes", r.AtMost, r.Prefix, control.RemovePrefixMin)
	}
	h, err := s.store.Handle()
	if err != nil {
		return removed, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	deleter, ok := h.(store.PrefixDeleter)
	if !ok {
		return removed, refused("%s can't delete by the begin of keys", s.hosted.description.Name)
	}
	removed.Records, err = deleter.DeletePrefix([]byte(r.Prefix), r.AtMost)
	return removed, err
}

func (s *session) describe() control.Described {
	d := control.Described{Contract: control.Contract, Worker: "assay-go", Language: runtime.Version()}
	for _, h := range s.drivers {
		d.Drivers = append(d.Drivers, h.description)
	}
	return d
}

func (s *session) openStore(o *control.Open) (control.Opened, error) {
	var none control.Opened
	if s.store != nil {
		return none, badRequest("open while %s is open", s.open.Driver)
	}
	if o.Threads < 1 || o.Threads > trace.ThreadsMax {
		return none, badRequest("open for %d threads: expected 1 to %d", o.Threads, trace.ThreadsMax)
	}
	h, ok := s.find(o.Driver)
	if !ok {
		return none, badRequest("this worker has no driver %q", o.Driver)
	}
	if _, ok := h.description.Claim(o.Durability); !ok {
		return none, refused("%s can't reach durability class %s", o.Driver, o.Durability)
	}
	options, err := store.Resolve(h.description.Options, o.Options)
	if err != nil {
		return none, badRequest("%s: %w", o.Driver, err)
	}
	count, err := handleCount(o, h.description)
	if err != nil {
		return none, err
	}
	d := &h.description
	var opened store.Store
	err = surviving(d, func() error {
		opened, err = h.driver.Open(context.Background(), store.Config{
			First: o.First, Directory: o.Directory, Endpoints: o.Endpoints, Durability: o.Durability,
			LossWindow: time.Duration(o.LossWindowNS), Options: options, Threads: o.Threads, Handles: count,
		})
		return err
	})
	if err != nil {
		return none, fmt.Errorf("opening %s: %w", o.Driver, err)
	}
	var handles *handles
	err = surviving(d, func() error {
		handles, err = openHandles(opened, d, o, count)
		return err
	})
	if err != nil {
		closeErr := surviving(d, opened.Close)
		return none, fmt.Errorf("opening a handle of %s: %w (closing it again: %v)", o.Driver, err, closeErr)
	}
	s.open, s.hosted, s.store, s.handles = o, h, opened, handles
	s.abilities = handles.abilities(h.description)
	s.phases, s.appends = map[int]*phase{}, false
	settings, version := s.settings(), h.description.Version
	if version == "" {
		version = settings["version"] // a server's own, which only it can tell
	}
	reply := control.Opened{Abilities: s.abilities, Settings: settings, Version: version}
	if holder, ok := opened.(store.Holder); ok {
		if held, known := holder.Held(); known {
			reply.Held = &held
		}
	}
	if teller, ok := opened.(store.EventualTeller); ok {
		reply.Eventual = teller.Eventual()
	}
	return reply, nil
}

func (s *session) find(name string) (hosted, bool) {
	for _, h := range s.drivers {
		if h.description.Name == name {
			return h, true
		}
	}
	return hosted{}, false
}

// settings are the store's, and how its connections are driven where its handles do not say that.
func (s *session) settings() map[string]string {
	settings := s.store.Settings()
	if n := len(s.handles.loops); n > 0 {
		delete(settings, "driver.sockets") // of handles that wait by themselves
		settings["worker.async"] = fmt.Sprintf("%d connections on %d threads, at most %d operations on the way on each connection",
			s.open.Threads, n, s.handles.pipeline)
		if p, ok := s.handles.loops[0].(store.Pinner); ok {
			settings["worker.async"] += ", by " + p.Interface()
		}
	}
	return settings
}

func (s *session) inspect() control.Inspected {
	inspected := control.Inspected{Settings: s.settings()}
	if i, ok := s.store.(store.Inspector); ok {
		inspection := i.Inspect()
		inspected.Stats, inspected.Busy, inspected.Left = inspection.Stats, inspection.Busy, inspection.Left
	}
	if d, ok := s.store.(store.DurabilityTeller); ok {
		told, err := d.TellDurability()
		if err != nil {
			told = store.DurabilityEvidence{Unknown: err.Error()}
		}
		inspected.Durability = &told
	}
	return inspected
}

func (s *session) close() error {
	handlesErr := s.handles.close()
	storeErr := s.store.Close()
	for _, p := range s.phases {
		p.unmap()
	}
	s.store, s.handles, s.phases, s.prepared, s.record, s.queries = nil, nil, nil, nil, nil, nil
	if handlesErr != nil {
		return fmt.Errorf("closing a handle: %w", handlesErr)
	}
	if storeErr != nil {
		return fmt.Errorf("closing the store: %w", storeErr)
	}
	return nil
}

// abandon closes what a conductor that went away left open.
func (s *session) abandon() {
	if s.store == nil {
		return
	}
	if err := s.close(); err != nil {
		fmt.Fprintln(os.Stderr, "worker: the conductor went away;", err)
	}
}

// phase is a prepared phase. It stays mapped until close, for its trace proves the versions of
// later reads.
type phase struct {
	request  *control.Prepare
	trace    *trace.File
	first    int // thread that this process does; with those that follow: the worker's threads
	count    int
	counters *counters.File
	history  *counters.History // nil: the trace has no recorded entries
	lives    *counters.Lives   // nil: reads are held against no TTL
	pool     *keyval.Pool
	clock    *clock.Clock
	slots    *trace.Slots
	stats    *statsReporter
	unmaps   []func() error

	lastWrites lastWrites // of a verify phase
}

func (p *phase) unmap() {
	for _, unmap := range p.unmaps {
		if err := unmap(); err != nil {
			fmt.Fprintln(os.Stderr, "worker: unmapping:", err) // nothing was lost: the process ends soon
		}
	}
}

func (s *session) prepare(r *control.Prepare) (err error) {
	if s.prepared != nil {
		return badRequest("prepare while phase %s waits for run", s.prepared.request.Phase)
	}
	if r.Number < 0 || r.Number > keyval.PhaseMax {
		return badRequest("phase number %d: expected 0 to %d", r.Number, keyval.PhaseMax)
	}
	if _, taken := s.phases[r.Number]; taken {
		return badRequest("phase number %d was used before", r.Number)
	}
	if err := r.Keys.Check(); err != nil {
		return badRequest("keys: %w", err)
	}
	if err := r.Values.Check(); err != nil {
		return badRequest("values: %w", err)
	}
	p := &phase{request: r}
	defer func() {
		if err != nil {
			p.unmap()
		}
	}()
	var unmap func() error
	if p.trace, unmap, err = trace.Map(r.Trace); err != nil {
		return badRequest("%w", err)
	}
	p.unmaps = append(p.unmaps, unmap)
	if err := p.takeShare(); err != nil {
		return err
	}
	if p.count > s.open.Threads {
		return badRequest("%d threads, but the store was opened for %d", p.count, s.open.Threads)
	}
	if err := s.checkAbilities(p.trace); err != nil {
		return err
	}
	if err := s.checkQueries(p.trace); err != nil {
		return err
	}
	if err := s.checkLengths(p.trace, r.Values); err != nil {
		return err
	}
	if p.counters, err = counters.Open(r.Counters, p.trace); err != nil {
		return badRequest("%w", err)
	}
	p.unmaps = append(p.unmaps, p.counters.Unmap)
	if r.Process < 0 || r.Process >= p.counters.Processes() {
		return badRequest("process %d: the counters file is for %d", r.Process, p.counters.Processes())
	}
	p.counters = p.counters.Process(r.Process)
	if err := p.mapHistory(); err != nil {
		return err
	}
	if err := p.mapLives(); err != nil {
		return err
	}
	if p.clock, err = clock.New(clock.Source(r.Clock)); err != nil {
		return badRequest("%w", err)
	}
	s.expect(r.Values.LengthMax)
	p.pool, p.slots = keyval.NewPool(r.Values), p.trace.Slots()
	p.stats = s.newStatsReporter(p)
	s.appends = s.appends || slices.Contains(p.trace.Operations, trace.Append)
	p.lastWrites = s.lastWritesOf(p)
	s.phases[r.Number], s.prepared = p, p
	return nil
}

// expect tells the store how long its values are at most.
func (s *session) expect(valueBytesMax int) {
	if s.record != nil {
		valueBytesMax = s.record.BytesMax()
	}
	if e, ok := s.store.(store.Expecter); ok {
		e.Expect(valueBytesMax)
	}
}

// takeShare finds the threads of the trace that this process does.
func (p *phase) takeShare() error {
	r, threads := p.request, len(p.trace.Threads)
	if p.first, p.count = r.FirstThread, r.ThreadCount; r.ThreadCount == 0 && r.FirstThread == 0 {
		p.count = threads
	}
	if p.first < 0 || p.count < 1 || p.count > threads-p.first {
		return badRequest("%d threads from number %d on: the trace has %d", r.ThreadCount, r.FirstThread, threads)
	}
	return nil
}

// mapHistory maps the file for recorded entries, where the trace has them.
func (p *phase) mapHistory() (err error) {
	wanted, given := p.trace.Flags&trace.FlagHistory != 0, p.request.History != ""
	if wanted != given {
		return badRequest("a trace with recorded entries: %v, and a history file for them: %v", wanted, given)
	}
	if !given {
		return nil
	}
	if p.history, err = counters.OpenHistory(p.request.History, p.trace); err != nil {
		return badRequest("%w", err)
	}
	p.unmaps = append(p.unmaps, p.history.Unmap)
	return nil
}

// tells names the counters of the store that the worker reports while the phase runs.
func (p *phase) tells() control.Prepared {
	if p.stats == nil {
		return control.Prepared{}
	}
	return control.Prepared{Stats: p.stats.names}
}

// checkAbilities refuses a trace with an operation that the store can't do: nothing is emulated.
func (s *session) checkAbilities(t *trace.File) error {
	for _, o := range t.Operations {
		missing := o == trace.Scan && !s.abilities.Scan || o == trace.Batch && !s.abilities.Batch ||
			o == trace.Add && !s.abilities.Add || o == trace.CompareAndSwap && !s.abilities.CompareAndSwap ||
			o == trace.Query && !s.abilities.Query || o == trace.Count && !s.abilities.Count ||
			o == trace.Modify && !s.abilities.Modify || o == trace.MultiRead && !s.abilities.MultiGet ||
			o == trace.Touch && !s.abilities.Touch ||
			o == trace.Append && !s.abilities.Append || o == trace.GetAndSet && !s.abilities.GetAndSet ||
			o == trace.DeleteQuery && !s.abilities.DeleteQuery || o == trace.Increment && !s.abilities.Increment
		if missing {
			return refused("%s has no %s", s.hosted.description.Name, o)
		}
		if o == trace.MultiRead && s.record != nil {
			return refused("records with columns are read one by one")
		}
		if s.record != nil && (o == trace.Touch || o == trace.Append || o == trace.GetAndSet) {
			return refused("records with columns have no %s", o)
		}
		if o == trace.Modify && (s.record == nil || !s.record.Proves()) {
			return badRequest("modify writes the proof column, and define named none")
		}
		if o == trace.Increment && (s.record == nil || s.record.Counter() < 0) {
			return badRequest("increment adds to the counter column, and define named none")
		}
	}
	if t.TTLs != [256]uint32{} && !s.abilities.Expire {
		return refused("%s can't store a value for a time", s.hosted.description.Name)
	}
	if s.handles.loops != nil && slices.Contains(t.Operations, trace.ReadOrFill) {
		return refused("asynchronous handles fill nothing: a fill is a second operation, after a wait")
	}
	if t.Flags&trace.FlagPauses != 0 && s.handles.loops != nil {
		return refused("asynchronous handles do not pause: their operations overlap")
	}
	if t.Expires() && t.TimedEvery > 0 {
		return refused("operations that are not timed have no begin that a TTL could count from")
	}
	if t.TimedEvery > 0 && !s.handles.kept() {
		return refused("only threads that keep their handles may leave operations untimed")
	}
	if s.handles.loops != nil && t.HasRequests() {
		return refused("asynchronous handles do no requests: the steps of a request wait for each other")
	}
	return nil
}

// checkLengths holds the trace against length_max, from which all buffers are sized.
func (s *session) checkLengths(t *trace.File, values keyval.ValueShape) error {
	if s.record != nil {
		if n := s.record.ProofBytes(); n > values.LengthMax {
			return badRequest("a proof column of %d bytes, but length_max is %d", n, values.LengthMax)
		}
		return nil
	}
	for i := range t.Threads {
		for _, e := range t.Threads[i].Entries {
			if n := t.Amounts[e.SizeClass()]; e.Operation().Puts() && int(n) > values.LengthMax {
				return badRequest("a value of %d bytes in the trace, but length_max is %d", n, values.LengthMax)
			}
		}
	}
	return nil
}

// clockCheckEvery is how often the clock in use is held against CLOCK_MONOTONIC.
const clockCheckEvery = 100 * time.Millisecond

// run lets the threads of the prepared phase go and waits for their end. With at, they begin then:
// with those of the phase's other processes.
func (s *session) run(at *control.Run) (control.Ran, error) {
	p := s.prepared
	if p == nil {
		return control.Ran{}, badRequest("run without prepare")
	}
	s.prepared = nil
	threads := make([]*thread, p.count)
	for i := range threads {
		threads[i] = s.newThread(p, i)
	}
	defer s.keepHandles(threads)()
	var runs []func()
	var drivers []*driver
	if s.handles.loops != nil {
		drivers = s.laneDrivers(p, threads)
		for _, d := range drivers {
			runs = append(runs, d.run)
		}
	} else {
		for _, t := range threads {
			runs = append(runs, t.run)
		}
	}
	start, ended := make(chan struct{}), make(chan struct{}, len(runs))
	for _, run := range runs {
		go func() {
			<-start
			run()
			ended <- struct{}{}
		}()
	}
	collectGarbage() // what earlier phases left is not this one's to collect
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)

	startNS := p.clock.NowNS()
	began := p.clock.OriginNS() + startNS
	if at != nil {
		clock.SleepUntil(at.StartNS)
		startNS = at.StartNS - p.clock.OriginNS()
		began = max(at.StartNS, clock.MonotonicNS())
	}
	p.counters.SetClock(clockCode(p.clock))
	p.counters.SetStartNS(uint64(began))
	for _, t := range threads {
		t.startNS = startNS
	}
	drift0 := p.clock.DifferenceNS()
	p.counters.SetState(counters.Running)
	done, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		if p.stats != nil {
			p.stats.report(done)
		}
	}()
	close(start)
	s.await(p, ended, len(runs), drift0)
	close(done)

	end := startNS
	for _, t := range threads {
		end = max(end, t.endNS)
	}
	p.counters.SetEndNS(uint64(p.clock.OriginNS() + end))
	p.counters.SetState(counters.Ended)
	<-told // the store must not be asked any more once the reply is out
	for _, d := range drivers {
		if d.err != nil {
			return control.Ran{}, fmt.Errorf("driving connections: %w", d.err)
		}
	}
	runtime.ReadMemStats(&after)
	measured := map[string]float64{
		"alloc_bytes": float64(after.TotalAlloc - before.TotalAlloc),
		"allocs":      float64(after.Mallocs - before.Mallocs),
		"gc_cycles":   float64(after.NumGC - before.NumGC),
		"gc_pause_ns": float64(after.PauseTotalNs - before.PauseTotalNs),
	}
	if p.stats != nil {
		measured["inspects"], measured["inspect_ns"] = float64(p.stats.rounds), float64(p.stats.cost)
	}
	return control.Ran{Runtime: measured}, nil
}

// keepHandles lets threads that open a handle for each operation keep one where nothing is measured,
// but records are read back: of ten thousand, each would connect anew. A thread that gets none says so at
// its operations. The caller is to call what it returns once they have ended.
func (s *session) keepHandles(threads []*thread) (release func()) {
	var opened []store.Handle
	for _, t := range threads {
		if s.handles.mode != control.HandlesPerOperation || t.observed == nil {
			continue
		}
		if h, err := s.handles.open(); err == nil {
			opened, t.target, t.kept = append(opened, h), targetOf(h), true
		}
	}
	return func() {
		for _, h := range opened {
			if err := surviving(&s.hosted.description, h.Close); err != nil {
				fmt.Fprintln(os.Stderr, "worker: closing a handle:", err) // all that it was for has been read
			}
		}
	}
}

// await waits for all threads and checks the clock meanwhile.
func (s *session) await(p *phase, ended <-chan struct{}, threads int, drift0 int64) {
	ticker := time.NewTicker(clockCheckEvery)
	defer ticker.Stop()
	gone := s.gone
	var worst int64
	look := func() {
		d := p.clock.DifferenceNS() - drift0
		worst = max(worst, d, -d)
		p.counters.SetClockDriftNS(uint64(worst))
	}
	for threads > 0 {
		select {
		case <-ended:
			threads--
		case <-ticker.C:
			look()
		case <-gone:
			p.counters.Stop() // the conductor's word, but there is no conductor any more
			gone = nil
		}
	}
	look()
}

func clockCode(c *clock.Clock) uint64 {
	if c.Source() == clock.TSC {
		return counters.ClockTSC
	}
	return counters.ClockMonotonic
}

// garbageBytesMin is less than a collection waits for by itself: 4 MiB of a small heap.
const garbageBytesMin = 1 << 20

// collectGarbage collects where at least garbageBytesMin were allocated since the last collection.
func collectGarbage() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(heap)
	if heap[0].Value.Uint64() >= heap[1].Value.Uint64()+garbageBytesMin {
		runtime.GC()
	}
}
