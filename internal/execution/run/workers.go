package run

import (
	"errors"
	"fmt"
	"time"

	"assay/internal/base/clock"
	"assay/internal/base/finding"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/execution/clients"
	"assay/internal/execution/control"
	"assay/internal/execution/phasefiles"
	"assay/internal/experiment/trace"
)

// workers are the processes that do a phase, each its share of the threads.
type workers struct {
	clients  *clients.Clients
	file     *trace.File
	files    *phasefiles.Files
	specs    []trace.Spec // that agents make their traces of; nil: it is done on this machine
	recorded []uint64     // keys whose history is recorded
	room     int          // for so many records of each thread's history
	message  func(string)

	shares  []*share
	startAt int64         // when several processes begin, on CLOCK_MONOTONIC; 0: not yet, or one does all
	gone    []record.Gone // where there are several
	failure error         // the first that a process met
}

// share is what one process does of a phase: some threads of the trace, one after the other.
type share struct {
	client       *clients.Client
	first, count int
	words        *counters.File // those that the process writes in the header
	pending      clients.Pending
	over         bool // it has replied, or is gone
	heard        bool // of an agent's: its final counters have come
	ran          control.Ran
}

// deal parts a phase over the clients that live, the first of them first: those of agents, where the
// phase is theirs. numbers are the agents' processes that do the shares, where groups name them.
func (w *workers) deal(layout, numbers []int) error {
	living := w.clients.Here()
	if w.specs != nil {
		living = w.clients.Away()
	}
	if numbers != nil && w.specs != nil {
		named, err := w.clients.AwayNumbered(numbers)
		if err != nil {
			return err
		}
		living = named
	}
	if len(layout) > len(living) {
		return fmt.Errorf("the phase needs %d processes, %d are left", len(layout), len(living))
	}
	first := 0
	for i, count := range layout {
		w.shares = append(w.shares, &share{client: living[i], first: first, count: count,
			words: w.files.Counters.Process(i)})
		first += count
	}
	return nil
}

// prepare lets each process map the files and get ready. told are the names of the store's own counters
// that the first one tells meanwhile.
func (w *workers) prepare(asked *control.Prepare) (told []string, err error) {
	all := make([]*clients.Client, len(w.shares))
	byClient := map[*clients.Client]int{}
	for i, s := range w.shares {
		all[i], byClient[s.client] = s.client, i
	}
	err = w.clients.InParallel(all, func(c *clients.Client) error {
		i := byClient[c]
		request := *asked
		var prepared control.Prepared
		if w.together() {
			request.Process, request.FirstThread, request.ThreadCount = i, w.shares[i].first, w.shares[i].count
			if request.Clock == "auto" {
				request.Clock = "monotonic" // which all processes share; the ticks of each are calibrated apart
			}
		}
		if c.Away != nil {
			var err error
			if prepared, err = w.prepareAway(w.shares[i], request); err != nil {
				return err
			}
		} else if err := w.clients.Ask(c, control.Request{Command: control.CommandPrepare,
			Prepare: &request}, &prepared); err != nil {
			return err
		}
		if i == 0 {
			told = prepared.Stats[:min(len(prepared.Stats), counters.StatsMax)]
		}
		return nil
	})
	return told, err
}

// Several processes begin a phase together, at a moment that leaves each of them the time to read the
// request and to collect its garbage.
const (
	startLead     = 20 * time.Millisecond
	startLeadEach = 5 * time.Millisecond
	startLeadAway = 200 * time.Millisecond // more, of agents: what a message may take, and be sent again
)

// together reports whether the phase's processes get a moment at which all begin.
func (w *workers) together() bool { return len(w.shares) > 1 || w.specs != nil }

// run lets the processes run. It returns an error if one of them is gone.
func (w *workers) run() error {
	request := control.Request{Command: control.CommandRun}
	if n := len(w.shares); w.together() {
		w.startAt = clock.MonotonicNS() + int64(startLead+time.Duration(n)*startLeadEach)
		if w.specs != nil {
			w.startAt += int64(startLeadAway)
		}
	}
	for _, s := range w.shares {
		var err error
		if w.startAt > 0 {
			run := control.Run{StartNS: w.startAt}
			if s.client.Away != nil {
				run = s.client.Away.Run(w.startAt)
			}
			request.Run = &run
		}
		if s.pending, err = s.client.Send(request); err != nil {
			w.lose(s, err)
		}
	}
	return w.failure
}

// await waits up to a time for the processes' replies. done says that all have replied, or are gone;
// the error is then the first that one of them met.
func (w *workers) await(timeout time.Duration) (done bool, err error) {
	until := time.Now().Add(timeout)
	done = true
	for _, s := range w.shares {
		if s.over {
			continue
		}
		replied, err := s.pending.Wait(max(time.Until(until), 0), &s.ran)
		switch {
		case !replied:
			done = false
		case err == nil:
			s.over = true
		case errors.As(err, new(*control.Error)):
			s.over = true
			w.fail(w.clients.Of(s.client, err))
		default:
			w.lose(s, err)
		}
	}
	return done, w.failure
}

