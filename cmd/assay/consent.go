package main

import (
	"fmt"
	"slices"

	"assay/drivers"
	"assay/internal/base/format"
	"assay/internal/execution/control"
	"assay/store"
)

// travelling are the options with a text of any form that a conductor may give to an agent: they name
// places within the store. Others name files, variables, users or hosts, which are the agent's own to
// give. Options of other types are numbers, times and choices, which name nothing.
var travelling = []string{"bucket", "database", "keyspace", "schema", "stats", "weights"}

// consentTo returns what says why an agent does not open a store for a conductor; allowed are the options
// beyond those that may travel.
func consentTo(allowed []string) func(*control.Open) error {
	return func(open *control.Open) error {
		at := slices.IndexFunc(drivers.All(), func(d store.Driver) bool { return d.Describe().Name == open.Driver })
		if at < 0 {
			return fmt.Errorf("this agent knows no driver %s", format.CleanMax(open.Driver, 40))
		}
		d := drivers.All()[at].Describe()
		if d.Kind == store.Embedded {
			return fmt.Errorf("an agent loads servers: %s would write into the agent's own folder", d.Name)
		}
		for name, value := range open.Options {
			i := slices.IndexFunc(d.Options, func(o store.Option) bool { return o.Name == name })
			if i < 0 || value == d.Options[i].Default || d.Options[i].Type != store.String ||
				slices.Contains(travelling, name) || slices.Contains(allowed, name) {
				continue // one that the driver does not have, the worker refuses
			}
			return fmt.Errorf("the option %s of %s may name a file, a variable, a user or a host of the agent's machine\n"+
				"assay agent --allow %s lets conductors give it", name, d.Name, name)
		}
		return nil
	}
}
