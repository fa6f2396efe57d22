package storetest

import (
	"fmt"
	"slices"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// historyEach is room for every operation of a rule.
const historyEach = 4096

// recordAll marks all entries of the script that can be recorded.
func (s *script) recordAll() {
	s.flags |= trace.FlagHistory
	for i := range s.threads {
		for p, e := range s.threads[i].Entries {
			if e.Operation().OneKey() && !e.Grows() || e.Operation().HasMembers() {
				s.threads[i].Entries[p] = e.Record()
			}
		}
	}
}

// historyRule holds each record against what one thread must see: its own last write, whatever was
// written a moment before.
func historyRule(b *bench) error {
	if err := b.needsRecords(); err != nil {
		return err
	}
	opened, err := b.open(opening{})
	if err != nil {
		return err
	}
	s := b.script(1)
	base := b.base(s.keys)
	const keys = 10
	for round := range 12 {
		for i := range uint64(keys) {
			index := base + i
			switch {
			case round == 0 && i < keys/2:
				s.do(0, trace.Insert, index, 100)
			case (round+int(i))%4 == 0:
				s.do(0, trace.Delete, index, 0)
			case (round+int(i))%4 == 1:
				s.do(0, trace.Upsert, index, 100+round)
			case (round+int(i))%4 == 2:
				s.do(0, trace.ReadModifyWrite, index, 60+round)
			case opened.Abilities.CompareAndSwap:
				s.do(0, trace.CompareAndSwap, index, 80+round)
			}
			s.do(0, trace.Read, index, 0)
		}
		if opened.Abilities.Add {
			s.do(0, trace.Add, base+uint64(round%keys), 40)
		}
		if opened.Abilities.Batch {
			s.batch(0, write{trace.Upsert, base + 1, 50 + round}, write{trace.Delete, base + 2, 0},
				write{trace.Upsert, base + 3, 90})
			for i := range uint64(3) {
				s.do(0, trace.Read, base+1+i, 0)
			}
		}
	}
	if opened.Abilities.MultiGet {
		for round := range uint64(4) {
			s.do(0, trace.Upsert, base+round, int(70+round))
			s.multiRead(0, base+3, base+4, base+5, base+round%3) // the last is there
		}
	}
	s.recordAll()
	// One key is left out: its operations must not be recorded.
	for p, e := range s.threads[0].Entries {
		if e.Index() == base+keys-1 && !e.IsMember() && !e.Operation().HasMembers() {
			s.threads[0].Entries[p] = e &^ trace.Entry(0).Record()
		}
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.auditHistory(r)
	b.replay(r)

	full := b.script(1)
	for i := range uint64(10) {
		full.do(0, trace.Read, base+i, 0)
	}
	full.recordAll()
	full.historyEach = 4
	if r, err = b.run(full); err != nil {
		return err
	}
	if len(r.history[0]) != 4 || r.dropped[0] != 6 {
		b.fault("10 recorded operations with room for 4: %d recorded and %d dropped, expected 4 and 6", len(r.history[0]), r.dropped[0])
	}
	return nil
}

// auditHistory holds the records against the trace and the counters: which they are, and that their
// times lie one after the other.
func (b *bench) auditHistory(r *ran) {
	for thread := range r.file.Threads {
		var expected []uint64
		for sequence := range r.sample.Acknowledged[thread] {
			if e, _ := r.file.Threads[thread].EntryAt(sequence); e.IsRecorded() && !e.Operation().HasMembers() {
				expected = append(expected, sequence)
			}
		}
		records := r.history[thread]
		if len(records) != len(expected) || r.dropped[thread] != 0 {
			b.fault("history: thread %d has %d records and dropped %d, its trace has %d recorded operations", thread, len(records), r.dropped[thread], len(expected))
			return
		}
		for i, record := range records {
			if record.Sequence() != expected[i] {
				b.fault("history: record %d is of entry %d, expected %d", i, record.Sequence(), expected[i])
				return
			}
			if record.EndNS < record.BeginNS || record.Outcome() >= counters.Outcomes || record.What>>48 != 0 {
				b.fault("history: record %d goes from %d to %d ns with outcome %d", i, record.BeginNS, record.EndNS, record.Outcome())
			}
			if i > 0 && b.pipeline > 1 && record.BeginNS < records[i-1].BeginNS {
				b.fault("history: record %d begins at %d ns, before the one before it at %d ns", i, record.BeginNS, records[i-1].BeginNS)
			}
			if i > 0 && b.pipeline <= 1 && !r.sameBatch(thread, records[i-1], record) &&
				record.BeginNS < records[i-1].EndNS {
				b.fault("history: record %d begins at %d ns, before the one before it ended at %d ns", i, record.BeginNS, records[i-1].EndNS)
			}
		}
	}
}

// sameBatch reports whether two records are of one batch or multi-read.
func (r *ran) sameBatch(thread int, one, other counters.Recorded) bool {
	e, _ := r.file.Threads[thread].EntryAt(other.Sequence())
	return e.IsMember() && one.BeginNS == other.BeginNS && one.EndNS == other.EndNS
}

// replay holds what one thread read, and how its operations ended, against its own writes before.
func (b *bench) replay(r *ran) {
	now := map[uint64]uint64{} // index → version
	for _, record := range r.history[0] {
		e, index := r.file.Threads[0].EntryAt(record.Sequence())
		version, there := now[index]
		if !there {
			version = counters.ObservedMiss
		}
		o, outcome, expected := e.Operation(), counters.OK, uint64(counters.ObservedNotRead)
		reads := o == trace.Read || o == trace.ReadModifyWrite || o.Replaces()
		if reads {
			expected = version
			if length := r.lengthOf(version); length >= 0 && length < keyval.StampBytes {
				expected = counters.ObservedShort
			}
		}
		switch {
		case !there && reads:
			outcome = counters.Miss
		case there && o == trace.Add:
			outcome = counters.Conflict
		}
		got := record.Outcome()
		missed := o == trace.Delete && !there && got == counters.Miss // as the store reports it
		if got != outcome && !missed {
			b.fault("history: %s of index %d ended in %v, expected %v", o, index, got, outcome)
		}
		if record.Read != expected {
			b.fault("history: %s of index %d read %s, expected %s", o, index, observedText(record.Read), observedText(expected))
		}
		switch {
		case got != counters.OK && (o != trace.GetAndSet || got != counters.Miss): // which puts anyway
		case o == trace.Delete:
			delete(now, index)
		case o.Writes():
			now[index] = r.version(0, record.Sequence())
		}
	}
}

// lengthOf returns the length of the value that a version's write put; −1: it is no version of the
// phase.
func (r *ran) lengthOf(version uint64) int {
	if version >= counters.ObservedLowest {
		return -1
	}
	_, thread, sequence := keyval.SplitVersion(version)
	e, _ := r.file.Threads[thread].EntryAt(sequence)
	return int(r.file.Amounts[e.SizeClass()])
}

// serviceTimesRule holds the histograms against the records, and both against the clock: a thread
// of closed load that only writes is in an operation all the time, so that each one begins when the
// one before ended.
func serviceTimesRule(b *bench) error {
	if _, err := b.open(opening{}); err != nil {
		return err
	}
	// A busy machine may hold up the short writes once; a time that is reported for the next one always is.
	for try := 1; ; try++ {
		of, err := b.serviceTimes()
		if of == "" || err != nil {
			return err
		}
		if try == 3 {
			b.fault("service times: %s", of)
			return nil
		}
	}
}

// serviceTimes does long and short writes in turn. It returns what shows that a time is reported for
// another operation; "" if nothing does.
func (b *bench) serviceTimes() (ofAnother string, err error) {
	s := b.script(1)
	base := b.base(s.keys)
	long := 64 << 10 // some tables compress values, 256 KiB at a time in half a second
	if most := b.description.ValueBytesMax; most > 0 {
		long = min(long, most)
	}
	const pairs = 80
	for i := range uint64(pairs) {
		s.do(0, trace.Upsert, base, long)
		s.do(0, trace.Update, base+1+i%3, 24)
	}
	s.recordAll()
	r, err := b.run(s)
	if err != nil {
		return "", err
	}
	b.auditHistory(r)
	if len(r.history[0]) != 2*pairs {
		return "", nil // it was said
	}
	times := map[trace.Operation]*histogram.Histogram{trace.Upsert: histogram.New(), trace.Update: histogram.New()}
	byOperation := map[trace.Operation][]uint64{}
	// A pipeline refills in halves: operations begin together when the last one ends that makes room for
	// them.
	deep := max(b.pipeline, 1)
	half := deep - deep/2
	for i, record := range r.history[0] {
		e, _ := r.file.Threads[0].EntryAt(record.Sequence())
		took := record.EndNS - record.BeginNS
		times[e.Operation()].Counts[histogram.Bucket(took)]++
		byOperation[e.Operation()] = append(byOperation[e.Operation()], took)
		if i < deep {
			continue
		}
		if before := r.history[0][((i-deep)/half+1)*half-1]; before.Outcome() == counters.OK &&
			record.BeginNS != before.EndNS {
			b.fault("service times: operation %d begins at %d ns, the write before it ended at %d ns: the time between is in no operation",
				i, record.BeginNS, before.EndNS)
			break
		}
	}
	for o, expected := range times {
		if !slices.Equal(expected.Counts, r.total(o).Service.Counts) {
			b.fault("service times: the histogram of %s is not that of the recorded begins and ends", o)
		}
	}
	if last := r.history[0][len(r.history[0])-1].EndNS; last != r.endedNS[0] {
		b.fault("service times: the last operation ended at %d ns, the thread's clock stands at %d ns", last, r.endedNS[0])
	}
	// Long and short writes take turns. Where the clock is read before the store is called, each
	// one's time is reported for the next one.
	longer, shorter := middle(byOperation[trace.Upsert]), middle(byOperation[trace.Update])
	if deep == 1 && long >= 64<<10 && shorter > 2*longer {
		ofAnother = fmt.Sprintf("writes of %d bytes are reported to take %d ns, writes of 24 bytes beside them %d ns (medians): "+
			"the time of an operation is reported for the one after it", long, longer, shorter)
	}
	return ofAnother, nil
}

func middle(times []uint64) uint64 {
	slices.Sort(times)
	return times[len(times)/2]
}

// turnsRule has a thread that begins late and one that ends early: client groups need both.
func turnsRule(b *bench) error {
	if b.threads(3) < 3 {
		return skip("%s has at most %d handles, this needs 3", b.description.Name, b.description.HandlesMax)
	}
	if _, err := b.open(opening{threads: 3}); err != nil {
		return err
	}
	// Due times make the rule the same on a slow machine: what is due after a thread's end must not
	// be begun, however late that is seen.
	const entries, every, from, before = 30, 10e6, 60e6, 5
	s := b.script(3)
	base := b.base(s.keys)
	s.flags = trace.FlagDue
	for thread := range s.threads {
		t := &s.threads[thread]
		for i := range uint64(entries) {
			s.do(thread, trace.Upsert, base+uint64(thread)*100+i, 50)
			due := uint64(0)
			if thread == 2 {
				due = i * every
			}
			t.Due = append(t.Due, due)
		}
		t.LapNS = entries * every
	}
	s.recordAll()
	s.threads[1].FromNS = from
	s.threads[2].UntilNS = before*every - every/2
	s.deadline = b.target.StepTimeout // a thread may do fewer than its entries
	r, err := b.run(s)
	if err != nil {
		return err
	}
	for thread, expected := range []int{entries, entries, before} {
		records := r.history[thread]
		if n := len(records); n > expected || n < expected && thread < 2 {
			b.fault("thread %d did %d operations, expected %d: thread 1 begins late, thread 2 ends early", thread, n, expected)
		}
		if thread == 1 && len(records) > 0 && records[0].BeginNS < from {
			b.fault("a thread that was to begin %d ns after the phase began after %d ns", uint64(from), records[0].BeginNS)
		}
	}
	return nil
}
