package crash

import (
	"time"
)

// Rate is how fast the store did its single writes. It is of one short life without a warm-up, and is
// compared with nothing but the loss beside it and the rig's cost.
type Rate struct {
	// DiskPerSecond is on the disk of [Options.DataRoot].
	DiskPerSecond float64 `json:"disk_per_second,omitempty"`
	// RigPerSecond is on the disk that is recorded: FUSE below a real file system, whose flushes reach no
	// device.
	RigPerSecond float64 `json:"rig_per_second,omitempty"`
}

// rateTime bounds the single writes that are made for the rate on the disk.
const rateTime = 2 * time.Second

// measure does the workload on the disk, up to the end of the single writes or of rateTime of them.
func (t *tester) measure() (perSecond float64, err error) {
	s, err := t.newSession(0)
	if err != nil {
		return 0, err
	}
	defer s.discard(&err)
	if err := s.begin(); err != nil {
		return 0, err
	}
	s.writesFor = rateTime
	var stamps []Stamp
	_, err = s.work(t.options.Seed, &moment{phase: phaseWrites, share: 1}, time.Now(), &stamps)
	return rateOf(stamps), err
}

// rateOf is how many single writes were done per second, between the first and the last look at them; 0:
// there were too few.
func rateOf(stamps []Stamp) float64 {
	var first, last *Stamp
	for i := range stamps {
		if s := &stamps[i]; s.Phase == phaseWrites && sum(s.Acknowledged) > 0 {
			if first == nil {
				first = s
			}
			// an end that nothing follows is no time of work
			if last == nil || sum(s.Acknowledged) > sum(last.Acknowledged) {
				last = s
			}
		}
	}
	if first == nil || last.NS <= first.NS {
		return 0
	}
	return float64(sum(last.Acknowledged)-sum(first.Acknowledged)) / (float64(last.NS-first.NS) / 1e9)
}
