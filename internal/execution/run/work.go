package run

import (
	"math"
	"math/bits"
	"slices"

	"assay/internal/base/finding"
	"assay/internal/evidence/answers"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// expected is what the conductor knows of the work that a phase's operations are, besides its
// trace.
type expected struct {
	keys    keyval.KeyShape
	columns *keyval.RecordShape // nil: values are plain
	queries []*keyval.QueryShape
	there   audit.Presence // all through the phase, and at some moment of it
	// indexes of which the trial itself may have made a record; nil: those of others may be among
	// them
	own     trace.Spans
	verify  bool     // values that were read are checked, and sums of sort columns counted
	answers bool     // the driver stores records: the null driver scans, finds and counts what it likes
	values  within64 // bytes of each value that the trial has written or will write
	writes  bool     // another group of the phase writes or deletes meanwhile
	vanishing
	begun []uint64 // entries of each thread of the phase
}

// presentSlack is the share of records that scans, queries and counts may miss where others write
// meanwhile: the contract promises no store a view of one moment, and one that replaces a record in
// two steps hides it between them.
const presentSlack = 0.01

// holdWork holds the items and the bytes written that a worker counted against the trace, and
// returns a message for each that can't be. Of scans, queries and counts it sets what they owed.
// slots are the results of c's slots, in their order, and name names what a slot counts.
//
// Where all operations of a kind ended ok, bytes written are known exactly (but for keys whose
// length hangs on the lap), and so are batches' items. Where some did not, which is not known: each
// of them may have been the largest.
func holdWork(file *trace.File, c *counters.File, s counters.Sample, know expected, slots []record.Operation,
	name func(slot int) string) (problems []finding.Message) {
	m := newMeter(file, know)
	sums := make([]amounts, len(file.Operations))
	for i := range file.Threads {
		work := m.thread(&file.Threads[i], s.Acknowledged[i], max(s.Attempted[i], s.Acknowledged[i]))
		for slot, o := range file.Operations {
			sums[slot].add(work[slot].ofOK(o, c.Slot(i, slot)))
		}
	}
	for slot, o := range file.Operations {
		total, owed := &slots[slot], sums[slot]
		if !owed.bytes.holds(total.BytesWritten) {
			problems = append(problems, owed.bytes.against(finding.MarkBytes, total.BytesWritten, name(slot), 0))
		}
		if !know.answers && (o.Finds() || reads(o)) {
			continue
		}
		// A read of a value that is right returns all of it. A worker that was killed may have
		// counted the bytes and not the outcome.
		values := within64{total.OK, total.OK + uint64(len(file.Threads))}
		if o == trace.MultiRead {
			values = within64{total.Items, total.Items + uint64(len(file.Threads))*longestMultiRead(file)}
		}
		if read := know.values.times(values.least, values.most); reads(o) && !read.holds(total.BytesRead) {
			problems = append(problems, read.against(finding.MarkBytesRead, total.BytesRead, name(slot), total.OK))
		}
		most, least := owed.items.most, owed.items.least
		if o.Finds() && know.there.Certain.Count() > 0 {
			total.ItemsOwed = &owed.items.least
			if know.writes || overwritesIn(file) {
				least -= uint64(math.Ceil(float64(least) * presentSlack))
			}
		}
		items := total.Items
		if o == trace.MultiRead { // each key is found or not there
			items += total.Absent
		}
		if allowed := (within64{least, most}); !allowed.holds(items) {
			problems = append(problems, allowed.against(finding.MarkItems, items, name(slot), total.OK))
		}
		if calls := (within64{total.OK + total.Miss + total.Lost + total.Wrong,
			math.MaxUint64}); o == trace.MultiRead && !calls.holds(total.Calls) {
			problems = append(problems, calls.against(finding.MarkCalls, total.Calls, name(slot), total.OK))
		}
		if o == trace.Query && know.verify && !overwritesIn(file) {
			problems = append(problems, holdOrder(&s.Totals[slot], owed.sorted, name(slot))...)
		}
	}
	return problems
}

// holdOrder holds the sums of sort columns against what the queries' first records have there: a
// store that gives others, in whatever order, is seen by it. Nothing is known where operations
// failed, and where sums outgrow a word.
func holdOrder(total *counters.Total, owed within64, name string) []finding.Message {
	failed := uint64(0)
	for outcome, n := range total.Outcomes {
		if outcome != int(counters.OK) && outcome != int(counters.Miss) {
			failed += n
		}
	}
	if failed > 0 || owed.most == math.MaxUint64 || owed.holds(total.SortSum) {
		return nil
	}
	return []finding.Message{owed.against(finding.MarkOrder, total.SortSum, name, total.Outcomes[counters.OK])}
}

// longestMultiRead is how many keys one call has at most.
func longestMultiRead(file *trace.File) (keys uint64) {
	for i := range file.Threads {
		for _, e := range file.Threads[i].Entries {
			if e.Operation() == trace.MultiRead {
				keys = max(keys, uint64(file.Amounts[e.SizeClass()]))
			}
		}
	}
	return keys
}

// reads says if an operation returns one value where it is ok, or one of each key that it found.
func reads(o trace.Operation) bool {
	return o == trace.Read || o == trace.MultiRead || o == trace.ReadOrFill || o == trace.ReadModifyWrite ||
		o.Replaces()
}

// overwritesIn says if a trace changes records that are there: what only adds fresh ones hides none.
func overwritesIn(file *trace.File) bool {
	changes := func(o trace.Operation) bool {
		return o.Changes() && o != trace.Insert && o != trace.Add && o != trace.Batch
	}
	if !slices.Contains(file.Operations, trace.Batch) {
		return slices.ContainsFunc(file.Operations, changes)
	}
	return slices.ContainsFunc(file.Threads, func(t trace.Thread) bool {
		return slices.ContainsFunc(t.Entries, func(e trace.Entry) bool { return changes(e.Operation()) })
	})
}

// within64 is a count of which the least and the most are known. The most that a word holds: no
// bound.
type within64 struct{ least, most uint64 }

func (w within64) holds(n uint64) bool { return n >= w.least && n <= w.most }

// against says that a count of so many operations is not within; 0: how many is no matter.
func (w within64) against(code finding.Code, counted uint64, operation string, operations uint64) finding.Message {
	p := finding.WorkParams{Code: code, Operation: operation, Operations: operations, Counted: counted, Least: w.least}
	if w.most != math.MaxUint64 {
		p.Most = &w.most
	}
	return finding.New(p)
}

func (w *within64) add(o within64) {
	w.least = capped(w.least, o.least)
	w.most = capped(w.most, o.most)
}

// times returns so many of the least and so many of the most.
func (w within64) times(fewest, most uint64) within64 {
	return within64{multiplied(w.least, fewest), multiplied(w.most, most)}
}

// multiplied is capped as [capped] is.
func multiplied(a, b uint64) uint64 {
	if over, product := bits.Mul64(a, b); over == 0 {
		return product
	}
	return math.MaxUint64
}

func capped(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// amounts are the items and bytes written of operations, and
// sorted is what the sort columns of what queries found add up to.
type amounts struct{ items, bytes, sorted within64 }

func (a *amounts) add(o amounts) {
	a.items.add(o.items)
	a.sorted.add(o.sorted)
	a.bytes.add(o.bytes)
}

// kindWork is what the operations of one slot of a thread are.
type kindWork struct {
	amounts
	acknowledged, begun  uint64 // operations
	itemsEach, bytesEach uint64 // the most that one of them is
	batchBytes           uint64 // of the batch that is being added up
}

// ofOK returns what those that the slot counts as ok are.
func (k *kindWork) ofOK(o trace.Operation, slot *counters.Slot) amounts {
	ok, all := slot.Outcomes[counters.OK], uint64(0)
	for _, n := range slot.Outcomes {
		all += n
	}
	switch missed := slot.Outcomes[counters.Miss] + slot.Outcomes[counters.Lost]; o {
	case trace.MultiRead: // of one that is lost as well, each key was found or not
		ok += missed
	case trace.ReadOrFill: // what found a value wrote none
		ok = missed
	case trace.GetAndSet: // it puts where nothing was, too
		ok += missed
	}
	if o.Asks() {
		ok += slot.Outcomes[counters.Miss] // an answer like others: nothing was found
	}
	// A worker that was killed may have counted what it did not acknowledge any more, or its bytes
	// and not its outcome.
	underway := k.begun - k.acknowledged
	fewer := func(w within64, each uint64) within64 {
		if notOK := all - ok; notOK > 0 {
			if over := float64(each) * float64(notOK); over >= float64(w.least) {
				w.least = 0
			} else {
				w.least -= each * notOK
			}
			if allowed := float64(each) * float64(ok+underway); allowed < float64(w.most) {
				w.most = each * (ok + underway)
			}
		}
		return w
	}
	return amounts{fewer(k.items, k.itemsEach), fewer(k.bytes, k.bytesEach), k.sorted}
}

// meter says what each entry of a trace is.
type meter struct {
	expected
	file  *trace.File
	slots *trace.Slots
	// certain and possible answer each query of records that are there all through the phase, and of
	// those that may be; nil: not known.
	certain, possible []*answers.Answers
	// after and mayFollow tell how many records have the key of an index or a greater one, at least and
	// at most; nil: not known.
	after, mayFollow func(index uint64) uint64
}

func newMeter(file *trace.File, know expected) *meter {
	m := &meter{expected: know, file: file, slots: file.Slots()}
	if know.answers && slices.Contains(file.Operations, trace.Scan) {
		longest := longestScan(file)
		m.after = keysAfter(know.keys, know.there.Certain, longest, 0)
		if know.there.Possible != nil {
			m.mayFollow = keysAfter(know.keys, know.there.Possible, longest, longest)
		}
	}
	m.makeAnswers()
	return m
}

// answersMax bounds the records of which answers are known: 24 bytes each, for each query.
const answersMax = 1 << 24

// makeAnswers prepares what the trace asks.
func (m *meter) makeAnswers() {
	m.certain, m.possible = make([]*answers.Answers, len(m.queries)), make([]*answers.Answers, len(m.queries))
	if !m.answers || !m.file.MayHave(trace.Query, trace.Count) {
		return
	}
	for i := range m.file.Threads {
		for _, e := range m.file.Threads[i].Entries {
			if o := e.Operation(); o != trace.Query && o != trace.Count {
				continue
			}
			query := m.file.Amounts[e.SizeClass()]
			if m.certain[query] != nil {
				continue
			}
			m.certain[query] = answersOf(m.columns, m.queries[query], m.there.Certain)
			if may := m.there.Possible; may != nil && may.Count() == m.there.Certain.Count() {
				m.possible[query] = m.certain[query]
			} else if may != nil {
				m.possible[query] = answersOf(m.columns, m.queries[query], may)
			}
		}
	}
}

// answersOf answers a query of records; nil: they are too many.
func answersOf(columns *keyval.RecordShape, query *keyval.QueryShape, of *audit.Indexes) *answers.Answers {
	if of.Count() > answersMax {
		return nil
	}
	below, all := of.Prefix()
	if all {
		return answers.New(columns, query, below, nil)
	}
	indexes := of.List()
	return answers.New(columns, query, uint64(len(indexes)), func(k uint64) uint64 { return indexes[k] })
}

func longestScan(file *trace.File) (longest uint64) {
	for i := range file.Threads {
		for _, e := range file.Threads[i].Entries {
			if e.Operation() == trace.Scan {
				longest = max(longest, uint64(file.Amounts[e.SizeClass()]))
			}
		}
	}
	return longest
}

// thread adds up a thread's entries by slot: the least over those that were acknowledged, the most
// over those that were begun.
func (m *meter) thread(t *trace.Thread, acknowledged, begun uint64) []kindWork {
	work, n := make([]kindWork, len(m.file.Operations)), uint64(len(t.Entries))
	if n == 0 {
		return work
	}
	rests := [...]uint64{acknowledged % n, begun % n}
	laps := [...]uint64{acknowledged / n, begun / n}
	lastLap := (max(begun, 1) - 1) / n
	key := make([]byte, 0, m.keys.BytesMax()+8)
	var batch *kindWork
	for position, e := range t.Entries {
		done, tried := laps[0], laps[1]
		if uint64(position) < rests[0] {
			done++
		}
		if uint64(position) < rests[1] {
			tried++
		}
		if tried == 0 {
			break
		}
		o := e.Operation()
		items, bytes := m.items(e), m.bytes(e, t.Stride, lastLap, key)
		if e.IsMember() {
			batch.bytes.add(bytes.times(done, tried))
			batch.batchBytes += bytes.most
			batch.bytesEach = max(batch.bytesEach, batch.batchBytes)
			continue
		}
		k := &work[m.slots.Of(e)]
		if o == trace.Query {
			k.sorted.add(m.sorted(e).times(done, tried))
		}
		if o.HasMembers() {
			batch, k.batchBytes = k, 0
		}
		k.acknowledged, k.begun = k.acknowledged+done, k.begun+tried
		k.items.add(items.times(done, tried))
		k.bytes.add(bytes.times(done, tried))
		k.itemsEach, k.bytesEach = max(k.itemsEach, items.most), max(k.bytesEach, bytes.most)
	}
	return work
}

// items returns how many items one operation has.
func (m *meter) items(e trace.Entry) within64 {
	amount := m.file.Amounts[e.SizeClass()]
	switch e.Operation() {
	case trace.Batch, trace.MultiRead:
		return within64{uint64(amount), uint64(amount)}
	case trace.Scan:
		limit := within64{most: uint64(amount)}
		if m.after != nil && !e.Grows() {
			limit.least = min(limit.most, m.after(e.Index()))
		}
		if m.mayFollow != nil && !e.Grows() {
			limit.most = min(limit.most, m.mayFollow(e.Index()))
		}
		return limit
	case trace.DeleteQuery: // which of several finds a record first is not known: see holdDeletes
		return within64{most: math.MaxUint64}
	case trace.Query, trace.Count:
		found := within64{most: math.MaxUint64}
		if certain := m.certain[amount]; certain != nil && !e.Grows() {
			found.least, _ = certain.Count(e.Index())
		}
		if possible := m.possible[amount]; possible != nil && !e.Grows() {
			_, found.most = possible.Count(e.Index())
		}
		if e.Operation() == trace.Query {
			limit := uint64(m.queries[amount].Query.Limit)
			found.least, found.most = min(found.least, limit), min(found.most, limit)
		}
		return found
	}
	return within64{}
}

// sorted returns what the sort column of what one query finds adds up to.
func (m *meter) sorted(e trace.Entry) within64 {
	query := m.file.Amounts[e.SizeClass()]
	if m.queries == nil || m.queries[query].Query.Sort < 0 {
		return within64{}
	}
	if m.certain[query] == nil || m.possible[query] == nil || e.Grows() {
		return within64{0, math.MaxUint64}
	}
	least, most := answers.SortSum(m.certain[query], m.possible[query], e.Index())
	return within64{least, most}
}

// bytes returns how many bytes of keys and values an entry writes, in whichever of its laps.
func (m *meter) bytes(e trace.Entry, stride, lastLap uint64, room []byte) within64 {
	o := e.Operation()
	if !o.Writes() && o != trace.Delete && o != trace.Increment { // touches count no bytes
		return within64{}
	}
	first, last := e.Index(), e.Index()
	if e.Grows() {
		last = e.EffectiveIndex(lastLap, stride)
	}
	all := m.keyBytes(first, last, room)
	if o == trace.Delete || o == trace.Increment {
		return all
	}
	if o == trace.Modify {
		columns := uint64(m.columns.FollowingBytes())
		all.add(within64{columns, columns})
		return all
	}
	if m.columns == nil {
		value := uint64(m.file.Amounts[e.SizeClass()])
		all.add(within64{value, value})
		return all
	}
	if first == last {
		value := uint64(m.columns.Bytes(first))
		all.add(within64{value, value})
		return all
	}
	all.add(within64{uint64(m.columns.BytesMin()), uint64(m.columns.BytesMax())})
	return all
}

// keyBytes returns how long the keys of indexes from first to last are.
func (m *meter) keyBytes(first, last uint64, room []byte) within64 {
	k := m.keys
	if len(k.Lengths) > 0 {
		if first == last {
			bytes := uint64(k.BytesOf(first))
			return within64{bytes, bytes}
		}
		shortest, longest := k.BytesBetween(first, last)
		return within64{uint64(shortest), uint64(longest)}
	}
	if k.Format == keyval.Binary {
		return within64{uint64(k.Bytes), uint64(k.Bytes)}
	}
	if first != last && (k.Scatter || k.Format == keyval.YCSB) { // lengths go up and down
		return within64{uint64(len(k.Prefix) + max(1, k.Digits) + len(k.Suffix)), uint64(k.BytesMax())}
	}
	w := within64{least: uint64(len(k.Append(room[:0], first)))}
	w.most = w.least
	if first != last {
		w.most = uint64(len(k.Append(room[:0], last)))
	}
	return w
}
