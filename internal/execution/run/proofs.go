package run

import (
	"assay/internal/execution/control"
	"cmp"
	"slices"

	"assay/internal/evidence/host"
	"assay/internal/evidence/proof"
	"assay/internal/evidence/record"
	"assay/store"
)

// digests are those of the programs of stores: those of a run are the same in all of its trials.
var digests host.Digests

// citeProofs looks for what cuts have shown of the store as it is open now. A file that can't be read
// proves nothing, and is reported.
func (t *trial) citeProofs(class store.Durability) {
	if t.run.options.Proved == nil || !slices.Contains([]store.Durability{store.D1, store.D2, store.D3}, class) {
		return
	}
	q := proof.Question{Store: t.store.Driver, Version: proof.VersionOf(t.result.Version, t.result.Settings),
		Options:  t.store.OptionsInForce(),
		Settings: t.result.Settings, Class: class, WindowNS: int64(t.cell.LossWindow)}
	if n := t.store.Servers(); n > 1 {
		q.Servers = n
	}
	if err := t.seeFor(&q); err != nil {
		t.run.view.Message("proofs of durability classes: " + err.Error())
	}
	t.result.Proof, t.result.Kills = t.cited(q, proof.Power), t.cited(q, proof.Kill)
}

// seeFor completes a question with what runs here and where its files stand. Of a server that somebody else
// has started neither is known: a proof of its class is of another program.
func (t *trial) seeFor(q *proof.Question) error {
	if t.store.Outlives() || t.run.hub != nil {
		return nil
	}
	running := proof.Running{PIDs: t.clients.Pids(), Command: t.store.Worker}
	if own := t.tested.own; own != nil {
		running.PIDs = append(running.PIDs, own.PIDs()...)
	}
	if t.store.KeepsFiles() {
		running.Directory = cmp.Or(t.disk.data, t.disk.directory)
	}
	return q.See(running, &digests)
}

func (t *trial) cited(q proof.Question, kind string) *record.Proof {
	found, err := t.run.options.Proved(q, kind)
	if err != nil {
		t.run.view.Message("proofs of durability classes: " + err.Error())
	}
	if found == nil {
		return nil
	}
	return &record.Proof{Kept: found.Kept, Cuts: found.Cuts, Records: found.Records, FileSystem: found.Where(),
		Why: found.Why, Made: found.Made,
		Differs: found.Differs, NoPromise: found.NoPromise, Measure: found.Measure}
}

// askDurability asks the store what its class rests on now.
func (t *trial) askDurability() *store.DurabilityEvidence {
	if len(t.clients.Living()) < len(t.clients.All) {
		return nil
	}
	var inspected control.Inspected
	if err := t.clients.Call(control.Request{Command: control.CommandInspect}, &inspected); err != nil {
		return &store.DurabilityEvidence{Unknown: err.Error()}
	}
	return inspected.Durability
}

// noteUncheckedClass says once in a run that a class is a claim. The tables say it too.
func (r *running) noteUncheckedClass(s *record.Syncs) {
	if s != nil && s.Why != "" && !r.toldSyncs {
		r.toldSyncs = true
		r.view.Message("durability claims are not checked against the disk's flushes: " + s.Why)
	}
}
