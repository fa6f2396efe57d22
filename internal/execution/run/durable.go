package run

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/store"
)

// syncCheck holds what a trial's phases acknowledged against what the store's disk and its server
// did. A nil one holds nothing: there is no store.
type syncCheck struct {
	class  store.Durability
	data   string // the store's directory, which Assay made; "": none
	others string // a directory of the trial's own, which may be on a server's disk
	// whose files are looked for where there is no such directory; nil: the store has none
	servers func() host.Servers
	ask     func() *store.DurabilityEvidence // what the store says that its class rests on; nil: it can't tell

	counter *host.SyncCounter // of the disk that the store has to flush; nil: why
	why     string            // it is not known
	floor   time.Duration     // the fastest sync of that disk; 0: not known

	disks    func() []int    // the processes that sync what a server does: of disks that answer late
	workers  func() []int    // the processes that host an embedded store
	calls    *host.SyncCalls // of the store's processes, in this phase; nil: callsWhy says why they are not counted
	callsWhy string
}

// newSyncCheck finds the disk that a store has to flush. servers tells its processes, and ask what it
// says itself.
func newSyncCheck(
	s experiment.Store, class store.Durability, d *disk, workers, disks func() []int, servers func() host.Servers,
	ask func() *store.DurabilityEvidence,
) *syncCheck {
	kind := s.Description.Kind
	if kind == store.None {
		return nil
	}
	c := &syncCheck{class: class, data: d.data, others: d.directory, workers: workers, disks: disks}
	if kind == store.Server {
		c.servers, c.ask = servers, ask
	}
	c.find()
	return c
}

// begin is now, at the begin of a phase: the store's processes are idle. It watches those of now, which
// may be others than in the last phase.
func (c *syncCheck) begin() syncsDone {
	if c == nil {
		return syncsDone{}
	}
	if c.class == store.D3 {
		err := errors.Join(c.end(), c.watchCalls())
		if c.callsWhy = ""; err != nil {
			c.callsWhy = err.Error()
		}
	}
	return c.now()
}

// watchCalls counts the syncs that the store's processes ask for, where that is allowed.
func (c *syncCheck) watchCalls() (err error) {
	switch {
	case c.servers == nil && c.data == "":
		err = errors.New("the store has no files")
	case c.servers == nil:
		c.calls, err = host.NewSyncCalls(c.workers(), c.data)
	case c.data == "":
		c.calls, err = c.servers().SyncCalls()
	case c.servers().Why != "":
		err = errors.New(c.servers().Why)
	default:
		c.calls, err = host.NewSyncCalls(slices.Concat(c.servers().PIDs, c.disks()), c.data)
	}
	return err
}

// end ends what watches the store's processes.
func (c *syncCheck) end() error {
	if c == nil || c.calls == nil {
		return nil
	}
	calls := c.calls
	c.calls = nil
	return calls.Close()
}

// bounded reports whether the class bounds what a power cut takes, so that the store's disk matters.
func (c *syncCheck) bounded() bool { return c.class == store.D2 || c.class == store.D3 }

// find finds the disk that the store has to flush. A server's files are looked for again at each
// end of a phase: it opens others.
func (c *syncCheck) find() {
	if !c.bounded() || c.counter != nil && c.data != "" {
		return
	}
	var err error
	switch {
	case c.data != "":
		c.counter, err = host.NewSyncCounter(c.data)
	case c.servers != nil:
		c.counter, err = c.servers().SyncCounter()
	default:
		err = errors.New("the store has no files")
	}
	c.why = ""
	if err != nil {
		c.counter, c.why = nil, err.Error()
	}
	c.timeSync()
}

// timeSync keeps the fastest sync of the disk that the store's files are on.
func (c *syncCheck) timeSync() {
	directory := cmp.Or(c.data, c.others)
	if c.counter == nil || !c.counter.On(directory) {
		return
	}
	took, err := host.SyncFloor(directory)
	if err == nil && (c.floor == 0 || took < c.floor) {
		c.floor = took // what could not be timed, as on a full disk, bounds nothing
	}
}

// syncsDone is what a trial's disk and its server had done at some moment.
type syncsDone struct {
	disk   string
	count  uint64
	server store.DurabilityEvidence
	err    error

	calls    uint64
	callsErr error
}

func (c *syncCheck) now() (s syncsDone) {
	if c == nil {
		return s
	}
	c.find()
	if c.counter != nil {
		s.disk = c.counter.Disk
		s.count, s.err = c.counter.Done()
	}
	if c.calls != nil {
		s.calls, s.callsErr = c.calls.Done()
	}
	if c.ask != nil {
		if told := c.ask(); told != nil {
			s.server = *told
		}
	}
	return s
}

// of holds the writes that a phase acknowledged against what the disk and the server did since it
// began, and the server's settings against the class; nil where nothing is promised.
func (c *syncCheck) of(p *record.Phase, before syncsDone) *record.Syncs {
	if c == nil || p.Load || p.Threads == 0 {
		return nil
	}
	now := c.now()
	clients := p.Threads * max(1, p.Pipeline)
	s := &record.Syncs{Acknowledged: syncedWrites(p), Clients: clients, Broken: now.server.Broken}
	s.Least = (s.Acknowledged + uint64(clients) - 1) / uint64(clients)
	if !c.bounded() {
		if s.Broken == "" {
			return nil
		}
		return s
	}
	switch err := errors.Join(before.err, now.err); {
	case c.why != "":
		s.Why = c.why
	case err != nil:
		s.Why = err.Error()
	case now.server.Unknown != "":
		s.Why = "the server was not asked: " + now.server.Unknown
	case c.class == store.D2:
		s.Disk = now.disk
	case before.disk != now.disk:
		s.Why = "the server opened its files only in the phase"
	default:
		c.timeSync()
		done := now.count - before.count
		s.Done, s.Counted, s.Disk, s.SyncNS = &done, c.counter.Counts(), now.disk, int64(c.floor)
	}
	from, to := before.server.Syncs, now.server.Syncs
	killed := slices.ContainsFunc(p.Faults, func(f record.ServerFault) bool { return f.Does == experiment.FaultKill })
	if killed {
		from = nil // it has counted anew since
	}
	if c.class == store.D3 && from != nil && to != nil && *to >= *from {
		done := *to - *from
		s.Server, s.Counter, s.LagNS = &done, now.server.Counter, int64(now.server.Lag)
	}
	switch err := errors.Join(before.callsErr, now.callsErr); {
	case c.class != store.D3:
	case c.calls == nil:
		s.CallsWhy = c.callsWhy
	case err != nil:
		s.CallsWhy = err.Error()
	default:
		done := now.calls - before.calls
		s.Calls = &done
	}
	return s
}

// syncedWrites are the operations of a phase that changed something for certain. A delete may have
// found nothing where the store does not report.
func syncedWrites(p *record.Phase) (n uint64) {
	for _, o := range p.Calls() {
		if code, _ := trace.ParseOperation(o.Name); code.Changes() && code != trace.Delete {
			n += o.OK
		}
	}
	return n
}
