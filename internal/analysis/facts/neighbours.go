package facts

import (
	"slices"
	"time"

	"assay/internal/analysis/stat"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// sittingGap is the longest pause between two trials after which the first may still slow the second.
const sittingGap = time.Minute

// Before returns, by trial, the store that ran directly before it, in the same sitting; no entry: none
// did.
func Before(run *record.Run) map[string]string {
	var ran []*record.Trial
	for _, t := range run.Trials {
		if t.State != record.Refused {
			ran = append(ran, t)
		}
	}
	slices.SortFunc(ran, func(a, b *record.Trial) int { return a.Started.Compare(b.Started) })
	before := map[string]string{}
	for i := 1; i < len(ran); i++ {
		last := ran[i-1]
		ended := last.Started.Add(time.Duration(last.Seconds * float64(time.Second)))
		if gap := ran[i].Started.Sub(ended); gap < sittingGap {
			before[ran[i].Plan.ID] = last.Plan.Leaves()
		}
	}
	return before
}

// AfterEffect is what a store's trials leave to those after them, in one phase of all cells.
type AfterEffect struct {
	Phase string
	Store string
	Cell  int // the first one
	stat.AfterEffect
}

// AfterEffects tests, phase by phase, what the trials of each store leave to the next one. Null
// drivers are slowed by nothing on the disk: they come before trials here, and not after.
func AfterEffects(run *record.Run, tables []*Table) (all []AfterEffect) {
	before := Before(run)
	trials := map[string][]stat.Neighbour{}
	var phases, stores []string
	first := map[string]int{}
	for i, t := range tables {
		if t.Open {
			continue
		}
		for arm, row := range t.Rows {
			for _, o := range row.Trials {
				store, known := before[o.Planned.ID]
				if row.Role == plan.Ceiling || !o.good() || !known {
					continue
				}
				at := slices.Index(stores, store)
				if at < 0 {
					at, stores = len(stores), append(stores, store)
				}
				if !slices.Contains(phases, t.Phase) {
					phases = append(phases, t.Phase)
					first[t.Phase] = t.Cell
				}
				trials[t.Phase] = append(trials[t.Phase],
					stat.Neighbour{Table: i, Arm: arm, Block: o.Planned.Block, Before: at, Value: *o.Rate})
			}
		}
	}
	for _, phase := range phases {
		for _, e := range stat.AfterEffects(trials[phase], len(stores)) {
			all = append(all, AfterEffect{Phase: phase, Store: stores[e.Before], Cell: first[phase], AfterEffect: e})
		}
	}
	return all
}
