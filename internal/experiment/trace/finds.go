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

// MarkFinds marks some scans, queries and counts of fixed index as recorded, and returns how many
// records of a history each thread needs for them; 0: there are none. most is how many records one
// gives at most, 0 for a count. The n-th of a thread is marked with a probability that falls with n,
// so that each part of a lap, down to its beginning, has about as many as the next one of twice its
// length. The same seed marks the same.
func (f *File) MarkFinds(seed uint64, most func(Entry) uint64) (rowsEach int) {
	finds := func(e Entry) bool { return e.Operation().Finds() && !e.Grows() && most(e) <= foundMax }
	threads, longest := 0, uint64(0)
	for i := range f.Threads {
		some := false
		for _, e := range f.Threads[i].Entries {
			if finds(e) {
				some, longest = true, max(longest, most(e))
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
		f.markFinds(i, each, newRandom(seed, i, purposeFinds), finds)
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
