package experiment_test

import (
	"reflect"
	"slices"
	"testing"

	"assay/internal/experiment"
)

func TestLabel(t *testing.T) {
	for _, c := range []struct {
		name  string
		cells []experiment.Cell
		want  string // of the first
	}{
		{"one cell: the class alone", []experiment.Cell{{Durability: "D1", Records: 10_000, Threads: 1}}, "D1"},
		{"two classes", []experiment.Cell{{Durability: "D1", Records: 10_000}, {Durability: "D3", Records: 10_000}}, "D1"},
		{"two axes", []experiment.Cell{{Durability: "D1", Records: 1_000_000, Threads: 1}, {Durability: "D1", Records: 10, Threads: 8}},
			"D1 · 1,000,000 records · 1 thread"},
		{"a case stands for what it sets", []experiment.Cell{{Durability: "D1", Case: "small", Records: 10}, {Durability: "D1", Case: "large", Records: 99}},
			"D1 · small"},
		{"an axis within a case", []experiment.Cell{{Durability: "D1", Case: "small", Threads: 8}, {Durability: "D1", Case: "small", Threads: 1},
			{Durability: "D1", Case: "large", Threads: 1}}, "D1 · small · 8 threads"},
		{"a limit and none", []experiment.Cell{{Durability: "D0", MemoryLimit: 64 << 20}, {Durability: "D0"}}, "D0 · memory limit 64 MiB"},
		{"a fraction of a unit", []experiment.Cell{{Durability: "D0", DiskQuota: 3 << 19}, {Durability: "D0", DiskQuota: 1 << 20}}, "D0 · disk quota 1.5 MiB"},
		{"no unit fits", []experiment.Cell{{Durability: "D0", DiskQuota: 1<<20 + 1}, {Durability: "D0", DiskQuota: 1 << 20}}, "D0 · disk quota 1,048,577 B"},
	} {
		if got := c.cells[0].Label(&experiment.Experiment{Cells: c.cells}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Every field of a cell but the case's name is in an axis: a field without one would give two cells
// the same label.
func TestEveryFieldOfACellHasAnAxis(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[experiment.Cell]()) {
		if field.Name == "Case" {
			continue
		}
		one := experiment.Cell{Handles: experiment.Pool, Durability: "D2"}
		other := one
		switch f := reflect.ValueOf(&other).Elem().FieldByIndex(field.Index); f.Kind() {
		case reflect.String:
			f.SetString("D1")
		case reflect.Uint64:
			f.SetUint(7)
		case reflect.Float64:
			f.SetFloat(7)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		default:
			f.SetInt(7)
		}
		if !slices.ContainsFunc(experiment.Axes(), func(a experiment.Axis) bool { return !a.Same(one, other) }) {
			t.Errorf("no axis tells %s", field.Name)
		}
	}
}

// Runs that are older than the axis have the CPUs of all cells in one place.
func TestCPUsOfOlderRuns(t *testing.T) {
	e := experiment.Experiment{CPUs: &experiment.CPUs{Client: experiment.CPUList{1}}, Cells: make([]experiment.Cell, 2)}
	e.Renew()
	if e.CPUs != nil || e.Cells[1].CPUs.Text() != "client on CPUs 1" {
		t.Errorf("%+v", e)
	}
}

// Two runs have cells of their own: what a field points to is what counts.
func TestCellsAreTheSameByWhatTheyAre(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[experiment.Cell]()) {
		var one, other, none experiment.Cell
		for _, c := range []*experiment.Cell{&one, &other} {
			f := reflect.ValueOf(c).Elem().FieldByIndex(field.Index)
			switch f.Kind() {
			case reflect.String:
				f.SetString("a")
			case reflect.Uint64:
				f.SetUint(7)
			case reflect.Float64:
				f.SetFloat(7)
			case reflect.Pointer:
				f.Set(reflect.New(f.Type().Elem()))
			default:
				f.SetInt(7)
			}
		}
		if !one.Same(other) || one.Same(none) {
			t.Errorf("%s: alike %t, not set alike %t", field.Name, one.Same(other), one.Same(none))
		}
	}
	client := func(cpus ...int) experiment.Cell {
		return experiment.Cell{CPUs: &experiment.CPUs{Client: cpus}}
	}
	if !client(0, 1).Same(client(0, 1)) || client(0, 1).Same(client(0, 2)) {
		t.Error("CPUs are not compared by their numbers")
	}
}
