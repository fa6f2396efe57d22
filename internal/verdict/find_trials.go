package verdict

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/finding"
	"assay/internal/plan"
	"assay/internal/record"
)

// findFaults has one finding for each kind of fault of each arm in each cell and phase, the A/A arm and null driver too.
func findFaults(run *record.Run, _ *Summary) (found []Finding) {
	type place struct {
		code       finding.Code
		arm, phase string
		cell       int
	}
	var order []place
	evidence := map[place][]string{}
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if t == nil {
			continue
		}
		for _, m := range t.CountedMarks() {
			p := place{m.Fault(), planned.Arm, m.Phase, planned.Cell}
			if evidence[p] == nil {
				order = append(order, p)
			}
			evidence[p] = append(evidence[p], planned.ID+": "+finding.Text(m.Message))
		}
	}
	for _, p := range order {
		entry, _ := finding.Lookup(p.code)
		m := finding.New(p.code, "arm", p.arm, "place", p.phase+" at "+cellName(run, p.cell), "count", len(evidence[p]), "trials", len(evidence[p]), "share", 0)
		found = append(found, Finding{Code: string(p.code), Severity: Severity(entry.Severity), Sentence: finding.Text(m),
			Evidence: evidence[p], Remedy: finding.Remedy(m),
			Where: Where{Cell: pointer(p.cell), Class: className(run.Experiment.Cells[p.cell]), Phase: p.phase, Arm: p.arm}})
	}
	return found
}

// byArm groups the trials of a state by arm and cell.
func byArm(run *record.Run, wanted func(t *record.Trial) bool) (keys []plan.Trial, trials map[string][]*record.Trial) {
	trials = map[string][]*record.Trial{}
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if t == nil || !wanted(t) {
			continue
		}
		key := armKey(planned)
		if trials[key] == nil {
			keys = append(keys, planned)
		}
		trials[key] = append(trials[key], t)
	}
	return keys, trials
}

func armKey(p plan.Trial) string { return fmt.Sprintf("%d/%s", p.Cell, p.Arm) }

func findFailed(run *record.Run, _ *Summary) (found []Finding) {
	keys, trials := byArm(run, func(t *record.Trial) bool { return t.State == record.Failed })
	for _, planned := range keys {
		var evidence []string
		for _, t := range trials[armKey(planned)] {
			evidence = append(evidence, t.Plan.ID+": "+t.Error)
		}
		found = append(found, Finding{Code: FindFailed, Severity: Grave,
			Sentence: fmt.Sprintf("%s failed in %s at %s, and has no rank there.", planned.Arm, plural(len(evidence), "trial", "trials"), cellName(run, planned.Cell)),
			Evidence: evidence, Remedy: "read the worker's log in the trial's folder",
			Where: Where{Cell: pointer(planned.Cell), Class: className(run.Experiment.Cells[planned.Cell]), Arm: planned.Arm}})
	}
	return found
}

// findRefused has one finding for each arm: a store that can't reach a class says the same in every cell of it.
func findRefused(run *record.Run, _ *Summary) (found []Finding) {
	keys, trials := byArm(run, func(t *record.Trial) bool { return t.State == record.Refused })
	var arms []string
	cells, reasons := map[string][]string{}, map[string][]string{}
	for _, planned := range keys {
		if cells[planned.Arm] == nil {
			arms = append(arms, planned.Arm)
		}
		cells[planned.Arm] = append(cells[planned.Arm], cellName(run, planned.Cell))
		why := trials[armKey(planned)][0].Error
		if !slices.Contains(reasons[planned.Arm], why) {
			reasons[planned.Arm] = append(reasons[planned.Arm], why)
		}
	}
	for _, arm := range arms {
		found = append(found, Finding{Code: FindRefused, Severity: Notice,
			Sentence: fmt.Sprintf("%s can't do what is asked at %s, and is shown there without figures.", arm, list(cells[arm])),
			Evidence: reasons[arm], Where: Where{Arm: arm}})
	}
	return found
}

func findMissing(run *record.Run, _ *Summary) []Finding {
	var evidence []string
	for _, planned := range run.Plan {
		if t := run.Trials[planned.ID]; t == nil {
			evidence = append(evidence, planned.ID+" has no result")
		} else if t.State == record.Interrupted {
			evidence = append(evidence, planned.ID+" was interrupted: "+t.Error)
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	return []Finding{{Code: FindMissing, Severity: Warning,
		Sentence: fmt.Sprintf("%d of %s did not end: the tables have fewer blocks than planned.", len(evidence), plural(len(run.Plan), "planned trial", "planned trials")),
		Evidence: evidence, Remedy: "resume the run"}}
}

// findFewTwins tells where the A/A comparison, and with it the threshold, rests on one block or on less than half of them.
func findFewTwins(run *record.Run, s *Summary) []Finding {
	var evidence []string
	for i := range s.Tables {
		t := &s.Tables[i]
		if t.AA == nil {
			continue
		}
		blocks := len(t.rowOf(plan.AA, "").Trials)
		if n := t.AA.N; n < blocks && (n == 1 || 2*n < blocks) {
			evidence = append(evidence, fmt.Sprintf("%s: %s ran beside its twin in %d of %d blocks", in(run, t), t.Baseline, n, blocks))
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	return []Finding{{Code: FindFewTwins, Severity: Notice,
		Sentence: "The noise is measured in few of the blocks in some tables: what counts as a difference rests on these blocks alone there.",
		Evidence: evidence, Remedy: "see why the baseline's trials, or its twin's, did not end well"}}
}

func findIncomplete(run *record.Run, _ *Summary) []Finding {
	// That trials are left to do is findMissing's to say.
	missing := slices.DeleteFunc(slices.Clone(run.Missing), func(m string) bool { return strings.HasSuffix(m, "trials have no result") })
	if len(missing) == 0 {
		return nil
	}
	return []Finding{{Code: FindIncomplete, Severity: Warning, Sentence: "Parts of the run directory are missing or can't be read.",
		Evidence: missing, Remedy: "restore them, or run again"}}
}

// findMemoryLimit: a limit that did not hold shows in what the kernel charged to the trial's group.
func findMemoryLimit(run *record.Run, _ *Summary) []Finding {
	var evidence []string
	for _, planned := range run.Plan {
		t, limit := run.Trials[planned.ID], run.Experiment.Cells[planned.Cell].MemoryLimit
		if t == nil || limit <= 0 {
			continue
		}
		const overshoot = 1.02 // the kernel charges in batches of pages
		if m := t.Memory; m != nil && m.PeakBytes != nil && float64(*m.PeakBytes) > overshoot*float64(limit) {
			evidence = append(evidence, fmt.Sprintf("%s: the trial held %s, the limit is %s", planned.ID, size(float64(*m.PeakBytes)), size(float64(limit))))
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	return []Finding{{Code: FindMemoryLimit, Severity: Warning, Sentence: "The memory limit was not enforced: arms did not have the same memory.",
		Evidence: evidence, Remedy: "run where memory control groups can be written; `assay doctor` says if they can"}}
}
