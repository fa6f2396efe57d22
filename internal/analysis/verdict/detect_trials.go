package verdict

import (
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// detectFaults makes a finding of each kind of fault of each arm in each cell and phase, of
// references too: its evidence is the marks.
func detectFaults(run *record.Run, _ []*table) []finding.Finding {
	var s sightings
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
			s.add(sighting{m.Fault(), planned.Arm, m.Phase, planned.Cell}, finding.Evidence{Trial: planned.ID, Message: m.Message})
		}
	}
	return s.findings(run, func(_ sighting, evidence []finding.Evidence) []any {
		count, share := 0.0, 0.0
		for _, e := range evidence {
			count += numberOf(e.Message, "count")
			share = max(share, numberOf(e.Message, "least"))
			if seconds := numberOf(e.Message, "seconds"); seconds > 0 {
				share = max(share, numberOf(e.Message, "held_s")/seconds)
			}
		}
		return []any{"count", count, "share", share}
	})
}

// detectFailed makes a finding of each arm that failed in a cell.
func detectFailed(run *record.Run, _ []*table) []finding.Finding {
	var s sightings
	for _, planned := range run.Plan {
		if t := run.Trials[planned.ID]; t != nil && t.State == record.Failed {
			s.add(sighting{finding.TrialFailed, planned.Arm, "", planned.Cell},
				finding.Evidence{Trial: planned.ID, Message: finding.New(finding.Plain, "text", t.Error, "cause", string(t.Cause))})
		}
	}
	return s.findings(run, func(_ sighting, evidence []finding.Evidence) []any {
		return []any{"why", finding.Text(run.Trials[evidence[0].Trial].Reason())}
	})
}

// detectMissing counts the planned trials without a result.
func detectMissing(run *record.Run, _ []*table) []finding.Finding {
	var evidence []finding.Evidence
	for _, planned := range run.Plan {
		switch t := run.Trials[planned.ID]; {
		case t == nil:
			evidence = append(evidence, finding.Evidence{Trial: planned.ID, Message: finding.New("trial-missing", "trial", planned.ID)})
		case t.State == record.Interrupted:
			evidence = append(evidence, finding.Evidence{Trial: planned.ID, Message: t.Reason()})
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID},
		finding.New(finding.TrialsMissing, "missing", len(evidence), "planned", len(run.Plan), "directory", run.Directory), evidence...)}
}

// detectIncomplete tells of files that are missing or damaged, but for those of trials: these are
// marked, see [detectFaults].
func detectIncomplete(run *record.Run, _ []*table) []finding.Finding {
	var evidence []finding.Evidence
	for _, f := range run.Faults {
		if !f.Spoils() {
			evidence = append(evidence, finding.Evidence{Trial: f.Trial, Message: finding.New(finding.MarkDamaged, "file", f.File, "text", f.What)})
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID}, finding.New(finding.RunIncomplete, "files", len(evidence)), evidence...)}
}
