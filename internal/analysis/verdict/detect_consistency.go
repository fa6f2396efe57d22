package verdict

import (
	"slices"

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
		if t == nil || !isStore(run, planned) {
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
func detectChecked(run *record.Run, _ []*table) (found []finding.Finding) {
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
		m := finding.New(finding.FindChecked, "arm", arm, "keys", s.keys, "records", s.records, "dropped", s.dropped, "undecided", s.undecided,
			"reads", s.reads, "read_share", shareOf(s.reads, s.allReads), "writes", s.writes, "covered", s.covered,
			"write_share", shareOf(s.covered, s.allWrites), "found4", history.Found(1e-4, s.covered), "found5", history.Found(1e-5, s.covered),
			"found6", history.Found(1e-6, s.covered))
		if s.threadNS > 0 {
			m = m.With("time_share", recordedNS*float64(s.records)/s.threadNS)
		}
		found = append(found, finding.Make(finding.Where{Run: run.Header.ID, Arm: arm}, m))
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
func detectMissed(run *record.Run, _ []*table) []finding.Finding {
	var s sightings
	eachPhase(run, func(at sighting, trial string, p *record.Phase) {
		if !p.Eventual {
			return
		}
		var lost, done uint64
		for _, o := range p.Calls() {
			lost, done = lost+o.Lost, done+o.Done()
		}
		if at.code = finding.FindMissed; lost > 0 {
			m := finding.New(at.code, "arm", at.arm, "place", placeIn(run, at.cell, at.phase), "count", lost, "of", done)
			s.add(at, finding.Evidence{Trial: trial, Message: m})
		}
	})
	return s.findings(run, func(_ sighting, evidence []finding.Evidence) []any {
		count, of := 0.0, 0.0
		for _, e := range evidence {
			count, of = count+numberOf(e.Message, "count"), of+numberOf(e.Message, "of")
		}
		return []any{"count", count, "of", of}
	})
}

// detectInconsistent tells of what histories show without being a fault: stale reads of a store
// that promises no more, and writes whose outcome was unknown and that took effect.
func detectInconsistent(run *record.Run, _ []*table) []finding.Finding {
	var s sightings
	eachHistory(run, func(at sighting, trial string, p *record.Phase) {
		see := func(code finding.Code, count uint64, pairs ...any) {
			if at.code = code; count > 0 || code == finding.FindUpdates {
				m := finding.New(code, "arm", at.arm, "place", placeIn(run, at.cell, at.phase), "count", count).With(pairs...)
				s.add(at, finding.Evidence{Trial: trial, Message: m})
			}
		}
		h := p.History
		if p.Eventual {
			see(finding.FindEventual, h.Stale+h.Vanished, "of", h.Reads, "late_ns", h.LateP50NS, "late_max_ns", h.LateMaxNS)
		}
		if u := h.Updates; u != nil {
			see(finding.FindUpdates, u.Lost, "of", u.Done, "share", shareOf(u.Lost, u.Done), "items", u.ItemsLost)
			see(finding.FindNoUpdates, uint64(u.Undecided), "of", u.Keys+u.Undecided)
		}
		see(finding.FindFailedRead, h.FailedReads)
		see(finding.FindCameLater, h.CameLater)
	})
	found := s.findings(run, func(at sighting, evidence []finding.Evidence) []any {
		count, of, items, late, most := 0.0, 0.0, 0.0, 0.0, 0.0
		for _, e := range evidence {
			count, of = count+numberOf(e.Message, "count"), of+numberOf(e.Message, "of")
			if at.code == finding.FindUpdates {
				items += numberOf(e.Message, "items")
			}
			late, most = max(late, numberOf(e.Message, "late_ns")), max(most, numberOf(e.Message, "late_max_ns"))
		}
		switch at.code {
		case finding.FindUpdates:
			return []any{"count", count, "of", of, "share", count / max(of, 1), "items", items}
		case finding.FindNoUpdates:
			return []any{"count", count, "of", of, "share", count / max(of, 1)}
		}
		return []any{"count", count, "of", of, "late_ns", late, "late_max_ns", most}
	})
	// Of updates, trials that lost none are in the share.
	return slices.DeleteFunc(found, func(f finding.Finding) bool { return numberOf(f.Message, "count") == 0 })
}
