package detect

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// Why data loss could go undetected.
const (
	UncheckedReads    = "reads"     // verify is off
	UncheckedEnd      = "end"       // verify_records is 0
	UncheckedArms     = "arms"      // nothing that they wrote was read back
	UncheckedVersions = "versions"  // values are too short to prove theirs
	UncheckedOutcomes = "ambiguous" // writes ended in errors or conflicts
)

// detectUnverified says which faults of stores could not have been seen, and why: one finding a
// cause.
func detectUnverified(run *record.Run, _ []*facts.Table) (found []finding.Finding) {
	add := func(p finding.UnverifiedParams, evidence ...finding.Evidence) {
		f := finding.Make(finding.Where{Run: run.Header.ID}, finding.New(p), evidence...)
		if p.Why == UncheckedVersions {
			f.Severity = finding.Notice
		}
		found = append(found, f)
	}
	e := &run.Experiment
	if !e.Verify {
		add(finding.UnverifiedParams{Why: UncheckedReads})
	}
	if arms, evidence := neverReadBack(run); e.VerifyRecords == 0 || len(arms) > 0 {
		p := finding.UnverifiedParams{Why: UncheckedArms, Arms: arms}
		if e.VerifyRecords == 0 {
			p, evidence = finding.UnverifiedParams{Why: UncheckedEnd}, nil
		}
		if covered, writes := coveredOf(run, p.Arms); covered > 0 {
			p.Covered, p.Writes = covered, writes
		}
		add(p, evidence...)
	}
	unjudged := notJudged(run)
	if shortProofs(run) {
		add(finding.UnverifiedParams{Why: UncheckedVersions, Bytes: finding.Known(keyval.StampBytes),
			Columns: finding.Known(len(e.Values.Columns) > 0)}, unjudged...)
	} else if len(unjudged) > 0 {
		add(finding.UnverifiedParams{Why: UncheckedOutcomes}, unjudged...)
	}
	return found
}

// shortProofs reports whether some values prove their key, but not which write they came from.
func shortProofs(run *record.Run) bool {
	e := &run.Experiment
	if columns := e.Values.Record(); columns != nil {
		return !columns.Proves()
	}
	for _, v := range e.Values.Sizes {
		if v.Bytes < keyval.StampBytes && v.Weight > 0 {
			return true
		}
	}
	for _, c := range e.Cells {
		if len(e.Values.Sizes) == 0 && c.ValueBytes < keyval.StampBytes {
			return true
		}
	}
	return false
}

// notJudged lists the trials in which records were read back and could not be judged.
func notJudged(run *record.Run) (evidence []finding.Evidence) {
	for _, planned := range run.Plan {
		if t := run.Trials[planned.ID]; t != nil && t.Final != nil && t.Final.Unknown > 0 {
			evidence = append(evidence, finding.Evidence{Trial: planned.ID,
				Message: finding.New(finding.SeenUnjudgedParams{Count: t.Final.Unknown, Of: t.Final.Records})})
		}
	}
	return evidence
}

// neverReadBack names the arms that wrote and of which, against the settings, nothing was read
// back. It goes by what the trials say and not by why there was nothing to read.
func neverReadBack(run *record.Run) (arms []string, evidence []finding.Evidence) {
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if t == nil || t.Final != nil || t.State != record.OK && t.State != record.Marked || !facts.IsStore(run,
			planned) {
			continue
		}
		if writes := writesOf(t); writes > 0 {
			arms = append(arms, planned.Arm)
			evidence = append(evidence, finding.Evidence{Trial: planned.ID,
				Message: finding.New(finding.SeenWritesParams{Count: writes})})
		}
	}
	return facts.DistinctWords(arms), evidence
}

// coveredOf counts the acknowledged writes of arms (nil: of all stores), and those of them whose loss the
// histories of their phases would have shown.
func coveredOf(run *record.Run, arms []string) (covered, writes uint64) {
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if t == nil || t.State != record.OK && t.State != record.Marked || !facts.IsStore(run, planned) ||
			arms != nil && !slices.Contains(arms, planned.Arm) {
			continue
		}
		writes += writesOf(t)
		for i := range t.Phases {
			if p := &t.Phases[i]; p.History != nil && p.GroupOf() == "" {
				covered += p.History.Covered
			}
		}
	}
	return covered, writes
}

// writesOf counts the operations of a trial that changed data, as far as the store said.
func writesOf(t *record.Trial) (writes uint64) {
	for i := range t.Phases {
		if t.Phases[i].GroupOf() != "" {
			continue // its operations are those of the phase, too
		}
		for _, o := range t.Phases[i].Calls() {
			if operation, known := trace.ParseOperation(o.Name); known && operation.Changes() {
				writes += o.OK
			}
		}
	}
	return writes
}
