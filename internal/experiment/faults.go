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
)

// Momentary reports whether what a fault does is over at once: nothing of it is undone.
func Momentary(does string) bool { return does == FaultReset || does == FaultDrop }

// ByProxy reports whether a proxy does it, and not the server's processes.
func ByProxy(does string) bool {
	return does == FaultCut || does == FaultDelay || does == FaultBandwidth || Momentary(does)
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
	}
	return ""
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
		case ByProxy(f.Does) && s.Server != nil && s.Server.Roams:
			return &Refusal{field, fmt.Sprintf("nothing can stand between %s and its clients (%s): they connect to the addresses that its servers tell them, "+
				"past Assay's proxy (phase %s): use freeze", s.Name, f.Does, p.Name)}
		}
	}
	return nil
}
