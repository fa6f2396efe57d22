package read

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/experiment"
	"assay/store"
)

// ceilings gives each store that another worker hosts the null driver of that worker: the rate of
// Assay's own null driver says nothing of another program's loop. A null driver that several stores
// share is one ceiling, and one that the file itself lists as a store is not planned again.
func (r *resolver) ceilings() {
	for i := range r.e.Stores {
		s := &r.e.Stores[i]
		if len(s.Worker) == 0 || s.Missing != "" {
			continue // Assay's own null driver is its ceiling, or it never runs
		}
		if s.Description.Kind == store.None {
			s.Ceiling = s.Name
			continue
		}
		if r.drivers.NullOf == nil {
			continue
		}
		null, ok := r.drivers.NullOf(*s)
		if !ok {
			continue
		}
		if known := r.sameWorker(null); known != "" {
			s.Ceiling = known
			continue
		}
		null.Name = r.ceilingName(null.Driver, s.Name)
		r.e.Ceilings = append(r.e.Ceilings, null)
		s.Ceiling = null.Name
	}
}

// sameWorker returns the name of the arm that is this null driver already; "" if none is.
func (r *resolver) sameWorker(null experiment.Store) string {
	for _, s := range slices.Concat(r.e.Ceilings, r.e.Stores) {
		if s.Missing == "" && s.Driver == null.Driver && slices.Equal(s.Worker, null.Worker) {
			return s.Name
		}
	}
	return ""
}

// ceilingName is the driver's name where that is free and does for a file name, and otherwise one
// with the store's in it.
func (r *resolver) ceilingName(driver, of string) string {
	free := func(name string) bool {
		return len(name) <= nameBytesMax && plainName(name) && !strings.EqualFold(name, experiment.NullDriver) &&
			!slices.ContainsFunc(slices.Concat(r.e.Ceilings, r.e.Stores),
				func(s experiment.Store) bool { return strings.EqualFold(s.Name, name) })
	}
	if free(driver) {
		return driver
	}
	if name := experiment.NullDriver + "-of-" + of; free(name) {
		return name
	}
	for number := 2; ; number++ {
		if name := fmt.Sprintf("%s-%d", experiment.NullDriver, number); free(name) {
			return name
		}
	}
}
