package host

import (
	"os"
	"time"
)

// Rest watches what a trial may leave to the next one: dirty pages, the queue of the device that
// holds a directory, and whatever still works. It is not safe for concurrent use.
type Rest struct {
	sampler *Sampler
	usage   Usage
	weight  *float64 // milliseconds that requests have waited and been served, summed over them
	at      time.Time
}

// Left is what trials left of the machine's rest, at one look of 0.1 s. Nil: not measured.
type Left struct {
	DirtyBytes *float64 `json:"dirty_bytes,omitempty"` // dirty pages, and those that are being written
	// Requests at the data directory's device, on average since the look before.
	Queue *float64 `json:"queue,omitempty"`
	// Share (0 to 1) of the machine's CPU time that others than Assay used since then.
	CPU *float64 `json:"cpu,omitempty"`
}

// What [Left.Above] lists.
const (
	LeftDirty = "dirty"
	LeftQueue = "queue"
	LeftCPU   = "cpu"
)

// What a machine at rest may have more than before the first trial.
const (
	restDirtyBytes = 16 << 20
	restQueue      = 0.25
	restCPU        = 0.10
)

// NewRest watches the machine and the device of a directory; "": no device.
func NewRest(directory string) *Rest {
	s := newSampler(kernelRoots, directory, os.Getpid())
	s.cpus = OwnCPUs()
	return newRest(s)
}

func newRest(s *Sampler) *Rest {
	rest := &Rest{sampler: s}
	rest.Look()
	return rest
}

// Look reads what is left now. Queue and CPU are of the time since the look before.
func (r *Rest) Look() (left Left) {
	telemetry := &r.sampler.telemetry
	if m, err := telemetry.proc.Meminfo(); err == nil && m.Dirty != nil && m.Writeback != nil {
		bytes := float64((*m.Dirty + *m.Writeback) << 10)
		left.DirtyBytes = &bytes
	}
	now := time.Now()
	var weight *float64
	if telemetry.device.disk != "" {
		if stats, err := telemetry.diskstats(); err == nil {
			ticks := float64(stats.WeightedIOTicks)
			weight = &ticks
		}
	}
	if waited, passed := difference(weight, r.weight), now.Sub(r.at); waited != nil && passed > 0 {
		queue := *waited / 1e3 / passed.Seconds()
		left.Queue = &queue
	}
	// The data directory is not walked: what is looked at is the machine.
	usage := Usage{At: now, kernelTick: r.sampler.kernelTick}
	if r.sampler.procError == nil {
		r.sampler.processes(&usage)
	}
	left.CPU = usage.Since(r.usage).Foreign
	r.usage, r.weight, r.at = usage, weight, now
	return left
}

// Above lists what is not back where it was before. What was not measured
// in both is not listed.
func (l Left) Above(before Left) (above []string) {
	for _, of := range []struct {
		name        string
		now, before *float64
		more        float64
	}{
		{LeftDirty, l.DirtyBytes, before.DirtyBytes, restDirtyBytes},
		{LeftQueue, l.Queue, before.Queue, restQueue},
		{LeftCPU, l.CPU, before.CPU, restCPU},
	} {
		if of.now != nil && of.before != nil && *of.now > *of.before+of.more {
			above = append(above, of.name)
		}
	}
	return above
}
