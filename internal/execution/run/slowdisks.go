package run

import (
	"fmt"
	"slices"

	"assay/internal/execution/powercut"
	"assay/internal/experiment"
)

// checkSlowDisks refuses an experiment whose phases have a disk answer late, where no disk of Assay's can be.
func checkSlowDisks(e *experiment.Experiment, o Options) error {
	if !slices.ContainsFunc(e.Stores, func(s experiment.Store) bool { return s.Server != nil }) {
		return nil
	}
	for _, p := range e.Phases {
		if !slices.ContainsFunc(p.Faults, experiment.Fault.AnswersLate) {
			continue
		}
		where, err := o.dataPlace()
		if err == nil {
			err = powercut.CheckSlow(where, o.Rig)
		}
		if err != nil {
			return fmt.Errorf("in the phase %s a disk answers late, which can't be done here: %w", p.Name, err)
		}
	}
	return nil
}
