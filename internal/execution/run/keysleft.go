package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/base/format"
	"assay/internal/base/owned"
	"assay/internal/evidence/counters"
	"assay/internal/execution/clients"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/store"
)

// serverKeys are the keys that a trial makes on a server which somebody else has started, and all
// that is needed to delete them again. They begin with the trial's name, which is drawn at random:
// no other key is touched. What they may be is noted before they are made ([owned.Keys]), so that a
// kill of Assay leaves nothing for ever.
type serverKeys struct {
	Store     string           `json:"store"`
	Namespace string           `json:"namespace"`        // with which they begin
	Worker    []string         `json:"worker,omitempty"` // its command; none: Assay's own
	Open      control.Open     `json:"open"`
	Define    *control.Define  `json:"define,omitempty"`
	Prepare   *control.Prepare `json:"prepare"`
	Spans     trace.Spans      `json:"spans"`            // the indexes that may have a key
	Growth    *growth          `json:"growth,omitempty"` // nil: no others have
}

// growth says that a phase goes through its trace again, each time at higher indexes.
type growth struct {
	From   uint64 `json:"from"`
	Stride uint64 `json:"stride"` // of so many in a row, each thread that goes on takes one at least
}

// keysNote are a trial's keys and the note of them; nil: it leaves none.
type keysNote struct {
	keys *serverKeys
	path string // of the run directory
	note *owned.Note
}

// noteKeys notes that the trial makes keys on a server that outlives it.
func (t *trial) noteKeys() error {
	if !t.store.Outlives() || !t.run.experiment.KeyNamespace {
		return nil
	}
	path, err := filepath.Abs(t.run.options.Directory)
	if err != nil {
		return ownFault{err}
	}
	opening := t.opening()
	open := opening.requestUnmeasured(opening.first())
	open.Threads = min(max(t.cell.Threads, removeThreadsMin), removeThreadsMax)
	open.PoolHandles = min(open.PoolHandles, open.Threads)
	prepare := t.content.prepare("remove keys", removeNumber, 0)
	prepare.Verify, prepare.Values.PoolBytes = false, removePoolBytes
	t.keys = &keysNote{path: path, keys: &serverKeys{
		Store: t.store.Name, Namespace: t.content.namespace, Worker: t.store.Worker, Open: open,
		Define: opening.definition(), Prepare: prepare,
	}}
	return t.keys.write()
}

const (
	removeThreadsMin = 16 // so that deletes of stores that sync share their syncs
	removeThreadsMax = 64
	removePoolBytes  = 4096 // deletes have no values
)

// mayWrite notes the indexes that a phase may give a key, before it begins.
func (k *keysNote) mayWrite(before trace.Spans, file *trace.File) error {
	if k == nil {
		return nil
	}
	all, grows := lengthsOf(file), uint64(0)
	for i := range file.Threads {
		thread := &file.Threads[i]
		if thread.Limit == 0 || thread.Limit > all[i] {
			grows = max(grows, thread.Stride)
		}
	}
	k.keys.Spans, k.keys.Growth = before.With(file.IndexesReached(all)...), nil
	if grows > 0 {
		k.keys.Growth = &growth{From: file.IndexEnd(all), Stride: grows}
	}
	return k.write()
}

// write replaces the note by a new one.
func (k *keysNote) write() error {
	detail, err := json.Marshal(k.keys)
	if err != nil {
		return ownFault{err}
	}
	note, err := owned.Write(owned.Thing{Kind: owned.Keys, Path: k.path, Detail: detail})
	if err != nil {
		return ownFault{err}
	}
	k.note.Done()
	k.note = note
	return nil
}

// removeKeys deletes the trial's keys from a server, which would otherwise hold those of every
// trial, by a worker of its own: that of the trial may be gone. A failure is reported, but is no
// result of the trial. Once the user has stopped the run, it takes [stopPatience] at most.
func (t *trial) removeKeys(ctx context.Context, ended error) {
	if t.keys == nil {
		return
	}
	k := t.keys.keys
	if neverOpened := len(k.Spans) == 0 && !t.clients.Opened && errors.As(ended, new(*control.Error)); neverOpened {
		t.keys.note.Done()
		return
	}
	k.Spans, k.Growth = t.past.reached, nil // and not all that might have been
	ctx, cancel := outlasting(ctx, clients.StopPatience)
	defer cancel()
	patience := t.run.experiment.StepTimeout
	if ended != nil {
		patience = min(patience, silenceMin)
	}
	if err := k.remove(ctx, t.run.options.Worker, patience); err != nil {
		left := fmt.Sprintf("%s: %v", k, err)
		t.run.view.Message(left)
		t.run.result.Left += left + "\n"
		if err := t.keys.write(); err != nil { // the note of before the phase names more keys
			t.run.view.Message(err.Error())
		}
		t.keys.note.Keep()
		return
	}
	t.keys.note.Done()
}

