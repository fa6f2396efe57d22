package experiment

import (
	"slices"
	"strings"

	"assay/internal/base/format"
)

// Axis is a parameter of the matrix: the file may give it a list, and a case may set it.
type Axis struct {
	// Path is where the parameter stands in the file: "records", "values.bytes".
	Path string
	// Text is its value in a cell, with its unit: "8 threads". Different values have different
	// texts.
	Text func(Cell) string
	// unset reports that a cell has no such limit or choice, and that its text says so. Nil: every cell has
	// a value.
	unset func(Cell) bool
}

// axes is the whole matrix. A new parameter is a field of Cell, one entry here, and one in package
// read, which says how a file gives it.
var axes = []Axis{
	{"records", func(c Cell) string { return format.Plural(int(min(c.Records, RecordsMax+1)), "record", "") }, nil},
	{"values.bytes", func(c Cell) string { return format.Limit(uint64(max(c.ValueBytes, 0))) + " values" }, nil},
	{"threads", func(c Cell) string {
		if c.Agents > 0 && c.Processes == c.Agents {
			return TasksText(c.Threads, 0) // the processes are those of another axis
		}
		return TasksText(c.Threads, c.Processes)
	}, nil},
	{"agents", func(c Cell) string {
		if c.Agents == 0 {
			return "no number of agents" // all, or none: not a parameter then
		}
		return format.Plural(c.Agents, "agent", "")
	}, func(c Cell) bool { return c.Agents == 0 }},
	{"rate", func(c Cell) string {
		if c.Rate == 0 {
			return "no rate of all phases" // each phase may have its own: not a parameter then
		}
		return format.Count(uint64(c.Rate)) + "/s asked"
	}, func(c Cell) bool { return c.Rate == 0 }},
	{"handles", func(c Cell) string { return "handles " + c.HandlesText() }, nil},
	{"entry", func(c Cell) string {
		if c.Entry == "" {
			return "no choice of entry" // as the arms have it: not a parameter then
		}
		return "entry " + c.Entry
	}, func(c Cell) bool { return c.Entry == "" }},
	{"cpus", func(c Cell) string { return c.CPUs.Text() }, func(c Cell) bool { return c.CPUs == nil }},
	{"memory_limit", func(c Cell) string { return orNone(c.MemoryLimit, "memory limit") },
		func(c Cell) bool { return c.MemoryLimit == 0 }},
	{"disk_quota", func(c Cell) string { return orNone(c.DiskQuota, "disk quota") },
		func(c Cell) bool { return c.DiskQuota == 0 }},
	{"durability", Cell.ClassText, nil},
}

// Axes returns the parameters of the matrix in the order in which they nest, the first outermost.
func Axes() []Axis { return slices.Clone(axes) }

// Same reports whether two cells, which may be of different experiments, have the same value.
func (a Axis) Same(x, y Cell) bool { return a.Text(x) == a.Text(y) }

// Set reports whether a cell has a value of the parameter: a limit that it does not have is none.
func (a Axis) Set(c Cell) bool { return a.unset == nil || !a.unset(c) }

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

func orNone(bytes int64, what string) string {
	if bytes == 0 {
		return "no " + what
	}
	return what + " " + format.Limit(uint64(max(bytes, 0)))
}
