package verdict

import (
	"slices"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/trace"
	"assay/store"
)

// detector looks for one cause and stays silent without it. What it says is data: the sentences are
// in package finding.
type detector func(run *record.Run, tables []*table) []finding.Finding

// beforeRanks see tables with figures and without ranks; a grave finding of theirs takes the rank
// of the arm at its Where (of every phase of the cell where Where has none). afterRanks see
// everything.
var (
	beforeRanks = []detector{detectLessWork, detectNotOnDisk}
	afterRanks  = []detector{
		detectFaults, detectFailed, detectMissing, detectIncomplete,
		detectFalls, detectDrops, detectInconclusive, detectMilestones, detectInterference, detectStoppedEarly, detectConflicts, detectServerShares,
		detectHarness, detectHarnessUnknown, detectProcessStarts, detectClientBound, detectNoise, detectBusyMachine, detectMachineUnknown,
		detectDispatchLate, detectBacklog,
		detectDurabilityCost, detectNothingSynced, detectUnverified, detectChecked, detectMissed, detectInconsistent, detectServerKept,
		detectInMemory, detectNotCold, detectPlans, detectConnections, detectMemoryLimit, detectLimitUnreached, detectSettings,
		detectSchedule,
	}
)

// placed is a statement about an arm in a table.
func (t *table) placed(arm string, p finding.Parameters, evidence ...finding.Evidence) finding.Finding {
	return finding.Make(t.where(arm), finding.New(p), evidence...)
}

// at names an arm and the table for a statement.
func (t *table) at(arm string) finding.At { return finding.At{Arm: arm, Place: t.place()} }

// placeIn names a phase of a cell as [table.place] does; all of the cell where the phase is "".
func placeIn(run *record.Run, cell int, phase string) string {
	label := run.Experiment.Cells[cell].ClassText()
	if difference := cellDifference(&run.Experiment, cell); difference != "" {
		label += ", " + difference
	}
	if phase == "" {
		return label
	}
	return phase + " (" + label + ")"
}

// seen is an observation behind a finding.
func (o *observation) seen(m finding.Message) finding.Evidence {
	return finding.Evidence{Trial: o.planned.ID, Message: m}
}

// sightings gathers what trials have in common by arm and place, in the order of the first of each:
// facts, and the evidence that is shown of them.
type sightings[F any] struct {
	order []sighting
	list  map[sighting]*sighted[F]
}

// sighting is where something was seen, and what.
type sighting struct {
	code       finding.Code
	arm, phase string
	cell       int
}

// sighted is all that was seen at one place.
type sighted[F any] struct {
	at       finding.At
	facts    []F
	evidence []finding.Evidence
}

func (s *sightings[F]) add(at sighting, fact F, e finding.Evidence) {
	if s.list == nil {
		s.list = map[sighting]*sighted[F]{}
	}
	if s.list[at] == nil {
		s.list[at], s.order = &sighted[F]{}, append(s.order, at)
	}
	s.list[at].facts, s.list[at].evidence = append(s.list[at].facts, fact), append(s.list[at].evidence, e)
}

// findings makes one finding of each place, of what state makes of its facts; nil: none.
func (s *sightings[F]) findings(run *record.Run, state func(at sighting, seen *sighted[F]) finding.Parameters) (found []finding.Finding) {
	for _, at := range s.order {
		seen, cell := s.list[at], at.cell
		seen.at = finding.At{Arm: at.arm, Place: placeIn(run, at.cell, at.phase)}
		where := finding.Where{Run: run.Header.ID, Cell: &cell, Class: run.Experiment.Cells[cell].ClassText(), Phase: at.phase, Arm: at.arm}
		if p := state(at, seen); p != nil {
			found = append(found, finding.Make(where, finding.New(p), seen.evidence...))
		}
	}
	return found
}

func trialsIn(evidence []finding.Evidence) int {
	trials := map[string]bool{}
	for _, e := range evidence {
		trials[e.Trial] = true
	}
	return len(trials)
}

// phaseNamed returns a phase of an experiment; an empty one if there is none of the name.
func phaseNamed(run *record.Run, name string) experiment.Phase {
	at := slices.IndexFunc(run.Experiment.Phases, func(p experiment.Phase) bool { return p.Name == name })
	if at < 0 {
		return experiment.Phase{}
	}
	return run.Experiment.Phases[at]
}

// isWrite reports whether any operation of a phase changes data.
func isWrite(p experiment.Phase) bool { return does(p, trace.Operation.Changes) }

// isRead reports whether any operation of a phase looks at records, if only to change them.
func isRead(p experiment.Phase) bool {
	return does(p, func(o trace.Operation) bool {
		return !o.Changes() || o == trace.ReadModifyWrite || o == trace.CompareAndSwap
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

// isStore reports whether a trial is of a measured arm that is no null driver.
func isStore(run *record.Run, planned plan.Trial) bool {
	return planned.Role == plan.Measured && planned.Store >= 0 && run.Experiment.Stores[planned.Store].Description.Kind != store.None
}

// distinctWords returns words sorted, each once.
func distinctWords(words []string) []string {
	words = slices.Clone(words)
	slices.Sort(words)
	return slices.Compact(words)
}

// where is the place of an arm in a table; of the table where arm is "".
func (t *table) where(arm string) finding.Where {
	cell := t.Cell
	return finding.Where{Run: t.run.Header.ID, Cell: &cell, Class: t.Class, Phase: t.Phase, Arm: arm, Table: t.ID}
}