// outlasting returns a context that ends some time after another one did.
func outlasting(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return longer, cancel
}

// String says what is left where.
func (k *serverKeys) String() string {
	return fmt.Sprintf("%s may still hold keys that begin with %s", k.server(), k.Namespace)
}

// server says where the keys are.
func (k *serverKeys) server() string {
	return k.Store + " at " + strings.Join(k.Open.Endpoints, ", ")
}

// remote are the servers that are not on this machine's loopback.
func (k *serverKeys) remote() (endpoints []string) {
	for _, endpoint := range k.Open.Endpoints {
		if !experiment.IsLoopback(endpoint) {
			endpoints = append(endpoints, endpoint)
		}
	}
	return endpoints
}

// remover is a worker that deletes keys.
type remover struct {
	*serverKeys
	ctx      context.Context
	worker   *conductor.Worker
	opened   control.Opened
	patience time.Duration
	phases   int
}

// errTooLong says that keys could not be deleted in the time that there is after Ctrl-C.
var errTooLong = errors.New("the time to delete them was over")

// remove deletes the keys, in a worker of its own. own is the command of Assay's; patience is for
// each step, and for a server that answers nothing.
func (k *serverKeys) remove(ctx context.Context, own []string, patience time.Duration) (err error) {
	command := k.Worker
	if len(command) == 0 {
		command = own
	}
	w, err := conductor.Start(command, io.Discard)
	if err != nil {
		return err
	}
	defer func() {
		if endErr := w.End(min(patience, clients.StopPatience)); err == nil {
			err = endErr
		}
	}()
	r := &remover{serverKeys: k, ctx: ctx, worker: w, patience: patience}
	if err := r.open(); err != nil {
		return err
	}
	if k.Define != nil {
		if err := r.ask(control.Request{Command: control.CommandDefine, Define: k.Define}); err != nil {
			return err
		}
	}
	if byPrefix, err := r.byPrefix(); err != nil {
		return err
	} else if byPrefix {
		k.Spans, k.Growth = nil, nil
		return r.ask(control.Request{Command: control.CommandClose})
	}
	for len(k.Spans) > 0 {
		if err := r.delete(&k.Spans[0]); err != nil {
			return err
		}
		k.Spans = k.Spans[1:]
	}
	if err := r.growing(); err != nil {
		return err
	}
	return r.ask(control.Request{Command: control.CommandClose})
}

func (r *remover) open() error {
	return openInAnyClass(r.Open, func(open control.Open) error {
		return r.call(control.Request{Command: control.CommandOpen, Open: &open}, &r.opened)
	})
}

// removeAtOnce is how many keys are deleted by one call at most, where they are deleted by their begin.
const removeAtOnce = 5000

// byPrefix deletes the keys by what they begin with, where the store can; false: it can't.
func (r *remover) byPrefix() (done bool, err error) {
	if !r.opened.Abilities.DeletePrefix || len(r.Namespace) < control.RemovePrefixMin {
		return false, nil
	}
	for {
		var removed control.Removed
		if err := r.call(control.Request{Command: control.CommandRemove,
			Remove: &control.Remove{Prefix: r.Namespace, AtMost: removeAtOnce}}, &removed); err != nil {
			return false, err
		}
		if removed.Records == 0 {
			return true, nil
		}
	}
}

// openInAnyClass opens a store in the class that is asked for, or in any other one: what a server
// holds is counted and deleted in each, and its settings may allow another one only.
func openInAnyClass(open control.Open, ask func(control.Open) error) error {
	asked := ask(open)
	err, class := asked, open.Durability
	open.LossWindowNS = math.MaxInt64 // any T of D2(T)
	for _, other := range []store.Durability{store.D0, store.D1, store.D2, store.D3, store.D4} {
		var answer *control.Error
		if !errors.As(err, &answer) || answer.Class != control.ClassRefused {
			return err
		}
		if other != class {
			open.Durability = other
			err = ask(open)
		}
	}
	if err != nil {
		return asked
	}
	return nil
}

func (r *remover) ask(request control.Request) error { return r.call(request, nil) }

func (r *remover) call(request control.Request, result any) error {
	err := r.worker.CallContext(r.ctx, request, r.patience, result)
	if r.ctx.Err() != nil {
		return errTooLong
	}
	return err
}

