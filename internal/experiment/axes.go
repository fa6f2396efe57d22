package experiment

import (
	"reflect"
	"slices"
	"strings"

	"assay/internal/base/format"
	"assay/internal/experiment/trace"
)

// Axis is a parameter of the matrix: the file may give it a list, and a case may set it.
type Axis struct {
	// Path is where the parameter stands in the file: "records", "values.bytes".
	Path string
	// Text is its value in a cell, with its unit: "8 threads". Different values have different
	// texts.
	Text func(Cell) string

	form   func() any                                       // an empty list of values, for the schema
	given  func(*resolver) []value                          // by the file, or the default
	decode func(n *node, path string) ([]value, *Error)     // by a case
	refuse func(r *resolver, parts []string, c Cell) *Error // what no store can do; nil: any value can be
}

// value sets one value of an axis in a cell.
type value func(*Cell)

// Same reports whether two cells, which may be of different experiments, have the same value.
func (a Axis) Same(x, y Cell) bool { return a.Text(x) == a.Text(y) }

// Axes returns the parameters of the matrix in the order in which they nest, the first outermost.
func Axes() []Axis { return slices.Clone(axes) }

// axes is the whole matrix. A new parameter is a field of File and of Cell, and one entry here.
var axes []Axis

func init() { // not an initializer: the entries' functions read the list
	axes = []Axis{
		axisOf("records", func(f *File) *OneOrMany[Count] { return &f.Records },
			func(*resolver) Count { return defaultRecords },
			func(c *Cell, v Count) { c.Records = uint64(v) },
			func(c Cell) string { return format.Plural(int(min(c.Records, recordsMax+1)), "record", "") }, refuseRecords),
		axisOf("values.bytes", func(f *File) *OneOrMany[Count] { return &f.Values.Bytes },
			(*resolver).usualValueBytes,
			func(c *Cell, v Count) { c.ValueBytes = int(min(v, valueBytesMax+1)) },
			func(c Cell) string { return format.Limit(uint64(max(c.ValueBytes, 0))) + " values" }, refuseValueBytes),
		axisOf("threads", func(f *File) *OneOrMany[TasksForm] { return &f.Threads },
			func(*resolver) TasksForm { return TasksForm{Threads: defaultThreads} },
			func(c *Cell, v TasksForm) { c.Threads, c.Processes = v.total(), int(v.Processes) },
			func(c Cell) string {
				if c.Agents > 0 && c.Processes == c.Agents {
					return TasksText(c.Threads, 0) // the processes are those of another axis
				}
				return TasksText(c.Threads, c.Processes)
			}, refuseThreads),
		{Path: "agents", Text: func(c Cell) string {
			if c.Agents == 0 {
				return "no number of agents" // all, or none: not a parameter then
			}
			return format.Plural(c.Agents, "agent", "")
		},
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
		axisOf("handles", func(f *File) *OneOrMany[HandlesForm] { return &f.Handles },
			func(*resolver) HandlesForm { return HandlesForm{Sharing: defaultHandles} },
			func(c *Cell, v HandlesForm) { c.Handles, c.PoolHandles, c.Pipeline = v.Sharing, v.Pool, v.Pipeline },
			func(c Cell) string { return "handles " + HandlesForm{c.Handles, c.PoolHandles, c.Pipeline}.String() }, nil),
		axisOf("entry", func(f *File) *OneOrMany[EntryForm] { return &f.Entry },
			func(*resolver) EntryForm { return "" },
			func(c *Cell, v EntryForm) { c.Entry = string(v) },
			func(c Cell) string {
				if c.Entry == "" {
					return "no choice of entry" // as the arms have it: not a parameter then
				}
				return "entry " + c.Entry
			}, nil),
		axisOf("memory_limit", func(f *File) *OneOrMany[MemoryLimitForm] { return &f.MemoryLimit },
			func(*resolver) MemoryLimitForm { return 0 },
			func(c *Cell, v MemoryLimitForm) { c.MemoryLimit = int64(v) },
			func(c Cell) string { return orNone(c.MemoryLimit, "memory limit") }, nil),
		axisOf("disk_quota", func(f *File) *OneOrMany[DiskQuotaForm] { return &f.DiskQuota },
			func(*resolver) DiskQuotaForm { return 0 },
			func(c *Cell, v DiskQuotaForm) { c.DiskQuota = int64(v) },
			func(c Cell) string { return orNone(c.DiskQuota, "disk quota") }, nil),
		axisOf("durability", func(f *File) *OneOrMany[DurabilityForm] { return &f.Durability },
			(*resolver).defaultDurability,
			func(c *Cell, v DurabilityForm) { c.Durability, c.LossWindow = v.Class, v.Window },
			Cell.ClassText, nil),
	}
}

func agentNumbers(numbers []int) (values []value) {
	for _, number := range numbers {
		values = append(values, func(c *Cell) { c.Agents = number })
	}
	return values
}

func axisOf[T any](path string, field func(*File) *OneOrMany[T], otherwise func(*resolver) T, set func(*Cell, T),
	text func(Cell) string, refuse func(*resolver, []string, Cell) *Error) Axis {
	values := func(list OneOrMany[T]) []value {
		setters := make([]value, len(list))
		for i, v := range list {
			setters[i] = func(c *Cell) { set(c, v) }
		}
		return setters
	}
	return Axis{
		Path: path, Text: text, refuse: refuse,
		form: func() any { return new(OneOrMany[T]) },
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
	for _, a := range axes {
		paths = append(paths, a.Path)
	}
	slices.Sort(paths)
	return paths
}

func isAxis(path string) bool {
	return slices.ContainsFunc(axes, func(a Axis) bool { return a.Path == path })
}

func refuseRecords(r *resolver, parts []string, c Cell) *Error {
	if c.Records > recordsMax {
		return r.fail(parts, "at most %d records, not %d", uint64(recordsMax), c.Records)
	}
	if p := r.needsThem(); c.Records == 0 && p != "" {
		return r.fail(parts, "no records: the phase %s works on them", p).
			hint("expected at least 1 record; 0 suits experiments that only insert or add, or upsert in the order counting")
	}
	return nil
}

func refuseValueBytes(r *resolver, parts []string, c Cell) *Error {
	if c.ValueBytes > valueBytesMax {
		return r.fail(parts, "a value has at most 1 GiB")
	}
	return nil
}

func refuseThreads(r *resolver, parts []string, c Cell) *Error {
	return r.tasks(parts, c.Threads, c.Processes)
}

// Varying returns the axes in which the cells of the experiment differ.
func (e *Experiment) Varying() []Axis {
	return slices.DeleteFunc(Axes(), func(a Axis) bool {
		return !slices.ContainsFunc(e.Cells, func(c Cell) bool { return !a.Same(c, e.Cells[0]) })
	})
}

// Label names a cell within its experiment: the durability class, and the parameters in which the
// cells differ, as in "D1 · 10,000 records · 8 threads". A case's name stands for what the case
// sets. No two cells have the same label.
func (c Cell) Label(e *Experiment) string {
	parts := []string{c.ClassText()}
	if slices.ContainsFunc(e.Cells, func(other Cell) bool { return other.Case != c.Case }) {
		parts = append(parts, c.Case)
	}
	for _, a := range axes {
		differs := func(other Cell) bool { return other.Case == c.Case && !a.Same(other, c) }
		if a.Path != "durability" && slices.ContainsFunc(e.Cells, differs) {
			parts = append(parts, a.Text(c))
		}
	}
	return strings.Join(parts, " · ")
}

// ClassText returns a cell's durability class as it stands in files and reports: "D1", "D2(100ms)".
func (c Cell) ClassText() string { return DurabilityForm{c.Durability, c.LossWindow}.String() }

func orNone(bytes int64, what string) string {
	if bytes == 0 {
		return "no " + what
	}
	return what + " " + format.Limit(uint64(max(bytes, 0)))
}
