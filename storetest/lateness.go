package storetest

import (
	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// auditLateness holds what a thread tells of its dispatch lateness against what else it counted.
// Nothing here depends on how fast or how busy the machine is.
func (b *bench) auditLateness(c *counters.File, r *ran, thread int) {
	head := c.Thread(thread)
	highest, late := -1, uint64(0)
	for word, n := range head.Late {
		if late += n; n > 0 {
			highest = word
		}
	}
	if len(r.file.Threads[thread].Due) == 0 {
		if late > 0 || head.LatenessMaxNS > 0 {
			b.fault("lateness: thread %d has no due times, but %d operations are counted as late, by %d ns at most", thread, late, head.LatenessMaxNS)
		}
		return
	}
	switch word := counters.LatenessWord(head.LatenessMaxNS); {
	case word >= 0 && late == 0:
		b.fault("lateness: thread %d began an operation %d ns late, but counts none", thread, head.LatenessMaxNS)
	case word != highest:
		b.fault("lateness: thread %d began an operation %d ns late at most, which is of word %d, but the highest word that counts one is %d",
			thread, head.LatenessMaxNS, word, highest)
	}
	served := b.served(c, r, thread)
	if late > served.operations {
		b.fault("lateness: thread %d counts %d operations as late, but did %d", thread, late, served.operations)
	}

	// Lateness begins where the operation before has ended, and ends where the operation begins:
	// none of these times overlap, and all are between the phase's start and the end of the last
	// operation. A word's operations were late by where it begins, at least.
	least := served.ns + float64(head.LatenessMaxNS)
	for word, n := range head.Late {
		if word == highest {
			n-- // the longest, which is known
		}
		least += float64(n) * float64(counters.LatenessFromNS(word))
	}
	if least > float64(head.NowNS)*float64(max(b.pipeline, 1)) {
		b.fault("lateness: thread %d had %d ns, but its operations and what they began late are %.0f ns at least: where one waited for the one before, the store was late",
			thread, head.NowNS, least)
	}

	// Of a single operation, the response time is the lateness and the service time.
	if served.operations == 1 {
		from, to := int64(served.responseFromNS)-int64(served.serviceMaxNS),
			int64(served.responseToNS)-int64(served.serviceMaxNS)
		if got := int64(head.LatenessMaxNS); got < from || got > to {
			b.fault("lateness: thread %d's one operation ended %d to %d ns after it was due and took %d ns, but is reported to have begun %d ns late",
				thread, served.responseFromNS, served.responseToNS, served.serviceMaxNS, got)
		}
	}
}

// served is what a thread did, by its histograms.
type served struct {
	operations                   uint64
	ns                           float64 // at least, in all
	serviceMaxNS                 uint64
	responseFromNS, responseToNS uint64 // the longest is in between
}

func (b *bench) served(c *counters.File, r *ran, thread int) (s served) {
	for k, o := range r.file.Operations {
		if o != trace.Request && r.file.HasRequests() {
			continue // a step's time is in that of its request
		}
		slot := c.Slot(thread, k)
		for _, n := range slot.Outcomes {
			s.operations += n
		}
		s.serviceMaxNS = max(s.serviceMaxNS, slot.ServiceMaxNS)
		response := c.Response(thread, k)
		for bucket := range slot.Service {
			s.ns += float64(slot.Service[bucket]) * float64(histogram.Lowest(bucket))
			if response[bucket] > 0 && histogram.Lowest(bucket) >= s.responseFromNS {
				s.responseFromNS, s.responseToNS = histogram.Lowest(bucket),
					histogram.Lowest(bucket)+histogram.Width(bucket)-1
			}
		}
	}
	return s
}
