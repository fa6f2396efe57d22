package trace

// Bounds of the sample of scans, queries and counts of which all that they found is recorded.
const (
	// findsMax is how many of a lap are marked at most, over all threads; each thread may have
	// findsThreadMin.
	findsMax       = 512
	findsThreadMin = 4
	// foundMax bounds the records that one may find: those of longer ones are not marked.
	foundMax = 4096
	// findRowsMax bounds the room for them over all threads, in records of a history: 16 MiB.
	findRowsMax = 1 << 19

	// Marked entries are recorded in the first lap and in those whose number is a power of two: as
	// often in the second half of a phase as in a tenth of it.
	findLapEnd = 1 << 11
	findLaps   = 12 // of that kind
)

// RecordsFind reports whether what a marked scan, query or count finds in a lap is recorded.
func RecordsFind(lap uint64) bool { return lap < findLapEnd && lap&(lap-1) == 0 }

// FindRows returns how many records of a history one takes that found so many records, in a trace of
// so many threads: section 3.5 of docs/worker-contract.md.
func FindRows(threads, found int) int { return 1 + (1+2*threads+found+3)/4 }

// FindSample says which scans, queries and counts are drawn to be recorded.
type FindSample struct {
	Seed   uint64
	Limits []uint64 `json:",omitempty"` // of each query's number: how many records it gives at most
}

// most returns how many records the scan, query or count of an entry gives at most; 0 of a count.
func (s *FindSample) most(f *File, e Entry) uint64 {
	switch amount := f.Amounts[e.SizeClass()]; e.Operation() {
	case Scan:
		return uint64(amount)
	case Query:
		if int(amount) < len(s.Limits) {
			return s.Limits[amount]
		}
		return foundMax + 1
	}
	return 0
}

// MarkFinds marks some scans, queries and counts of fixed index as recorded, and returns how many
// records of a history each thread needs for them; 0: there are none. The n-th of a thread is marked
// with a probability that falls with n, so that each part of a lap, down to its beginning, has about as
// many as the next one of twice its length. The same sample marks the same.
func (f *File) MarkFinds(sample *FindSample) (rowsEach int) {
	if sample == nil {
		return 0
	}
	finds := func(e Entry) bool { return e.Operation().Finds() && !e.Grows() && sample.most(f, e) <= foundMax }
	threads, longest := 0, uint64(0)
	for i := range f.Threads {
		some := false
		for _, e := range f.Threads[i].Entries {
			if finds(e) {
				some, longest = true, max(longest, sample.most(f, e))
			}
		}
		if some {
			threads++
		}
	}
	if threads == 0 {
		return 0
	}
	rows := findLaps * FindRows(len(f.Threads), int(longest))
	each := min(max(findsMax/threads, findsThreadMin), findRowsMax/len(f.Threads)/rows)
	if each == 0 {
		return 0
	}
	for i := range f.Threads {
		f.markFinds(i, each, newRandom(sample.Seed, i, purposeFinds), finds)
	}
	f.Flags |= FlagHistory | FlagFinds
	return each * rows
}

// markFinds marks at most so many of a thread's finds.
func (f *File) markFinds(thread, most int, r random, finds func(Entry) bool) {
	entries, n, marked := f.Threads[thread].Entries, 0, 0
	for p, e := range entries {
		if marked == most {
			return
		}
		if !finds(e) {
			continue
		}
		n++
		// Of 2¹⁸ entries, the sum of most ÷ (16 n) over n above most ÷ 16 is less than most.
		if float64(n)*r.unit() <= float64(most)/16 {
			entries[p] = e.Record()
			marked++
		}
	}
}
