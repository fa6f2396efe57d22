package verdict

import (
	"fmt"

	"assay/internal/finding"
	"assay/internal/host"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/stat"
)

// Shares are noticed from here on; what voids a trial is decided while it runs.
const (
	foreignNoticed = 0.05
	stealNoticed   = 0.02
)

// findBusyMachine looks at what others took of the machine in measured phases, below what marks a trial. Runs of an Assay that did not
// keep bounds have samples only.
func findBusyMachine(run *record.Run, s *Summary) []Finding {
	var evidence []string
	phases := 0
	eachPhase(s, func(t *Table, o *Observation) {
		defer func(before int) { phases += min(len(evidence)-before, 1) }(len(evidence))
		var foreign, steal []float64
		for _, sample := range run.Series[o.Trial] {
			if sample.Phase != t.Phase {
				continue
			}
			if sample.Foreign != nil {
				foreign = append(foreign, *sample.Foreign)
			}
			if sample.Steal != nil {
				steal = append(steal, *sample.Steal)
			}
		}
		var known record.Machine
		if o.phase != nil && o.phase.Machine != nil {
			known = *o.phase.Machine
			foreign, steal = nil, nil
		}
		if text := taken(known.Foreign, foreign, foreignNoticed); text != "" {
			evidence = append(evidence, fmt.Sprintf("%s, %s: other processes used %s of the machine", o.Trial, t.Phase, text))
		}
		if text := taken(known.Steal, steal, stealNoticed); text != "" {
			evidence = append(evidence, fmt.Sprintf("%s, %s: the hypervisor took %s of the machine", o.Trial, t.Phase, text))
		}
	})
	if len(evidence) == 0 {
		return nil
	}
	ranked := ""
	if run.Experiment.BusyMachine == spec.BusyMachineTell {
		ranked = " The experiment ranks these trials all the same (busy_machine: tell)."
	}
	return []Finding{{Code: FindBusyMachine, Severity: Warning,
		Sentence: fmt.Sprintf("Others used the machine in %s.", plural(phases, "measured phase", "measured phases")) + ranked,
		Evidence: evidence, Remedy: "stop other programs, or use a machine of your own"}}
}

// taken writes a share that is surely above what is noticed, by its bounds or, without them, by its samples; "" for less.
func taken(within *host.Bounds, samples []float64, noticed float64) string {
	switch {
	case within != nil && within.Least > noticed && percent(within.Least) == percent(within.Most):
		return percent(within.Least)
	case within != nil && within.Least > noticed:
		return percent(within.Least) + " to " + percent(within.Most)
	case within == nil && len(samples) > 0 && stat.Mean(samples) > noticed:
		return percent(stat.Mean(samples))
	}
	return ""
}

// findThrottling tells of quotas and heat that held a worker back without a mark: for little of its time, or for a time that the kernel does not tell.
func findThrottling(_ *record.Run, s *Summary) []Finding {
	var evidence []string
	phases := 0
	eachPhase(s, func(t *Table, o *Observation) {
		defer func(before int) { phases += min(len(evidence)-before, 1) }(len(evidence))
		if o.phase == nil || o.phase.Machine == nil || hasFault(o.faults, finding.FaultThrottled, t.Phase) {
			return
		}
		m := o.phase.Machine
		if m.QuotaPeriods != nil && *m.QuotaPeriods > 0 && m.QuotaSeconds != nil {
			evidence = append(evidence, fmt.Sprintf("%s, %s: the CPU quota of %s was used up in %s and kept threads from a CPU for %s of %s",
				o.Trial, t.Phase, m.QuotaGroup, plural(int(*m.QuotaPeriods), "period", "periods"), seconds(*m.QuotaSeconds), seconds(m.Seconds)))
		}
		if m.HeatEvents != nil && *m.HeatEvents > 0 {
			lasted := "; this kernel does not tell for how long"
			if m.HeatSeconds != nil {
				lasted = fmt.Sprintf(", for %s of %s", seconds(*m.HeatSeconds), seconds(m.Seconds))
			}
			evidence = append(evidence, fmt.Sprintf("%s, %s: heat slowed a CPU down %s%s", o.Trial, t.Phase, plural(int(*m.HeatEvents), "time", "times"), lasted))
		}
	})
	if len(evidence) == 0 {
		return nil
	}
	return []Finding{{Code: FindThrottling, Severity: Warning,
		Sentence: fmt.Sprintf("CPUs were held back in %s: look at the slowest operations with that in mind.", plural(phases, "measured phase", "measured phases")),
		Evidence: evidence, Remedy: finding.Remedy(finding.New(finding.FaultThrottled))}}
}

// machineWords name what may not have been measured, in the order in which it is told.
var machineWords = []struct{ name, words string }{
	{"foreign", "other processes"}, {"steal", "the hypervisor"}, {"quota", "a CPU quota"}, {"heat", "heat"},
}

// findMachineUntold has one finding for the run. What a machine never tells is said once, with the number of phases.
func findMachineUntold(_ *record.Run, s *Summary) []Finding {
	var unknown, evidence []string
	phases, first := map[string]int{}, map[string]string{}
	for _, what := range machineWords {
		var reasons []string
		eachPhase(s, func(t *Table, o *Observation) {
			if o.phase == nil || o.phase.Machine == nil || o.phase.Machine.NotMeasured[what.name] == "" {
				return
			}
			text := what.words + ": " + o.phase.Machine.NotMeasured[what.name]
			if phases[text]++; phases[text] == 1 {
				reasons, first[text] = append(reasons, text), o.Trial+", "+t.Phase
			}
		})
		if len(reasons) > 0 {
			unknown, evidence = append(unknown, what.words), append(evidence, reasons...)
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	for i, text := range evidence {
		evidence[i] = first[text] + ": " + text
		if n := phases[text]; n > 1 {
			evidence[i] = fmt.Sprintf("%s (in %d measured phases)", text, n)
		}
	}
	return []Finding{{Code: FindMachineUntold, Severity: Notice,
		Sentence: fmt.Sprintf("Whether %s held workers back is not known for some phases.", list(unknown)),
		Evidence: evidence, Remedy: "run longer phases; where the kernel tells nothing, another machine may"}}
}

// eachPhase calls visit for each phase of each trial in the tables, the A/A arm and null drivers too.
func eachPhase(s *Summary, visit func(t *Table, o *Observation)) {
	for i := range s.Tables {
		for _, r := range s.Tables[i].Rows {
			for j := range r.Trials {
				visit(&s.Tables[i], &r.Trials[j])
			}
		}
	}
}
