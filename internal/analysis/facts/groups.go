package facts

import (
	"slices"

	"strings"

	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

// PhasesUntil returns those up to and with the table's, which is the last. The groups that work at
// the same time stand before it.
func (t *Table) PhasesUntil() (phases []experiment.Phase) {
	own, reached := t.Work, false
	for _, p := range t.Run.Experiment.Phases {
		switch {
		case p.Name == t.Phase:
			own, reached = p, true
		case !reached || Besides(p.Name, t.Phase):
			phases = append(phases, p)
		}
	}
	return append(phases, own)
}

// GroupedIn returns the phase that a group is of, by the group's name in reports; "": it is no group.
func GroupedIn(name string) string {
	phase, _, isGroup := strings.Cut(name, experiment.GroupSeparator)
	if !isGroup {
		return ""
	}
	return phase
}

// Within says if a phase is another one, or a group of it.
func Within(name, phase string) bool { return name == phase || phase != "" && GroupedIn(name) == phase }

// Besides says if two are groups of one phase.
func Besides(a, b string) bool { return a != b && GroupedIn(a) != "" && GroupedIn(a) == GroupedIn(b) }

// Recorded returns what the trials of the cell have of a phase.
func (t *Table) Recorded(phase string) (found []*record.Phase) {
	for _, planned := range t.Run.Plan {
		if trial := t.Run.Trials[planned.ID]; trial != nil && planned.Cell == t.Cell {
			if p := PhaseIn(trial, phase); p != nil {
				found = append(found, p)
			}
		}
	}
	return found
}

// Span is a stretch of a phase, in seconds since its start.
type Span struct{ From, To float64 }

// WorkedIn is when a group worked.
func WorkedIn(p *record.Phase) Span {
	return Span{float64(p.BeganNS) / 1e9, float64(p.BeganNS+p.ElapsedNS) / 1e9}
}

// SpanSlack is by how many seconds a sample may reach over the end of a group: a look at the counters
// takes a moment.
const SpanSlack = 2e-3

// Holds says how much of another span lies in this one: all, nothing, or a part.
func (s Span) Holds(o Span) (all, nothing bool) {
	return o.From >= s.From-SpanSlack && o.To <= s.To+SpanSlack, o.To <= s.From+SpanSlack || o.From >= s.To-SpanSlack
}

// GroupName is what a group is named in the experiment.
func GroupName(phase string) string { return phase[len(GroupedIn(phase)+experiment.GroupSeparator):] }

// Expires reports whether records that the table's phase reads may have a TTL.
func (t *Table) Expires() bool { return slices.ContainsFunc(t.PhasesUntil(), experiment.Phase.HasTTL) }
