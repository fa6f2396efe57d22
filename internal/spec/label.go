package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CellLabel names a cell by its durability class and by the parameters in which the experiment's cells differ:
// "D1 · 10,000 records · 8 threads". What a case sets is not said beside the case's name.
func (e *Experiment) CellLabel(cell int) string {
	own := e.Cells[cell]
	parts := []string{own.ClassText()}
	if slices.ContainsFunc(e.Cells, func(c Cell) bool { return c.Case != own.Case }) {
		parts = append(parts, own.Case)
	}
	for _, axis := range cellAxes {
		text := axis(own)
		if slices.ContainsFunc(e.Cells, func(c Cell) bool { return c.Case == own.Case && axis(c) != text }) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " · ")
}

// cellAxes are the parameters other than class and case, as text.
var cellAxes = []func(Cell) string{
	func(c Cell) string { return plural(c.Records, "record") },
	func(c Cell) string { return fmt.Sprintf("values of %d B", c.ValueBytes) },
	func(c Cell) string { return plural(uint64(c.Threads), "thread") },
	func(c Cell) string { return "handles " + HandlesForm{c.Handles, c.PoolHandles}.String() },
	func(c Cell) string { return limitText("memory limit", c.MemoryLimit) },
	func(c Cell) string { return limitText("disk quota", c.DiskQuota) },
}

func limitText(what string, bytes int64) string {
	if bytes == 0 {
		return "no " + what
	}
	return fmt.Sprintf("%s of %d MiB", what, bytes>>20)
}

// plural writes a number with commas and its noun.
func plural(n uint64, noun string) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n != 1 {
		noun += "s"
	}
	return digits + " " + noun
}
