package trace

import (
	"errors"
	"fmt"

	"assay/internal/experiment/keyval"
)

// Bounds of File.TimedEvery. Of more, a second's percentiles would be of too few operations, and a
// phase would end long after its deadline, which is looked at when an operation is timed.
const (
	TimedEveryMin = 2
	TimedEveryMax = 1000
)

// NextTimed returns which operation of a thread is timed after one that was, counted from 0; of −1,
// the first. Gaps are 1 to 2·every − 1 long, at random, every on average: a fixed gap would see each
// operation of a store that works in rounds at the same place of its round.
func NextTimed(every uint64, timed int64) int64 {
	return timed + 1 + int64(keyval.Mix(uint64(timed+1))%(2*every-1))
}

// checkSampled holds that the operations of a trace can be left untimed.
func (f *File) checkSampled() error {
	switch sampled := f.Flags&FlagSampled != 0; {
	case !sampled && f.TimedEvery != 0:
		return errors.New("one operation in so many is timed in a trace in which all are")
	case !sampled:
		return nil
	case f.TimedEvery < TimedEveryMin || f.TimedEvery > TimedEveryMax:
		return fmt.Errorf("one operation in %d is timed: expected %d to %d", f.TimedEvery, TimedEveryMin, TimedEveryMax)
	case f.Flags&(FlagDue|FlagRecordVersions|FlagHandleTimes) != 0 || f.HasRequests():
		return errors.New("a trace with due times, observed versions, handle times or requests, in which not all operations are timed")
	}
	return nil
}

// Timed counts by slot which of a thread's first operations are timed, of a trace in which not all
// are.
func (f *File) Timed(thread int, operations uint64) []uint64 {
	t, counts, slots := &f.Threads[thread], make([]uint64, len(f.Operations)), f.Slots()
	var heads []int // positions of entries that begin an operation
	for p, e := range t.Entries {
		if !e.IsMember() {
			heads = append(heads, p)
		}
	}
	for n := NextTimed(f.TimedEvery, -1); uint64(n) < operations; n = NextTimed(f.TimedEvery, n) {
		counts[slots.Of(t.Entries[heads[uint64(n)%uint64(len(heads))]])]++
	}
	return counts
}
