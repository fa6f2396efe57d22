package read

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/internal/base/format"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// whole holds the parts of an experiment against each other, once all are resolved.
type whole struct{ *resolver }

// keySpace refuses keys that are too short for the records, and for the inserts that are to come.
func (r whole) keySpace() *Error {
	limit := r.e.Keys.IndexLimit()
	var records uint64
	for _, cell := range r.e.Cells {
		records = max(records, cell.Records)
	}
	if records > limit {
		return r.fail([]string{"keys", "bytes"}, "%d-byte keys make %d different keys: too few for %d records", r.e.Keys.BytesMax(), limit, records)
	}
	if limit > keyval.IndexMax {
		return nil
	}
	needed := records
	for p, in := range r.parts() {
		counting := p.Order.Distribution == trace.Counting
		if p.Mix[trace.Insert.String()] == 0 && p.Mix[trace.Add.String()] == 0 && !counting {
			continue
		}
		if p.Operations == 0 {
			return r.fail(in("mix"), "%d-byte keys make %d different keys: the inserts of phase %s could run out of them", r.e.Keys.BytesMax(), limit, p.Name).
				hint("use longer keys, or operations: NUMBER in place of for")
		}
		if batch := uint64(max(p.Batch, 1)); counting { // each thread counts from 0
			threads := r.fewestThreads(p)
			needed = max(needed, (p.Operations+threads-1)/threads*batch)
		} else {
			needed += p.Operations * batch
		}
		if needed > limit {
			return r.fail(in("operations"), "%d-byte keys make %d different keys: too few for %d records and inserts", r.e.Keys.BytesMax(), limit, needed)
		}
	}
	return nil
}

// fewestThreads returns the least threads that a phase has in any cell.
func (r whole) fewestThreads(p experiment.Phase) uint64 {
	if p.Threads > 0 {
		return uint64(p.Threads)
	}
	fewest := slices.MinFunc(r.e.Cells, func(a, b experiment.Cell) int { return a.Threads - b.Threads })
	return uint64(fewest.Threads)
}

// appends refuses values that do not tell where the first part that was appended begins.
func (r whole) appends() *Error {
	for _, cell := range r.e.Cells {
		if r.e.AppendedBytes(cell) > 0 && r.e.ValueBytesMin(cell) < keyval.StampBytes {
			return r.fail([]string{"values"}, "append needs values of at least %d bytes, which prove where a part begins: there are some of %d", keyval.StampBytes,
				r.e.ValueBytesMin(cell))
		}
	}
	return nil
}

// multiReads refuses calls of more keys than there are records, or than a thread's own part has, and shifts
// of so few that none could change its place.
func (r whole) multiReads() *Error {
	for p, in := range r.parts() {
		for _, cell := range r.e.Cells {
			reads := cell.Records
			if p.Order.Distribution == trace.Sequential {
				reads /= uint64(max(p.ThreadsIn(cell), 1))
			}
			if parts := p.Order.Shift.Parts; parts > 0 && cell.Records < 2*parts {
				return r.fail(in("order", "shift"), "one record in %d moves at each shift, and there are %d: too few to change places", parts, cell.Records).
					hint("use more records, or a larger share")
			}
			if keys := uint64(p.MultiRead); keys > 1 && reads < keys {
				return r.fail(in("multi_read"), "a call reads %d different keys, and a thread has %s to read", keys,
					format.Plural(int(reads), "record", "")).hint("use more records, or fewer keys in a call")
			}
		}
	}
	return nil
}

