package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// recordsMax is half of the indexes that a trace has, so that inserts have room to grow.
const recordsMax = 1 << 47

// usualValueBytes is the length of values where the file gives none.
func (r *resolver) usualValueBytes() Count {
	switch {
	case len(r.file.Values.Sizes) > 0:
		return r.meanValueBytes()
	case len(r.file.Values.Columns) > 0:
		return r.meanRecordBytes()
	}
	return defaultValueBytes
}

func (r *resolver) meanValueBytes() Count {
	sum, weights := 0.0, 0.0
	for _, size := range r.file.Values.Sizes {
		sum += float64(size.Bytes) * size.Weight
		weights += size.Weight
	}
	return Count(math.Round(sum / weights))
}

// cells expands the matrix. Cases are outermost; then the axes nest in their order.
func (r *resolver) cells() *Error {
	base := make([][]value, len(axes))
	for i, a := range axes {
		base[i] = a.given(r)
	}
	if len(r.file.Cases) == 0 {
		return r.expand("", base, nil)
	}
	if err := r.uselessAxes(); err != nil {
		return err
	}
	names := map[string]bool{}
	for i, c := range r.file.Cases {
		at := []string{"cases", fmt.Sprint(i)}
		if c.Name == "" {
			return r.fail(at, "a case without a name").hint("expected name: NAME")
		}
		if len(c.Name) > nameBytesMax || !plainName(c.Name) {
			return r.fail(append(at, "name"), "the name %q can't be part of a file name", c.Name).hint(plainNameRule)
		}
		if names[c.Name] {
			return r.fail(append(at, "name"), "a second case named %q", c.Name)
		}
		names[c.Name] = true
		own := slices.Clone(base)
		for _, change := range c.Changes {
			path := join("cases."+c.Name, change.path)
			if change.path == "values.bytes" && len(r.file.Values.Sizes)+len(r.file.Values.Columns) > 0 {
				return change.at.fail(path, "values have one of bytes, sizes and columns")
			}
			for k, a := range axes {
				if a.Path != change.path || change.value.kind == null {
					continue
				}
				var err *Error
				if own[k], err = a.decode(change.value, path); err != nil {
					return err
				}
			}
		}
		if err := r.expand(c.Name, own, at); err != nil {
			return err
		}
	}
	return nil
}

// uselessAxes refuses a parameter that every case sets anyway: whoever gave it, in the file, in a
// scale or by --set, would believe that it was used.
func (r *resolver) uselessAxes() *Error {
	for _, path := range axisPaths() {
		inAll := true
		for _, c := range r.file.Cases {
			inAll = inAll && slices.ContainsFunc(c.Changes, func(c change) bool { return c.path == path })
		}
		n, parts := r.root, axisParts(path, nil)
		for _, part := range parts {
			if n != nil {
				n = n.field(part)
			}
		}
		if inAll && n != nil {
			return r.fail(parts, "%s has no effect: every case sets it", path).
				hint("change the cases instead, such as cases.%s.%s, or leave it out", r.file.Cases[0].Name, path)
		}
	}
	return nil
}

// expand adds the cells of a case, which stands at at, or those of a file without cases.
func (r *resolver) expand(name string, values [][]value, at []string) *Error {
	cells := []Cell{{Case: name}}
	for i, a := range axes {
		parts := axisParts(a.Path, at)
		if len(cells)*len(values[i])+len(r.e.Cells) > cellsMax {
			return r.fail(parts, "the matrix has more than %d cells", cellsMax).hint("shorten a list: each one multiplies the others")
		}
		seen := map[string]bool{}
		var next []Cell
		for _, set := range values[i] {
			var c Cell
			set(&c)
			if a.refuse != nil {
				if err := a.refuse(r, parts, c); err != nil {
					return err
				}
			}
			text := a.Text(c)
			if seen[text] {
				return r.fail(parts, "%s lists %s twice", a.Path, text)
			}
			seen[text] = true
		}
		for _, c := range cells {
			for _, set := range values[i] {
				set(&c)
				next = append(next, c)
			}
		}
		cells = next
	}
	if err := r.threadsHaveRecords(cells); err != nil {
		return err
	}
	r.e.Cells = append(r.e.Cells, cells...)
	return nil
}

// axisParts is where an axis stands: in the case, if at names one, or at the top of the file.
func axisParts(path string, at []string) []string {
	if at != nil {
		return append(slices.Clone(at), path)
	}
	return strings.Split(path, ".")
}

// threadsHaveRecords refuses orders that part the records between the threads where there are fewer
// records than threads.
func (r *resolver) threadsHaveRecords(cells []Cell) *Error {
	for p, in := range r.parts() {
		if p.Load || onlyInserts(p.Mix) || p.Order.Distribution != "sequential" && p.Order.Distribution != "shuffled" {
			continue
		}
		for _, c := range cells {
			threads := uint64(max(p.ThreadsIn(c), 1))
			if c.Records >= threads {
				continue
			}
			return r.fail(in("order"), "the order %s divides the records among the threads: %d records are too few for %d threads",
				p.Order.Distribution, c.Records, threads).hint("use fewer threads, more records, or another order")
		}
	}
	return nil
}

