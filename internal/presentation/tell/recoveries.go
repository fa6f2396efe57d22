package tell

import (
	"cmp"
	"fmt"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// recoveriesOf says of each fault that an experiment asks for how soon each store's rate was back: the
// median of its blocks.
func recoveriesOf(tables []*facts.Table) (messages []finding.Message) {
	for _, t := range tables {
		faults := 0
		each := map[string][][]facts.Recovery{} // arm → block → faults in their order
		var arms []string
		for _, r := range t.Rows {
			for _, o := range r.Used() {
				if r.Role != plan.Measured || o.Course == nil || !o.Faulty() {
					continue
				}
				all := facts.Recoveries(o.Phase, o.Course.Samples())
				if len(all) > 0 && each[r.Arm] == nil {
					arms = append(arms, r.Arm)
				}
				each[r.Arm], faults = append(each[r.Arm], all), max(faults, len(all))
			}
		}
		for i := range faults {
			if m := recoveryOf(t, i, arms, each); m.Code != "" {
				messages = append(messages, m)
			}
		}
	}
	return messages
}

// recoveryOf is of the fault that is at a place among those of a phase.
func recoveryOf(t *facts.Table, i int, arms []string, each map[string][][]facts.Recovery) finding.Message {
	p := finding.RecoveredParams{Place: t.Place()}
	type back struct {
		arm     string
		seconds float64
	}
	var all []back
	for _, arm := range arms {
		var after, meanwhile []float64
		blocks := 0
		for _, block := range each[arm] {
			if i >= len(block) {
				continue
			}
			blocks++
			p.Does, p.Amount, p.Node, p.DownS = block[i].Does, block[i].Amount, block[i].Node, max(p.DownS,
				block[i].Down)
			if during := block[i].During; during != nil && block[i].Before > 0 {
				meanwhile = append(meanwhile, *during/block[i].Before)
			}
			if at := block[i].RecoveredAt; at != nil {
				after = append(after, *at-block[i].At)
			}
		}
		if p.Does != experiment.FaultKill && p.Does != experiment.FaultFreeze && p.Does != experiment.FaultCut &&
			len(meanwhile) > 0 {
			p.Meanwhile = append(p.Meanwhile, arm+" "+shareOver(meanwhile))
		}
		switch {
		case blocks == 0:
		case 2*len(after) <= blocks:
			p.Not = append(p.Not, arm)
		default:
			all = append(all, back{arm, *facts.MedianOf(after)})
		}
	}
	if len(all)+len(p.Not) == 0 {
		return finding.Message{}
	}
	slices.SortStableFunc(all, func(a, b back) int { return cmp.Compare(a.seconds, b.seconds) })
	for _, b := range all {
		p.Back = append(p.Back, fmt.Sprintf("%s %s", b.arm, format.Seconds(b.seconds)))
	}
	return finding.New(p)
}

// shareOver is the mean of a share over blocks, with its interval where there are several.
func shareOver(blocks []float64) string {
	e := stat.Compare([][]float64{blocks}, stat.Options{}).Arms[0]
	if e.Interval == nil || e.N < 2 {
		return format.Percent(e.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", format.Percent(e.Value), format.Percent(e.Interval.Low), format.Percent(e.Interval.High))
}
