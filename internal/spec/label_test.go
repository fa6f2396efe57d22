package spec_test

import (
	"testing"

	"assay/internal/spec"
)

func TestCellLabelSaysWhatTellsCellsApart(t *testing.T) {
	for _, c := range []struct {
		cells []spec.Cell
		want  string // of the first
	}{
		{[]spec.Cell{{Durability: "D1", Records: 10_000, Threads: 1}}, "D1"},
		{[]spec.Cell{{Durability: "D1", Records: 10_000, Threads: 1}, {Durability: "D3", Records: 10_000, Threads: 1}}, "D1"},
		{[]spec.Cell{{Durability: "D1", Records: 1_000_000, Threads: 1}, {Durability: "D1", Records: 10, Threads: 8}}, "D1 · 1,000,000 records · 1 thread"},
		{[]spec.Cell{{Durability: "D1", Case: "small", Records: 10, ValueBytes: 5}, {Durability: "D1", Case: "large", Records: 99, ValueBytes: 7}}, "D1 · small"},
		{[]spec.Cell{{Durability: "D1", Case: "small", Records: 10, Threads: 8}, {Durability: "D1", Case: "small", Records: 10, Threads: 1}, {Durability: "D1", Case: "large", Records: 99, Threads: 1}}, "D1 · small · 8 threads"},
		{[]spec.Cell{{Durability: "D0", MemoryLimit: 64 << 20}, {Durability: "D0"}}, "D0 · memory limit of 64 MiB"},
	} {
		e := spec.Experiment{Cells: c.cells}
		if got := e.CellLabel(0); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
