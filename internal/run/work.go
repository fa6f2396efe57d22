package run

import (
	"math"
	"slices"

	"assay/internal/counters"
	"assay/internal/finding"
	"assay/internal/keyval"
	"assay/internal/record"
	"assay/internal/trace"
	"assay/store"
)

// expected is what the conductor knows of the work that a phase's operations are, besides its
// trace.
type expected struct {
	keys    keyval.KeyShape
	columns *keyval.RecordShape // nil: values are plain
	present uint64              // records 0 … present−1 are there all through the phase
	end     uint64              // no record of an index from it on was there before the phase; 0: there may be records that are not this trial's
	answers bool                // the driver stores records: the null driver scans, finds and counts what it likes
	values  within64            // bytes of each value that the trial has written or will write
}

// expects returns what the conductor knows of a phase of this trial. present is the phase's
// must_hit_below.
func (t *trial) expects(present uint64) expected {
	know := expected{keys: t.keys(), columns: t.run.experiment.Values.Record(), present: present, answers: t.store.Description.Kind != store.None}
	if columns := know.columns; columns != nil {
		know.values = within64{uint64(columns.BytesMin()), uint64(columns.BytesMax())}
	} else {
		know.values.least = math.MaxUint64
		for _, size := range t.sizes() {
			know.values.least = min(know.values.least, uint64(size.Bytes))
			know.values.most = max(know.values.most, uint64(size.Bytes))
		}
	}
	if !t.store.Outlives() { // a server may keep records of other trials
		know.end = max(t.fresh, t.cell.Records)
	}
	return know
}

// presentSlack is the share of records that scans, queries and counts may miss where others write
// meanwhile: the contract promises no store a view of one moment, and one that replaces a record in
// two steps hides it between them.
const presentSlack = 0.01

// holdWork holds the items and the bytes written that a worker counted against the trace, and
// returns a message for each that can't be. Of scans, queries and counts it sets what they owed.
// operations are the results of c's slots, in their order.
//
// Where all operations of a kind ended ok, bytes written are known exactly (but for keys whose
// length hangs on the lap), and so are batches' items. Where some did not, which is not known: each
// of them may have been the largest.
func holdWork(file *trace.File, c *counters.File, s counters.Sample, know expected, operations []record.Operation) (problems []finding.Message) {
	if know.end > 0 {
		know.end = max(know.end, file.IndexEnd(s.Attempted))
	}
	m := newMeter(file, know)
	sums := make([]amounts, len(file.Operations))
	for i := range file.Threads {
		work := m.thread(&file.Threads[i], s.Acknowledged[i], max(s.Attempted[i], s.Acknowledged[i]))
		for slot, o := range file.Operations {
			sums[slot].add(work[o].ofOK(c.Slot(i, slot)))
		}
	}
	for slot, o := range file.Operations {
		total, owed := &operations[slot], sums[slot]
		if !owed.bytes.holds(total.BytesWritten) {
			problems = append(problems, owed.bytes.against(finding.MarkBytes, total.BytesWritten, "operation", o.String()))
		}
		if !know.answers && (finds(o) || reads(o)) {
			continue
		}
		// A read of a value that is right returns all of it. A worker that was killed may have
		// counted the bytes and not the outcome.
		if read := know.values.times(total.OK, total.OK+uint64(len(file.Threads))); reads(o) && !read.holds(total.BytesRead) {
			problems = append(problems, read.against(finding.MarkBytesRead, total.BytesRead, "operation", o.String(), "operations", total.OK))
		}
		most, least := owed.items.most, owed.items.least
		if finds(o) && know.present > 0 {
			total.ItemsOwed = &owed.items.least
			if writesIn(file) {
				least -= uint64(math.Ceil(float64(least) * presentSlack))
			}
		}
		if allowed := (within64{least, most}); !allowed.holds(total.Items) {
			problems = append(problems, allowed.against(finding.MarkItems, total.Items, "operation", o.String(), "operations", total.OK))
		}
	}
	return problems
}

// finds says if an operation's items are records that the store found.
func finds(o trace.Operation) bool { return o == trace.Scan || o == trace.Query || o == trace.Count }

