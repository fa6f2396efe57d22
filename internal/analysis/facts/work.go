package facts

import (
	"slices"

	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/trace"
	"assay/store"
)

// Grows reports whether a phase makes the data grow without end.
func Grows(p experiment.Phase) bool {
	var inserts, all float64
	for operation, weight := range p.Mix {
		all += weight
		if operation == "insert" || operation == "upsert" && p.Order.Distribution == "counting" {
			inserts += weight
		}
	}
	return all > 0 && 2*inserts >= all
}

// RefusedBy counts the operations that ended in a conflict though they asked no condition: a rate
// does not count them.
func RefusedBy(p *record.Phase) (refused uint64) {
	for _, op := range p.Operations {
		refused += op.OK + op.Miss + op.Conflict - op.Good()
	}
	return refused
}

// PhaseNamed returns a phase of an experiment; an empty one if there is none of the name.
func PhaseNamed(run *record.Run, name string) experiment.Phase {
	at := slices.IndexFunc(run.Experiment.Phases, func(p experiment.Phase) bool { return p.Name == name })
	if at < 0 {
		return experiment.Phase{}
	}
	return run.Experiment.Phases[at]
}

// IsWrite reports whether any operation of a phase changes data.
func IsWrite(p experiment.Phase) bool { return does(p, trace.Operation.Changes) }

// IsRead reports whether any operation of a phase looks at records, if only to change them.
func IsRead(p experiment.Phase) bool {
	return does(p, func(o trace.Operation) bool {
		return !o.Changes() || o == trace.ReadModifyWrite || o == trace.ReadOrFill || o.Replaces()
	})
}

func does(p experiment.Phase, holds func(trace.Operation) bool) bool {
	for name, weight := range p.Mix {
		if o, known := trace.ParseOperation(name); known && weight > 0 && holds(o) {
			return true
		}
	}
	return false
}

// IsStore reports whether a trial is of a measured arm that is no null driver.
func IsStore(run *record.Run, planned plan.Trial) bool {
	return planned.Role == plan.Measured && planned.Store >= 0 &&
		run.Experiment.Stores[planned.Store].Description.Kind != store.None
}

// DistinctWords returns words sorted, each once.
func DistinctWords(words []string) []string {
	words = slices.Clone(words)
	slices.Sort(words)
	return slices.Compact(words)
}
