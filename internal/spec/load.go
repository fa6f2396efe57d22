package spec

import (
	"bytes"
	"errors"
	"reflect"

	"assay/store"
)

// Drivers is how spec learns what stores can do; the command fills it in, tests fake it.
type Drivers struct {
	// Names are Assay's own drivers, for messages.
	Names []string
	// Describe returns the description of a store's driver: a look-up, or for a store with a worker what that worker
	// says. An error says why there is no such driver here.
	// It wraps ErrNotHere where Assay has such a driver, but this machine lacks what it needs: the store is then planned, and
	// shown as refused with that reason.
	Describe func(Store) (store.Description, error)
	// WorkerOf returns the command of the worker that hosts one of Names; nil, or nil as a function: Assay's own.
	WorkerOf func(driver string) []string
	// NullOf returns the null driver (driver, worker, description; no name) that runs in the same loop as a store with a worker,
	// which Describe has described; false, or nil as a function: there is none.
	NullOf func(Store) (Store, bool)
}

// ErrNotHere says that a driver is known, but can't be used on this machine.
var ErrNotHere = errors.New("not on this machine")

// NullDriver is the driver that does nothing: its rate is the ceiling. It is planned in every experiment by itself.
const NullDriver = "null"

// Load reads an experiment: text is the file, name what errors call it, sets are "path=value" changes, applied in
// order after the scale's. Every mistake of the user's is an *Error.
func Load(text []byte, name string, sets []string, drivers Drivers) (*Experiment, error) {
	root, err := readTree(text, name)
	if err != nil {
		return nil, err
	}
	e, mistake := load(root, sets, drivers)
	if mistake != nil { // a nil *Error must not become an error that is not nil
		return nil, mistake
	}
	return e, nil
}

// readTree reads the file's text. A byte order mark, which some editors put before UTF-8, is none of it (YAML 1.2, 5.2).
func readTree(text []byte, name string) (*node, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	return parse(text, newSource(name, string(text), false), 0)
}

func load(root *node, sets []string, drivers Drivers) (*Experiment, *Error) {
	if root.kind != table {
		return nil, root.at.fail("", "expected an experiment: a table of name, stores, phases …, got %s", root.describe()).
			hint("assay init writes a commented example")
	}
	if err := rename(root, reflect.TypeFor[File](), ""); err != nil {
		return nil, err
	}
	var changes []change
	for _, text := range sets {
		c, err := parseSet(text)
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
	for _, c := range changes {
		if err := c.apply(root); err != nil {
			return nil, err
		}
	}
	var file File
	if err := decode(root, reflect.ValueOf(&file).Elem(), ""); err != nil {
		return nil, err
	}
	r := resolver{root: root, file: &file, drivers: drivers}
	return r.resolve(scale)
}

// checkScales reads the file as it stands and as each scale makes it, so that a slip in a scale shows before the day
// on which it is chosen.
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
