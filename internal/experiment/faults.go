package experiment

import (
	"fmt"
	"slices"
	"time"

	"assay/internal/base/format"
	"assay/store"
)

// What a fault does.
const (
	FaultKill   = "kill"
	FaultFreeze = "freeze"
	FaultCut    = "cut"
	FaultStart  = "start" // undoes one of the others

	// What the proxy between clients and a server does.
	FaultDelay     = "delay"
	FaultBandwidth = "bandwidth"
	FaultReset     = "reset"            // at once, with nothing to undo
	FaultDrop      = "drop_connections" // likewise

	// What the machine gives a server that Assay has started.
	FaultMemory   = "memory"
	FaultCPU      = "cpu"
	FaultSlowDisk = "slow_disk"
)

// Momentary reports whether what a fault does is over at once: nothing of it is undone.
func Momentary(does string) bool { return does == FaultReset || does == FaultDrop }

// ByProxy reports whether a proxy does it, and not the server's processes.
func ByProxy(does string) bool {
	return does == FaultCut || does == FaultDelay || does == FaultBandwidth || Momentary(does)
}

// ByMachine reports whether it is a limit of what the machine gives a server's processes.
func ByMachine(does string) bool {
	return does == FaultMemory || does == FaultCPU || does == FaultSlowDisk
}

// SlowDisk is the most that a disk does for a server in a second, and how much longer it takes. A zero is no
// limit.
type SlowDisk struct {
	Latency time.Duration `json:"latency_ns,omitempty"` // of a sync, and of a read that no cache has

	ReadIOPS   uint64 `json:"read_iops,omitempty"`
	WriteIOPS  uint64 `json:"write_iops,omitempty"`
	ReadBytes  uint64 `json:"read_bytes,omitempty"`
	WriteBytes uint64 `json:"write_bytes,omitempty"`
}

func (d SlowDisk) String() string {
	var all []string
	if d.Latency > 0 {
		all = append(all, "answers "+d.Latency.String()+" later")
	}
	for _, one := range []struct {
		most  uint64
		words string
	}{{d.ReadIOPS, format.Count(d.ReadIOPS) + " reads/s"}, {d.WriteIOPS, format.Count(d.WriteIOPS) + " writes/s"},
		{d.ReadBytes, format.Limit(d.ReadBytes) + "/s read"}, {d.WriteBytes, format.Limit(d.WriteBytes) + "/s written"}} {
		if one.most > 0 {
			all = append(all, one.words)
		}
	}
	return format.List(all)
}

// Fault is something that happens to one of a store's servers while a phase runs.
type Fault struct {
	At   time.Duration `json:"at_ns"`
	Does string        `json:"does"`
	Node int           `json:"node"` // from 1

	Delay          time.Duration `json:"delay_ns,omitempty"`  // of FaultDelay: that answers come later
	Jitter         time.Duration `json:"jitter_ns,omitempty"` // give or take
	BytesPerSecond float64       `json:"bytes_per_s,omitempty"`
	Share          float64       `json:"share,omitempty"` // of the connections

	MemoryBytes uint64    `json:"memory_bytes,omitempty"`
	CPUs        float64   `json:"cpus,omitempty"` // CPU time a second
	Disk        *SlowDisk `json:"disk,omitempty"` // nil: it is no FaultSlowDisk
}

// Amount says how much it does: "20ms ± 5ms", "10 MB/s", "10 %". "": there is no more to say.
func (f Fault) Amount() string {
	switch {
	case f.Does == FaultDelay && f.Jitter > 0:
		return fmt.Sprintf("%s ± %s", f.Delay, f.Jitter)
	case f.Does == FaultDelay:
		return f.Delay.String()
	case f.Does == FaultBandwidth:
		return format.Bytes(f.BytesPerSecond) + "/s"
	case f.Does == FaultDrop:
		return format.Percent(f.Share)
	case f.Does == FaultMemory:
		return format.Limit(f.MemoryBytes)
	case f.Does == FaultCPU:
		return format.Percent(f.CPUs)
	case f.Does == FaultSlowDisk:
		return f.Disk.String()
	}
	return ""
}

// Limits reports whether it limits what a disk does in a second.
func (d SlowDisk) Limits() bool { d.Latency = 0; return d != SlowDisk{} }

// AnswersLate reports whether a disk answers later in the phase. It is a disk of Assay's own then.
func (f Fault) AnswersLate() bool { return f.Disk != nil && f.Disk.Latency > 0 }

// AnswersLate reports whether the disk of a node answers later in some phase.
func AnswersLate(phases []Phase, node int) bool {
	return slices.ContainsFunc(phases, func(p Phase) bool {
		return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Node == node && f.AnswersLate() })
	})
}

// Limited returns which of memory, CPU and disk of a node the phases' faults limit.
func Limited(phases []Phase, node int) (does []string) {
	for _, p := range phases {
		for _, f := range p.Faults {
			if f.Disk != nil && !f.Disk.Limits() {
				continue // it is Assay's, and not the kernel's
			}
			if f.Node == node && ByMachine(f.Does) && !slices.Contains(does, f.Does) {
				does = append(does, f.Does)
			}
		}
	}
	return does
}

// NeedsProxy reports whether Assay must stand between clients and a server in the phase.
func (p Phase) NeedsProxy() bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return ByProxy(f.Does) })
}

// refuseFaults says why the faults of a phase can't happen to a store.
func refuseFaults(s Store, p Phase) *Refusal {
	if len(p.Faults) == 0 || s.Description.Kind == store.None { // the null driver is the ceiling of those that can
		return nil
	}
	field := "phases." + p.Name + ".faults"
	if s.Description.Kind != store.Server {
		return &Refusal{field, fmt.Sprintf("%s has no server that something could happen to (phase %s)", s.Name, p.Name)}
	}
	for _, f := range p.Faults {
		switch {
		case f.Node > s.Servers():
			return &Refusal{field, fmt.Sprintf("%s has %s: there is no node %d (phase %s)", s.Name,
				format.Plural(s.Servers(), "server", ""), f.Node, p.Name)}
		case s.Server == nil && (f.Does == FaultKill || f.Does == FaultFreeze):
			return &Refusal{field, fmt.Sprintf("%s was not started by Assay, which ends and stops only its own servers (phase %s): use cut, or server: start", s.Name, p.Name)}
		case s.Server == nil && ByMachine(f.Does):
			return &Refusal{field, fmt.Sprintf("%s was not started by Assay, which limits only its own servers (%s in phase %s): "+
				"use server: start", s.Name, f.Does, p.Name)}
		case f.Does == FaultSlowDisk && s.Server.InMemory:
			return &Refusal{field, fmt.Sprintf("%s keeps no files: a slow disk changes nothing (phase %s)", s.Name, p.Name)}
		case ByProxy(f.Does) && s.Server != nil && s.Server.Roams:
			return &Refusal{field, fmt.Sprintf("nothing can stand between %s and its clients (%s): they connect to the addresses that its servers tell them, "+
				"past Assay's proxy (phase %s): use freeze", s.Name, f.Does, p.Name)}
		}
	}
	return nil
}
