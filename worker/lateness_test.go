package worker

import (
	"testing"
	"time"

	"assay/internal/base/clock"
	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
)

// openPhase is a phase of n upserts by one thread, one due every so often.
func openPhase(n int, every time.Duration) *testPhase {
	entries := make([]trace.Entry, n)
	due := make([]uint64, n)
	for i := range entries {
		entries[i], due[i] = entry(trace.Upsert, uint64(i)), uint64(i)*uint64(every)
	}
	p := newPhase(1, entries...)
	p.file.Flags = trace.FlagDue
	p.file.Threads[0].Due, p.file.Threads[0].LapNS = due, uint64(n)*uint64(every)
	return p
}

func lateOnes(head *counters.Thread, fromNS uint64) (n uint64) {
	for word, count := range head.Late {
		if counters.LatenessFromNS(word) >= fromNS {
			n += count
		}
	}
	return n
}

// A thread that oversleeps begins late, and each such operation is counted.
func TestThreadThatStartsLateIsCounted(t *testing.T) {
	const late = 12 * time.Millisecond
	slept := uint64(0) // on a busy machine an operation may be due before the thread could sleep
	sleep = func(_ *clock.Alarm, d time.Duration) { slept++; time.Sleep(d + late) }
	t.Cleanup(func() { sleep = (*clock.Alarm).Sleep })
	const n = 8
	p := openPhase(n, 40*time.Millisecond)
	s := serve(t, &fake{})
	s.open(control.HandlesPerThread, 1, 0)
	c, _ := s.run(p)
	head := c.Thread(0)
	if got := lateOnes(head, 1<<23); slept == 0 || got < slept || got > n {
		t.Errorf("of %d operations %d began after %v too much sleep, %d are counted as 8 ms late or more: %v", n, slept, late, got, head.Late)
	}
	if head.LatenessMaxNS < uint64(late)/2 {
		t.Errorf("the largest lateness is %d ns", head.LatenessMaxNS)
	}
}

// A slow store makes the next operations wait: that is in their response times, and no lateness of
// the thread's.
func TestQueueBehindASlowStoreIsNoLateness(t *testing.T) {
	const n, delay = 20, 10 * time.Millisecond
	p := openPhase(n, time.Microsecond)
	s := serve(t, &fake{delay: delay})
	s.open(control.HandlesPerThread, 1, 0)
	c, _ := s.run(p)
	head := c.Thread(0)
	// a busy machine may be late now and then, 190 ms of queue would be always
	if got := lateOnes(head, 1<<23); got > n/4 {
		t.Errorf("%d of %d operations in a queue are counted as late: %v", got, n, head.Late)
	}
	if longest := c.Sample(true).Totals[0].Response.Quantile(1); longest < float64(n/2*delay) {
		t.Errorf("the longest response time is %.0f ns: the queue is not in it", longest)
	}
}
