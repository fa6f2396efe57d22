package verdict

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/plan"
	"assay/internal/record"
)

// faultWords says what each kind of fault means for a reader.
var faultWords = map[string]struct {
	severity Severity
	sentence string // of the arm and the place
	remedy   string
}{
	record.MarkErrors:     {Grave, "%s answered with errors or timeouts in %s, and has no rank there", "read the messages in the trial; a rate that leaves out errors is no rate"},
	record.MarkWrong:      {Grave, "%s returned values that were never written under their key in %s", "take it for a defect of the store, its driver or its settings until shown otherwise"},
	record.MarkLost:       {Grave, "%s lost records in %s", "look at the durability settings and the examples in the trial"},
	record.MarkStale:      {Grave, "%s returned older values than it had acknowledged, in %s", "look for caches and replicas that are read before they are written"},
	record.MarkIdentity:   {Grave, "%s has counts in %s that can't be: its operations, or what they are said to have done, don't add up", "take it for a defect of the worker or driver; no figure of the trial can be trusted"},
	record.MarkUnfinished: {Grave, "%s left operations that never ended in %s", "look at the worker's log; a longer step timeout helps if the store is only slow"},
	record.MarkShort:      {Warning, "%s did not get through all its operations in %s", "give the phase more time or fewer operations"},
	record.MarkDamaged:    {Grave, "the files of %s were changed or damaged in %s", "put the directory back as the run left it (sha256sum -c SHA256SUMS in the trial's directory), or run again"},
	record.MarkDiskFull:   {Warning, "the disk was full under %s in %s", "make room, or set disk_quota below what is free; where it was a quota by mount, this is what was asked for: read its errors"},
	record.MarkClock:      {Warning, "the clock that timed %s in %s can't be trusted; these blocks are left out", "set clock: monotonic"},
	record.MarkThrottled:  {Warning, "a CPU quota or heat held back %s in %s; these blocks are left out", "lift the CPU quota of the container or cgroup (docker --cpus, systemd's CPUQuota, cpu.max), or use no more threads than it allows; against heat, cool the machine, or cap its frequency below what it can't keep up"},
	record.MarkForeign:    {Warning, "something else used the machine while %s ran in %s; these blocks are left out", "stop other programs, or use a machine of your own"},
}

// findFaults has one finding for each kind of fault of each arm in each cell and phase, the A/A arm and null driver too.
func findFaults(run *record.Run, _ *Summary) (found []Finding) {
	type place struct {
		code, arm, phase string
		cell             int
	}
	var order []place
	evidence := map[place][]string{}
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if t == nil {
			continue
		}
		for _, f := range faultsOf(t) {
			p := place{f.code, planned.Arm, f.phase, planned.Cell}
			if evidence[p] == nil {
				order = append(order, p)
			}
			evidence[p] = append(evidence[p], planned.ID+": "+f.text)
		}
	}
	for _, p := range order {
		words, known := faultWords[p.code]
		if !known {
			words = faultWords[record.MarkIdentity]
			words.sentence, words.remedy = "%s is marked in %s", "read the mark"
		}
		phase := p.phase
		if phase == "" {
			phase = "the trial"
		}
		found = append(found, Finding{Code: p.code, Severity: words.severity,
			Sentence: fmt.Sprintf(words.sentence, p.arm, phase+" at "+cellName(run, p.cell)) + ".",
			Evidence: evidence[p], Remedy: words.remedy,
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