// needsThem names the first phase that works on the records 0 … records−1, whatever phases before
// it have inserted beyond them; "" if there is none.
func (r *resolver) needsThem() string {
	for p := range r.parts() {
		if p.Load || !onlyInserts(p.Mix) && p.Order.Distribution != trace.Counting {
			return p.Name
		}
	}
	return ""
}

// keySpace refuses keys that are too short for the records, and for the inserts that are to come.
func (r *resolver) keySpace() *Error {
	limit := r.e.Keys.IndexLimit()
	var records uint64
	for _, cell := range r.e.Cells {
		records = max(records, cell.Records)
	}
	if records > limit {
		return r.fail([]string{"keys", "bytes"}, "%d-byte keys make %d different keys: too few for %d records", r.e.Keys.Bytes, limit, records)
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
			return r.fail(in("mix"), "%d-byte keys make %d different keys: the inserts of phase %s could run out of them", r.e.Keys.Bytes, limit, p.Name).
				hint("use longer keys, or operations: NUMBER in place of for")
		}
		if batch := uint64(max(p.Batch, 1)); counting { // each thread counts from 0
			threads := r.fewestThreads(p)
			needed = max(needed, (p.Operations+threads-1)/threads*batch)
		} else {
			needed += p.Operations * batch
		}
		if needed > limit {
			return r.fail(in("operations"), "%d-byte keys make %d different keys: too few for %d records and inserts", r.e.Keys.Bytes, limit, needed)
		}
	}
	return nil
}

// fewestThreads returns the least threads that a phase has in any cell.
func (r *resolver) fewestThreads(p Phase) uint64 {
	if p.Threads > 0 {
		return uint64(p.Threads)
	}
	fewest := slices.MinFunc(r.e.Cells, func(a, b Cell) int { return a.Threads - b.Threads })
	return uint64(fewest.Threads)
}

// traceLengths refuses orders that visit each record once a pass where there are too many records:
// a pass must fit a trace, which lies in shared memory. Other orders draw, and a load that is
// sequential and without a last, shorter batch goes by laps.
func (r *resolver) traceLengths() *Error {
	null := Store{Name: NullDriver, Description: store.Description{Abilities: store.Abilities{Batch: true}}} // in every experiment
	records := uint64(0)
	for _, cell := range r.e.Cells {
		records = max(records, cell.Records)
	}
	for p, in := range r.parts() {
		visits := p.Load || !onlyInserts(p.Mix) && (p.Order.Distribution == trace.Sequential || p.Order.Distribution == trace.Shuffled)
		if !visits {
			continue
		}
		for _, s := range append(slices.Clone(r.e.Stores), null) {
			batch, visited := uint64(p.BatchFor(s.Description)), records
			if p.Operations > 0 {
				visited = min(visited, p.Operations*batch)
			}
			entries := visited
			if batch > 1 {
				entries += visited/batch + trace.ThreadsMax // a batch's head is an entry, too, and each thread may end in a shorter one
			}
			if entries <= trace.DefaultEntriesMax || p.Load && p.Order.Distribution == trace.Sequential && r.wholeBatches(batch) {
				continue
			}
			e := r.fail(in("order"), "the order %s visits each of %d records once: a trace has at most %d entries",
				p.Order.Distribution, records, uint64(trace.DefaultEntriesMax))
			if p.Load {
				return e.hint("use fewer records, or order: sequential with records a multiple of the batch, which is %[2]d for %[1]s", s.Name, batch)
			}
			return e.hint("use fewer records, operations: NUMBER beside for, or a random order")
		}
	}
	return nil
}

// wholeBatches says if all cells' records are a multiple of the batch.
func (r *resolver) wholeBatches(batch uint64) bool {
	return !slices.ContainsFunc(r.e.Cells, func(c Cell) bool { return c.Records%batch != 0 })
}

// abilities refuses what no store of the experiment can do. What only some can't is planned, and
// shown as refused.
func (r *resolver) abilities() *Error {
	for i, cell := range r.e.Cells {
		var first *Refusal
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
func (r *resolver) optionalPhases() *Error {
	var kept []Phase
	for _, p := range r.e.Phases {
		first := r.noStoreCan(p)
		switch {
		case first == nil:
			kept = append(kept, p)
		case r.follows["phases"]:
			r.note("phase %s left out: %s", p.Name, strings.TrimSuffix(first.Reason, " (phase "+p.Name+")"))
			r.dropPhase(p.Name)
		default:
			return r.fail(r.fieldParts(first.Field, Cell{}), "no store can do this: %s", first.Reason)
		}
	}
	if !slices.ContainsFunc(kept, func(p Phase) bool { return !p.Load && !p.Unmeasured }) {
		return r.fail([]string{"phases"}, "no store can do any of the measured phases").hint("name other stores")
	}
	r.e.Phases = kept
	return nil
}

// noStoreCan returns why the first store can't do a phase that none can.
func (r *resolver) noStoreCan(p Phase) (first *Refusal) {
	for _, s := range r.e.Stores {
		refusal := refusePhase(s, p)
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
func (r *resolver) fieldParts(field string, cell Cell) []string {
	for p, in := range r.parts() {
		for _, end := range []string{"mix", "batch"} {
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

func (r *resolver) reasons(cell int) string {
	text := "each store's reason:"
	for s := range r.e.Stores {
		text += "\n  " + r.e.Refusal(s, cell).Reason
	}
	return text
}
