// Package plan turns an experiment into trials: each cell's arms, once a block, in an order
// that the seed shuffles and that lets each arm come after each store about as often.
package plan

import (
	"slices"
	"time"

	"assay/internal/experiment"
)

// Role is why an arm is there.
type Role string

const (
	Measured Role = "measured" // a store of the experiment
	AA       Role = "a/a"      // the baseline a second time: its distance from itself is the noise
	Ceiling  Role = "ceiling"  // a null driver: the rate that the harness of its worker itself allows
)

// Trial is one arm, once, in one cell.
type Trial struct {
	ID    string `json:"id"` // "b2-007-pebble-D1": block, position, arm, class, of a repeat also "-again1": the name of its directory
	Block int    `json:"block"`
	Arm   string `json:"arm"` // store name; with " (A/A)" for the twin; of a ceiling "null" (Assay's own), the name of one of Experiment.Ceilings or of a store
	Role  Role   `json:"role"`
	Store int    `json:"store"`           // position in Experiment.Stores; -1: a null driver that the file does not list
	Cell  int    `json:"cell"`            // position in Experiment.Cells
	Again int    `json:"again,omitempty"` // which repeat of a trial that the machine spoilt; 0: the first try
	Seed  uint64 `json:"seed"`            // of the traces: the same for all arms of a cell in a block, so that they do the same operations
	// Skip has the optional phases that the store can't do, and why. They are left out of the trial
	// and shown as such.
	Skip   map[string]string `json:"skip,omitempty"`
	Refuse string            `json:"refuse,omitempty"` // why the trial can't run at all; it is planned and shown, never skipped
	// RefusedBy is the field of the experiment file that asks too much: "durability", "keys". "": of no refusal,
	// or of an older run.
	RefusedBy string `json:"refused_by,omitempty"`
}

// Slot is what the tries of one trial have in common: an arm's place in a block.
type Slot struct {
	Block, Cell int
	Arm         string
	Role        Role
}

// Slot returns the trial's place in its block.
func (t Trial) Slot() Slot { return Slot{t.Block, t.Cell, t.Arm, t.Role} }

// ceilingMax is how long a null driver does a phase at most. Nothing grows in it: a longer look
// would show the same rate.
const ceilingMax = time.Second

// Phase returns a phase as the trial does it: a null driver ends it sooner, and its groups with it.
// Under open load, arrivals end with the phase, and so does a null driver.
func (t Trial) Phase(p experiment.Phase) experiment.Phase {
	open := slices.ContainsFunc(p.Parts(), func(part experiment.Phase) bool { return part.Rate > 0 })
	if t.Role == Ceiling && p.Capacity != nil {
		p.Duration = time.Duration(p.Capacity.QuickSeconds() * float64(time.Second))
		return p
	}
	if t.Role == Ceiling && !open {
		return p.Lasting(min(p.Duration, ceilingMax))
	}
	return p
}

// CellOf returns the trial's parameters.
func (t Trial) CellOf(e *experiment.Experiment) experiment.Cell { return e.Cells[t.Cell] }
