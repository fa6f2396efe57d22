package counters

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
)

// A phase may be done by processes of other machines. Each of these has a counters file of its own,
// of the same layout, in which only its own threads count; what they counted is copied into the
// conductor's file, thread by thread, so that all else reads one file.
//
// A copy is a list of the words that are not 0: how many words lie between, and the word, both as
// uvarints. Words only grow from 0, or are written once, so a word that is absent has not changed.

// AppendThread appends a copy of a thread's block to a buffer. Histograms are most of it.
func (f *File) AppendThread(to []byte, thread int, histograms bool) []byte {
	at := f.threadAt(thread) / 8
	// The words are copied in the order of Sample: see there.
	acknowledged := atomic.LoadUint64(&f.words[at+1])
	next := 0
	f.eachRange(histograms, func(from, until int) {
		for i := from; i < until; i++ {
			word := atomic.LoadUint64(&f.words[at+i])
			if i == 1 {
				word = acknowledged
			}
			if word == 0 {
				continue
			}
			to = binary.AppendUvarint(to, uint64(i-next))
			to = binary.AppendUvarint(to, word)
			next = i + 1
		}
	})
	return to
}

// eachRange gives the words of a thread's block that a copy has.
func (f *File) eachRange(histograms bool, do func(from, until int)) {
	if histograms {
		do(0, f.threadBytes/8)
		return
	}
	do(0, slotsAt/8)
	for slot := range f.slots.Operations {
		at := (slotsAt + slot*f.slotBytes) / 8
		do(at, at+histogramAt/8)
	}
	do((slotsAt+len(f.slots.Operations)*f.slotBytes)/8, f.threadBytes/8)
}

// CopyBytesMax is how long a copy of a thread's block can be.
func (f *File) CopyBytesMax() int { return f.threadBytes / 8 * (1 + binary.MaxVarintLen64) }

// SetThread writes a copy of a thread's block into the file. It returns an error for anything that
// is no copy of such a block, and writes nothing of it then.
func (f *File) SetThread(thread int, from []byte) error {
	if thread < 0 || thread >= f.threads {
		return fmt.Errorf("counters of thread %d: there are %d", thread, f.threads)
	}
	at := f.threadAt(thread) / 8
	if err := eachWord(from, f.threadBytes/8, func(int, uint64) {}); err != nil {
		return fmt.Errorf("counters of thread %d: %w", thread, err)
	}
	return eachWord(from, f.threadBytes/8, func(i int, word uint64) { atomic.StoreUint64(&f.words[at+i], word) })
}

var errCut = errors.New("a word is cut")

func eachWord(from []byte, words int, do func(i int, word uint64)) error {
	next := uint64(0)
	for len(from) > 0 {
		skip, n := binary.Uvarint(from)
		if n <= 0 {
			return errCut
		}
		word, m := binary.Uvarint(from[n:])
		if m <= 0 {
			return errCut
		}
		if skip >= uint64(words) || next+skip >= uint64(words) {
			return fmt.Errorf("a word beyond the %d that there are", words)
		}
		next += skip
		do(int(next), word)
		next, from = next+1, from[n+m:]
	}
	return nil
}

// ProcessWords are what a process tells of itself in its page of the header. Times are of
// CLOCK_MONOTONIC of its machine.
type ProcessWords struct {
	State        uint64   `json:"state"`
	StartNS      uint64   `json:"start_ns"`
	EndNS        uint64   `json:"end_ns"`
	Clock        uint64   `json:"clock"`
	ClockDriftNS uint64   `json:"clock_drift_ns"`
	Rounds       uint64   `json:"rounds,omitempty"`
	Stats        []uint64 `json:"stats,omitempty"`
}

// ProcessWords returns the words of the file's process, with so many of the store's own counters.
func (f *File) ProcessWords(stats int) ProcessWords {
	w := ProcessWords{StartNS: f.StartNS(), EndNS: f.EndNS(), Clock: f.Clock(), ClockDriftNS: f.ClockDriftNS(),
		State: f.State()}
	if w.Rounds = f.load(wordRounds); w.Rounds > 0 {
		for i := range min(stats, StatsMax) {
			w.Stats = append(w.Stats, f.load(wordStats+i))
		}
	}
	return w
}

// SetProcessWords writes them.
func (f *File) SetProcessWords(w ProcessWords) {
	f.SetClock(w.Clock)
	f.SetClockDriftNS(w.ClockDriftNS)
	f.SetStartNS(w.StartNS)
	f.SetEndNS(w.EndNS)
	for i, word := range w.Stats[:min(len(w.Stats), StatsMax)] {
		f.store(wordStats+i, word)
	}
	f.store(wordRounds, w.Rounds)
	f.SetState(w.State)
}
