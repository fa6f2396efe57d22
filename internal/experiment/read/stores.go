package read

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/internal/experiment"
)

// tunedBytesMax is the most that the name of a workload has on which a store was tuned.
const tunedBytesMax = 200

func (r *resolver) stores() *Error {
	if len(r.file.Stores) == 0 {
		return r.fail([]string{"stores"}, "no stores: there is nothing to measure").
			hint("expected stores: [%s], or a list of tables with driver, name, options …", strings.Join(firstOf(r.driverNames(), 3), ", "))
	}
	if len(r.file.Stores) > storesMax {
		return r.fail([]string{"stores"}, "%d stores: at most %d", len(r.file.Stores), storesMax)
	}
	var names []string
	r.nameStores()
	for i, s := range r.file.Stores {
		resolved, err := r.ofStore(i).store(i, s)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, resolved.Name) }) {
			return r.fail([]string{"stores", fmt.Sprint(i), "name"}, "a second store named %q", resolved.Name).
				hint("give one of them another name: {driver: %s, name: %s-2}", resolved.Driver, resolved.Driver)
		}
		names = append(names, resolved.Name)
		r.e.Stores = append(r.e.Stores, resolved)
	}
	r.ceilings()
	if r.follows["baseline"] && r.file.Baseline != "" && !slices.Contains(names, r.file.Baseline) {
		r.lost, r.file.Baseline = r.file.Baseline, names[0] // until baseline knows better
	}
	r.e.Baseline, r.e.BaselineNamed = orText(r.file.Baseline, names[0]), r.file.Baseline != ""
	if !slices.Contains(names, r.e.Baseline) {
		return r.fail([]string{"baseline"}, "the baseline %q is none of the stores", r.e.Baseline).
			hint("expected one of %s", strings.Join(names, ", ")).near(r.e.Baseline, names)
	}
	return nil
}

// nameStores names the stores that the file names not, after their drivers, or what is started.
func (r *resolver) nameStores() {
	var arms []startedArm
	for i := range r.file.Stores {
		s := &r.file.Stores[i]
		if s.Name != "" {
			continue
		}
		s.Name = s.Driver
		if b := s.Server.Build; b != nil {
			s.Name += behind("-", shortCommit(b.Commit))
		} else if s.Server.Start {
			program := s.Server.Program
			if s.Server.Image != "" {
				program = experiment.ImageBinary(s.Server.Image, program)
			}
			arms = append(arms, startedArm{&s.Name, s.Driver, program})
		}
	}
	nameByPrograms(arms, r.drivers.ProgramOf)
}

func (r storeResolver) store(i int, s StoreFile) (experiment.Store, *Error) {
	if s.Driver == "" && r.namesNull(i) || s.Driver == experiment.NullDriver {
		return experiment.Store{}, r.fail(r.in("driver"), "the null driver is not a store: it is added to every experiment by itself, as the ceiling").
			hint("leave this entry out")
	}
	if s.Driver == "" {
		return experiment.Store{}, r.fail(r.in(), "a store without a driver").hint("expected driver: NAME, one of %s", strings.Join(r.driverNames(), ", "))
	}
	resolved := experiment.Store{Name: s.Name, Driver: s.Driver, Worker: s.Worker, Endpoints: s.Endpoints,
		Options: s.Options, Tuned: strings.Join(strings.Fields(s.Tuned), " ")}
	if len(resolved.Tuned) > tunedBytesMax {
		return experiment.Store{}, r.fail(r.in("tuned"), "a workload's name has at most %d bytes", tunedBytesMax)
	}
	if s.Server.Start {
		resolved.Server = &experiment.Server{}
	}
	if len(resolved.Name) > nameBytesMax || !plainName(resolved.Name) {
		return experiment.Store{}, r.fail(r.in("name"), "the name %q can't be part of a file name", resolved.Name).hint(plainNameRule)
	}
	if strings.EqualFold(resolved.Name, experiment.NullDriver) {
		return experiment.Store{}, r.fail(r.in("name"), "no store can be named %q: the null driver has that name", resolved.Name)
	}
	if s.Worker != nil && (len(s.Worker) == 0 || s.Worker[0] == "") {
		return experiment.Store{}, r.fail(r.in("worker"), "an empty command").hint("expected a list of the program and its arguments, such as [./my-worker]")
	}
	if len(s.Worker) == 0 && !slices.Contains(r.drivers.Names, s.Driver) {
		return experiment.Store{}, r.fail(r.in("driver"), "unknown driver %q", s.Driver).
			near(s.Driver, r.driverNames()).oneOf(s.Driver, r.driverNames(), "assay drivers").
			also("a driver of another program needs worker: [PROGRAM]")
	}
	if len(s.Worker) == 0 && r.drivers.WorkerOf != nil {
		resolved.Worker = r.drivers.WorkerOf(s.Driver)
	}
	mistake, err := r.jvm(s, &resolved)
	if mistake != nil {
		return experiment.Store{}, mistake
	}
	if err != nil {
		resolved.Missing, resolved.Description.Name = err.Error(), s.Driver
		return resolved, nil
	}
	description, err := r.drivers.Describe(resolved)
	if errors.Is(err, ErrNotHere) {
		resolved.Missing, resolved.Description.Name = err.Error(), s.Driver
		return resolved, nil
	}
	if err != nil {
		return experiment.Store{}, r.fail(r.in("driver"), "the driver %q can't be used: %v", s.Driver, err)
	}
	resolved.Description = description
	if mistake = r.below("options").options(s.Driver, description.Options, resolved.Options); mistake != nil {
		return experiment.Store{}, mistake
	}
	if resolved.Description, err = description.WithOptions(resolved.Options); err != nil {
		return experiment.Store{}, r.fail(r.in("driver"), "the driver %q can't be used: %v", s.Driver, err)
	}
	return resolved, r.server(s.Server, &resolved)
}

// namesNull says if a store's driver was written as YAML's null, which the file's author may have
// meant as a name.
func (r *resolver) namesNull(i int) bool {
	stores := r.root.field("stores")
	if stores == nil || i >= len(stores.items) {
		return false
	}
	n := stores.items[i]
	if n.kind == table {
		if n = n.field("driver"); n == nil {
			return false
		}
	}
	return n.kind == null && n.text != ""
}
