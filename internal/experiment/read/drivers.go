package read

import (
	"errors"

	"assay/internal/experiment"
	"assay/store"
)

// Drivers is how package read learns what stores can do; the command fills it in, tests fake it.
type Drivers struct {
	// Names are Assay's own drivers, for messages.
	Names []string
	// Describe returns the description of a store's driver: a look-up, or for a store with a worker
	// what that worker says. An error says why there is no such driver here. It wraps ErrNotHere
	// where Assay has such a driver, but this machine lacks what it needs: the store is then
	// planned, and shown as refused with that reason.
	Describe func(experiment.Store) (store.Description, error)
	// WorkerOf returns the command of the worker that hosts one of Names; nil, or nil as a
	// function: Assay's own.
	WorkerOf func(driver string) []string
	// OnJVM reports whether a driver of Names is a client or an engine for the JVM; nil: none is.
	OnJVM func(driver string) bool
	// JarsOf returns the folder of jars that Maven resolves group:artifact:version to.
	JarsOf func(coordinates string) (folder string, err error)
	// NullOf returns the null driver (driver, worker, description; no name) that runs in the same
	// loop as a store with a worker, which Describe has described; false, or nil as a function:
	// there is none.
	NullOf func(experiment.Store) (experiment.Store, bool)
	// ProgramOf returns the server that a driver speaks to, if Assay can start it; false, or nil as
	// a function: it can't.
	ProgramOf func(driver string) (experiment.Program, bool)
	// OwnCPUs are the CPUs that a trial may use on this machine, in the order in which a number of them is
	// taken; nil, or nil as a function: not known, and taken from 0 on.
	OwnCPUs func() []int
	// Gives asks a server that somebody has started what it gives as it is set; nil, or nil as a
	// function: it was not asked, or does not say.
	Gives func(experiment.Store) *Given
}

// Given is what a server gives as it is set.
type Given struct {
	Classes  []DurabilityForm // of those that its driver has, the strongest first
	Stronger string           // what it says when it is asked for a stronger class; "": it gives the strongest
}

// ErrNotHere says that a driver is known, but can't be used on this machine.
var ErrNotHere = errors.New("not on this machine")
