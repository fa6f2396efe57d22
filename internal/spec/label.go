package spec

import (
	"fmt"
	"slices"
	"strings"
)

// CellLabel names a cell by its durability class and by the parameters in which the experiment's cells differ:
// "D1 · 10000 records · 8 threads".
func (e *Experiment) CellLabel(cell int) string {
	parts := []string{e.Cells[cell].ClassText()}
	for _, axis := range cellAxes {
		text := axis(e.Cells[cell])
		if slices.ContainsFunc(e.Cells, func(c Cell) bool { return axis(c) != text }) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " · ")
}

// cellAxes are the parameters other than the class, as text.
var cellAxes = []func(Cell) string{
	func(c Cell) string { return c.Case },
	func(c Cell) string { return fmt.Sprintf("%d records", c.Records) },
	func(c Cell) string { return fmt.Sprintf("values of %d B", c.ValueBytes) },
	func(c Cell) string { return fmt.Sprintf("%d threads", c.Threads) },
	func(c Cell) string { return "handles " + HandlesForm{c.Handles, c.PoolHandles}.String() },
	func(c Cell) string { return fmt.Sprintf("memory limit %d MiB", c.MemoryLimit>>20) },
	func(c Cell) string { return fmt.Sprintf("disk quota %d MiB", c.DiskQuota>>20) },
}
