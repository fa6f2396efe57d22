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
)

// Fault is something that happens to one of a store's servers while a phase runs.
type Fault struct {
	At   time.Duration `json:"at_ns"`
	Does string        `json:"does"`
	Node int           `json:"node"` // from 1
}

// HasCut reports whether a server is cut off in the phase.
func (p Phase) HasCut() bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Does == FaultCut })
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
		case f.Does == FaultCut && s.Server != nil && s.Server.Roams:
			return &Refusal{field, fmt.Sprintf("%s can't be cut off: its clients connect to the addresses that its servers tell them, past Assay's proxy (phase %s): use freeze", s.Name, p.Name)}
		}
	}
	return nil
}