// reads says if an operation returns one value where it is ok.
func reads(o trace.Operation) bool {
	return o == trace.Read || o == trace.ReadModifyWrite || o == trace.CompareAndSwap
}

// writesIn says if a trace writes or deletes anything.
func writesIn(file *trace.File) bool {
	return slices.ContainsFunc(file.Operations, trace.Operation.Changes)
}

// within64 is a count of which the least and the most are known. The most that a word holds: no
// bound.
type within64 struct{ least, most uint64 }

func (w within64) holds(n uint64) bool { return n >= w.least && n <= w.most }

// against says that a count is not within.
func (w within64) against(code finding.Code, counted uint64, pairs ...any) finding.Message {
	m := finding.New(code, pairs...).With("counted", counted, "least", w.least)
	if w.most != math.MaxUint64 {
		m = m.With("most", w.most)
	}
	return m
}

func (w *within64) add(o within64) {
	w.least = capped(w.least, o.least)
	w.most = capped(w.most, o.most)
}

// times returns so many of the least and so many of the most.
func (w within64) times(fewest, most uint64) within64 {
	product := within64{w.least * fewest, math.MaxUint64}
	if w.most != math.MaxUint64 || most == 0 {
		product.most = w.most * most
	}
	return product
}

func capped(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// amounts are the items and bytes written of operations.
type amounts struct{ items, bytes within64 }

func (a *amounts) add(o amounts) {
	a.items.add(o.items)
	a.bytes.add(o.bytes)
}

// kindWork is what the operations of one kind of a thread are.
type kindWork struct {
	amounts
	acknowledged, begun  uint64 // operations
	itemsEach, bytesEach uint64 // the most that one of them is
	batchBytes           uint64 // of the batch that is being added up
}

// ofOK returns what those that the slot counts as ok are.
func (k *kindWork) ofOK(slot *counters.Slot) amounts {
	ok, all := slot.Outcomes[counters.OK], uint64(0)
	for _, n := range slot.Outcomes {
		all += n
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
	return amounts{fewer(k.items, k.itemsEach), fewer(k.bytes, k.bytesEach)}
}

// meter says what each entry of a trace is.
type meter struct {
	expected
	file  *trace.File
	after func(index uint64) uint64 // how many records at least that are there have the key of an index or a greater one
}

func newMeter(file *trace.File, know expected) *meter {
	m := &meter{expected: know, file: file}
	if know.answers && slices.Contains(file.Operations, trace.Scan) {
		m.after = keysAfter(know.keys, know.present, longestScan(file))
	}
	return m
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

// thread adds up a thread's entries by kind: the least over those that were acknowledged, the most
// over those that were begun.
func (m *meter) thread(t *trace.Thread, acknowledged, begun uint64) (work [32]kindWork) {
	n := uint64(len(t.Entries))
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
		k := &work[o]
		if o == trace.Batch {
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
	case trace.Batch:
		return within64{uint64(amount), uint64(amount)}
	case trace.Scan:
		limit := within64{most: uint64(amount)}
		if m.after != nil && !e.Grows() {
			limit.least = min(limit.most, m.after(e.Index()))
		}
		return limit
	case trace.Query, trace.Count:
		column, limit := trace.SplitQueryAmount(amount)
		found := within64{most: math.MaxUint64}
		if m.columns != nil && !e.Grows() {
			found.least, _ = m.columns.Alike(column, e.Index(), m.present)
			if most, exact := m.columns.Alike(column, e.Index(), m.end); exact && m.end > 0 {
				found.most = most
			}
		}
		if e.Operation() == trace.Query {
			found.least, found.most = min(found.least, uint64(limit)), min(found.most, uint64(limit))
		}
		return found
	}
	return within64{}
}

// bytes returns how many bytes of keys and values an entry writes, in whichever of its laps.
func (m *meter) bytes(e trace.Entry, stride, lastLap uint64, room []byte) within64 {
	o := e.Operation()
	if !o.Writes() && o != trace.Delete {
		return within64{}
	}
	first, last := e.Index(), e.Index()
	if e.Grows() {
		last = e.EffectiveIndex(lastLap, stride)
	}
	all := m.keyBytes(first, last, room)
	if o == trace.Delete {
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
