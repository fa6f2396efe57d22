package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/history"
	"assay/internal/evidence/record"
	"assay/internal/experiment/trace"
)

// recordedNS is what a recorded operation takes more than another one, at most:
// docs/harness-cost.md.
const recordedNS = 25

// checkedKeys sums up the histories of one arm.
type checkedKeys struct {
	keys                                        int
	records, dropped, undecided                 uint64
	reads, allReads, writes, covered, allWrites uint64
	threadNS                                    float64
}

// eachHistory calls visit for each phase of a store of which a sample of keys was recorded.
func eachHistory(run *record.Run, visit func(at sighting, trial string, p *record.Phase)) {
	eachPhase(run, func(at sighting, trial string, p *record.Phase) {
		if p.History != nil && p.History.Keys > 0 {
			visit(at, trial, p)
		}
	})
}

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

// detectChecked says of each store how much of what it did was checked against the history of
// sampled keys, and which loss of writes that would have found.
func detectChecked(run *record.Run, _ []*facts.Table) (found []finding.Finding) {
	var arms []string
	of := map[string]*checkedKeys{}
	eachHistory(run, func(at sighting, _ string, p *record.Phase) {
		s, h := of[at.arm], p.History
		if s == nil {
			s = &checkedKeys{}
			of[at.arm], arms = s, append(arms, at.arm)
		}
		s.keys = max(s.keys, h.Sample)
		s.records, s.dropped, s.undecided = s.records+h.Records, s.dropped+h.Dropped, s.undecided+uint64(h.Undecided)
		s.reads, s.writes, s.covered = s.reads+h.Reads, s.writes+h.Writes, s.covered+h.Covered
		reads, writes := readsAndWrites(p)
		s.allReads, s.allWrites = s.allReads+reads, s.allWrites+writes
		s.threadNS += float64(p.ElapsedNS) * float64(max(p.Threads, 1))
	})
	for _, arm := range arms {
		s := of[arm]
		if s.covered == 0 {
			continue // only reads, or only writes: a history shows nothing
		}
		p := finding.FindCheckedParams{Arm: arm, Keys: s.keys, Records: s.records, Dropped: s.dropped,
			Undecided: s.undecided, Reads: s.reads, ReadShare: shareOf(s.reads,
				s.allReads), Writes: s.writes, Covered: s.covered, WriteShare: shareOf(s.covered,
				s.allWrites), Found4: history.Found(1e-4, s.covered), Found5: history.Found(1e-5,
				s.covered), Found6: history.Found(1e-6, s.covered)}
		if s.threadNS > 0 {
			p.TimeShare = finding.Known(recordedNS * float64(s.records) / s.threadNS)
		}
		found = append(found, finding.Make(finding.Where{Run: run.Header.ID, Arm: arm}, finding.New(p)))
	}
	return found
}

// readsAndWrites counts the operations, members of batches included, that returned a version and
// that wrote one.
func readsAndWrites(p *record.Phase) (reads, writes uint64) {
	for _, o := range p.Calls() {
		operation, known := trace.ParseOperation(o.Name)
		switch {
		case !known:
		case operation == trace.Batch:
			writes += o.Items
		case operation == trace.Increment: // it leaves the version that histories tell writes by
		case operation.Changes():
			writes += o.OK
			if operation == trace.ReadModifyWrite || operation == trace.CompareAndSwap {
				reads += o.Done()
			}
		case operation == trace.Read:
			reads += o.OK + o.Miss + o.Lost
		}
	}
	return reads, writes
}

func shareOf(part, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return min(float64(part)/float64(all), 1)
}

