package verdict

import (
	"maps"
	"slices"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

// Shares of the machine from which on they are told of; what costs a trial is decided while it
// runs.
const (
	foreignNoticed = 0.05
	stealNoticed   = 0.02
)

// detectBusyMachine counts the measured phases in which others used the machine, or a quota or heat
// held a worker back, too little to mark the trial. With busy_machine: tell, no trial is marked.
func detectBusyMachine(run *record.Run, tables []*table) []finding.Finding {
	var evidence []finding.Evidence
	phases, disturbed := 0, 0
	most := map[string]float64{}
	eachObservation(tables, func(t *table, o *observation) {
		if o.phase == nil || o.phase.Machine == nil {
			return
		}
		phases++
		if hasMark(o.marks, t.Phase, finding.FaultForeign, finding.FaultThrottled) {
			return // detectFaults tells of it
		}
		before := len(evidence)
		note := func(name string, share float64, m finding.Message) {
			most[name] = max(most[name], share)
			evidence = append(evidence, o.seen(m.With("phase", t.Phase)))
		}
		m := o.phase.Machine
		if least, is := above(m.Foreign, foreignNoticed); is {
			note("foreign", least, finding.New(finding.MarkForeign, "least", least, "most", m.Foreign.Most))
		}
		if least, is := above(m.Steal, stealNoticed); is {
			note("steal", least, finding.New(finding.MarkSteal, "least", least, "most", m.Steal.Most))
		}
		if m.QuotaPeriods != nil && *m.QuotaPeriods > 0 && m.QuotaSeconds != nil {
			note("quota_s", *m.QuotaSeconds, finding.New(finding.MarkQuota, "group", m.QuotaGroup, "periods", *m.QuotaPeriods,
				"held_s", *m.QuotaSeconds, "seconds", m.Seconds))
		}
		if m.HeatEvents != nil && *m.HeatEvents > 0 {
			heat := finding.New(finding.SeenHeat, "times", *m.HeatEvents)
			if m.HeatSeconds != nil {
				heat = finding.New(finding.MarkHeat, "held_s", *m.HeatSeconds, "seconds", m.Seconds)
			}
			note("heat_times", float64(*m.HeatEvents), heat)
		}
		disturbed += btoi(len(evidence) > before)
	})
	if disturbed == 0 {
		return nil
	}
	m := finding.New(finding.BusyMachine, "phases", disturbed, "of", phases, "ranked", run.Experiment.BusyMachine == experiment.BusyMachineTell)
	for name, value := range most {
		m = m.With(name, value)
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID}, m, evidence...)}
}

// above returns the least that a share was, and whether that is more than some.
func above(b *host.Bounds, some float64) (float64, bool) {
	if b == nil || b.Least <= some {
		return 0, false
	}
	return b.Least, true
}

// hasMark reports whether a phase, or the one that it is a group of, has a mark of one of some faults.
func hasMark(marks []finding.Mark, phase string, faults ...finding.Code) bool {
	return slices.ContainsFunc(marks, func(m finding.Mark) bool { return within(phase, m.Phase) && slices.Contains(faults, m.Fault()) })
}

// detectMachineUnknown says what could not be measured of the machine: foreign, steal, quota, heat.
func detectMachineUnknown(run *record.Run, tables []*table) []finding.Finding {
	phases := 0
	missing := map[string]int{}
	var evidence []finding.Evidence
	seen := map[string]bool{}
	eachObservation(tables, func(t *table, o *observation) {
		if o.phase == nil || o.phase.Machine == nil {
			return
		}
		phases++
		for _, name := range []string{"foreign", "steal", "quota", "heat"} {
			why := o.phase.Machine.NotMeasured[name]
			if why == "" {
				continue
			}
			missing[name]++
			if !seen[name+why] {
				seen[name+why] = true
				evidence = append(evidence, o.seen(finding.New(finding.Plain, "text", t.Phase+": "+name+": "+why)))
			}
		}
	})
	if len(missing) == 0 {
		return nil
	}
	what := slices.Sorted(maps.Keys(missing))
	var counts []int
	for _, name := range what {
		counts = append(counts, missing[name])
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID},
		finding.New(finding.MachineUnknown, "of", phases, "what", what, "phases", counts), evidence...)}
}
