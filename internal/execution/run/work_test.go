package run

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/base/finding"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/internal/testkit/misbehave"
	"assay/store"
)

func drawKeys(t *rapid.T) keyval.KeyShape {
	return rapid.SampledFrom([]keyval.KeyShape{
		{Format: keyval.Binary, Bytes: 16}, {Format: keyval.Binary, Bytes: 16, Scatter: true}, {Format: keyval.Binary, Bytes: 4}, {Format: keyval.Decimal, Suffix: "asdf"},
		{Format: keyval.Decimal, Digits: 12, Prefix: "k"}, {Format: keyval.Decimal, Digits: 2}, {Format: keyval.Decimal, Digits: 20, Scatter: true}, {Format: keyval.YCSB, Prefix: "user"},
	}).Draw(t, "keys")
}

func TestKeysAfterIsWhatSortingSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape, records, most := drawKeys(t), rapid.Uint64Range(0, 300).Draw(t, "records"), rapid.Uint64Range(1, 40).Draw(t, "most")
		var all [][]byte
		for i := range records {
			all = append(all, shape.Append(nil, i))
		}
		slices.SortFunc(all, bytes.Compare)
		after := keysAfter(shape, audit.IndexesOf(trace.Span{Below: records}), most, 0)
		for index := range records + 50 {
			at, _ := slices.BinarySearchFunc(all, shape.Append(nil, index), bytes.Compare)
			truth, got := records-uint64(at), after(index)
			if index < records && min(got, most) != min(truth, most) {
				t.Fatalf("%d keys at or after that of %d, sorting says %d", got, index, truth)
			}
			if min(got, most) > truth {
				t.Fatalf("%d keys at or after that of %d, of which no record is, sorting says %d", got, index, truth)
			}
		}
	})
}

// honestWork is an honest store and worker: it does what a trace says, and counts it.
type honestWork struct {
	know   expected
	before audit.Presence
	there  map[uint64]bool
	file   *trace.File
	c      *counters.File
}

// do does one operation of a thread, at a sequence number, and returns the next one's.
func (m *honestWork) do(thread int, sequence uint64, fails bool) uint64 {
	t := &m.file.Threads[thread]
	e, index := t.EntryAt(sequence)
	slot := m.c.Slot(thread, m.file.Slots().Of(e))
	amount := m.file.Amounts[e.SizeClass()]
	next := sequence + 1
	if e.Operation() == trace.Batch {
		next += uint64(amount)
	}
	head := m.c.Thread(thread)
	head.Attempted = next
	if fails {
		slot.Outcomes[counters.Error]++
		head.Acknowledged = next
		return next
	}
	switch o := e.Operation(); o {
	case trace.Batch:
		for s := sequence + 1; s < next; s++ {
			member, index := t.EntryAt(s)
			slot.BytesWritten += m.change(member, index)
		}
		slot.Items += uint64(amount)
	case trace.Scan:
		start := m.know.keys.Append(nil, index)
		found := uint64(0)
		for i := range m.there {
			if bytes.Compare(m.know.keys.Append(nil, i), start) >= 0 {
				found++
			}
		}
		slot.Items += min(found, uint64(amount))
	case trace.Query, trace.Count:
		found := m.answer(m.know.queries[amount], index)
		if o == trace.Query {
			q := &m.know.queries[amount].Query
			found = found[:min(len(found), q.Limit)]
			for _, i := range found {
				slot.SortSum += m.know.queries[amount].SortNumber(i)
			}
		}
		slot.Items += uint64(len(found))
	default:
		slot.BytesWritten += m.change(e, index)
	}
	slot.Outcomes[counters.OK]++
	head.Acknowledged = next
	return next
}

