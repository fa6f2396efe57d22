package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/store"
)

// detectDurabilityCost says, for each phase that writes, which store pays most for a stronger
// class: that is why classes have tables of their own.
func detectDurabilityCost(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	for _, phase := range run.Experiment.Phases {
		if !facts.IsWrite(phase) || phase.Rate > 0 {
			continue
		}
		var dearest *finding.Finding
		most := 0.0
		for _, weak := range tables {
			for _, strong := range tables {
				if weak.Open || weak.Phase != phase.Name || strong.Phase != phase.Name ||
					!onlyClassDiffers(weak, strong) {
					continue
				}
				if f, factor := costOf(weak, strong); f != nil && factor > most {
					dearest, most = f, factor
				}
			}
		}
		if dearest != nil {
			found = append(found, *dearest)
		}
	}
	return found
}

// onlyClassDiffers reports whether a cell is of a weaker class than another, and differs in nothing
// else.
func onlyClassDiffers(weak, strong *facts.Table) bool {
	a, b := weak.Parameters, strong.Parameters
	if facts.ClassStrength(b, a) >= 0 {
		return false
	}
	a.Durability, a.LossWindow, a.Case = b.Durability, b.LossWindow, b.Case
	return a.Same(b)
}

// costOf compares the stores at two classes, each with itself, and returns by which factor the dearest
// is slower at the stronger one. Nil: none is so significantly.
func costOf(weak, strong *facts.Table) (dearer *finding.Finding, factor float64) {
	var arms []string
	var values [][]float64
	options := stat.Options{Twins: weak.Twins}
	for _, r := range weak.Rows {
		other := strong.Row(plan.Measured, r.Arm)
		if r.Role != plan.Measured || other == nil || !r.HasGood() || !other.HasGood() {
			continue
		}
		options.Family = append(options.Family, [2]int{len(values), len(values) + 1})
		values = append(values, weak.Values([]*facts.Row{r}, facts.RateOfTrial)[0],
			strong.Values([]*facts.Row{other}, facts.RateOfTrial)[0])
		arms = append(arms, r.Arm)
	}
	if len(arms) == 0 {
		return nil, 0
	}
	c := stat.Compare(values, options)
	var evidence []finding.Evidence
	dearest := -1
	for i, arm := range arms {
		ratio := c.Pair(2*i, 2*i+1)
		if ratio.Interval == nil {
			continue
		}
		evidence = append(evidence, finding.Evidence{Message: finding.New(finding.SeenCostParams{Arm: arm,
			Weak: weak.Class, Strong: strong.Class, Factor: ratio.Value, Low: ratio.Interval.Low,
			High: ratio.Interval.High})})
		if ratio.Significant && ratio.Value > 1 && (dearest < 0 || ratio.Value > c.Pair(2*dearest, 2*dearest+1).Value) {
			dearest = i
		}
	}
	if dearest < 0 {
		return nil, 0
	}
	ratio := c.Pair(2*dearest, 2*dearest+1)
	f := finding.Make(finding.Where{Run: weak.Run.Header.ID, Phase: weak.Phase},
		finding.New(finding.DurabilityCostParams{Arm: arms[dearest], Phase: weak.Phase, Weak: weak.Class,
			Strong: strong.Class, Factor: ratio.Value, Low: ratio.Interval.Low, High: ratio.Interval.High}),
		evidence...)
	return &f, ratio.Value
}

// syncMicrosBelievable is how long a sync of 4 KiB takes at least: no device answers sooner without
// a cache that it claims to survive with. `assay doctor` has the same line.
const syncMicrosBelievable = 20

// detectNothingSynced reports classes that live by syncs where a sync costs nothing and proves
// nothing.
func detectNothingSynced(run *record.Run, tables []*facts.Table) []finding.Finding {
	e := run.Environment
	var p finding.NothingSyncedParams
	switch {
	case e.Filesystem == "tmpfs" || e.Filesystem == "ramfs":
		p.Filesystem = e.Filesystem
	case quotaInMemory(run):
		p.Filesystem, p.Mounted = "tmpfs", true
	case e.SyncMicros > 0 && e.SyncMicros < syncMicrosBelievable:
		p.SyncNS = e.SyncMicros * 1e3
	default:
		return nil
	}
	var arms []string
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		embedded := r.Store >= 0 && run.Experiment.Stores[r.Store].KeepsFiles()
		if embedded && r.Rate != nil && t.Parameters.Durability >= store.D2 {
			arms = append(arms, r.Arm)
		}
	})
	if len(arms) == 0 {
		return nil
	}
	p.Arms = facts.DistinctWords(arms)
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID}, finding.New(p))}
}

func quotaInMemory(run *record.Run) bool {
	for _, t := range run.Trials {
		if t.QuotaMount != nil && t.QuotaMount.FileSystem == "tmpfs" {
			return true
		}
	}
	return false
}
