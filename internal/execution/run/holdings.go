package run

import (
	"fmt"
	"time"

	"assay/internal/evidence/audit"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/control"
	"assay/internal/experiment"
)

// inspect asks the store of itself; nil: it can't be asked.
type inspect func() (control.Inspected, error)

// holdings are what a trial's store holds: what stood in it before a phase, and how to find out what it
// holds after it.
type holdings struct {
	inspect inspect
	evicted *evictions
	before  *uint64 // live records; nil: not known

	keeps       bool    // it keeps what it is given: it is not a null driver
	directory   string  // of its files; "": none
	memoryBytes *uint64 // that the trial may use; nil: not known
	experiment  *experiment.Experiment
	phases      []audit.Phase // so far
}

// evicts reports whether the store counts the records that it removes by itself.
func (h *holdings) evicts() bool { return h != nil && h.evicted.counts }

// drained is what was there once the store had no work left.
type drained struct {
	stats   map[string]float64
	evicted *uint64
	sizes   record.Sizes
}

// note notes in a phase's result what was there after it.
func (d drained) note(r *record.Phase) {
	r.Stats, r.Evicted, r.Sizes = d.stats, d.evicted, d.sizes
	for i := range r.Groups {
		r.Groups[i].Evicted = d.evicted
	}
}

// drainMax is how long background work is waited for after a phase, before sizes are taken and the
// next phase begins.
const drainMax = 10 * time.Second

// drain waits until the store says that it has no work left after a phase, and takes the sizes.
func (h *holdings) drain(done audit.Phase) (d drained, err error) {
	began, idle := time.Now(), false
	for h.inspect != nil {
		inspected, err := h.inspect()
		if err != nil {
			return d, fmt.Errorf("inspect: %w", err)
		}
		d.stats, d.evicted = inspected.Stats, h.evicted.since(inspected.Stats)
		if idle = !inspected.Busy; idle || time.Since(began) > drainMax {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	took := time.Since(began).Seconds()
	d.sizes = h.sizes(done)
	d.sizes.Drained, d.sizes.DrainSeconds = idle, took
	return d, nil
}

// sizes are what stands where after a phase.
func (h *holdings) sizes(done audit.Phase) (s record.Sizes) {
	if h.directory != "" {
		if bytes, files, err := host.DiskUse(h.directory); err == nil {
			s.DiskBytes, s.Files = &bytes, &files
		}
	}
	if !h.keeps {
		return s
	}
	phases := append(h.phases[:len(h.phases):len(h.phases)], done)
	records, known := audit.Live(phases)
	if !known {
		return s
	}
	s.Records = &records
	if bytes, known := audit.LogicalBytes(phases, records, h.experiment.Keys, h.experiment.Values.Record()); known {
		s.LogicalBytes = &bytes
		if h.memoryBytes != nil && *h.memoryBytes > 0 {
			ratio := float64(bytes) / float64(*h.memoryBytes)
			s.DataToMemory = &ratio
		}
	}
	return s
}
