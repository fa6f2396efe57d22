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

// Trial is one arm, once, in one cell: an entry of plan.json. IDs sort in the order in which trials run.
type Trial struct {
	// Name of the trial, and of its directory: "b2-007-pebble-D1" is block, position, arm, class; a repeat
	// ends in "-again1".
	ID string `json:"id"`
	// Each block holds every arm of a cell once, in random order; from 1 on.
	Block int `json:"block"`
	// The store's name, with " (A/A)" for the baseline's second arm. Of a null driver "null" (Assay's own),
	// its name in the experiment's ceilings, or that of a store.
	Arm string `json:"arm"`
	// measured, a/a (the baseline a second time) or ceiling (a null driver).
	Role Role `json:"role"`
	// Position in the experiment's stores. -1: a null driver that the file does not list.
	Store int `json:"store"`
	Cell  int `json:"cell"` // position in the experiment's cells
	// Which further try of a trial that the machine disturbed this is, at the end of its block. The last
	// good try counts; all are kept. 0: the first.
	Again int `json:"again,omitempty"`
	// Of the traces. It is the same for all arms of a cell in a block, and for all tries, so that they do
	// the same operations.
	Seed uint64 `json:"seed"`
	// Optional phases that are left out of the trial → why the store can't do them. They are shown as such.
	Skip map[string]string `json:"skip,omitempty"`
	// Why the trial can't run at all. It is planned and shown anyway.
	Refuse string `json:"refuse,omitempty"`
	// The field of the experiment file that asks too much: durability, keys … "": of no refusal, or of an
	// older run.
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
