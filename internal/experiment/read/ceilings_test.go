package read_test

import (
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/store"
)

// nullsOf fakes two workers with a null driver and one without: ./a and ./b host "nought", ./bare
// hosts none.
func nullsOf() read.Drivers {
	d := fakeDrivers()
	plain := d.Describe
	d.Describe = func(s experiment.Store) (store.Description, error) {
		description, err := plain(s)
		if s.Driver == "nought" {
			description.Kind = store.None
		}
		return description, err
	}
	d.NullOf = func(s experiment.Store) (experiment.Store, bool) {
		nought := embedded("nought", store.D1, store.D3)
		nought.Kind = store.None
		return experiment.Store{Driver: "nought", Worker: s.Worker, Description: nought}, s.Worker[0] != "./bare"
	}
	return d
}

func TestStoresOfOtherWorkersGetTheCeilingOfTheirs(t *testing.T) {
	for _, c := range []struct {
		stores   string
		ceilings string // names of Experiment.Ceilings
		of       string // Store.Ceiling of each store
	}{
		{"[bbolt, pebble]", "", "- -"},
		{"[bbolt, {driver: x, worker: [./a]}]", "nought", "- nought"},
		{"[{driver: x, worker: [./a]}, {driver: y, worker: [./a]}]", "nought", "nought nought"},
		{"[{driver: x, worker: [./a]}, {driver: y, worker: [./b]}]", "nought null-of-y", "nought null-of-y"},
		{"[{driver: x, worker: [./a]}, {driver: y, worker: [./a, more]}]", "nought null-of-y", "nought null-of-y"}, // other arguments, another harness
		{"[{driver: x, name: nought, worker: [./a]}]", "null-of-nought", "null-of-nought"},
		{"[{driver: x, worker: [./bare]}]", "", "-"},
		{"[{driver: x, worker: [./a]}, {driver: nought, name: zero, worker: [./a]}]", "", "zero zero"},
	} {
		text := "name: ceilings\nstores: " + c.stores + "\nrecords: 10\ndurability: D1\nphases:\n  - {name: load, load: true}\n  - {name: read, mix: {read: 1}, for: 1s}\n"
		e, err := read.Load([]byte(text), "test.yaml", nil, nullsOf())
		if err != nil {
			t.Fatalf("%s: %v", c.stores, err)
		}
		names, of := "", ""
		for _, null := range e.Ceilings {
			names = joined(names, null.Name)
		}
		for i, s := range e.Stores {
			name := s.Ceiling
			if name == "" {
				name = "-"
			}
			of = joined(of, name)
			if want := s.Ceiling; len(s.Worker) == 0 && e.CeilingOf(i) != experiment.NullDriver ||
				len(s.Worker) > 0 && e.CeilingOf(i) != want {
				t.Errorf("%s: the ceiling of %s is %q", c.stores, s.Name, e.CeilingOf(i))
			}
		}
		if names != c.ceilings || of != c.of {
			t.Errorf("%s: ceilings %q for stores %q, want %q for %q", c.stores, names, of, c.ceilings, c.of)
		}
	}
}

func joined(list, word string) string {
	if list == "" {
		return word
	}
	return list + " " + word
}
