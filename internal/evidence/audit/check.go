package audit

import (
	"fmt"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
)

// Judgement is what an observation means.
type Judgement int

const (
	Right  Judgement = iota // what the key may hold, and nothing known speaks against it
	Lost                    // absent, though a write was acknowledged and no delete could have come after it
	Stale                   // an older value than any that the last acknowledged changes allow
	Wrong                   // a value that was never written there
	Errors                  // the read failed
	// the value does not tell its version and could be of several, or operations in doubt forbid a
	// judgement
	Unknown
	Late // a value that was there after its time
)

func (j Judgement) String() string {
	return [...]string{"right", "lost", "stale", "wrong", "error", "unknown", "late"}[j]
}

// Counts is the result of Check. Its counts add up to Records.
type Counts struct {
	Records, Right, Lost, Stale, Wrong, Errors, Unknown uint64

	Foreign uint64 // of Wrong: values of another trial
	Late    uint64 // there, although their time was over
	Expired uint64 // of Right: absent, and their time was over

	Examples []string // the first few that are lost, stale or wrong, a sentence each
}

const examplesMax = 5

// Check judges what was observed (the words of section 5 of the worker contract) for each index
// given to Expect, in that order. It returns an error if their numbers differ or a record was not
// read at all.
func (x *Expectation) Check(observed []uint64) (Counts, error) {
	c := Counts{Records: uint64(len(observed))}
	if len(observed) != len(x.indexes) {
		return c, fmt.Errorf("audit: %d records were to be read back, %d were observed", len(x.indexes), len(observed))
	}
	for i, word := range observed {
		if word == counters.ObservedNotRead {
			return c, fmt.Errorf("audit: record %d was not read back", x.indexes[i])
		}
		judgement := x.Judge(i, word)
		*[...]*uint64{&c.Right, &c.Lost, &c.Stale, &c.Wrong, &c.Errors, &c.Unknown, &c.Late}[judgement]++
		if word == counters.ObservedForeign {
			c.Foreign++
		}
		if judgement == Right && word == counters.ObservedMiss && x.expires(i) {
			c.Expired++
		}
		if bad := judgement == Lost || judgement == Stale || judgement == Wrong || judgement == Late; bad &&
			len(c.Examples) < examplesMax {
			c.Examples = append(c.Examples, fmt.Sprintf("record %d: %s: %s", x.indexes[i], judgement, describe(word)))
		}
	}
	return c, nil
}

func describe(word uint64) string {
	switch word {
	case counters.ObservedMiss:
		return "not found"
	case counters.ObservedWrong:
		return "not a value of this key"
	case counters.ObservedForeign:
		return "a value of another trial"
	case counters.ObservedShort:
		return "a value that must not be there"
	}
	phase, thread, sequence := keyval.SplitVersion(word)
	return fmt.Sprintf("value of phase %d, thread %d, entry %d", phase, thread, sequence)
}

// Judge judges one observation of sample number i.
func (x *Expectation) Judge(i int, word uint64) Judgement {
	judgement := x.judgeWrites(i, word)
	if x.Lives == nil {
		return judgement
	}
	switch life := x.Lives(x.indexes[i]); {
	case word == counters.ObservedMiss && judgement == Lost && (life == LifeOver || life == LifeEither):
		return Right
	case word == counters.ObservedMiss && judgement == Lost && life == LifeUnknown:
		return Unknown
	case word != counters.ObservedMiss && judgement == Right && life == LifeOver:
		return Late
	}
	return judgement
}

// expires says if sample number i may be gone because its time is over.
func (x *Expectation) expires(i int) bool {
	life := LifeNone
	if x.Lives != nil {
		life = x.Lives(x.indexes[i])
	}
	return life == LifeOver || life == LifeEither
}

// Life is what is known of a record's time when it was read back.
type Life int

const (
	LifeNone    Life = iota // it had none, or was deleted
	LifeUnknown             // a write of it was under way or failed
	LifeAlive               // it must be there
	LifeEither              // its time ended meanwhile, to within what the store may be wrong by
	LifeOver                // it must be gone
)

// judgeWrites judges by what was written alone.
func (x *Expectation) judgeWrites(i int, word uint64) Judgement {
	switch word {
	case counters.ObservedMiss:
		return x.judgeAbsence(x.histories[i])
	case counters.ObservedWrong, counters.ObservedForeign:
		return Wrong
	case counters.ObservedError:
		return Errors
	case counters.ObservedShort:
		if !mayExist(x.histories[i]) {
			return Stale
		}
		if version, only := x.onlyVersion(i); only {
			return x.judgeVersion(i, version)
		}
		return Unknown
	}
	return x.judgeVersion(i, word)
}

