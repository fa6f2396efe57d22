package audit

import (
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// isCompleteLoad says if a bulk load stored all of its records: 0, 1, 2 … as many as it has
// inserts.
func (p *Phase) isCompleteLoad() bool {
	if !p.ZeroVersions || p.anyDoubt() {
		return false
	}
	for i := range p.Trace.Threads {
		if p.Acknowledged[i] != p.Trace.Threads[i].Limit {
			return false
		}
	}
	return true
}

// inserts returns how many records the acknowledged inserts and adds of a phase stored, batches'
// members among them.
func (p *Phase) inserts() (records uint64) {
	if p.looks() {
		return 0
	}
	for i := range p.Trace.Threads {
		counts := p.Trace.Threads[i].CountItems(p.Acknowledged[i])
		records += counts[trace.Insert] + counts[trace.Add]
	}
	return records
}

// Live returns how many records are there after the phases: those whose insert was acknowledged
// (one that was under way when its thread ended is not counted). It is exact, or not known: known
// is false if something was deleted, if operations that write are in doubt or unheard, or if something was
// upserted that was perhaps not there (at or above the records that the inserts of the phases
// before make).
func Live(phases []Phase) (records uint64, known bool) {
	for i := range phases {
		p := &phases[i]
		if p.anyDoubt() || p.hasUnheard() {
			return 0, false
		}
		for thread := range p.Trace.Threads {
			if p.Attempted[thread] == 0 {
				continue
			}
			exact := true
			p.changes(thread, func(c change) {
				o := c.entry.Operation()
				if o.Deletes() || o == trace.Upsert && (c.entry.Grows() || c.entry.Index() >= records) {
					exact = false
				}
			})
			if !exact {
				return 0, false
			}
		}
		records += p.inserts()
	}
	return records, true
}

// keysWalkMax bounds how many keys LogicalBytes makes to learn their lengths: about ten seconds'
// worth.
const keysWalkMax = 1 << 28

// LogicalBytes returns the bytes of keys and values that are live after the phases, which left so
// many records as Live knows of. It is exact, or not known: where several lengths of values were
// written by other than inserts (threads race, and the last one's length stays), or where keys or
// records (nil: values are plain) have different lengths and there are more than 2^28 of them.
func LogicalBytes(
	phases []Phase, records uint64, keys keyval.KeyShape, record *keyval.RecordShape,
) (bytes uint64, known bool) {
	fixed, isFixed := fixedKeyBytes(keys)
	isFixed = isFixed && record == nil
	if !isFixed {
		fixed = 0
	}
	if !isFixed && records > keysWalkMax {
		return 0, false
	}
	bytes = uint64(fixed) * records
	lengths := map[uint32]bool{} // of all values written
	overwritten := false
	key := make([]byte, 0, keys.BytesMax()+8)
	for i := range phases {
		p := &phases[i]
		for thread := range p.Trace.Threads {
			t := &p.Trace.Threads[thread]
			attempted, acknowledged, n := p.Attempted[thread], p.Acknowledged[thread], uint64(len(t.Entries))
			p.changes(thread, func(c change) {
				position := uint64(c.position)
				if position >= attempted {
					return
				}
				length := p.Trace.Amounts[c.entry.SizeClass()]
				if record != nil {
					length = 0 // it follows from the index, whatever was written last
				}
				lengths[length] = true
				if o := c.entry.Operation(); o != trace.Insert && o != trace.Add {
					overwritten = true
					return
				}
				if position >= acknowledged {
					return
				}
				times := (acknowledged-1-position)/n + 1
				bytes += times * uint64(length)
				for lap := uint64(0); !isFixed && lap < times; lap++ {
					index := c.entry.EffectiveIndex(lap, t.Stride)
					key = keys.Append(key[:0], index)
					bytes += uint64(len(key))
					if record != nil {
						bytes += uint64(record.Bytes(index))
					}
				}
			})
		}
	}
	return bytes, !overwritten || len(lengths) <= 1
}

// fixedKeyBytes returns the length of each key, if all have the same.
func fixedKeyBytes(keys keyval.KeyShape) (bytes int, fixed bool) {
	switch {
	case len(keys.Lengths) > 0:
		return 0, false
	case keys.Format == keyval.Binary:
		return keys.Bytes, true
	case keys.Format == keyval.Decimal && (keys.Digits == 20 || keys.Digits >= 15 &&
		!keys.Scatter): // indexes have up to 15 digits
		return len(keys.Prefix) + keys.Digits + len(keys.Suffix), true
	}
	return 0, false
}
