package worker

import (
	"bytes"
	"errors"
	"fmt"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// check says why a value that came back for an index is none that was written there, or "": section
// 1.4 of docs/worker-contract.md.
func (t *thread) check(value []byte, index uint64) string {
	version, right, proven := t.prove(value, index)
	if !right {
		if t.appends {
			_, problem := t.checkParts(value, index)
			return problem
		}
		return t.whyWrong(value, index)
	}
	if !proven {
		return ""
	}
	length := len(value)
	if t.record != nil {
		length = trace.AnyLength
	}
	problem := t.checkVersion(version, index, length)
	if problem != "" && t.appends {
		_, problem = t.checkParts(value, index)
	}
	return problem
}

// checkVersion says why no write of this trial had the version, or "".
func (t *thread) checkVersion(version, index uint64, length int) string {
	if version == 0 {
		if index < t.phase.request.LoadedRecords {
			return ""
		}
		return "a loaded value for a record that was never loaded"
	}
	number, thread, sequence := keyval.SplitVersion(version)
	writer, prepared := t.session.phases[number]
	if !prepared || !writer.trace.Wrote(thread, sequence, index, length) {
		return "a value with a right checksum that no operation of this trial wrote"
	}
	return ""
}

// prove returns the version that a value proves for an index, if it is one of that index at all,
// and if it proves a version: short values and records without a proof do not.
func (t *thread) prove(value []byte, index uint64) (version uint64, right, proven bool) {
	if t.record != nil {
		version, right = t.record.Check(t.pool, value, index, t.scratch)
		return version, right, t.record.Proves()
	}
	version, right = t.pool.Check(value, index)
	return version, right, len(value) >= keyval.StampBytes
}

// checked is check where values are to be verified.
func (t *thread) checked(value []byte, index uint64) string {
	if !t.verify {
		return ""
	}
	if t.sample != nil { // the work of checking, without the question: the null driver has no value that could be wrong
		t.prove(t.sample, 0)
		return ""
	}
	return t.check(value, index)
}

// otherTrial says of a wrong value that it is right but for its trial's tag: what earlier trials
// left, or a store that kept it.
const otherTrial = "a value of another trial"

// isOtherTrial reports whether a value that is not right is so for its tag alone.
func (t *thread) isOtherTrial(value []byte, index uint64) bool {
	if t.record != nil {
		return t.record.OtherTrial(t.pool, value, index)
	}
	return t.pool.OtherTrial(value, index)
}

// whyWrong looks closer at a value that is not right. The messages leave numbers out, so that they
// count up.
func (t *thread) whyWrong(value []byte, index uint64) string {
	if t.isOtherTrial(value, index) {
		return otherTrial
	}
	if t.record != nil {
		return t.whyWrongRecord(value, index)
	}
	claimed, whole := keyval.IndexOf(value)
	switch {
	case !whole:
		return fmt.Sprintf("a value of %d bytes that is not this record's", len(value))
	case claimed == index:
		return "the record's own value, damaged: its checksum or body is wrong"
	}
	if _, right := t.pool.Check(value, claimed); right {
		return "another record's value"
	}
	return "bytes that are no value of this trial"
}

func (t *thread) whyWrongRecord(record []byte, index uint64) string {
	claimed, ok := t.record.Index(record)
	if ok && claimed != index {
		if _, right := t.record.Check(t.pool, record, claimed, t.scratch); right {
			return "another record's columns"
		}
	}
	return "columns that are not the record's"
}

// observe keeps what a read gave: a version, or a word of section 5 of the contract.
func (t *thread) observe(value []byte, index uint64, err error) {
	t.saw = t.observation(value, index, err)
}

// keepObserved keeps what a read of a verify phase gave, and adds up the counters of records that are
// right.
func (t *thread) keepObserved(value []byte, position int, slot *counters.Slot) {
	t.observed[position] = t.saw
	if t.record != nil && (t.saw < counters.ObservedLowest || t.saw == counters.ObservedShort) {
		slot.SortSum += t.record.Counted(value)
	}
}

func (t *thread) observation(value []byte, index uint64, err error) uint64 {
	if errors.Is(err, store.ErrNotFound) {
		return counters.ObservedMiss
	}
	if err != nil {
		return counters.ObservedError
	}
	version, right, proven := t.prove(value, index)
	if !right && t.appends {
		if last, problem := t.checkParts(value, index); problem == "" {
			return last
		}
	}
	switch {
	case !right && t.isOtherTrial(value, index):
		return counters.ObservedForeign
	case !right:
		return counters.ObservedWrong
	case !proven:
		return counters.ObservedShort
	}
	return version
}

// scanState is what a scan has seen so far. visit is made once, so that a scan allocates nothing.
type scanState struct {
	limit, seen int
	bytes       int
	previous    []byte // the last key
	problem     string
	visit       func(key, value []byte) bool
}

func (s *scanState) init(t *thread) {
	keys := keyval.NewKeyMaker(t.phase.request.Keys)
	s.visit = func(key, value []byte) bool {
		if t.verify && s.problem == "" {
			s.problem = t.checkScanned(keys, key, value)
			s.previous = append(s.previous[:0], key...)
		}
		s.bytes += len(value)
		s.seen++
		return s.seen < s.limit
	}
}

func (t *thread) checkScanned(keys *keyval.KeyMaker, key, value []byte) string {
	s := &t.scan
	if s.seen > 0 && bytes.Compare(key, s.previous) <= 0 {
		return "keys of a scan do not ascend"
	}
	if s.seen == 0 && bytes.Compare(key, s.previous) < 0 {
		return "a scan began before its first key"
	}
	index, claimed := t.claimed(value)
	if t.finding.active {
		t.finding.add(index, claimed)
	}
	if !claimed {
		return "" // it does not say whose it is
	}
	if index > keyval.IndexMax || !bytes.Equal(key, keys.Key(index)) {
		return "a scanned value that is not its key's"
	}
	return t.check(value, index)
}

// claimed returns the index that a value says it is of, if it says so.
func (t *thread) claimed(value []byte) (index uint64, claimed bool) {
	if t.record == nil {
		return keyval.IndexOf(value)
	}
	if index, claimed = t.record.Claimed(value); !claimed && t.record.Proves() {
		return keyval.IndexMax + 1, true // a record without the column that each has: no key fits it
	}
	return index, claimed
}

// scanFrom walks from the key of index. The records are checked as they come, inside the clock:
// they are gone afterwards.
func (t *thread) scanFrom(entry trace.Entry, index uint64, slot *counters.Slot) (counters.Outcome, int64, bool) {
	s := &t.scan
	key := t.keys.Key(index)
	s.limit, s.seen, s.bytes, s.problem = int(t.amounts[entry.SizeClass()]), 0, 0, ""
	s.previous = append(s.previous[:0], key...)
	err := t.scanner.Scan(key, s.limit, s.visit)
	now := t.clock.NowNS()
	switch {
	case err != nil:
		return t.failed(trace.Scan, err), now, true
	case s.problem != "":
		return t.wrong(trace.Scan, s.problem, slot), now, true
	case s.seen > s.limit:
		return t.wrong(trace.Scan, "a scan went on after it was told to stop", slot), now, true
	}
	t.finding.items = uint64(s.seen)
	slot.Items += uint64(s.seen)
	slot.BytesRead += uint64(s.bytes)
	return counters.OK, now, false
}
