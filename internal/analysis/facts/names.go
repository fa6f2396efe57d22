package facts

import (
	"cmp"
	"fmt"
	"strings"

	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

// ClassStrength orders durability classes, the strongest first; of D2, the shortest window.
func ClassStrength(a, b experiment.Cell) int {
	return cmp.Or(-cmp.Compare(a.Durability, b.Durability), cmp.Compare(a.LossWindow, b.LossWindow))
}

// cellDifference says what tells a cell from the others of its class; "" where there is one.
func cellDifference(e *experiment.Experiment, cell int) string {
	own := e.Cells[cell]
	others := 0
	for _, c := range e.Cells {
		if c.ClassText() == own.ClassText() {
			others++
		}
	}
	if others < 2 {
		return ""
	}
	return strings.ReplaceAll(strings.TrimPrefix(own.Label(e), own.ClassText()+" · "), " · ", ", ")
}

// PlaceIn names a phase of a cell as [table.place] does; all of the cell where the phase is "".
func PlaceIn(run *record.Run, cell int, phase string) string {
	label := run.Experiment.Cells[cell].ClassText()
	if difference := cellDifference(&run.Experiment, cell); difference != "" {
		label += ", " + difference
	}
	if phase == "" {
		return label
	}
	return phase + " (" + label + ")"
}

// anchor makes an ID that is unique in the result and fit for a URL's fragment.
func anchor(run string, cell int, words ...string) string {
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.Join(words, "-")))
	return fmt.Sprintf("%s-%d-%s", run, cell+1, strings.Trim(id, "-"))
}

// Place names a table in a line: "insert (D1)", with its cell where the class has several.
func (t *Table) Place() string {
	if t.Label == "" {
		return fmt.Sprintf("%s (%s)", t.Phase, t.Class)
	}
	return fmt.Sprintf("%s (%s, %s)", t.Phase, t.Class, t.Label)
}
