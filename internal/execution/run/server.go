package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/internal/base/finding"
	"assay/internal/execution/clients"
	"assay/internal/execution/server"
)

// startServer starts the store's server, where Assay is to.
func (t *trial) startServer(ctx context.Context) error {
	if t.store.Server == nil {
		return nil
	}
	program, known := t.run.options.programOf(t.store)
	if !known { // package read has checked it, but a resumed run may be of another version of Assay
		return fmt.Errorf("this version of Assay can't start %s", t.store.Driver)
	}
	digest, err := t.run.programs.check(ctx, t.store.Name, program)
	if err != nil {
		return ownFault{err}
	}
	directory := t.disk.data
	if !t.store.KeepsFiles() {
		t.disk.data = "" // the directory is the process's; there is nothing in it to watch
	}
	told, err := t.tested.startSlow(ctx, program, server.Request{
		Directory: directory, Log: t.writer.Log(), Patience: t.run.experiment.StepTimeout, CPUs: t.cpus().Server,
		Kept: t.run.initials, SHA256: digest},
		t.run.experiment.Phases, t.run.options.Rig)
	if err != nil {
		err = errors.Join(append([]error{err}, t.tested.removeSlow()...)...)
		if ctx.Err() != nil {
			return clients.ErrInterrupted
		}
		t.result.Cause = finding.CauseNoServer
		return err
	}
	told.SHA256 = digest
	if built := t.store.Server.Built; built != nil {
		told.Commit = built.Commit
	}
	t.result.Server = told
	return nil
}

// stopServer ends the server that Assay has started, and what stands before it.
func (t *trial) stopServer() {
	patience := serverPatience
	if t.clients.Context.Err() != nil {
		patience = clients.StopPatience
	}
	ended := []error{t.tested.stopProxies(), t.tested.stop(patience)}
	for _, err := range slices.Concat(ended, t.tested.removeRooms(), t.tested.removeSlow()) {
		if err != nil {
			t.run.view.Message(fmt.Sprintf("trial %s: %v", t.plan.ID, err))
		}
	}
}

// serverPatience is how long a server may take to end by itself: a database writes back what it
// holds.
const serverPatience = 10 * time.Second