// answer returns what a query finds, in its order, as a store that is asked alone gives it.
func (m *honestWork) answer(shape *keyval.QueryShape, index uint64) (found []uint64) {
	var asked keyval.Asked
	shape.Ask(&asked, index)
	for i := range m.there {
		if shape.Holds(&asked, i) {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(a, b uint64) int {
		if shape.Query.Descending {
			a, b = b, a
		}
		return cmp.Compare(shape.SortNumber(a), shape.SortNumber(b))
	})
	return found
}

// drawQuery draws a question about the columns of worked.
func drawQuery(t *rapid.T) keyval.Query {
	conditions := rapid.SampledFrom([]keyval.Condition{
		{Column: "kind", Is: store.Equal}, {Column: "tens", Is: store.Equal}, {Column: "one", Is: store.Equal},
		{Column: "number", Is: store.Range, Span: 3}, {Column: "number", Is: store.Range, Span: 40},
		{Column: "kind", Is: store.Prefix, Bytes: 6}, {Column: "title", Is: store.Prefix, Bytes: 3},
		{Column: "title", Is: store.Has, Word: 1}, {Column: "kind", Is: store.Has},
	})
	q := keyval.Query{Limit: rapid.SampledFrom([]int{1, 3, 10, 100}).Draw(t, "limit")}
	for range rapid.IntRange(0, 3).Draw(t, "alternatives") {
		var all []keyval.Condition
		for range rapid.IntRange(1, 3).Draw(t, "conditions") {
			c := conditions.Draw(t, "condition")
			if c.Is != store.Range || !slices.ContainsFunc(all,
				func(o keyval.Condition) bool { return o.Is == store.Range }) {
				all = append(all, c)
			}
		}
		q.Where = append(q.Where, all)
	}
	if rapid.Bool().Draw(t, "sorted") {
		q.Sort = &keyval.Sort{Column: rapid.SampledFrom([]string{"number", "tens"}).Draw(t, "sort"), Descending: rapid.Bool().Draw(t, "descending")}
	}
	return q
}

func (m *honestWork) change(e trace.Entry, index uint64) uint64 {
	key := uint64(len(m.know.keys.Append(nil, index)))
	switch o := e.Operation(); {
	case o == trace.Delete:
		delete(m.there, index)
		return key
	case !o.Writes():
		return 0
	}
	m.there[index] = true
	if m.know.columns != nil {
		return key + uint64(m.know.columns.Bytes(index))
	}
	return key + uint64(m.file.Amounts[e.SizeClass()])
}

// worked draws a phase that an honest store and worker have done a part of.
func worked(t *rapid.T, may []trace.Operation) (m *honestWork, failed bool) {
	records, threads := rapid.Uint64Range(4, 60).Draw(t, "records"), rapid.IntRange(1, 3).Draw(t, "threads")
	m = &honestWork{know: expected{keys: drawKeys(t), answers: true}, there: map[uint64]bool{}}
	columns := rapid.Bool().Draw(t, "columns")
	if columns {
		one := "1"
		values := experiment.Values{Columns: []keyval.Column{
			{Name: "kind", Type: store.TextColumn, Sequence: &keyval.Sequence{Prefix: "kind ", Divide: 2, Modulo: 5}},
			{Name: "title", Type: store.TextColumn, Sequence: &keyval.Sequence{Prefix: "t ", Suffix: ",a"}},
			{Name: "tens", Type: store.IntegerColumn, Sequence: &keyval.Sequence{Divide: 10, Modulo: 4}},
			{Name: "number", Type: store.IntegerColumn, Sequence: &keyval.Sequence{Modulo: 50, Multiply: 2, Add: 7}},
			{Name: "one", Type: store.IntegerColumn, Constant: &one},
			{Name: "v", Type: store.BytesColumn, Proof: 30},
		}}
		for range rapid.IntRange(1, 3).Draw(t, "queries") {
			values.Queries = append(values.Queries, drawQuery(t))
		}
		m.know.columns, m.know.queries, m.know.verify = values.Record(), values.QueryShapes(), true
	}
	for i := range records {
		m.there[i] = true
	}
	fresh := records
	stored := trace.Spans{{Below: records}}
	before := 0 // phases, whose inserts began above a gap and ended below one; no query must find them
	if slices.Contains(may, trace.Insert) {
		before = rapid.IntRange(0, 2).Draw(t, "phases before")
	}
	for range before {
		from := fresh + rapid.SampledFrom([]uint64{0, 3, 1 << 30}).Draw(t, "gap")
		fresh = from + rapid.Uint64Range(0, 20).Draw(t, "inserted")
		stored = stored.With(trace.Span{From: from, Below: fresh})
		for i := from; i < fresh; i++ {
			m.there[i] = true
		}
	}
	m.before.Possible = audit.IndexesOf(stored...)
	m.before.Certain = m.before.Possible
	if rapid.Bool().Draw(t, "prefix alone is certain") || m.before.Certain == nil {
		m.before.Certain = audit.IndexesOf(trace.Span{Below: records})
	}
	s := trace.Spec{
		Records: records, Fresh: fresh, Threads: threads, ThreadEntries: rapid.IntRange(1, 60).Draw(t, "entries"), Seed: rapid.Uint64().Draw(t, "seed"),
		Sizes: []trace.Size{{Bytes: 10, Weight: 1}, {Bytes: 100, Weight: 1}}, Scan: trace.ScanLengths{Min: 1, Max: 12},
		Batch: rapid.IntRange(0, 4).Draw(t, "batch"),
		Order: rapid.SampledFrom([]trace.Order{{Distribution: trace.Uniform}, {Distribution: trace.Zipfian, Theta: 1}, {Distribution: trace.Latest, Theta: 0.8}, {Distribution: trace.Shuffled}}).Draw(t, "order"),
	}
	for query := range m.know.queries {
		s.Queries = append(s.Queries, trace.QueryShare{Operation: trace.Query, Query: query, Weight: 1},
			trace.QueryShare{Operation: trace.Count, Query: query, Weight: 1})
	}
	for _, o := range may {
		if (o == trace.Query || o == trace.Count) && !columns || rapid.IntRange(0, 2).Draw(t, o.String()) == 0 {
			continue
		}
		s.Mix = append(s.Mix, trace.Share{Operation: o, Weight: 1})
	}
	if len(s.Mix) == 0 {
		s.Mix = []trace.Share{{Operation: trace.Scan, Weight: 1}}
	}
	var err error
	if m.file, err = trace.Generate(s); err != nil {
		t.Fatal(err)
	}
	files, err := mapFiles(phaseTrace{file: m.file}, 1)
	if err != nil {
		t.Fatal(err)
	}
	files.Forget()
	m.c = files.Counters
	mayFail := rapid.Bool().Draw(t, "may fail")
	next := make([]uint64, threads)
	for range rapid.IntRange(0, 200).Draw(t, "operations") {
		thread := rapid.IntRange(0, threads-1).Draw(t, "thread")
		fails := mayFail && rapid.IntRange(0, 9).Draw(t, "fails") == 0
		failed = failed || fails
		next[thread] = m.do(thread, next[thread], fails)
	}
	return m, failed
}

func (m *honestWork) hold() ([]record.Operation, []finding.Message) {
	s := m.c.Sample(true)
	results := slotResults(s.Totals)
	m.know.there = m.before.Through(m.file, s.Attempted)
	return results, holdWork(m.file, m.c, s, m.know, results,
		func(slot int) string { return m.file.Operations[slot].String() })
}

func (m *honestWork) unmap(t *rapid.T) {
	if err := m.c.Unmap(); err != nil {
		t.Fatal(err)
	}
}

func TestHonestWorkIsNeverMarked(t *testing.T) {
	all := []trace.Operation{trace.Read, trace.Insert, trace.Upsert, trace.ReadModifyWrite, trace.Scan, trace.Query,
		trace.Count}
	rapid.Check(t, func(t *rapid.T) {
		m, _ := worked(t, all)
		defer m.unmap(t)
		results, problems := m.hold()
		if len(problems) > 0 {
			t.Fatalf("an honest store: %v", problems)
		}
		for _, o := range results {
			if o.ItemsOwed != nil && o.Items < *o.ItemsOwed {
				t.Fatalf("%s is to have %d items, an honest store has %d", o.Name, *o.ItemsOwed, o.Items)
			}
		}
	})
}

// Where nothing is written, a store can neither do less nor more without being seen.
func TestOneItemMoreOrLessIsMarked(t *testing.T) {
	marked, sorted := 0, 0
	check := func(t *rapid.T) {
		m, failed := worked(t, []trace.Operation{trace.Read, trace.Scan, trace.Query, trace.Count})
		defer m.unmap(t)
		if failed {
			return
		}
		for slot, o := range m.file.Operations {
			cell := m.c.Slot(0, slot)
			if o.Finds() && cell.Items > 0 {
				cell.Items--
				if _, problems := m.hold(); len(problems) != 1 || problems[0].Params["operation"] != o.String() {
					t.Fatalf("%s with an item too few: %v", o, problems)
				}
				cell.Items += 2
				if _, problems := m.hold(); o != trace.Query && len(problems) != 1 {
					t.Fatalf("%s with an item too many: %v", o, problems)
				}
				cell.Items--
				marked++
			}
			if o == trace.Query && cell.SortSum > 0 {
				cell.SortSum++
				if _, problems := m.hold(); len(problems) != 1 || problems[0].Code != finding.MarkOrder {
					t.Fatalf("another record in the place of the first of an order: %v", problems)
				}
				cell.SortSum--
				sorted++
			}
			cell.BytesWritten++
			if _, problems := m.hold(); len(problems) != 1 || problems[0].Code != finding.MarkBytes {
				t.Fatalf("%s with a byte too many: %v", o, problems)
			}
			cell.BytesWritten--
		}
	}
	rapid.Check(t, check)
	// a short test's few draws may find nothing
	for tries := 0; (marked == 0 || sorted == 0) && !testing.Short(); tries++ {
		if tries == 100 {
			t.Fatal("nothing was found anywhere: nothing was tested")
		}
		rapid.Check(t, check)
	}
}

// Plain writes are known to the byte, batches to the item, whatever failed: ten times as much is
// seen.
func TestTenTimesTheWorkIsMarked(t *testing.T) {
	marked := 0
	rapid.Check(t, func(t *rapid.T) {
		m, failed := worked(t, []trace.Operation{trace.Insert, trace.Upsert, trace.Update, trace.Scan})
		defer m.unmap(t)
		for slot, o := range m.file.Operations {
			cell := m.c.Slot(0, slot)
			if cell.BytesWritten > 0 && !failed {
				cell.BytesWritten *= 10
				if _, problems := m.hold(); len(problems) != 1 {
					t.Fatalf("%s with ten times the bytes: %v", o, problems)
				}
				cell.BytesWritten /= 10
				marked++
			}
			if cell.Items > 0 && o == trace.Batch && !failed {
				cell.Items *= 10
				if _, problems := m.hold(); len(problems) != 1 {
					t.Fatalf("%s with ten times the items: %v", o, problems)
				}
				cell.Items /= 10
			}
		}
	})
	if marked == 0 {
		t.Error("nothing was written anywhere: nothing was tested")
	}
}

// Whole trials on stores and workers that do less, or say more, than they were asked for.
func TestLessWorkThanAskedForIsMarked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	phases := "  - {name: look, mix: {scan: 1}, scan: {min: 1, max: 20}, operations: 400}\n  - {name: change, mix: {update: 1}, batch: 5, operations: 100}\n"
	for _, c := range []struct {
		name, worker string
		mark         finding.Code // "": not marked
		params       finding.Params
	}{
		{misbehave.Honest, own(), "", nil},
		{"lies-scan-short", own(), finding.MarkItems, finding.Params{"operation": "scan", "counted": 400.0}},
		{misbehave.Honest, liar("counts-items"), finding.MarkItems, finding.Params{"operation": "batch", "counted": 5000.0}},
		{misbehave.Honest, liar("counts-bytes"), finding.MarkBytes, finding.Params{"least": 108000.0, "most": 108000.0}},
	} {
		t.Run(c.name+" "+c.worker, func(t *testing.T) {
			t.Parallel()
			before, _, _ := strings.Cut(anExperiment(c.name, c.worker), "  - {name: look")
			directory := filepath.Join(t.TempDir(), "run")
			if _, err := runText(context.Background(), before+phases+"blocks: 1\nbusy_machine: tell\nstep_timeout: 300s\n", directory); err != nil {
				t.Fatal(err)
			}
			trial := trialOf(t, directory, c.name)
			if trial.Error != "" {
				t.Fatal(trial.Error)
			}
			if c.mark == "" && len(codes(trial)) > 0 || c.mark != "" && !hasMark(trial, c.mark, c.params) {
				t.Errorf("marks %v, expected %s %v", trial.Marks, c.mark, c.params)
			}
			if scan := trial.Phases[1].Operations[0]; scan.ItemsOwed == nil || *scan.ItemsOwed < 400 {
				t.Errorf("what scans owed: %+v", scan.ItemsOwed)
			}
		})
	}
}

