package read

import (
	"fmt"
	"slices"
)

// measuredFields are those of a phase that a search for a capacity has in its own way, or not.
var measuredFields = []string{"for", "operations", "rate", "milestones", "optional"}

// SearchOf returns the experiment as a file that answers a question, and whose searches for capacities are as
// YAML of the field says.
func (l *Loaded) SearchOf(search, question string) ([]byte, error) {
	asked, err := parse([]byte(search), newSource("", search, true), 0)
	if err != nil {
		return nil, err
	}
	whole := Loaded{root: l.root.clone()}
	whole.asks(question)
	for _, p := range whole.root.field("phases").items {
		if p.field("capacity") != nil {
			p.setText("capacity", asked)
		}
	}
	for _, follows := range []string{"durability", "keys"} { // what the stores decided: changes may decide otherwise
		whole.root.entries = slices.DeleteFunc(whole.root.entries, func(e entry) bool { return e.key == follows })
	}
	return whole.File(), nil
}

func (l *Loaded) asks(question string) {
	l.root.setText("about", &node{kind: scalar, text: question, quoted: true})
}

// CapacityOf returns the experiment as a file that answers a question. Its first measured phase searches for a
// capacity, as YAML of the field says, after the phases before it. Others are left out.
func (l *Loaded) CapacityOf(search, question string) ([]byte, error) {
	asked, err := parse([]byte(search), newSource("", search, true), 0)
	if err != nil {
		return nil, err
	}
	phases := &node{kind: list}
	for i, p := range l.root.field("phases").items {
		of := l.Experiment.Phases[min(i, len(l.Experiment.Phases)-1)]
		phase := p.clone()
		phases.items = append(phases.items, phase)
		if of.Load || of.Unmeasured {
			continue
		}
		for _, field := range []string{"groups", "request", "replay", "faults", "capacity", "ttl", "think"} {
			if p.field(field) != nil {
				return nil, fmt.Errorf("the phase %s has %s: no search for a capacity does", of.Name, field)
			}
		}
		phase.entries = slices.DeleteFunc(phase.entries,
			func(e entry) bool { return slices.Contains(measuredFields, e.key) })
		phase.setText("capacity", asked)
		whole := Loaded{root: l.root.clone()}
		whole.asks(question)
		whole.root.set("phases", l.root.at, phases)
		for _, name := range []string{"cases", "time"} {
			whole.root.entries = slices.DeleteFunc(whole.root.entries, func(e entry) bool { return e.key == name })
		}
		return whole.File(), nil
	}
	return nil, fmt.Errorf("no phase of the workload is measured")
}
