package experiment

import (
	"slices"
)

// NullDriver is the driver that does nothing: its rate is the ceiling. It is planned in every
// experiment by itself.
const NullDriver = "null"

// CeilingNamed returns the null driver whose arm has the name.
func (e *Experiment) CeilingNamed(arm string) (Store, bool) {
	i := slices.IndexFunc(e.Ceilings, func(s Store) bool { return s.Name == arm })
	if i < 0 {
		return Store{}, false
	}
	return e.Ceilings[i], true
}

// CeilingOf returns the name of the arm whose rate is the ceiling of a store's; "" if it is not
// known. Position −1 is Assay's own null driver.
func (e *Experiment) CeilingOf(storeIndex int) string {
	if storeIndex < 0 || len(e.Stores[storeIndex].Worker) == 0 {
		return NullDriver
	}
	return e.Stores[storeIndex].Ceiling
}
