package audit

import (
	"sort"

	"assay/internal/keyval"
	"assay/internal/trace"
)

// isCompleteLoad says if a bulk load stored all of its records: 0, 1, 2 … as many as it has inserts.
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

// LoadedWhole says if the bulk loads among the phases stored all of their records for certain: where some of a load's writes ended in
// conflict or error, any record may rightly be missed.
func LoadedWhole(phases []Phase) bool {
	for i := range phases {
		if phases[i].ZeroVersions && !phases[i].isCompleteLoad() {
			return false
		}
	}
	return true
}

// inserts returns how many records the acknowledged inserts and adds of a phase stored, batches' members among them.
func (p *Phase) inserts() (records uint64) {
	for i := range p.Trace.Threads {
		for _, o := range [...]trace.Operation{trace.Insert, trace.Add} {
			records += p.Trace.Threads[i].CountItems(p.Acknowledged[i])[o]
		}
	}
	return records
}

// Live returns how many records are there after the phases: those whose insert was acknowledged (one that was under way
// when its thread ended is not counted). It is exact, or not known: known is false if
// something was deleted, if operations that write are in doubt, or if something was upserted that was perhaps not there
// (at or above the records that the inserts of the phases before make).
func Live(phases []Phase) (records uint64, known bool) {
	for i := range phases {
		p := &phases[i]
		if p.anyDoubt() {
			return 0, false
		}
		for thread := range p.Trace.Threads {
			if p.Attempted[thread] == 0 {
				continue
			}
			exact := true
			p.changes(thread, func(c change) {
				o := c.entry.Operation()
				if o == trace.Delete || o == trace.Upsert && (c.entry.Grows() || c.entry.Index() >= records) {
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

// keysWalkMax bounds how many keys LogicalBytes makes to learn their lengths: about ten seconds' worth.
const keysWalkMax = 1 << 28

// LogicalBytes returns the bytes of keys and values that are live after the phases. It is exact, or not known: where Live
// does not know, where several lengths of values were written by other than inserts (threads race, and the last one's
// length stays), or where keys or records (nil: values are plain) have different lengths and there are more than 2^28 of them.
func LogicalBytes(phases []Phase, keys keyval.KeyShape, record *keyval.RecordShape) (bytes uint64, known bool) {
	records, known := Live(phases)
	if !known {
		return 0, false
	}
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
	case keys.Format == keyval.Binary:
		return keys.Bytes, true
	case keys.Format == keyval.Decimal && (keys.Digits == 20 || keys.Digits >= 15 && !keys.Scatter): // indexes have up to 15 digits
		return len(keys.Prefix) + keys.Digits + len(keys.Suffix), true
	}
	return 0, false
}

// Sample returns at most n indexes, ascending, that lie evenly over what the phases inserted or loaded (deleted or not),
// inserts under way included.
func Sample(phases []Phase, n uint64) []uint64 {
	var stretches []stretch
	var total uint64
	for i := range phases {
		p := &phases[i]
		if p.isCompleteLoad() {
			records := p.inserts()
			stretches = append(stretches, stretch{from: total, loaded: true})
			total += records
			continue
		}
		for thread := range p.Trace.Threads {
			t := &p.Trace.Threads[thread]
			s := stretch{from: total, thread: t}
			lap, n := uint64(0), uint64(len(t.Entries))
			var rest uint64
			p.changes(thread, func(c change) {
				if o := c.entry.Operation(); o == trace.Insert || o == trace.Add {
					s.positions = append(s.positions, c.position)
					if uint64(c.position) < p.Attempted[thread]%n {
						rest++
					}
				}
			})
			if lap = uint64(len(s.positions)); lap == 0 {
				continue
			}
			stretches = append(stretches, s)
			total += p.Attempted[thread]/n*lap + rest
		}
	}
	return pick(stretches, total, n)
}

// stretch is a run of inserted records, numbered from `from` over all stretches.
type stretch struct {
	from      uint64
	loaded    bool // record number k has index k
	thread    *trace.Thread
	positions []int // of the inserts in a lap
}

func (s *stretch) index(k uint64) uint64 {
	if s.loaded {
		return k
	}
	lap := uint64(len(s.positions))
	return s.thread.Entries[s.positions[k%lap]].EffectiveIndex(k/lap, s.thread.Stride)
}

func pick(stretches []stretch, total, n uint64) []uint64 {
	n = min(n, total)
	indexes := make([]uint64, 0, n)
	at := 0
	for i := range n {
		k := total/n*i + total%n*i/n
		for at+1 < len(stretches) && stretches[at+1].from <= k {
			at++
		}
		indexes = append(indexes, stretches[at].index(k-stretches[at].from))
	}
	sort.Slice(indexes, func(a, b int) bool { return indexes[a] < indexes[b] })
	return indexes
}

// VerifyTrace returns the trace of a verify phase: one read of each index, in their order, parted over the threads. What
// the phase observes, threads one after the other, is what Expectation.Check wants for the same indexes.
func VerifyTrace(indexes []uint64, threads int) *trace.File {
	f := &trace.File{
		Flags: trace.FlagRecordVersions, Groups: 1, Operations: []trace.Operation{trace.Read}, Threads: make([]trace.Thread, threads),
	}
	for i := range f.Threads {
		from, to := len(indexes)*i/threads, len(indexes)*(i+1)/threads
		entries := make([]trace.Entry, 0, to-from)
		for _, index := range indexes[from:to] {
			entries = append(entries, trace.MakeEntry(trace.Read, index, 0, false))
		}
		f.Threads[i] = trace.Thread{Entries: entries, Limit: uint64(len(entries))}
	}
	return f
}