// growing deletes fresh indexes up to a stretch in which there is none. It reads before it deletes,
// as not every store says whether a delete has found something.
func (r *remover) growing() error {
	if r.Growth == nil {
		return nil
	}
	const least = 1 << 16
	for from := r.Growth.From; ; {
		span := trace.Span{From: from, Below: from + max(2*r.Growth.Stride, least)}
		found, _, err := r.do(trace.Read, span)
		if err != nil || found == 0 {
			return err
		}
		from = span.Below
		if err := r.delete(&span); err != nil {
			return err
		}
	}
}

// delete deletes the keys of a span, and takes from it those that it has deleted where it can't
// go on.
func (r *remover) delete(span *trace.Span) error {
	if span.From >= span.Below {
		return nil // done before a call that failed, as the note has it
	}
	_, done, err := r.do(trace.Delete, *span)
	if err != nil {
		span.From = min(span.From+done, span.Below)
	}
	return err
}

// do does an operation with each index of a span once, and returns how many were there, and how many
// from the first one on were done whatever came then.
func (r *remover) do(o trace.Operation, span trace.Span) (found, done uint64, err error) {
	file := eachOnce(o, span, int(min(uint64(r.Open.Threads), span.Below-span.From)))
	files, err := mapFiles(phaseTrace{file: file}, 1)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, files.Unmap()) }()
	request := *r.Prepare
	request.Number, request.Trace, request.Counters =
		removeNumber-r.phases%removeNumber, files.Trace.Name(), files.CountersFile.Name()
	r.phases++
	err = r.ask(control.Request{Command: control.CommandPrepare, Prepare: &request})
	files.Forget()
	if err != nil {
		return 0, 0, err
	}
	pending, err := r.worker.Send(control.Request{Command: control.CommandRun})
	if err != nil {
		return 0, 0, err
	}
	err = r.await(pending, files.Counters, len(file.Threads))
	now := files.Counters.Sample(false)
	total := now.Totals[0]
	if failed := total.Outcomes[counters.Error] + total.Outcomes[counters.Timeout]; failed == 0 {
		done = slices.Min(now.Acknowledged) * uint64(len(file.Threads))
	}
	if err != nil {
		return 0, done, err
	}
	if failed := total.Outcomes[counters.Error] + total.Outcomes[counters.Timeout]; failed > 0 {
		text := ""
		for _, m := range files.Counters.Messages() {
			text = ": " + m.Text
			break
		}
		return 0, 0, fmt.Errorf("%s of %s failed%s", format.Plural(int(failed), o.String(), ""), format.Count(total.Operations()), text)
	}
	return total.Operations() - total.Outcomes[counters.Miss] - total.Outcomes[counters.Lost], done, nil
}

// await waits for a phase to end. One whose server answers nothing is ended.
func (r *remover) await(pending *conductor.Pending, c *counters.File, threads int) error {
	var silent silence
	began, gaveUp := time.Now(), ""
	progress, at := uint64(0), began
	for {
		done, err := pending.Wait(20*time.Millisecond, nil)
		now := c.Sample(false)
		switch {
		case done && err != nil:
			return err
		case r.ctx.Err() != nil:
			r.worker.Kill()
			return errTooLong
		case done && gaveUp != "":
			return fmt.Errorf("the server stopped answering: %s", gaveUp)
		case done:
			return nil
		}
		if gaveUp == "" {
			if gaveUp = silent.look(now.Totals, threads, r.patience, time.Now()); gaveUp != "" {
				c.Stop()
			}
		}
		var ended uint64
		for _, n := range now.Acknowledged {
			ended += n
		}
		if ended != progress {
			progress, at = ended, time.Now()
		}
		if time.Since(at) > r.patience {
			return r.worker.Hung("no operation ended any more")
		}
	}
}

// eachOnce does an operation with the keys of indexes, once each.
func eachOnce(o trace.Operation, of trace.Span, threads int) *trace.File {
	const lapMax = 4096
	count := of.Below - of.From
	threads = int(min(uint64(threads), count, math.MaxInt32))
	f := &trace.File{Groups: 1, Operations: []trace.Operation{o}, Threads: make([]trace.Thread, threads)}
	for i := range f.Threads {
		keys := (count - uint64(i) + uint64(threads) - 1) / uint64(threads)
		t := trace.Thread{Stride: min(keys, lapMax) * uint64(threads), Limit: keys}
		for k := range min(keys, lapMax) {
			t.Entries = append(t.Entries, trace.MakeEntry(o, of.From+uint64(i)+k*uint64(threads), 0, true))
		}
		f.Threads[i] = t
	}
	return f
}
