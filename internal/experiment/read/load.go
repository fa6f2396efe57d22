package read

import (
	"bytes"
	"reflect"

	"assay/internal/experiment"
)

// Source is an experiment as a user gives it.
type Source struct {
	Text    []byte   // the file
	Name    string   // what errors call it; "": no file of the user's, so errors show no line of it
	Changes []Change // applied in order, after the scale's

	// Folder is where files that the experiment names are looked for; "": where Assay runs.
	Folder string

	// FromStores leaves durability and keys to the stores where neither file nor changes give them:
	// the strongest class that all stores reach.
	FromStores bool
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
	r := resolver{root: root, file: &file, drivers: drivers, follows: followed(changes), fromStores: s.FromStores,
		folder: s.Folder, notes: notes}
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