// detectMissed tells how many reads of a store that promises no more did not find what was stored.
func detectMissed(run *record.Run, _ []*facts.Table) []finding.Finding {
	var s sightings[finding.FindMissedParams]
	eachPhase(run, func(at sighting, trial string, p *record.Phase) {
		if !p.Eventual {
			return
		}
		one := finding.FindMissedParams{At: at.in(run)}
		for _, o := range p.Calls() {
			one.Count, one.Of = one.Count+float64(o.Lost), one.Of+float64(o.Done())
		}
		if at.code = finding.FindMissed; one.Count > 0 {
			s.add(at, one, finding.Evidence{Trial: trial, Message: finding.New(one)})
		}
	})
	return s.findings(run, func(_ sighting, seen *sighted[finding.FindMissedParams]) finding.Parameters {
		all := finding.FindMissedParams{At: seen.at, Trials: trialsIn(seen.evidence)}
		for _, one := range seen.facts {
			all.Count, all.Of = all.Count+one.Count, all.Of+one.Of
		}
		return all
	})
}

// in names the place of a sighting.
func (at sighting) in(run *record.Run) finding.At {
	return finding.At{Arm: at.arm, Place: facts.PlaceIn(run, at.cell, at.phase)}
}

// detectInconsistent tells of what histories show without being a fault: stale reads of a store
// that promises no more, updates that were overwritten, and writes whose outcome was unknown and
// that took effect.
func detectInconsistent(run *record.Run, _ []*facts.Table) (found []finding.Finding) {
	var s sightings[inconsistency]
	eachHistory(run, func(at sighting, trial string, p *record.Phase) {
		see := func(code finding.Code, i inconsistency) {
			at.code = code
			// Of updates, trials that lost none are in the share.
			if i.count > 0 || code == finding.FindUpdates {
				s.add(at, i, finding.Evidence{Trial: trial, Message: finding.New(i.parameters(code, at.in(run)))})
			}
		}
		h := p.History
		if p.Eventual {
			see(finding.FindEventual, inconsistency{count: h.Stale + h.Vanished, of: h.Reads,
				lateNS: h.LateP50NS, lateMaxNS: h.LateMaxNS})
		}
		if u := h.Updates; u != nil {
			see(finding.FindUpdates, inconsistency{count: u.Lost, of: u.Done, items: u.ItemsLost})
			see(finding.FindNoUpdates, inconsistency{count: uint64(u.Undecided), of: uint64(u.Keys + u.Undecided)})
		}
		see(finding.FindFailedRead, inconsistency{count: h.FailedReads})
		see(finding.FindCameLater, inconsistency{count: h.CameLater})
	})
	return s.findings(run, func(at sighting, seen *sighted[inconsistency]) finding.Parameters {
		all := inconsistency{trials: trialsIn(seen.evidence)}
		for _, i := range seen.facts {
			all.count, all.of, all.items = all.count+i.count, all.of+i.of, all.items+i.items
			all.lateNS, all.lateMaxNS = max(all.lateNS, i.lateNS), max(all.lateMaxNS, i.lateMaxNS)
		}
		if all.count == 0 {
			return nil
		}
		return all.parameters(at.code, seen.at)
	})
}

// inconsistency is what the histories of one trial show of one kind, or of several together.
type inconsistency struct {
	count, of, items  uint64
	lateNS, lateMaxNS int64
	trials            int // 0: it is of one
}

func (i inconsistency) parameters(code finding.Code, at finding.At) finding.Parameters {
	count, of := float64(i.count), float64(i.of)
	switch code {
	case finding.FindEventual:
		return finding.FindEventualParams{At: at, Trials: i.trials, Count: count, Of: of,
			LateNS: float64(i.lateNS), LateMaxNS: float64(i.lateMaxNS)}
	case finding.FindUpdates:
		return finding.FindUpdatesParams{At: at, Trials: i.trials, Count: count, Of: of,
			Share: shareOf(i.count, i.of), Items: float64(i.items)}
	case finding.FindNoUpdates:
		return finding.FindNoUpdatesParams{At: at, Trials: i.trials, Count: count, Of: of}
	}
	return finding.LateWriteParams{Code: code, At: at, Trials: i.trials, Count: count}
}
