package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"assay/internal/evidence/record"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/trace"
)

// tellHeld says of each server of the trials that are left what it holds, before anything is done
// to it.
func (r *running) tellHeld(ctx context.Context, left []plan.Trial) {
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
	for _, cell := range r.experiment.Cells { // a server may have one class only
		var opened control.Opened
		err := w.Call(control.Request{Command: control.CommandOpen, Open: &control.Open{
			Driver: s.Driver, Endpoints: s.Endpoints, Durability: cell.Durability, LossWindowNS: int64(cell.LossWindow), Options: s.Options,
			Handles: control.HandlesPerThread, Threads: 1,
		}}, r.experiment.StepTimeout, &opened)
		if err == nil && opened.Held != nil {
			return *opened.Held
		}
		var no *control.Error
		if !errors.As(err, &no) || no.Class != control.ClassRefused {
			return 0
		}
	}
	return 0
}

// removeNumber is the number of the phase that deletes a trial's keys from a server. Further ones
// have those below, which read-backs have left.
const removeNumber = 254

// removeKeys deletes the trial's keys from a server, which would otherwise hold those of every
// trial. What goes wrong is told, and is no result of the trial.
func (t *trial) removeKeys(ctx context.Context) {
	if !t.store.Outlives() || !t.run.experiment.KeyNamespace || ctx.Err() != nil {
		return
	}
	for i, span := range t.past.written() {
		number := removeNumber
		if i > 0 {
			number -= t.readBacks + i
		}
		if err := t.removeSpan(ctx, span, number); err != nil {
			t.run.view.Message(fmt.Sprintf("%s still holds keys that begin with %s: %v", t.store.Name, t.result.Namespace, err))
			return
		}
	}
}

func (t *trial) removeSpan(ctx context.Context, keys trace.Span, number int) error {
	threads, layout := t.clients.readers(t.readersEach(), int(min(keys.Below-keys.From, math.MaxInt32)))
	w, err := t.begin(deleteTrace(keys, threads), layout, t.content.prepare("remove keys", number, t.past.loaded), &record.Phase{Name: "remove keys"})
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.letGo(); err != nil {
		return err
	}
	w.progress.at, w.stops = time.Now(), t.watchStops()
	defer w.stops.end()
	for began := time.Now(); ; {
		done, err := w.await(50 * time.Millisecond)
		w.keep(w.read(false))
		if done && err == nil && w.gaveUp != "" {
			return fmt.Errorf("the server stopped answering: %s", w.gaveUp)
		}
		if done {
			return err
		}
		w.giveUpSilent()
		if why := w.hangs(began); why != "" {
			w.hang(why)
			return w.failure
		}
		if ctx.Err() != nil {
			w.files.counters.Stop()
		}
	}
}

// deleteTrace deletes the keys of indexes, once each.
func deleteTrace(of trace.Span, threads int) *trace.File {
	const lapMax = 4096
	count := of.Below - of.From
	threads = int(min(uint64(threads), count))
	f := &trace.File{Groups: 1, Operations: []trace.Operation{trace.Delete}, Threads: make([]trace.Thread, threads)}
	for i := range f.Threads {
		keys := (count - uint64(i) + uint64(threads) - 1) / uint64(threads)
		t := trace.Thread{Stride: min(keys, lapMax) * uint64(threads), Limit: keys}
		for k := range min(keys, lapMax) {
			t.Entries = append(t.Entries, trace.MakeEntry(trace.Delete, of.From+uint64(i)+k*uint64(threads), 0, true))
		}
		f.Threads[i] = t
	}
	return f
}
