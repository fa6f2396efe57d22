package read

import (
	"fmt"
	"reflect"
	"slices"

	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// axis is how a file gives a parameter of the matrix.
type axis struct {
	experiment.Axis

	form   func() any                                                  // an empty list of values, for the schema
	given  func(*resolver) []value                                     // by the file, or the default
	decode func(n *node, path string) ([]value, *Error)                // by a case
	refuse func(r *resolver, parts []string, c experiment.Cell) *Error // what no store can do; nil: any value can be
}

// value sets one value of an axis in a cell.
type value func(*experiment.Cell)

// fileAxes has one for each of [Axes], in their order. A new parameter is a field of File, too.
var fileAxes []axis

func init() { // not an initializer: the entries' functions read the list
	given := map[string]axis{
		"records": axisOf(func(f *File) *OneOrMany[Count] { return &f.Records },
			(*resolver).usualRecords,
			func(c *experiment.Cell, v Count) { c.Records = uint64(v) }, refuseRecords),
		"values.bytes": axisOf(func(f *File) *OneOrMany[Count] { return &f.Values.Bytes },
			(*resolver).usualValueBytes,
			func(c *experiment.Cell, v Count) { c.ValueBytes = int(min(v, valueBytesMax+1)) }, refuseValueBytes),
		"threads": axisOf(func(f *File) *OneOrMany[TasksForm] { return &f.Threads },
			(*resolver).usualThreads,
			func(c *experiment.Cell, v TasksForm) { c.Threads, c.Processes = v.total(), int(v.Processes) },
			refuseThreads),
		"agents": {
			form: func() any { return new(OneOrMany[Count]) },
			given: func(r *resolver) []value {
				return agentNumbers(append(slices.Clone(r.file.Agents.Numbers), 0)[:max(len(r.file.Agents.Numbers), 1)])
			},
			decode: func(n *node, path string) ([]value, *Error) {
				var numbers OneOrMany[Count]
				err := decode(n, reflect.ValueOf(&numbers).Elem(), path)
				var all []int
				for _, number := range numbers {
					all = append(all, int(min(number, trace.ProcessesMax+1)))
				}
				return agentNumbers(all), err
			}},
		"rate": axisOf(func(f *File) *OneOrMany[Count] { return &f.Rate },
			func(*resolver) Count { return 0 },
			func(c *experiment.Cell, v Count) { c.Rate = float64(v) }, refuseRate),
		"handles": axisOf(func(f *File) *OneOrMany[HandlesForm] { return &f.Handles },
			func(*resolver) HandlesForm { return HandlesForm{Sharing: defaultHandles} },
			func(c *experiment.Cell, v HandlesForm) {
				c.Handles, c.PoolHandles, c.Pipeline = v.Sharing, v.Pool, v.Pipeline
			}, nil),
		"entry": axisOf(func(f *File) *OneOrMany[EntryForm] { return &f.Entry },
			func(*resolver) EntryForm { return "" },
			func(c *experiment.Cell, v EntryForm) { c.Entry = string(v) }, nil),
		"cpus": axisOf(func(f *File) *OneOrMany[CPUsForm] { return &f.CPUs },
			func(*resolver) CPUsForm { return CPUsForm{} },
			func(c *experiment.Cell, v CPUsForm) { c.CPUs = v.resolved() }, refuseCPUs),
		"memory_limit": axisOf(func(f *File) *OneOrMany[MemoryLimitForm] { return &f.MemoryLimit },
			func(*resolver) MemoryLimitForm { return 0 },
			func(c *experiment.Cell, v MemoryLimitForm) { c.MemoryLimit = int64(v) }, nil),
		"disk_quota": axisOf(func(f *File) *OneOrMany[DiskQuotaForm] { return &f.DiskQuota },
			func(*resolver) DiskQuotaForm { return 0 },
			func(c *experiment.Cell, v DiskQuotaForm) { c.DiskQuota = int64(v) }, nil),
		"durability": axisOf(func(f *File) *OneOrMany[DurabilityForm] { return &f.Durability },
			(*resolver).defaultDurability,
			func(c *experiment.Cell, v DurabilityForm) { c.Durability, c.LossWindow = v.Class, v.Window }, nil),
	}
	for _, known := range experiment.Axes() {
		a, ok := given[known.Path]
		if !ok {
			panic(fmt.Sprintf("read: no file can give the axis %s", known.Path))
		}
		a.Axis = known
		fileAxes = append(fileAxes, a)
	}
}

func agentNumbers(numbers []int) (values []value) {
	for _, number := range numbers {
		values = append(values, func(c *experiment.Cell) { c.Agents = number })
	}
	return values
}

func axisOf[T any](field func(*File) *OneOrMany[T], otherwise func(*resolver) T, set func(*experiment.Cell, T),
	refuse func(*resolver, []string, experiment.Cell) *Error) axis {
	values := func(list OneOrMany[T]) []value {
		setters := make([]value, len(list))
		for i, v := range list {
			setters[i] = func(c *experiment.Cell) { set(c, v) }
		}
		return setters
	}
	return axis{
		refuse: refuse,
		form:   func() any { return new(OneOrMany[T]) },
		given: func(r *resolver) []value {
			if list := *field(r.file); len(list) > 0 {
				return values(list)
			}
			return values(OneOrMany[T]{otherwise(r)})
		},
		decode: func(n *node, path string) ([]value, *Error) {
			var list OneOrMany[T]
			err := decode(n, reflect.ValueOf(&list).Elem(), path)
			return values(list), err
		},
	}
}

// axisPaths returns the paths of the axes, sorted: what a case may set.
func axisPaths() []string {
	var paths []string
	for _, a := range fileAxes {
		paths = append(paths, a.Path)
	}
	slices.Sort(paths)
	return paths
}

func isAxis(path string) bool {
	return slices.ContainsFunc(fileAxes, func(a axis) bool { return a.Path == path })
}

func refuseRecords(r *resolver, parts []string, c experiment.Cell) *Error {
	if c.Records > experiment.RecordsMax {
		return r.fail(parts, "at most %d records, not %d", uint64(experiment.RecordsMax), c.Records)
	}
	if p := r.needsThem(); c.Records == 0 && p != "" {
		return r.fail(parts, "no records: the phase %s works on them", p).
			hint("expected at least 1 record; 0 suits experiments that only insert or add, or upsert in the order counting")
	}
	return nil
}

func refuseValueBytes(r *resolver, parts []string, c experiment.Cell) *Error {
	if c.ValueBytes > valueBytesMax {
		return r.fail(parts, "a value has at most 1 GiB")
	}
	return nil
}

func refuseRate(r *resolver, parts []string, c experiment.Cell) *Error {
	takes := func(p experiment.Phase) bool { return p.TakesRate() }
	switch {
	case c.Rate > rateMax:
		return r.fail(parts, "a rate is at most 1e9 operations a second, not %v", c.Rate)
	case c.Rate > 0 && !slices.ContainsFunc(r.e.Phases, takes):
		return r.fail(parts, "the rate has no effect: each measured phase has a rate, a capacity, a replay, groups or a think time of its own").
			hint("leave those out of a phase, and it is done at this rate")
	}
	return nil
}

func refuseThreads(r *resolver, parts []string, c experiment.Cell) *Error {
	return r.tasks(parts, c.Threads, c.Processes)
}

// needsThem names the first phase that works on the records 0 … records−1, whatever phases before
// it have inserted beyond them; "" if there is none.
func (r *resolver) needsThem() string {
	for p := range r.parts() {
		if p.Load || !onlyInserts(p.Mix) && p.Order.Distribution != trace.Counting {
			return p.Name
		}
	}
	return ""
}