// fail keeps the first error that a process met.
func (w *workers) fail(err error) {
	if w.failure == nil {
		w.failure = err
	}
}

// lose notes that a process is gone. The others go on.
func (w *workers) lose(s *share, err error) {
	s.over, s.client.Gone = true, err
	gone := record.Gone{Process: s.client.Number, Why: err.Error()}
	if start := w.startNS(); start > 0 {
		gone.AtSeconds = float64(clock.MonotonicNS()-int64(start)) / 1e9
	}
	if len(w.shares) > 1 {
		w.gone = append(w.gone, gone)
		err = fmt.Errorf("%.3g s after the start: %w", gone.AtSeconds, err)
	}
	w.fail(w.clients.Of(s.client, err))
}

// hang kills the processes that have not replied.
func (w *workers) hang(why string) {
	for _, s := range w.shares {
		if !s.over {
			w.lose(s, s.client.Hung(why))
		}
	}
}

// abandon kills all processes, because Assay itself can't go on.
func (w *workers) abandon(err error) {
	w.clients.Kill()
	for _, s := range w.shares {
		s.over, s.client.Gone = true, err
	}
}

// died reports whether no process of the phase is left.
func (w *workers) died() bool {
	for _, s := range w.shares {
		if s.client.Gone == nil {
			return false
		}
	}
	return true
}

// goneThreads says of each thread whether its process is gone; nil: none is.
func (w *workers) goneThreads() []bool {
	return w.threadsOf(func(s *share) bool { return s.client.Gone != nil })
}

// threadsOf says of each thread whether it is of a share that is so; nil: none is.
func (w *workers) threadsOf(is func(*share) bool) (threads []bool) {
	for _, s := range w.shares {
		if !is(s) {
			continue
		}
		if threads == nil {
			threads = make([]bool, len(w.file.Threads))
		}
		for i := s.first; i < s.first+s.count; i++ {
			threads[i] = true
		}
	}
	return threads
}

// startNS returns when the phase began, on CLOCK_MONOTONIC; 0: its threads do not run yet.
func (w *workers) startNS() uint64 {
	switch {
	case !w.together():
		return w.shares[0].words.StartNS()
	case w.startAt == 0 || clock.MonotonicNS() < w.startAt:
		return 0
	}
	return uint64(w.startAt)
}

// endNS returns when the last operation ended, or 0 while a process runs. One that died did not tell:
// its threads' own clocks do.
func (w *workers) endNS() (end uint64) {
	start := w.startNS()
	for _, s := range w.shares {
		told := s.words.EndNS()
		if told == 0 && s.client.Gone == nil {
			return 0
		}
		if told == 0 {
			for i := range s.count {
				told = max(told, start+w.files.Counters.Thread(s.first+i).NowNS)
			}
		}
		end = max(end, told)
	}
	return end
}

// startSpreadNS returns how far from the phase's start one of several processes let its threads go;
// those that are gone are left out.
func (w *workers) startSpreadNS() (spread int64) {
	if !w.together() {
		return 0
	}
	for _, s := range w.shares {
		if s.client.Gone == nil && s.words.StartNS() > 0 {
			after := int64(s.words.StartNS()) - w.startAt
			spread = max(spread, after, -after)
		}
	}
	return spread
}

// startSpreadMax is the share of a phase by which the starts of its processes may be apart.
const startSpreadMax = 0.1

// beganApart returns a mark if the processes of a phase did not begin together.
func beganApart(p *record.Phase) []finding.Mark {
	if float64(p.StartSpreadNS) <= startSpreadMax*float64(p.ElapsedNS) {
		return nil
	}
	return []finding.Mark{{Phase: p.Name, Message: finding.New(finding.MarkBeganApartParams{Processes: p.Processes,
		ApartS: float64(p.StartSpreadNS) / 1e9, Seconds: float64(p.ElapsedNS) / 1e9})}}
}

// told adds up what the processes' languages tell of the phase.
func (w *workers) told() map[string]float64 {
	if len(w.shares) == 1 {
		return w.shares[0].ran.Runtime
	}
	var all map[string]float64
	for _, s := range w.shares {
		for name, value := range s.ran.Runtime {
			if all == nil {
				all = map[string]float64{}
			}
			all[name] += value
		}
	}
	return all
}

// clocks returns the clock in use, and the largest difference of any process's from CLOCK_MONOTONIC.
func (w *workers) clocks() (name string, drift time.Duration) {
	name = "monotonic"
	for _, s := range w.shares {
		drift = max(drift, time.Duration(s.words.ClockDriftNS()))
		if s.words.Clock() == counters.ClockTSC {
			name = "tsc"
		}
	}
	return name, drift
}