func TestCountsThatAreNotRightAreMarked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, driver := range []string{"lies-query-short", "lies-count"} { // counts of records are where both lie
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			trial := runTable(t, driver, "D1")
			if !hasMark(trial, finding.MarkItems, finding.Params{"operation": "count:find"}) {
				t.Errorf("error %q, marks %v", trial.Error, trial.Marks)
			}
		})
	}
}

// A phase of upserts fills a store without a load. What it acknowledged must be found by the phases
// after it.
func TestPhaseWritesMustBeFoundLater(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	before, _, _ := strings.Cut(anExperiment(misbehave.Honest, own(), "threads: 2", "threads: 1"), "  - {name: load")
	text := before + "  - {name: fill, mix: {upsert: 1}, order: counting, operations: 200}\n  - {name: look, mix: {read: 1}, order: shuffled, operations: 200}\nblocks: 1\nbusy_machine: tell\nstep_timeout: 300s\n"
	for driver, lost := range map[string]bool{misbehave.Honest: false, "lies-lost-writes": true} {
		directory := filepath.Join(t.TempDir(), driver)
		if _, err := runText(context.Background(), strings.ReplaceAll(text, misbehave.Honest, driver),
			directory); err != nil {
			t.Fatal(err)
		}
		trial := trialOf(t, directory, driver)
		look := trial.Phases[len(trial.Phases)-1].Operations[0]
		if lost != (look.Lost > 0) || look.Miss > 0 {
			t.Errorf("%s: %d reads of what was written are lost, %d a miss: %v", driver, look.Lost, look.Miss, trial.Marks)
		}
	}
}
