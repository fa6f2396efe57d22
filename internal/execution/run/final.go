package run

import (
	"context"
	"fmt"
	"math"
	"time"

	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment/keyval"
	"assay/store"
)

const finalCheckNumber = 255

// finalCheck reads records back and holds each against the writes that were acknowledged: what is
// absent is lost, what is older is stale. It reads as many records as the experiment says, or as memory
// has room for, drawn at random.
func (t *trial) finalCheck(ctx context.Context) error {
	e := t.run.experiment
	if e.VerifyRecords == 0 || t.store.Description.Kind == store.None {
		return nil
	}
	most := t.checkable()
	indexes, of := audit.Sample(t.past.phases, min(e.VerifyRecords, most), keyval.Mix(t.plan.Seed^finalCheckNumber<<32))
	if len(indexes) == 0 {
		return nil
	}
	if err := t.awaitPromise(ctx); err != nil {
		return err
	}
	lives := t.readBackLives()
	back, err := t.readBack(ctx, indexes, record.FinalCheckPhase, finalCheckNumber)
	if err != nil {
		return fmt.Errorf("final check: %w", err)
	}
	if err := t.readAgain(ctx, indexes, &back); err != nil {
		return fmt.Errorf("final check: %w", err)
	}
	asked, observed := len(indexes), back.observed
	if back.gaveUp {
		indexes, observed = wereRead(indexes, observed)
	}
	expected := audit.Expect(t.past.phases, indexes)
	lives(expected)
	if err := t.readOldAgain(ctx, indexes, observed, expected); err != nil {
		return fmt.Errorf("final check: %w", err)
	}
	counts, err := expected.Check(observed)
	if err != nil {
		return fmt.Errorf("final check: %w", err)
	}
	check := record.FinalCheck{Records: counts.Records, NotRead: uint64(asked - len(indexes)), Of: of,
		Right: counts.Right, Lost: counts.Lost, Stale: counts.Stale,
		Wrong: counts.Wrong, Foreign: counts.Foreign, Errors: counts.Errors, Unknown: counts.Unknown,
		Expired: counts.Expired, Late: counts.Late, Examples: counts.Examples}
	if most < min(e.VerifyRecords, of) {
		check.Fits = most
	}
	if columns := e.Values.Record(); columns != nil && columns.Counter() >= 0 &&
		counts.Lost+counts.Wrong+counts.Errors == 0 && !back.gaveUp {
		least, most := audit.Increments(t.past.phases, indexes)
		check.Increments = &record.Increments{Counted: back.counted, Least: least, Most: most}
	}
	if err := t.evicted.hold(t.inspect(), &check); err != nil {
		return fmt.Errorf("final check: %w", err)
	}
	check.Forgot = t.forgot
	if !back.gaveUp {
		if check.Adds, err = t.checkAdds(ctx, indexes, observed); err != nil {
			return fmt.Errorf("final check: %w", err)
		}
	}
	t.result.Final = &check
	t.result.add(check.Marks())
	return nil
}

// checkedBytes is what a checked record takes of the conductor's memory: docs/harness-cost.md. Half of
// what can be had is left to the store and the worker, which go on meanwhile.
const (
	checkedBytes = 250
	checkedShare = 2
)

// checkable returns how many records memory has room to check: none less than a sample, which finds what
// is lost in a thousandth of the records.
func (t *trial) checkable() uint64 {
	available := t.run.options.availableBytes
	if available == nil {
		available = host.AvailableBytes
	}
	bytes := available()
	if bytes == 0 { // not known
		return math.MaxUint64
	}
	return max(bytes/checkedShare/checkedBytes, checkedMin)
}

const checkedMin = 10_000

// readAgain reads what could not be read a second time, where other records could: a server that closes
// connections which were idle has closed some before the check, which is not measured, and the client has
// connected again since.
func (t *trial) readAgain(ctx context.Context, indexes []uint64, back *readBack) error {
	var failed []uint64
	var at []int
	for i, seen := range back.observed {
		if seen == counters.ObservedError {
			failed, at = append(failed, indexes[i]), append(at, i)
		}
	}
	number := removeNumber - 1 - t.readBacks
	if back.gaveUp || len(failed) == 0 || len(failed) == len(indexes) || number <= t.numbers() {
		return nil
	}
	again, err := t.readBack(ctx, failed, record.FinalCheckPhase, number)
	if err != nil {
		return err
	}
	t.readBacks++
	back.counted += again.counted
	for i, seen := range again.observed {
		if seen != counters.ObservedNotRead {
			back.observed[at[i]] = seen
		}
	}
	return nil
}

// oldWaits are how long a store that may answer with older values, and does not say for how long, has to
// answer with the last ones: a replica that is seconds behind comes in time, and one that has stopped does
// not.
var oldWaits = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

// readOldAgain reads again, a while later, what such a store answered with an older value, or not at all.
func (t *trial) readOldAgain(ctx context.Context, indexes, observed []uint64, expected *audit.Expectation) error {
	if !t.eventual || t.store.Description.EventualWithinNS > 0 {
		return nil
	}
	for _, wait := range oldWaits {
		var old []uint64
		var at []int
		for i, seen := range observed {
			if judged := expected.Judge(i, seen); judged == audit.Lost || judged == audit.Stale {
				old, at = append(old, indexes[i]), append(at, i)
			}
		}
		number := removeNumber - 1 - t.readBacks
		if len(old) == 0 || number <= t.numbers() {
			return nil
		}
		t.run.view.Message(fmt.Sprintf("%d records are old or not there yet: waiting %v for them", len(old), wait))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
		again, err := t.readBack(ctx, old, record.FinalCheckPhase, number)
		if err != nil {
			return err
		}
		t.readBacks++
		for i, seen := range again.observed {
			if seen != counters.ObservedNotRead {
				observed[at[i]] = seen
			}
		}
	}
	return nil
}

// awaitPromise waits as long as an eventual store may show older values.
func (t *trial) awaitPromise(ctx context.Context) error {
	within := time.Duration(t.store.Description.EventualWithinNS)
	if !t.eventual || within == 0 {
		return nil
	}
	t.run.view.Message("waiting " + within.String() + ", for which the store may return older values")
	select {
	case <-time.After(within):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wereRead leaves out the records that were not read.
func wereRead(indexes, observed []uint64) (read, seen []uint64) {
	for i, index := range indexes {
		if observed[i] != counters.ObservedNotRead {
			read, seen = append(read, index), append(seen, observed[i])
		}
	}
	return read, seen
}
