package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// eachPhase calls visit for each phase of a store.
func eachPhase(run *record.Run, visit func(at sighting, trial string, p *record.Phase)) {
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if t == nil || !facts.IsStore(run, planned) {
			continue
		}
		for i := range t.Phases {
			p := &t.Phases[i]
			visit(sighting{arm: planned.Arm, phase: p.Name, cell: planned.Cell}, planned.ID, p)
		}
	}
}

func shareOf(part, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return min(float64(part)/float64(all), 1)
}

// in names the place of a sighting.
func (at sighting) in(run *record.Run) finding.At {
	return finding.At{Arm: at.arm, Place: facts.PlaceIn(run, at.cell, at.phase)}
}

// detectInconsistent reports what phases and histories show without being a fault: records that a
// store which promises no more did not find or returned stale, updates that were overwritten, and
// writes whose outcome was unknown and that took effect.
func detectInconsistent(run *record.Run, _ []*facts.Table) (found []finding.Finding) {
	var s sightings[finding.InconsistencyParams]
	eachPhase(run, func(at sighting, trial string, p *record.Phase) {
		see := func(seen finding.InconsistencyParams) {
			at.code, seen.At = seen.Code, at.in(run)
			// Of updates, trials that lost none are in the share.
			if seen.Count > 0 || seen.Code == finding.FindUpdates {
				s.add(at, seen, finding.Evidence{Trial: trial, Message: finding.New(shared(seen))})
			}
		}
		if p.Eventual {
			missed := finding.InconsistencyParams{Code: finding.FindMissed}
			for _, o := range p.Calls() {
				missed.Count, missed.Of = missed.Count+o.Lost, missed.Of+o.Done()
			}
			see(missed)
		}
		h := p.History
		if h == nil || h.Keys == 0 {
			return
		}
		if p.Eventual {
			after, _ := h.Staleness.CurrentAfter()
			see(finding.InconsistencyParams{Code: finding.FindEventual, Count: h.Stale + h.Vanished, Of: h.Reads,
				LateNS: h.LateP50NS, LateMaxNS: h.LateMaxNS, CurrentAfterNS: after})
		}
		if u := h.Updates; u != nil {
			see(finding.InconsistencyParams{Code: finding.FindUpdates, Count: u.Lost, Of: u.Done, Items: u.ItemsLost})
			see(finding.InconsistencyParams{Code: finding.NoUpdates, Count: uint64(u.Undecided),
				Of: uint64(u.Keys + u.Undecided)})
		}
		see(finding.InconsistencyParams{Code: finding.FindFailedRead, Count: h.FailedReads})
		see(finding.InconsistencyParams{Code: finding.FindCameLater, Count: h.CameLater})
	})
	return s.findings(run, func(at sighting, seen *sighted[finding.InconsistencyParams]) finding.Parameters {
		all, current := finding.InconsistencyParams{Code: at.code, At: seen.at}, true
		for _, one := range seen.facts {
			all.Count, all.Of, all.Items = all.Count+one.Count, all.Of+one.Of, all.Items+one.Items
			if all.CurrentAfterNS = max(all.CurrentAfterNS, one.CurrentAfterNS); one.CurrentAfterNS == 0 {
				current = false
			}
			all.LateNS, all.LateMaxNS = max(all.LateNS, one.LateNS), max(all.LateMaxNS, one.LateMaxNS)
		}
		if all.Count == 0 {
			return nil
		}
		if !current { // in one of the phases nothing is known of when
			all.CurrentAfterNS = 0
		}
		return shared(all)
	})
}

// shared sets the share of updates that were lost.
func shared(p finding.InconsistencyParams) finding.InconsistencyParams {
	if p.Code == finding.FindUpdates {
		p.Share = finding.Known(shareOf(p.Count, p.Of))
	}
	return p
}
