package run

import (
	"slices"

	"assay/internal/base/finding"
	"assay/internal/evidence/answers"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/store"
)

// How a record is met by the deletes by query of a phase.
const (
	metBegun        = 1 << iota // by one that was begun
	metAcknowledged             // by one that was acknowledged
	metUnderway                 // by one that was begun and not acknowledged
)

// holdDeletes holds the number of records that deletes by query say they deleted against what was
// there for them: each record is deleted once, by one of those that find it, unless it is put again.
// It is called before the phase is remembered. ok is false where the number can't be.
func (p *past) holdDeletes(c *content, file *trace.File, last counters.Sample) (problem finding.Message, ok bool) {
	if !slices.Contains(file.Operations, trace.DeleteQuery) || c.store.Description.Kind == store.None {
		return problem, true
	}
	var total counters.Total // of all queries: a record is deleted by one of those that find it
	for slot, o := range file.Operations {
		if o == trace.DeleteQuery {
			total.Add(&last.Totals[slot])
		}
	}
	reached := p.reached.With(trace.Span{Below: c.cell.Records}).With(file.IndexesReached(last.Attempted)...)
	if reached.End() > answersMax {
		return problem, true // the tables would take too much memory: what is there at the end is checked anyway
	}
	met, matched := deletedBy(&c.experiment.Values, file, last, reached)
	var indexes []uint64
	for index, how := range met {
		if how&metBegun != 0 {
			indexes = append(indexes, uint64(index))
		}
	}
	before, fresh := audit.Expect(p.phases, indexes), max(p.fresh, c.cell.Records)
	alone := deletedByKey(file)
	var owed within64
	for i, index := range indexes {
		if before.MayBeThere(i) || index >= fresh {
			owed.most++
		}
		if met[index]&(metAcknowledged|metUnderway) == metAcknowledged && before.MustBeThere(i) && !alone[index] {
			owed.least++
		}
	}
	if putsAgain(file) {
		owed.most = matched
	}
	if done := total.Outcomes[counters.OK] + total.Outcomes[counters.Miss]; done < total.Operations() {
		owed.least = 0 // which of them failed is not known
	}
	if owed.holds(total.Items) {
		return problem, true
	}
	return owed.against(finding.MarkItems, total.Items, trace.DeleteQuery.String(), total.Outcomes[counters.OK]), false
}

// deletedBy returns how each of the records that may be there is met by the deletes by query of a phase,
// and how many they find in all, with repetitions.
func deletedBy(values *experiment.Values, file *trace.File, now counters.Sample, may trace.Spans) (met []uint8,
	matched uint64) {
	record, shapes := values.Record(), values.QueryShapes()
	met = make([]uint8, may.End())
	type which struct {
		query int
		found answers.Found
	}
	tables, known := map[int]*answers.Answers{}, map[which]uint8{}
	for i := range file.Threads {
		n := uint64(len(file.Threads[i].Entries))
		for position, e := range file.Threads[i].Entries {
			at := uint64(position)
			if e.Operation() != trace.DeleteQuery || at >= now.Attempted[i] {
				continue
			}
			how := uint8(metBegun)
			if at < now.Acknowledged[i] {
				how |= metAcknowledged
			}
			last := (now.Attempted[i]-1-at)/n*n + at
			if last >= now.Acknowledged[i] {
				how |= metUnderway
			}
			query := int(file.Amounts[e.SizeClass()])
			if tables[query] == nil {
				tables[query] = answers.New(record, shapes[query], may.Count(), may.At)
			}
			tables[query].Find(e.Index(), func(f answers.Found) {
				matched = capped(matched, multiplied(uint64(f.To-f.From), (last-at)/n+1))
				if known[which{query, f}]&how == how {
					return
				}
				known[which{query, f}] |= how
				tables[query].Indexes(f, func(index uint64) { met[index] |= how })
			})
		}
	}
	return met, matched
}

// deletedByKey returns the records that a trace deletes one by one.
func deletedByKey(file *trace.File) map[uint64]bool {
	deleted := map[uint64]bool{}
	for i := range file.Threads {
		for _, e := range file.Threads[i].Entries {
			if e.Operation() == trace.Delete {
				deleted[e.Index()] = true
			}
		}
	}
	return deleted
}

// putsAgain reports whether a trace may put records that were deleted: all that is put does, but
// for what takes fresh indexes.
func putsAgain(file *trace.File) bool {
	return slices.ContainsFunc(file.Threads, func(t trace.Thread) bool {
		return slices.ContainsFunc(t.Entries, func(e trace.Entry) bool {
			o := e.Operation()
			return o.Puts() && o != trace.Insert && o != trace.Add
		})
	})
}
