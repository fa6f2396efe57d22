package detect

import (
	"cmp"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// detectFaults makes a finding of each kind of fault of each arm in each cell and phase, of
// references too: its evidence is the marks.
func detectFaults(run *record.Run, _ []*facts.Table) []finding.Finding {
	var s sightings[finding.Mark]
	replaced := replaced(run)
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if t == nil {
			continue
		}
		for _, m := range t.CountedMarks() {
			if m.Machine() && replaced[planned.ID] {
				continue
			}
			s.add(sighting{m.Fault(), planned.Arm, m.Phase, planned.Cell}, m,
				finding.Evidence{Trial: planned.ID, Message: m.Message})
		}
	}
	return s.findings(run, func(at sighting, seen *sighted[finding.Mark]) finding.Parameters {
		p := finding.FaultParams{Code: at.code, At: seen.at, Trials: trialsIn(seen.evidence)}
		for _, m := range seen.facts { // as the run directory has them, perhaps of another Assay
			if p.Count += m.Number("count"); at.code == finding.FaultErrors {
				p.Said = cmp.Or(p.Said, m.Text("message"))
			}
			p.Share = max(p.Share, m.Number("least"))
			if seconds := m.Number("seconds"); seconds > 0 {
				p.Share = max(p.Share, m.Number("held_s")/seconds)
			}
		}
		return p
	})
}

// detectFailed makes a finding of each arm that failed in a cell. A trial that lost an agent says nothing
// of its store: where it was run again, the repetition tells.
func detectFailed(run *record.Run, _ []*facts.Table) []finding.Finding {
	var s sightings[*record.Trial]
	replaced := replaced(run)
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if t != nil && t.Cause == finding.CauseAgentLost && replaced[planned.ID] {
			continue
		}
		if t != nil && t.State == record.Failed {
			s.add(sighting{finding.TrialFailed, planned.Arm, "", planned.Cell}, t,
				finding.Evidence{Trial: planned.ID,
					Message: finding.New(finding.PlainParams{Text: t.Error})})
		}
	}
	return s.findings(run, func(_ sighting, seen *sighted[*record.Trial]) finding.Parameters {
		return finding.TrialFailedParams{At: seen.at, Trials: len(seen.facts),
			Why: finding.Text(seen.facts[0].Reason())}
	})
}

// detectMissing counts the planned trials without a result.
func detectMissing(run *record.Run, _ []*facts.Table) []finding.Finding {
	var evidence []finding.Evidence
	for _, planned := range run.Plan {
		switch t := run.Trials[planned.ID]; {
		case t == nil:
			evidence = append(evidence, finding.Evidence{Trial: planned.ID,
				Message: finding.New(finding.TrialMissingParams{Trial: planned.ID})})
		case t.State == record.Interrupted:
			evidence = append(evidence, finding.Evidence{Trial: planned.ID, Message: t.Reason()})
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID},
		finding.New(finding.TrialsMissingParams{Missing: len(evidence), Planned: len(run.Plan),
			Directory: run.Directory}), evidence...)}
}

// detectIncomplete reports files that are missing or damaged, but for those of trials: these are
// marked, see [detectFaults].
func detectIncomplete(run *record.Run, _ []*facts.Table) []finding.Finding {
	var evidence []finding.Evidence
	for _, f := range run.Faults {
		if !f.Spoils() {
			evidence = append(evidence, finding.Evidence{Trial: f.Trial,
				Message: finding.New(finding.MarkDamagedParams{File: f.File, Text: f.What})})
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID},
		finding.New(finding.RunIncompleteParams{Files: len(evidence)}), evidence...)}
}
