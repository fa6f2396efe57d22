package detect

import (
	"maps"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

// Shares of the machine from which on they are reported; what costs a trial is decided while it
// runs.
const (
	foreignNoticed = 0.05
	stealNoticed   = 0.02
)

// detectBusyMachine counts the measured phases in which others used the machine, or a quota or heat
// held a worker back, too little to mark the trial, as far as is certain: of shares taken, only the
// least that they can have been counts. With busy_machine: tell, no trial is marked.
func detectBusyMachine(run *record.Run, tables []*facts.Table) []finding.Finding {
	var evidence []finding.Evidence
	p := finding.BusyMachineParams{Ranked: run.Experiment.BusyMachine == experiment.BusyMachineTell}
	facts.EachObservation(tables, func(t *facts.Table, o *facts.Observation) {
		// no mark was looked for
		if o.Phase == nil || o.Phase.Machine == nil || o.Phase.EndedBy == record.EndedInterrupted {
			return
		}
		p.Of++
		if hasMark(o.Marks, t.Phase, finding.FaultForeign, finding.FaultThrottled) {
			return // detectFaults reports it
		}
		before := len(evidence)
		note := func(most *float64, value float64, seen finding.Parameters) {
			*most = max(*most, value)
			evidence = append(evidence, seenIn(o, finding.New(seen)))
		}
		m := o.Phase.Machine
		taken := m.Taken()
		if least, is := above(taken, foreignNoticed); is {
			note(&p.Foreign, least, finding.MarkForeignParams{Least: least, Most: taken.Most, Phase: t.Phase})
		}
		if least, is := above(m.Steal, stealNoticed); is {
			note(&p.Steal, least, finding.MarkStealParams{Least: least, Most: m.Steal.Most, Phase: t.Phase})
		}
		if m.QuotaPeriods != nil && *m.QuotaPeriods > 0 && m.QuotaSeconds != nil {
			note(&p.QuotaS, *m.QuotaSeconds, finding.MarkQuotaParams{Group: m.QuotaGroup, Periods: *m.QuotaPeriods,
				HeldS: *m.QuotaSeconds, Seconds: m.Seconds, Phase: t.Phase})
		}
		if m.HeatEvents != nil && *m.HeatEvents > 0 {
			var heat finding.Parameters = finding.SeenHeatParams{Times: *m.HeatEvents, Phase: t.Phase}
			if m.HeatSeconds != nil {
				heat = finding.MarkHeatParams{HeldS: *m.HeatSeconds, Seconds: m.Seconds, Phase: t.Phase}
			}
			note(&p.HeatTimes, float64(*m.HeatEvents), heat)
		}
		if len(evidence) > before {
			p.Phases++
		}
	})
	if p.Phases == 0 {
		return nil
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID}, finding.New(p), evidence...)}
}

// detectNotSettled counts the trials that began before the machine was back where it was before the
// first one, as far as they waited.
func detectNotSettled(run *record.Run, _ []*facts.Table) []finding.Finding {
	var p finding.NotSettledParams
	var evidence []finding.Evidence
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if t == nil || t.Settled == nil {
			continue
		}
		p.Of++
		s := t.Settled
		if len(s.NotBack) == 0 {
			continue
		}
		p.Trials++
		seen := finding.SeenNotSettledParams{WaitedS: s.Seconds}
		for _, what := range s.NotBack {
			switch what {
			case host.LeftDirty:
				p.Dirty++
				seen.DirtyBytes = s.Left.DirtyBytes
			case host.LeftQueue:
				p.Queue++
				seen.Queue = s.Left.Queue
			case host.LeftCPU:
				p.CPU++
				seen.CPU = s.Left.CPU
			}
		}
		evidence = append(evidence, finding.Evidence{Trial: planned.ID, Message: finding.New(seen)})
	}
	if p.Trials == 0 {
		return nil
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID}, finding.New(p), evidence...)}
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
	return slices.ContainsFunc(marks, func(m finding.Mark) bool {
		return facts.Within(phase, m.Phase) && slices.Contains(faults, m.Fault())
	})
}

// detectMachineUnknown says what could not be measured of the machine: foreign, steal, quota, heat.
func detectMachineUnknown(run *record.Run, tables []*facts.Table) []finding.Finding {
	phases := 0
	missing := map[string]int{}
	var evidence []finding.Evidence
	seen := map[string]bool{}
	facts.EachObservation(tables, func(t *facts.Table, o *facts.Observation) {
		if o.Phase == nil || o.Phase.Machine == nil {
			return
		}
		phases++
		for _, name := range []string{"foreign", "steal", "quota", "heat"} {
			why := o.Phase.Machine.NotMeasured[name]
			if why == "" {
				continue
			}
			missing[name]++
			if !seen[name+why] {
				seen[name+why] = true
				evidence = append(evidence, seenIn(o, finding.New(finding.PlainParams{Text: t.Phase + ": " + name + ": " + why})))
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
		finding.New(finding.NotMeasuredParams{Code: finding.NoMachine, Of: phases, What: what, Counts: counts}),
		evidence...)}
}
