package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// reportHeld says of each server of the trials that are left what it holds, before anything is done
// to it.
func (r *running) reportHeld(ctx context.Context, left []plan.Trial) {
	for i := range r.experiment.Stores {
		s := &r.experiment.Stores[i]
		runs := slices.ContainsFunc(left, func(p plan.Trial) bool { return p.Store == i && p.Refuse == "" })
		if !s.Outlives() || !runs || ctx.Err() != nil {
			continue
		}
		if held := r.heldBy(s); held > 0 {
			r.view.Message(heldText(s, held))
		}
	}
}

func heldText(s *experiment.Store, held uint64) string {
	text := fmt.Sprintf("%s at %s is not empty: it holds %d records; ", s.Name, strings.Join(s.Endpoints, ", "), held)
	if s.Options["flush_at_open"] == "true" {
		return text + "flush_at_open deletes all of them"
	}
	return text + "Assay's keys begin with the trial's name, and no other key is touched"
}

// heldBy asks a server how many records it holds. The opening is not a trial's first, so that
// nothing is emptied. A server that does not answer fails its trials, which say why.
func (r *running) heldBy(s *experiment.Store) uint64 {
	command := s.Worker
	if len(command) == 0 {
		command = r.options.Worker
	}
	w, err := conductor.Start(command, io.Discard)
	if err != nil {
		return 0
	}
	defer func() { _ = w.End(r.experiment.StepTimeout) }()
	var opened control.Opened
	cell := &r.experiment.Cells[0]
	err = openInAnyClass(control.Open{
		Driver: s.Driver, Endpoints: s.Endpoints, Durability: cell.Durability, LossWindowNS: int64(cell.LossWindow),
		Options: s.Options,
		Handles: control.HandlesPerThread, Threads: 1,
	}, func(open control.Open) error {
		return w.Call(control.Request{Command: control.CommandOpen, Open: &open}, r.experiment.StepTimeout, &opened)
	})
	if err != nil || opened.Held == nil {
		return 0
	}
	return *opened.Held
}

// removeNumber is the number of the phase that deletes a trial's keys from a server. Read-backs of a
// trial's phases have those below it.
const removeNumber = 254