// traceLengths refuses orders that visit each record once a pass where there are too many records:
// a pass must fit a trace, which lies in shared memory. Other orders draw, and a load that is
// sequential and without a last, shorter batch goes by laps.
func (r whole) traceLengths() *Error {
	null := experiment.Store{Name: experiment.NullDriver,
		Description: store.Description{Abilities: store.Abilities{Batch: true}}} // in every experiment
	for p, in := range r.parts() {
		visits := p.Load || !onlyInserts(p.Mix) && (p.Order.Distribution == trace.Sequential ||
			p.Order.Distribution == trace.Shuffled)
		if !visits {
			continue
		}
		for _, s := range append(slices.Clone(r.e.Stores), null) {
			for _, cell := range r.e.Cells {
				batch, visited := uint64(p.BatchFor(s.Description, r.e.RecordBytesMax(cell))), cell.Records
				if p.Operations > 0 {
					visited = min(visited, p.Operations*batch)
				}
				entries := visited
				if batch > 1 {
					// a batch's head is an entry, too, and each thread may end in a shorter one
					entries += visited/batch + trace.ThreadsMax
				}
				if entries <= trace.DefaultEntriesMax || p.Load && p.Order.Distribution == trace.Sequential &&
					cell.Records%batch == 0 {
					continue
				}
				e := r.fail(in("order"), "the order %s visits each of %d records once: a trace has at most %d entries",
					p.Order.Distribution, cell.Records, uint64(trace.DefaultEntriesMax))
				if p.Load {
					return e.hint("use fewer records, or order: sequential with records a multiple of the batch, which is %[2]d for %[1]s", s.Name, batch)
				}
				return e.hint("use fewer records, operations: NUMBER beside for, or a random order")
			}
		}
	}
	return nil
}

// sampled refuses to leave operations untimed where the clock is looked at in each of them anyway.
func (r whole) sampled() *Error {
	if r.e.TimedEvery == 0 {
		return nil
	}
	fail := func(why string) *Error {
		return r.fail([]string{"latency"}, "latency: sampled saves nothing here: %s", why).hint("remove latency: each operation is then timed")
	}
	for p := range r.parts() {
		switch {
		case p.Rate > 0 || p.Capacity != nil || p.TakesRate() && slices.ContainsFunc(r.e.Cells, hasRate):
			return fail(fmt.Sprintf("phase %s has a rate, and the clock is read for each due time", p.Name))
		case len(p.Request) > 0:
			return fail(fmt.Sprintf("the times of the requests of phase %s are made of those of their steps", p.Name))
		}
	}
	for _, c := range r.e.Cells {
		if c.Handles != experiment.Shared && c.Handles != experiment.PerThread {
			return fail(fmt.Sprintf("handles: %s reads the clock for each operation", c.HandlesText()))
		}
	}
	return nil
}

func hasRate(c experiment.Cell) bool { return c.Rate > 0 }

// abilities refuses what no store of the experiment can do. What only some can't is planned, and
// shown as refused.
func (r whole) abilities() *Error {
	for i, cell := range r.e.Cells {
		var first *experiment.Refusal
		some := false
		for s := range r.e.Stores {
			refusal := r.e.Refusal(s, i)
			if refusal == nil {
				some = true
				break
			}
			if first == nil {
				first = refusal
			}
		}
		if some {
			continue
		}
		e := r.fail(r.fieldParts(first.Field, cell), "no store can do this: %s", first.Reason)
		if len(r.e.Stores) > 1 {
			return e.hint("%s", r.reasons(i))
		}
		return e
	}
	return nil
}

// optionalPhases refuses an optional phase that no store can do: it would never run. Where stores
// were changed by a flag, the phase is left out.
func (r whole) optionalPhases() *Error {
	var kept []experiment.Phase
	for _, p := range r.e.Phases {
		first := r.noStoreCan(p)
		switch {
		case first == nil:
			kept = append(kept, p)
		case r.follows["phases"]:
			r.note("phase %s left out: %s", p.Name, strings.TrimSuffix(first.Reason, " (phase "+p.Name+")"))
			r.dropPhase(p.Name)
		default:
			return r.fail(r.fieldParts(first.Field, experiment.Cell{}), "no store can do this: %s", first.Reason)
		}
	}
	if !slices.ContainsFunc(kept, func(p experiment.Phase) bool { return !p.Load && !p.Unmeasured }) {
		return r.fail([]string{"phases"}, "no store can do any of the measured phases").hint("name other stores")
	}
	r.e.Phases = kept
	return nil
}

