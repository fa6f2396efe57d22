package verdict

import (
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/store"
)

// detectDurabilityCost says, for each phase that writes, which store pays most for a stronger
// class: that is why classes have tables of their own.
func detectDurabilityCost(run *record.Run, tables []*table) (found []finding.Finding) {
	for _, phase := range run.Experiment.Phases {
		if !isWrite(phase) || phase.Rate > 0 {
			continue
		}
		var dearest *finding.Finding
		for _, weak := range tables {
			for _, strong := range tables {
				if weak.Phase != phase.Name || strong.Phase != phase.Name || !onlyClassDiffers(weak, strong) {
					continue
				}
				if f := costOf(weak, strong); f != nil && (dearest == nil || numberOf(f.Message, "factor") > numberOf(dearest.Message, "factor")) {
					dearest = f
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
func onlyClassDiffers(weak, strong *table) bool {
	a, b := weak.parameters, strong.parameters
	if classStrength(b, a) >= 0 {
		return false
	}
	a.Durability, a.LossWindow, a.Case = b.Durability, b.LossWindow, b.Case
	return a == b
}

// costOf compares the stores at two classes, each with itself. Nil: none is significantly slower at
// the stronger one.
func costOf(weak, strong *table) *finding.Finding {
	var arms []string
	var values [][]float64
	options := stat.Options{Smallest: max(weak.Threshold, strong.Threshold)}
	for _, r := range weak.rows {
		other := strong.row(plan.Measured, r.Arm)
		if r.role != plan.Measured || other == nil || !r.hasGood() || !other.hasGood() {
			continue
		}
		options.Family = append(options.Family, [2]int{len(values), len(values) + 1})
		values = append(values, weak.values([]*row{r}, rateOfTrial)[0], strong.values([]*row{other}, rateOfTrial)[0])
		arms = append(arms, r.Arm)
	}
	if len(arms) == 0 {
		return nil
	}
	c := stat.Compare(values, options)
	var evidence []finding.Evidence
	dearest := -1
	for i, arm := range arms {
		ratio := c.Pair(2*i, 2*i+1)
		if ratio.Interval == nil {
			continue
		}
		evidence = append(evidence, finding.Evidence{Message: finding.New(finding.SeenCost, "arm", arm, "weak", weak.Class, "strong", strong.Class,
			"factor", ratio.Value, "low", ratio.Interval.Low, "high", ratio.Interval.High)})
		if ratio.Significant && ratio.Value > 1 && (dearest < 0 || ratio.Value > c.Pair(2*dearest, 2*dearest+1).Value) {
			dearest = i
		}
	}
	if dearest < 0 {
		return nil
	}
	ratio := c.Pair(2*dearest, 2*dearest+1)
	f := finding.Make(finding.Where{Run: weak.Run, Phase: weak.Phase}, finding.New(finding.DurabilityCost, "arm", arms[dearest], "phase", weak.Phase,
		"weak", weak.Class, "strong", strong.Class, "factor", ratio.Value, "low", ratio.Interval.Low, "high", ratio.Interval.High), evidence...)
	return &f
}

// syncMicrosBelievable is how long a sync of 4 KiB takes at least: no device answers sooner without
// a cache that it claims to survive with. `assay doctor` has the same line.
const syncMicrosBelievable = 20

// detectNothingSynced tells of classes that live by syncs where a sync costs nothing and proves
// nothing.
func detectNothingSynced(run *record.Run, tables []*table) []finding.Finding {
	e := run.Environment
	m := finding.New(finding.NothingSynced)
	switch {
	case e.Filesystem == "tmpfs" || e.Filesystem == "ramfs":
		m = m.With("filesystem", e.Filesystem)
	case quotaInMemory(run):
		m = m.With("filesystem", "tmpfs", "mounted", true)
	case e.SyncMicros > 0 && e.SyncMicros < syncMicrosBelievable:
		m = m.With("sync_ns", e.SyncMicros*1e3)
	default:
		return nil
	}
	var arms []string
	eachMeasured(tables, func(t *table, r *row) {
		embedded := r.store >= 0 && run.Experiment.Stores[r.store].KeepsFiles()
		if embedded && r.Rate != nil && t.parameters.Durability >= store.D2 {
			arms = append(arms, r.Arm)
		}
	})
	if len(arms) == 0 {
		return nil
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID}, m.With("arms", distinctWords(arms)))}
}

func quotaInMemory(run *record.Run) bool {
	for _, t := range run.Trials {
		if t.QuotaMount != nil && t.QuotaMount.FileSystem == "tmpfs" {
			return true
		}
	}
	return false
}
