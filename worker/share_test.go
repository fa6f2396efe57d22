package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/base/clock"
	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
)

// A process that does some of a trace's threads leaves the blocks of the others, and the pages of other
// processes, as they are; it begins at the moment that run names.
func TestProcessDoesItsShareAlone(t *testing.T) {
	s := serve(t, &fake{shareable: true})
	s.open(control.HandlesPerThread, 2, 0) // of the four threads of the trace
	p := newPhase(4, entry(trace.Insert, 1), entry(trace.Insert, 2))
	c := s.prepareShare(p, 3)
	if err := s.call(control.Request{Command: control.CommandPrepare, Prepare: &p.prepare}, nil); err != nil {
		t.Fatal(err)
	}
	start := clock.MonotonicNS() + int64(100*time.Millisecond)
	if err := s.call(control.Request{Command: control.CommandRun, Run: &control.Run{StartNS: start}}, nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{0, 2, 2, 0} {
		if got := c.Thread(i).Acknowledged; got != want {
			t.Errorf("thread %d acknowledged %d, expected %d", i, got, want)
		}
	}
	for i := range 3 {
		own := c.Process(i)
		if mine := i == 2; mine != (own.State() == counters.Ended) || mine != (own.StartNS() >= uint64(start)) ||
			mine != (own.EndNS() > uint64(start)) {
			t.Errorf("process %d: state %d, start %d, end %d; the phase starts at %d", i, own.State(), own.StartNS(), own.EndNS(), start)
		}
	}
	if now := c.Thread(1).NowNS; now == 0 || now > uint64(10*time.Second) {
		t.Errorf("thread 1 ended %d ns after the phase's start", now)
	}
}

func TestSharesOutsideTheTraceAreRefused(t *testing.T) {
	s := serve(t, &fake{shareable: true})
	s.open(control.HandlesPerThread, 2, 0)
	for _, c := range []struct{ process, first, count int }{
		{0, 3, 2}, {0, -1, 1}, {0, 1, 0}, {0, 0, -1}, {3, 0, 2}, {-1, 0, 2}, {0, 0, 3}, {0, 0, 0},
	} {
		p := newPhase(4, entry(trace.Insert, 1))
		s.prepareShare(p, 3)
		p.prepare.Process, p.prepare.FirstThread, p.prepare.ThreadCount = c.process, c.first, c.count
		refusedWith(t, s.call(control.Request{Command: control.CommandPrepare, Prepare: &p.prepare}, nil), control.ClassBadRequest, "")
	}
}

// prepareShare makes the files of a phase that so many processes do, of which this one is the last and
// does the threads 1 and 2.
func (s *served) prepareShare(p *testPhase, processes int) *counters.File {
	s.t.Helper()
	s.phases++
	p.prepare.Number, p.prepare.Process, p.prepare.FirstThread, p.prepare.ThreadCount = s.phases, processes-1, 1, 2
	p.prepare.Trace = filepath.Join(s.dir, fmt.Sprintf("%d.trace", s.phases))
	p.prepare.Counters = filepath.Join(s.dir, fmt.Sprintf("%d.counters", s.phases))
	if err := p.file.Write(p.prepare.Trace); err != nil {
		s.t.Fatal(err)
	}
	file, err := os.Create(p.prepare.Counters)
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	c, err := counters.CreateIn(file, &p.file, processes)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}
