package run

import (
	"assay/internal/evidence/record"
	"assay/internal/experiment/trace"
)

// turns finds threads that get no turn: for a good part of their time none of their operations ends,
// while others go on. A pool that serves some threads only, and a lock that is not fair, look so.
type turns struct {
	file    *trace.File
	threads []turn
}

// turn is what was last seen of one thread.
type turn struct {
	done    uint64
	since   float64 // when this became so, at the latest: seconds since the phase began
	all     uint64  // that all threads had done then
	longest record.Starved
}

const (
	// starvedShare is how much of its time a thread must be without a turn.
	starvedShare = 0.25
	// starvedSeconds is longer than a busy machine leaves a thread without a processor.
	starvedSeconds = 1.0
	// starvedOthers is how many operations the others must do meanwhile, each on average: where
	// threads are served in random order, one waits as long as that once in e^100 times.
	starvedOthers = 100
)

func newTurns(file *trace.File) *turns {
	t := &turns{file: file, threads: make([]turn, len(file.Threads))}
	for i := range t.threads {
		t.threads[i].since = float64(file.Threads[i].FromNS) / 1e9
	}
	return t
}

// look takes what each thread has done so many seconds after the phase began.
func (t *turns) look(done []uint64, at float64) {
	if len(done) < 2 {
		return
	}
	all := uint64(0)
	for _, n := range done {
		all += n
	}
	for i := range t.threads {
		s := &t.threads[i]
		if done[i] != s.done || t.rests(i, done[i], at) {
			s.done, s.since, s.all = done[i], max(s.since, at), all
			continue
		}
		others := float64(all-s.all) / float64(len(done)-1)
		if seconds := at - s.since; seconds > s.longest.Seconds {
			s.longest = record.Starved{BeganS: s.since, Seconds: seconds, Others: others}
		}
	}
}

// rests says if a thread has nothing to do at a moment.
func (t *turns) rests(i int, done uint64, at float64) bool {
	thread := &t.file.Threads[i]
	now := uint64(at * 1e9)
	return len(thread.Entries) == 0 || thread.Limit > 0 && done >= thread.Limit ||
		now <= thread.FromNS || thread.UntilNS > 0 && now > thread.UntilNS ||
		len(thread.Due) > 0 && thread.DueOf(done) > now || len(thread.Pauses) > 0
}

// result is of a phase that took so many seconds; nil: every thread had its turn.
func (t *turns) result(elapsed float64) *record.Starved {
	var all *record.Starved
	for i := range t.threads {
		ends := elapsed
		if until := t.file.Threads[i].UntilNS; until > 0 {
			ends = min(ends, float64(until)/1e9)
		}
		mine := t.threads[i].longest
		if mine.Others < starvedOthers || mine.Seconds < max(starvedSeconds,
			starvedShare*(ends-float64(t.file.Threads[i].FromNS)/1e9)) {
			continue
		}
		if all == nil {
			all = &record.Starved{BeganS: mine.BeganS}
		}
		all.Threads, all.BeganS = all.Threads+1, min(all.BeganS, mine.BeganS)
		if mine.Seconds > all.Seconds {
			all.Seconds, all.Others = mine.Seconds, mine.Others
		}
	}
	return all
}
