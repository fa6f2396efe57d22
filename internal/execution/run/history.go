package run

import (
	"context"
	"fmt"
	"math"

	"assay/internal/evidence/audit"
	"assay/internal/evidence/history"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

// readUpdatesBack reads the keys of which every write was recorded with the version that its client
// knew, and says which acknowledged updates are gone. It does so behind each phase: later ones would
// write over them.
func (t *trial) readUpdatesBack(ctx context.Context, p *experiment.Phase, phase *record.Phase) error {
	if phase.History == nil {
		return nil
	}
	lineages := history.NewLineages(t.past.phases[len(t.past.phases)-1].History)
	keys, number := lineages.Keys(), removeNumber-1-t.readBacks
	if len(keys) == 0 || number <= t.numbers() {
		return nil
	}
	t.readBacks++
	back, err := t.readBack(ctx, keys, phase.Name+" read back", number)
	if err != nil {
		return fmt.Errorf("reading updates back: %w", err)
	}
	if back.gaveUp {
		return nil // the trial has failed operations, and the final check says what was not read
	}
	phase.History.Updates = lineages.Check(back.observed, itemsAdded(p))
	return nil
}

// itemsAdded returns how many items each step of a phase's requests adds; nil: none says so.
func itemsAdded(p *experiment.Phase) (adds []uint64) {
	for _, part := range p.Parts() {
		for _, s := range part.Request {
			adds = append(adds, uint64(s.Adds))
		}
	}
	return adds
}

// readBack reads records and returns what was there, in a phase that is in no result.
func (t *trial) readBack(ctx context.Context, indexes []uint64, name string, number int) (readBack, error) {
	t.run.view.PhaseStarted(name)
	threads, layout := t.clients.Readers(t.readersEach(), len(indexes))
	request := t.content.prepare(name, number, t.past.loaded)
	// What agents wrote, no worker of this machine has a trace of: the conductor alone proves it.
	request.Verify = request.Verify && t.run.hub == nil
	in := t.inputOf(&experiment.Phase{Name: name}, phaseTrace{file: audit.VerifyTrace(indexes, threads)}, request)
	in.layout, in.sampleEvery, in.tireless = layout, sampleMax, name == record.FinalCheckPhase
	return runReadBack(ctx, in)
}

// historyOf is what the sample showed of a store that may answer with an older value, or may not.
func historyOf(h *audit.History, eventual bool) *record.History {
	r := &record.History{Sample: len(h.Keys), Records: uint64(len(h.Events)), Dropped: h.Dropped,
		ClockErrorNS: h.ErrorNS(), Consistency: *history.Check(h), Fills: h.Fills()}
	if !eventual { // an old value is a fault of it, and told one by one
		r.Staleness = nil
	}
	complete := int64(math.MaxInt64)
	for _, until := range h.UntilNS {
		complete = min(complete, until)
	}
	if complete < math.MaxInt64 {
		r.CompleteNS = &complete
	}
	return r
}