// noStoreCan returns why the first store can't do a phase that none can.
func (r whole) noStoreCan(p experiment.Phase) (first *experiment.Refusal) {
	least := math.MaxInt
	for _, cell := range r.e.Cells {
		least = min(least, r.e.RecordBytesMax(cell))
	}
	for _, s := range r.e.Stores {
		refusal := p.RefusalOf(s, least)
		if refusal == nil || s.Missing != "" {
			return nil
		}
		if first == nil {
			first = refusal
		}
	}
	return first
}

// fieldParts finds the place of a refused field: a phase's name becomes its position, an axis may
// stand in a case.
func (r whole) fieldParts(field string, cell experiment.Cell) []string {
	for p, in := range r.parts() {
		for _, end := range []string{"mix", "batch", "faults"} {
			if field == "phases."+p.Name+"."+end {
				return in(end)
			}
		}
	}
	for i, c := range r.file.Cases {
		if c.Name == cell.Case && slices.ContainsFunc(c.Changes, func(c change) bool { return c.path == field }) {
			return []string{"cases", fmt.Sprint(i), field}
		}
	}
	if field == "durability" {
		if n := r.root.field(field); n != nil && n.kind == list {
			for i, form := range r.file.Durability {
				if form.Class == cell.Durability && form.Window == cell.LossWindow {
					return []string{field, fmt.Sprint(i)}
				}
			}
		}
	}
	if field == "handles" && r.root.field(field) == nil {
		return []string{"threads"} // what asks for so many handles
	}
	return []string{field}
}

func (r whole) reasons(cell int) string {
	text := "each store's reason:"
	for s := range r.e.Stores {
		text += "\n  " + r.e.Refusal(s, cell).Reason
	}
	return text
}

// size refuses what no machine would end.
func (r whole) size() *Error {
	ceilings := 1 + len(r.e.Ceilings)
	blocks := max(r.e.Blocks, r.e.BlocksMax)
	trials := blocks * len(r.e.Cells) * (len(r.e.Stores) + 1 + ceilings)
	if trials > trialsMax {
		return r.fail([]string{"blocks"}, "%d blocks × %d cells × (%d stores + A/A + %s) are %d trials: at most %d",
			blocks, len(r.e.Cells), len(r.e.Stores), format.Plural(ceilings, "ceiling", ""), trials, trialsMax)
	}
	return nil
}

// quotaWay refuses a way to keep a disk quota where there is none: it would have no effect.
func (r whole) quotaWay() *Error {
	if r.e.DiskQuotaBy == experiment.QuotaByMount && !slices.ContainsFunc(r.e.Cells,
		func(c experiment.Cell) bool { return c.DiskQuota > 0 }) {
		return r.fail([]string{"disk_quota_by"}, "disk_quota_by: %s has no effect: there is no disk_quota", experiment.QuotaByMount).
			hint("expected a size beside it, such as disk_quota: 2GiB")
	}
	return nil
}

// baseline takes, where the file names none, the first store that can do some cell: ratios to one that is refused
// everywhere, and its A/A arm, are none.
func (r whole) baseline() *Error {
	e := r.e
	if e.BaselineNamed && r.lost == "" {
		return nil
	}
	for i := range e.Stores {
		if slices.ContainsFunc(e.Refusals(i), func(refusal *experiment.Refusal) bool { return refusal == nil }) {
			e.Baseline = e.Stores[i].Name
			break
		}
	}
	if r.lost != "" {
		r.notes = slices.Insert(r.notes, 0, fmt.Sprintf("the baseline is %s: %s is not one of the stores", e.Baseline, r.lost))
		r.file.Baseline = e.Baseline
		r.root.set("baseline", r.root.at, &node{kind: scalar, text: e.Baseline, at: r.root.at})
	}
	return nil
}
