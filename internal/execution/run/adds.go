package run

import (
	"context"
	"fmt"

	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

const (
	addsPhase     = "adds checked"
	addsExisting  = 100 // records that are there, which each thread adds
	addsContested = 400 // keys that are not, which each thread adds, all in the same order
)

// checkAdds lets all threads add the same keys in the same order: first some whose records are there, of
// which none may be stored, then some that are not, of which each is to be stored once. Phases take fresh
// keys for their adds, so that they can't show a store that adds over what is there. It returns nil where
// no phase adds, the store may answer with what was or may forget, or an add failed otherwise.
func (t *trial) checkAdds(ctx context.Context, indexes, observed []uint64) (*record.Adds, error) {
	if !t.result.Abilities.Add || !adds(t.run.experiment) || t.eventual || t.forgot ||
		removeNumber-2-t.readBacks <= t.numbers() {
		return nil, nil
	}
	var existing, contested []uint64
	for i, index := range indexes {
		if observed[i] < counters.ObservedLowest && len(existing) < addsExisting {
			existing = append(existing, index)
		}
	}
	for i := range uint64(addsContested) {
		contested = append(contested, t.past.fresh+i)
	}
	c := &record.Adds{Existing: uint64(len(existing)), Contested: uint64(len(contested))}
	var known [2]bool
	var err error
	if c.Overwritten, known[0], err = t.addByAll(ctx, existing); err != nil {
		return nil, err
	}
	if c.Stored, known[1], err = t.addByAll(ctx, contested); err != nil {
		return nil, err
	}
	if known != [2]bool{true, true} {
		return nil, nil
	}
	if c.Marks() == nil || t.inspect() == nil {
		return c, nil
	}
	inspected, err := t.inspect()()
	if evicted := t.evicted.since(inspected.Stats); err == nil && evicted != nil && *evicted > 0 {
		return nil, nil
	}
	return c, err
}

// adds reports whether a phase adds records where there is none.
func adds(e *experiment.Experiment) bool {
	for i := range e.Phases {
		for _, part := range e.Phases[i].Parts() {
			if part.Mix[trace.Add.String()] > 0 {
				return true
			}
		}
	}
	return false
}

// addByAll lets each thread add the keys of some indexes, in a phase that is in no result, and returns
// how many adds stored one. It is not known where some ended otherwise than stored or refused: they may
// have been done.
func (t *trial) addByAll(ctx context.Context, indexes []uint64) (stored uint64, known bool, err error) {
	if len(indexes) == 0 {
		return 0, true, nil
	}
	threads, layout := t.clients.Readers(t.readersEach(), addsContested)
	file := addsTrace(indexes, threads, t.content.sizes()[0].Bytes)
	if err := t.keys.mayWrite(t.past.reached, file); err != nil {
		return 0, false, err
	}
	t.past.reached = t.past.reached.With(file.IndexesReached(lengthsOf(file))...)
	t.readBacks++
	request := t.content.prepare(addsPhase, removeNumber-t.readBacks, t.past.loaded)
	in := t.inputOf(&experiment.Phase{Name: addsPhase}, phaseTrace{file: file}, request)
	in.layout, in.sampleEvery = layout, sampleMax
	p, err := beginPhase(in)
	if err != nil {
		return 0, false, fmt.Errorf("checking adds: %w", err)
	}
	defer p.close()
	if err := p.watch(ctx); err != nil {
		return 0, false, fmt.Errorf("checking adds: %w", err)
	}
	answered := uint64(0)
	for _, total := range p.files.Counters.Sample(false).Totals {
		stored += total.Outcomes[counters.OK]
		answered += total.Outcomes[counters.OK] + total.Outcomes[counters.Conflict]
	}
	return stored, answered == uint64(threads*len(indexes)), nil
}

// addsTrace lets each thread add the same records, with values of so many bytes.
func addsTrace(indexes []uint64, threads, bytes int) *trace.File {
	entries := make([]trace.Entry, len(indexes))
	for i, index := range indexes {
		entries[i] = trace.MakeEntry(trace.Add, index, 0, false)
	}
	f := &trace.File{Groups: 1, Operations: []trace.Operation{trace.Add}, Threads: make([]trace.Thread, threads)}
	f.Amounts[0] = uint32(bytes)
	for i := range f.Threads {
		f.Threads[i] = trace.Thread{Entries: entries, Limit: uint64(len(entries))}
	}
	return f
}

// lengthsOf are the entries of each thread.
func lengthsOf(file *trace.File) []uint64 {
	lengths := make([]uint64, len(file.Threads))
	for i := range file.Threads {
		lengths[i] = uint64(len(file.Threads[i].Entries))
	}
	return lengths
}
