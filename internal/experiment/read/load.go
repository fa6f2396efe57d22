package read

import (
	"bytes"
	"errors"
	"reflect"

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
}

// ErrNotHere says that a driver is known, but can't be used on this machine.
var ErrNotHere = errors.New("not on this machine")

// Source is an experiment as a user gives it.
type Source struct {
	Text    []byte   // the file
	Name    string   // what errors call it; "": no file of the user's, so errors show no line of it
	Changes []Change // applied in order, after the scale's

	// FromStores leaves durability and keys to the stores where neither file nor changes give them:
	// the strongest class that all stores reach.
	FromStores bool
}

// Change is a change that was asked for on the command line.
type Change struct {
	Flag string // "--set", or a flag for one field, such as "--threads"
	// Path is the field: "phases.read.for". "phases.*.for" changes every measured phase. Empty: the
	// value is PATH=VALUE.
	Path  string
	Value string // YAML; of an axis, 1,8 means [1, 8]
}

// Loaded is an experiment that was read.
type Loaded struct {
	Experiment *experiment.Experiment
	// Notes say what was decided where the source left it open, a sentence each, lower case and
	// without a full stop.
	Notes []string

	root *node // with every change applied
}

// FileBytesMax is the most that an experiment's file may have: all examples together have less than a
// tenth of it.
const FileBytesMax = 1 << 20

// Load reads an experiment: text is the file, name what errors call it, sets are "path=value"
// changes. Every mistake of the user's is an *Error.
func Load(text []byte, name string, sets []string, drivers Drivers) (*experiment.Experiment, error) {
	source := Source{Text: text, Name: name}
	for _, set := range sets {
		source.Changes = append(source.Changes, Change{Flag: "--set", Value: set})
	}
	loaded, err := source.Load(drivers)
	if err != nil {
		return nil, err
	}
	return loaded.Experiment, nil
}

// Load reads the experiment. Every mistake of the user's is an *Error.
func (s Source) Load(drivers Drivers) (*Loaded, error) {
	root, err := readTree(s.Text, s.Name)
	if err != nil {
		return nil, err
	}
	loaded, mistake := s.load(root, drivers)
	if mistake != nil { // a nil *Error must not become an error that is not nil
		return nil, mistake
	}
	return loaded, nil
}

// readTree reads the file's text. A byte order mark, which some editors put before UTF-8, is none
// of it (YAML 1.2, 5.2).
func readTree(text []byte, name string) (*node, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	return parse(text, newSource(name, string(text), false), 0)
}

func (s Source) load(root *node, drivers Drivers) (*Loaded, *Error) {
	if root.kind != table {
		return nil, root.at.fail("", "expected an experiment: a table of name, stores, phases …, got %s", root.describe()).
			hint("assay init writes a commented example")
	}
	if err := rename(root, reflect.TypeFor[File](), ""); err != nil {
		return nil, err
	}
	var changes []change
	for _, a := range s.Changes {
		c, err := a.parse()
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	if err := checkScales(root); err != nil {
		return nil, err
	}
	scale, err := applyScale(root, changes)
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, c := range changes {
		if note := c.overCases(root); note != "" {
			notes = append(notes, note)
		}
		for _, one := range c.each(root) {
			if err := one.apply(root); err != nil {
				return nil, err
			}
		}
	}
	var file File
	if err := decode(root, reflect.ValueOf(&file).Elem(), ""); err != nil {
		return nil, err
	}
	r := resolver{root: root, file: &file, drivers: drivers, follows: followed(changes), fromStores: s.FromStores, notes: notes}
	e, err := r.resolve(scale)
	if err != nil {
		return nil, err
	}
	return &Loaded{e, r.notes, root}, nil
}

// checkScales reads the file as it stands and as each scale makes it, so that a slip in a scale
// shows before the day on which it is chosen.
func checkScales(root *node) *Error {
	var plain File
	if err := decode(root, reflect.ValueOf(&plain).Elem(), ""); err != nil {
		return err
	}
	scales := root.field("scales")
	if scales == nil {
		return nil
	}
	const scalesMax = 50 // each one reads the whole file
	if len(scales.entries) > scalesMax {
		return scales.at.fail("scales", "%d scales: at most %d", len(scales.entries), scalesMax)
	}
	for _, e := range scales.entries {
		changed := root.clone()
		if err := applyChanges(changed, e.value, "scales."+e.key); err != nil {
			return err
		}
		var file File
		if err := decode(changed, reflect.ValueOf(&file).Elem(), ""); err != nil {
			return err
		}
	}
	return nil
}
