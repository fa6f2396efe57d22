package audit

import "assay/internal/evidence/answers"

// deletions are the sequence numbers at which a thread did a delete by query that finds the same
// records: of those that were acknowledged the last one, and one that was not.
type deletions struct {
	change                          change
	isAcknowledged, isUnderway      bool
	lastAcknowledged, lastAttempted uint64
}

// addDeletes adds what the deletes by query of a thread did to the sampled records. Deletes that
// find the same are looked at once, so that the time is that of distinct questions and what they find.
func (x *Expectation) addDeletes(p *Phase, thread int, deletes []change, add func(c change, sample int,
	sequence uint64)) {
	type found struct {
		query int
		answers.Found
	}
	all := map[found]*deletions{}
	n := uint64(len(p.Trace.Threads[thread].Entries))
	for _, c := range deletes {
		query := int(p.Trace.Amounts[c.entry.SizeClass()])
		x.answersTo(p, query).Find(c.entry.Index(), func(f answers.Found) {
			d := all[found{query, f}]
			if d == nil {
				d = &deletions{change: c}
				all[found{query, f}] = d
			}
			for sequence := range lastOccurrences(uint64(c.position), n, p.Acknowledged[thread], p.mostBegun(thread)) {
				if sequence < p.Acknowledged[thread] {
					d.isAcknowledged, d.lastAcknowledged = true, max(d.lastAcknowledged, sequence)
				} else {
					d.isUnderway, d.lastAttempted = true, sequence
				}
			}
		})
	}
	for f, d := range all {
		x.asked[f.query].Indexes(f.Found, func(index uint64) {
			if d.isAcknowledged {
				add(d.change, x.sampled[index], d.lastAcknowledged)
			}
			if d.isUnderway {
				add(d.change, x.sampled[index], d.lastAttempted)
			}
		})
	}
}

// answersTo returns which of the sampled records a query finds.
func (x *Expectation) answersTo(p *Phase, query int) *answers.Answers {
	if x.asked[query] == nil {
		x.asked[query] = answers.New(p.Record, p.Queries[query], uint64(len(x.indexes)),
			func(k uint64) uint64 { return x.indexes[k] })
	}
	return x.asked[query]
}

// MustBeThere reports whether the absence of sample number i would be a loss, and MayBeThere whether
// it can be there at all.
func (x *Expectation) MustBeThere(i int) bool { return x.judgeAbsence(x.histories[i]) == Lost }

// MayBeThere reports whether a record may be there: see MustBeThere.
func (x *Expectation) MayBeThere(i int) bool { return mayExist(x.histories[i]) }
