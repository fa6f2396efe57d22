package run

import (
	"sync"
	"time"

	"assay/internal/base/clock"
	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/clients"
)

// lookEveryNS is how often the conductor looks at what happens outside: whether the user wants to
// end, and whether something stopped the worker.
const lookEveryNS = 50_000_000

// gapNS is by how much the time between two looks must exceed lookEveryNS for it to be a gap: no
// load of a machine that can be measured on keeps a thread waiting so long.
const gapNS = 500_000_000

// stops are the times in which something outside stopped the worker, a server of the trial, or the
// machine. A goroutine looks, whatever the conductor does meanwhile: a stop that falls into the
// reading of a sample is one too.
type stops struct {
	over, ended chan struct{}

	mu        sync.Mutex
	processes *host.Stopped
	all       []stop
	lookedNS  int64 // when the last look was
	current   string
}

// stop is a stretch of time, in ns of CLOCK_MONOTONIC. sleptNS is what that clock does not count.
type stop struct {
	why          string
	fromNS, toNS int64
	sleptNS      int64
}

// watchStops begins to look at the worker and what else the trial measures, until end is called. Of
// servers whose faults are a part of the phase, Assay knows itself.
func watchStops(clients *clients.Clients, tested *underTest, faulty bool) *stops {
	pids := clients.Pids()
	if !faulty {
		pids = append(pids, tested.servers.PIDs...)
	}
	s := &stops{over: make(chan struct{}), ended: make(chan struct{}), processes: host.NewStopped(pids...), lookedNS: clock.MonotonicNS()}
	go func() {
		defer close(s.ended)
		ticker := time.NewTicker(lookEveryNS)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-s.over:
				return
			}
			s.lookNow()
		}
	}()
	return s
}

func (s *stops) end() {
	close(s.over)
	<-s.ended
	s.lookNow()
}

func (s *stops) lookNow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(clock.MonotonicNS())
}

// now says why a process is stopped; "": none is known to be.
func (s *stops) now() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// look is to be called with the lock held.
func (s *stops) look(nowNS int64) {
	before := s.current
	s.current = s.processes.Look()
	if nowNS-s.lookedNS > lookEveryNS+gapNS {
		s.add(stop{why: host.StoppedGap, fromNS: s.lookedNS, toNS: nowNS})
	}
	if slept := s.processes.SleptNS(); slept > 0 {
		s.add(stop{why: host.StoppedSuspend, fromNS: s.lookedNS, toNS: nowNS, sleptNS: slept})
	}
	if why := s.current; why != "" {
		// It began after the look before, and whatever came to its end by now belongs to it.
		s.add(stop{why: why, fromNS: s.lookedNS, toNS: nowNS})
	} else if before != "" {
		s.add(stop{why: before, fromNS: s.lookedNS, toNS: nowNS})
	}
	s.lookedNS = nowNS
}

// add joins what goes on from the last one.
func (s *stops) add(next stop) {
	if last := len(s.all) - 1; last >= 0 && s.all[last].why == next.why && s.all[last].toNS >= next.fromNS {
		s.all[last].toNS = next.toNS
		s.all[last].sleptNS += next.sleptNS
		return
	}
	s.all = append(s.all, next)
}

// within returns why something stood still between two moments before the last look; "": nothing is
// known to have.
func (s *stops) within(fromNS, toNS int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		if one.fromNS < toNS && one.toNS > fromNS {
			return one.why
		}
	}
	return ""
}

// since returns the stops of a phase that began at some moment. The looking has ended.
func (s *stops) since(startNS int64) (all []record.Stop) {
	for _, one := range s.all {
		if startNS == 0 || one.toNS <= startNS {
			continue
		}
		from := max(one.fromNS, startNS)
		seconds := float64(one.toNS-from+one.sleptNS) / 1e9
		all = append(all, record.Stop{Why: one.why, At: float64(from-startNS) / 1e9, Seconds: seconds})
	}
	return all
}

// stopMarks returns a mark for each way in which a phase was stopped.
func stopMarks(p *record.Phase) (marks []finding.Mark) {
	seconds, first, order := map[string]float64{}, map[string]float64{}, []string{}
	for _, s := range p.Stops {
		if _, seen := seconds[s.Why]; !seen {
			first[s.Why], order = s.At, append(order, s.Why)
		}
		seconds[s.Why] += s.Seconds
	}
	for _, why := range order {
		m := finding.New(finding.StopParams{Code: stopCodes[why], Seconds: seconds[why], AtS: first[why]})
		marks = append(marks, finding.Mark{Phase: p.Name, Message: m})
	}
	return marks
}

var stopCodes = map[string]finding.Code{
	host.StoppedBySignal:   finding.MarkStoppedSignal,
	host.StoppedByDebugger: finding.MarkStoppedDebugger,
	host.StoppedFrozen:     finding.MarkStoppedFrozen,
	host.StoppedGap:        finding.MarkStoppedGap,
	host.StoppedSuspend:    finding.MarkStoppedSuspend,
}

// stoppedNS is for how long something stood still in a phase.
func stoppedNS(p *record.Phase) (ns int64) {
	for _, s := range p.Stops {
		ns += int64(s.Seconds * 1e9)
	}
	return ns
}
