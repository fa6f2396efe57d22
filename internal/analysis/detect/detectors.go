package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// detector looks for one cause and stays silent without it. What it says is data: the sentences are
// in package finding.
type detector func(run *record.Run, tables []*facts.Table) []finding.Finding

// beforeRanks see tables with figures and without ranks; a grave finding of theirs takes the rank
// of the arm at its Where (of every phase of the cell where Where has none). afterRanks see
// everything.
var (
	beforeRanks = []detector{LessWork, detectNotOnDisk, detectSharedLiars, detectWorkedBefore}
	afterRanks  = []detector{
		detectFaults, detectFailed, detectMissing, detectIncomplete,
		detectFalls, detectDrops, detectInconclusive, detectInterference, detectStoppedEarly, detectRanOut,
		detectConflicts, detectServerShares,
		detectServerFaults,
		detectHarness, detectHarnessUnknown, detectAgents, detectClientBound, detectWakeUps, detectNetwork,
		detectPauses, detectSlowOpen, detectNoise, detectBusyMachine, detectMachineUnknown,
		detectNotSettled, detectCarryover,
		detectDispatchLate, detectBacklog, detectOverTime, detectUnsureCapacities, detectReplay,
		detectDurabilityCost, detectBindingCost, detectNothingSynced, detectUnverified, detectInconsistent,
		detectServerKept,
		detectInMemory, detectNotCold, detectPlans, detectConnections, detectConnectionsLeft, detectServerLeft,
		detectStarved, detectMemoryLimit, detectLimitUnreached, detectSettings,
		detectSchedule,
	}
)

// placed is a statement about an arm in a table.
func placed(t *facts.Table, arm string, p finding.Parameters, evidence ...finding.Evidence) finding.Finding {
	return finding.Make(whereIn(t, arm), finding.New(p), evidence...)
}

// atOf names an arm and the table for a statement.
func atOf(t *facts.Table, arm string) finding.At { return finding.At{Arm: arm, Place: t.Place()} }

// seenIn is an observation behind a finding.
func seenIn(o *facts.Observation, m finding.Message) finding.Evidence {
	return finding.Evidence{Trial: o.Planned.ID, Message: m}
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
func (s *sightings[F]) findings(run *record.Run, state func(at sighting,
	seen *sighted[F]) finding.Parameters) (found []finding.Finding) {
	for _, at := range s.order {
		seen, cell := s.list[at], at.cell
		seen.at = finding.At{Arm: at.arm, Place: facts.PlaceIn(run, at.cell, at.phase)}
		where := finding.Where{Run: run.Header.ID, Cell: &cell,
			Class: run.Experiment.Cells[cell].ClassText(), Phase: at.phase, Arm: at.arm}
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

// whereIn is the place of an arm in a table; of the table where arm is "".
func whereIn(t *facts.Table, arm string) finding.Where {
	cell := t.Cell
	return finding.Where{Run: t.Run.Header.ID, Cell: &cell, Class: t.Class, Phase: t.Phase, Arm: arm, Table: t.ID}
}