// onlyVersion returns the version of the one write that sample number i ever had: a value that does
// not tell its version is of that one.
func (x *Expectation) onlyVersion(i int) (version uint64, only bool) {
	puts := 0
	for _, h := range x.histories[i] {
		puts += h.puts
		if p := &x.phases[h.phase]; h.puts == 1 && !p.ZeroVersions {
			version = keyval.Version(p.Number, h.thread, h.lastPut-1)
		}
	}
	return version, puts == 1
}

func (x *Expectation) judgeVersion(i int, version uint64) Judgement {
	writer, sequence, doubtful, ok := x.writer(i, version)
	if !ok {
		return Wrong
	}
	judgement := Right
	for _, h := range x.histories[i] {
		later := h.phase > writer.phase
		same := h.phase == writer.phase && h.thread == writer.thread
		if !later && !same {
			continue
		}
		if h.certain > 0 && (later || h.certain > sequence) {
			if doubtful { // one that timed out may be done late
				return Unknown
			}
			return Stale
		}
		if h.doubtful > 0 && (later || h.doubtful > sequence) {
			judgement = Unknown
		}
	}
	return judgement
}

// writer finds the attempted write of a version to sample i. sequence is one more than the
// version's, as in a history.
func (x *Expectation) writer(i int, version uint64) (h history, sequence uint64, doubtful, ok bool) {
	index := x.indexes[i]
	phase, thread, number := keyval.SplitVersion(version)
	if version == 0 {
		for _, h := range x.histories[i] {
			p := &x.phases[h.phase]
			if p.ZeroVersions && (h.underwayPut || h.doubtfulPut > 0 || h.certain > 0 && !h.certainDelete) {
				// A load writes each index once, so whatever it did to this one is this write.
				return h, max(h.certain, h.doubtful), h.doubtfulPut > 0, true
			}
		}
	}
	position, known := x.position[phase]
	if !known || x.phases[position].ZeroVersions || thread >= len(x.phases[position].Trace.Threads) {
		return h, 0, false, false
	}
	p := &x.phases[position]
	t := &p.Trace.Threads[thread]
	if len(t.Entries) == 0 || number >= p.mostBegun(thread) {
		return h, 0, false, false
	}
	e, effective := t.EntryAt(number)
	if !e.Operation().Writes() || effective != index {
		return h, 0, false, false
	}
	if number < p.Acknowledged[thread] {
		doubtful = p.isDoubtful(thread, int(number%uint64(len(t.Entries))))
	}
	return history{phase: position, thread: thread}, number + 1, doubtful, true
}

// isDoubtful says if the acknowledged entry at a position may not have done its work.
func (p *Phase) isDoubtful(thread, position int) bool {
	entries, code := p.Trace.Threads[thread].Entries, p.Trace.Threads[thread].Entries[position].Operation()
	for entries[position].IsMember() {
		position--
		code = entries[position].Operation()
	}
	return p.Doubt[thread]>>code&1 != 0
}

// decisive returns the last phase in which a change is certain, -1 if there is none: nothing before
// it counts.
func decisive(histories []history) int {
	phase := -1
	for _, h := range histories {
		if h.certain > 0 {
			phase = max(phase, h.phase)
		}
	}
	return phase
}

func (x *Expectation) judgeAbsence(histories []history) Judgement {
	last := decisive(histories)
	absent := last < 0 // no write of it is certain
	judgement := Lost
	for _, h := range histories {
		if h.phase == last && h.certain > 0 && h.certainDelete {
			absent = absent || h.doubtfulPut < h.certain
			judgement = Unknown // if by no other thread: a put in doubt came after the delete
		}
		if h.phase >= last && h.underwayDelete {
			absent = true
		}
		if h.doubtfulDelete > 0 || h.failedPutAfter(last) {
			judgement = Unknown
		}
	}
	if !absent {
		return judgement
	}
	for _, h := range histories {
		if h.phase > last && h.doubtfulPut > 0 && !laterUnderwayDelete(histories, h.phase) {
			return Unknown
		}
	}
	return Right
}

// failedPutAfter says if a put that may have failed can have come after all that is certain, whose last
// is of a phase. What became of the record then is not known: a cache drops the old value when it has no
// room for the new one.
func (h *history) failedPutAfter(phase int) bool {
	return h.doubtfulPut > 0 && (h.phase > phase || h.phase == phase && h.doubtfulPut > h.certain)
}

func laterUnderwayDelete(histories []history, phase int) bool {
	for _, h := range histories {
		if h.underwayDelete && h.phase >= phase {
			return true
		}
	}
	return false
}

// mayExist says if any put could be the key's final change.
func mayExist(histories []history) bool {
	last := decisive(histories)
	for _, h := range histories {
		if h.doubtfulPut > 0 || h.phase >= last && h.underwayPut || h.phase == last && h.certain > 0 &&
			!h.certainDelete {
			return true
		}
	}
	return false
}
