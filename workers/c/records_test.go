package c_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// news is a record with a column of each kind: 11 records have the same category, 7 × 11 come
// before a user comes again, and a title leads back to its record. Tags of several words and a text
// with a zero byte inside are what an index or a C string might cut.
var news = `{"columns":[
	{"name":"title","type":"text","sequence":{"prefix":"title of news "}},
	{"name":"category","type":"integer","sequence":{"divide":11,"add":1}},
	{"name":"user","type":"integer","sequence":{"divide":11,"modulo":7}},
	{"name":"tags","type":"text","sequence":{"prefix":"aaa tag_","modulo":3,"suffix":" bbb,ccc"}},
	{"name":"zero","type":"text","constant":"a\u0000b"},
	{"name":"empty","type":"text","constant":""},
	{"name":"status","type":"integer","constant":"1"},
	{"name":"proof","type":"bytes","proof":100}],
	"indexes":[%s],"queries":[` + newsQueries + `]}`

// newsQueries asks for equality of each column but the proof, with each of newsLimits. The last one
// can only be counted.
var newsQueries = func() string {
	var queries []string
	for _, column := range []string{"title", "category", "user", "tags", "zero", "empty", "status"} {
		for _, limit := range newsLimits {
			queries = append(queries, fmt.Sprintf(`{"where":[[{"column":"%s","is":"equal"}]],"limit":%d}`, column, limit))
		}
	}
	return strings.Join(append(queries, `{"where":[[{"column":"title","is":"equal"}]]}`), ",")
}()

var newsLimits = []int{1, 2, 3, newsQueryLimit, 100}

// newsQuery is the position of a query by a column.
func newsQuery(column, limit int) uint32 {
	return uint32(column*len(newsLimits) + slices.Index(newsLimits, limit))
}

const (
	newsRecords      = 220
	columnTitle      = 0
	columnCategory   = 1
	columnTags       = 3
	columnProof      = 7
	newsColumns      = 8
	orderedIndexes   = `{"column":"category","kind":"ordered"},{"column":"title","kind":"ordered"}`
	tokenIndexes     = orderedIndexes + `,{"column":"tags","kind":"token"}`
	newsPerCategory  = 11
	newsQueryLimit   = 8
	newsUnknownIndex = newsRecords + 1_000_000
	newsLast         = 35 // of newsQueries
)

// same says how many of the records have the bytes that index has in each column but the proof.
func same(index uint64) [newsColumns - 1]uint64 {
	column := func(i uint64) [newsColumns - 1]string {
		return [...]string{fmt.Sprint("title of news ", i), fmt.Sprint(i/newsPerCategory + 1), fmt.Sprint(i / newsPerCategory % 7), fmt.Sprint("aaa tag_", i%3, " bbb,ccc"), "a\x00b", "", "1"}
	}
	var n [newsColumns - 1]uint64
	wanted := column(index)
	for i := range uint64(newsRecords) {
		for c, text := range column(i) {
			if text == wanted[c] {
				n[c]++
			}
		}
	}
	return n
}

// define sends the command as it stands and returns the class of its refusal, "" if it was taken.
func define(t *testing.T, worker *conductor.Worker, fields string) string {
	t.Helper()
	return sent(t, worker, "define", func(id int64) []byte {
		return fmt.Appendf(nil, `{"id":%d,"command":"define","define":%s}`, id, strings.Join(strings.Fields(fields), " "))
	})
}

func sent(t *testing.T, worker *conductor.Worker, command string, line func(int64) []byte) string {
	t.Helper()
	pending, err := worker.SendLine(command, line)
	if err != nil {
		t.Fatal(err)
	}
	return classOf(t, func() error {
		done, err := pending.Wait(costTimeout, nil)
		if !done {
			t.Fatalf("%s took longer than %v", command, costTimeout)
		}
		return err
	}())
}

func classOf(t *testing.T, err error) string {
	t.Helper()
	var refused *control.Error
	if err != nil && !errors.As(err, &refused) {
		t.Fatal(err)
	}
	if err == nil {
		return ""
	}
	return refused.Class
}

// phase is what one thread does in a phase of these tests.
type phase struct {
	number  int
	entries []trace.Entry
	amounts map[int]uint32
	change  func(*control.Prepare)
}

// prepare asks for the phase, and returns its counters and the class of a refusal.
func (p phase) prepare(t *testing.T, worker *conductor.Worker) (*counters.File, string) {
	t.Helper()
	file := &trace.File{Groups: 1, Threads: []trace.Thread{{Entries: p.entries, Limit: uint64(len(p.entries))}}}
	for class, amount := range p.amounts {
		file.Amounts[class] = amount
	}
	if err := file.ListSlots(); err != nil {
		t.Fatal(err)
	}
	prepare := preparation(t.TempDir())
	prepare.Number, prepare.Verify = p.number, true
	prepare.Keys = keyval.KeyShape{Format: keyval.Decimal, Prefix: "news_"}
	prepare.LoadedRecords, prepare.MustHitBelow = newsRecords, newsRecords
	if p.change != nil {
		p.change(prepare)
	}
	if err := file.Write(prepare.Trace); err != nil {
		t.Fatal(err)
	}
	c, err := counters.Create(prepare.Counters, file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Unmap(); err != nil {
			t.Error(err)
		}
	})
	return c, classOf(t, worker.Call(control.Request{Command: control.CommandPrepare, Prepare: prepare},
		costTimeout, nil))
}

// run does the phase and returns what was counted for each operation.
func (p phase) run(t *testing.T, worker *conductor.Worker) map[trace.Operation]counters.Total {
	t.Helper()
	c, refused := p.prepare(t, worker)
	if refused != "" {
		t.Fatalf("prepare: %s", refused)
	}
	call(t, worker, control.Request{Command: control.CommandRun})
	totals := map[trace.Operation]counters.Total{}
	for _, total := range c.Sample(false).Totals {
		totals[total.Operation] = total
	}
	return totals
}

func call(t *testing.T, worker *conductor.Worker, r control.Request) {
	t.Helper()
	if err := worker.Call(r, costTimeout, nil); err != nil {
		t.Fatal(err)
	}
}

// each returns an entry of the operation for each index.
func each(o trace.Operation, class uint8, indexes ...uint64) (entries []trace.Entry) {
	for _, i := range indexes {
		entries = append(entries, trace.MakeEntry(o, i, class, false))
	}
	return entries
}

func all() []uint64 { return below(newsRecords) }

func below(records uint64) (indexes []uint64) {
	for i := range records {
		indexes = append(indexes, i)
	}
	return indexes
}

// load stores the records in phase 0.
func load(t *testing.T, worker *conductor.Worker) {
	t.Helper()
	loadSome(t, worker, all()...)
}

func loadSome(t *testing.T, worker *conductor.Worker, indexes ...uint64) {
	t.Helper()
	p := phase{entries: each(trace.Insert, 0, indexes...), change: func(p *control.Prepare) { p.ZeroVersions = true }}
	if total := p.run(t, worker)[trace.Insert]; total.Outcomes[counters.OK] != uint64(len(indexes)) {
		t.Fatalf("loading: %v", total.Outcomes)
	}
}

// tables are the drivers with columns of their own, and the indexes that they can have.
var tables = []struct{ program, driver, indexes string }{
	{"tokyocabinet", "tokyocabinet-table", tokenIndexes},
	{"sqlite", "sqlite-c", orderedIndexes},
}

// What queries and counts find is what the columns' text says, with an index and without one,
// before and after a reopen; and the checks see records that are others than was defined.
func TestQueriesFindWhatWasStored(t *testing.T) {
	for _, table := range tables {
		for _, class := range []store.Durability{store.D1, store.D3} {
			for name, indexes := range map[string]string{"indexed": table.indexes, "plain": ""} {
				t.Run(fmt.Sprintf("%s/%s/%s", table.driver, class, name), func(t *testing.T) {
					t.Parallel()
					worker := plain.worker(t, table.program)
					open := &control.Open{Driver: table.driver, Directory: t.TempDir(), Durability: class,
						Handles: control.HandlesPerThread, Threads: 1}
					loading := *open
					loading.Durability = store.D1 // as a run does it: in D3 each record is synced
					testQueries(t, openedAs(t, worker, &loading), open, fmt.Sprintf(news, indexes))
				})
			}
		}
	}
}

func testQueries(t *testing.T, worker *conductor.Worker, open *control.Open, definition string) {
	mustDefine := func(definition string) {
		t.Helper()
		if class := define(t, worker, definition); class != "" {
			t.Fatalf("define: %s", class)
		}
	}
	reopen := func() {
		t.Helper()
		call(t, worker, control.Request{Command: control.CommandClose})
		call(t, worker, control.Request{Command: control.CommandOpen, Open: open})
	}
	mustDefine(definition)
	load(t, worker)
	reopen()
	mustDefine(definition)
	update := phase{number: 1, entries: each(trace.Update, 0, 0, newsPerCategory-1, newsPerCategory, newsRecords-1)}
	if total := update.run(t, worker)[trace.Update]; total.Outcomes[counters.OK] != 4 {
		t.Fatalf("updating: %v", total.Outcomes)
	}
	for column := range columnProof {
		checkColumn(t, worker, 2+column, column)
	}
	remove := phase{number: 20, entries: append(each(trace.Delete, 0, 0, 1), each(trace.Count, 1, 0)...),
		amounts: map[int]uint32{1: newsQuery(columnCategory, 1)}}
	if total := remove.run(t, worker)[trace.Count]; total.Items != newsPerCategory-2 {
		t.Errorf("after two deletes, a category has %d records", total.Items)
	}
	reopen()
	mustDefine(definition)
	again := phase{number: 21, entries: each(trace.Query, 0, 60, 0),
		amounts: map[int]uint32{0: newsQuery(columnCategory, 100)}}
	again.change = func(p *control.Prepare) { p.Verify = false } // the versions are of phases before close
	if total := again.run(t, worker)[trace.Query]; total.Items != 2*newsPerCategory-2 ||
		total.Outcomes[counters.OK] != 2 {
		t.Errorf("after a reopen: %d records, %v", total.Items, total.Outcomes)
	}
	reopen()
	mustDefine(strings.Replace(definition, `"constant":"1"`, `"constant":"2"`, 1))
	other := phase{number: 22, entries: append(each(trace.Query, 0, 60), each(trace.Read, 0, 60)...),
		amounts: again.amounts}
	for o, total := range other.run(t, worker) {
		if total.Outcomes[counters.Wrong] != 1 {
			t.Errorf("%v of a record that has another constant: %v", o, total.Outcomes)
		}
	}
	if err := worker.End(costTimeout); err != nil {
		t.Error(err)
	}
}

// checkColumn queries and counts one column for indexes at the edges of its groups, and one that is
// not there.
func checkColumn(t *testing.T, worker *conductor.Worker, number, column int) {
	t.Helper()
	indexes := []uint64{0, newsPerCategory - 1, newsPerCategory, 7*newsPerCategory - 1, 7 * newsPerCategory,
		newsRecords - 1, newsUnknownIndex}
	p := phase{number: number, entries: append(each(trace.Query, 0, indexes...), each(trace.Count, 1, indexes...)...),
		amounts: map[int]uint32{0: newsQuery(column, newsQueryLimit), 1: newsQuery(column, 1)}}
	totals := p.run(t, worker)
	var found, limited, counted uint64
	for _, i := range indexes {
		if n := same(i)[column]; n > 0 {
			found, limited, counted = found+1, limited+min(n, newsQueryLimit), counted+n
		}
	}
	for o, items := range map[trace.Operation]uint64{trace.Query: limited, trace.Count: counted} {
		total := totals[o]
		if total.Outcomes[counters.OK] != found || total.Outcomes[counters.Miss] != uint64(len(indexes))-found ||
			total.Items != items {
			t.Errorf("column %d, %v: %v and %d items; expected %d ok, the rest miss, and %d items", column, o, total.Outcomes, total.Items, found, items)
		}
	}
	if got := totals[trace.Query].BytesRead; got < limited*100 {
		t.Errorf("column %d: %d bytes read of %d records with a proof of 100 bytes", column, got, limited)
	}
}

// Columns of bytes come back as they were written, before and after other columns were changed: with
// zeros at each place at which the form of the table's file changes.
func TestBytesColumnsSurviveChangesBesideThem(t *testing.T) {
	contents := []string{"", "\x00", "a", "\x00\x00", "\x00a", "a\x00",
		strings.Repeat("\x00", 600), strings.Repeat("a", 65535), strings.Repeat("ab\x00", 21845)}
	for _, n := range []int{253, 254, 255, 507, 508, 509} {
		run := strings.Repeat("x", n)
		contents = append(contents, run, run+"\x00", "\x00"+run, run+"\x00y")
	}
	columns := []string{`{"name":"count","type":"integer","counter":true}`, `{"name":"proof","type":"bytes","proof":100}`}
	for i, content := range contents {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, fmt.Sprintf(`{"name":"b%d","type":"bytes","constant":%s}`, i, text))
	}
	columns = append(columns, `{"name":"stamp","type":"integer","stamp":{"modulo":1000}}`)
	for _, table := range tables {
		t.Run(table.driver, func(t *testing.T) {
			worker := opened(t, plain.worker(t, table.program), table.driver, nil)
			if class := define(t, worker, `{"columns":[`+strings.Join(columns, ",")+`]}`); class != "" {
				t.Fatal(class)
			}
			indexes := []uint64{0, 1, 2, 3}
			loadSome(t, worker, indexes...)
			const read, modify, increment = trace.Read, trace.Modify, trace.Increment
			for i, o := range []trace.Operation{read, modify, read, increment, read, modify, read} {
				total := phase{number: 1 + i, entries: each(o, 0, indexes...)}.run(t, worker)[o]
				if total.Outcomes[counters.OK] != uint64(len(indexes)) {
					t.Errorf("step %d, %v: %v, expected all ok", i, o, total.Outcomes)
				}
			}
		})
	}
}

// tctdbputproc would make two columns of a text with a zero inside: the operation fails instead, and
// the record stays as it was.
func TestRecordThatCantBeChangedIsLeftAlone(t *testing.T) {
	for _, class := range []store.Durability{store.D0, store.D1, store.D3} {
		worker := openedAs(t, plain.worker(t, "tokyocabinet"), &control.Open{Driver: "tokyocabinet-table",
			Directory: t.TempDir(), Durability: class, Handles: control.HandlesPerThread, Threads: 1})
		if refused := define(t, worker, fmt.Sprintf(news, tokenIndexes)); refused != "" {
			t.Fatal(refused)
		}
		loadSome(t, worker, 5, 6)
		c, _ := phase{number: 1, entries: each(trace.Modify, 0, 5, 6)}.prepare(t, worker)
		call(t, worker, control.Request{Command: control.CommandRun})
		total, messages := c.Sample(false).Totals[0], c.Messages()
		if total.Outcomes[counters.Error] != 2 || !strings.Contains(fmt.Sprint(messages), "zero inside a text") {
			t.Errorf("%s: %v, %v; expected errors", class, total.Outcomes, messages)
		}
		after := phase{number: 2, entries: append(each(trace.Read, 0, 5, 6), each(trace.Query, 0, 5, 6)...),
			amounts: map[int]uint32{0: newsQuery(columnTitle, 2)}}
		for o, total := range after.run(t, worker) {
			if total.Outcomes[counters.OK] != 2 {
				t.Errorf("%s: %v after it: %v", class, o, total.Outcomes)
			}
		}
	}
}

// A query for a record that must be there and is not is lost.
func TestQueryThatFindsNothingIsLost(t *testing.T) {
	worker := opened(t, plain.worker(t, "tokyocabinet"), "tokyocabinet-table", nil)
	if class := define(t, worker, fmt.Sprintf(news, tokenIndexes)); class != "" {
		t.Fatal(class)
	}
	p := phase{entries: append(each(trace.Query, 0, 5), each(trace.Count, 1, 5)...),
		amounts: map[int]uint32{0: newsQuery(columnTags, 1), 1: newsQuery(columnTitle, 1)}}
	for o, total := range p.run(t, worker) {
		if total.Outcomes[counters.Lost] != 1 {
			t.Errorf("%v in an empty table: %v", o, total.Outcomes)
		}
	}
}

// The checks see every way in which an answer to a query can be wrong; without verify, only what
// costs nothing to see.
func TestWrongAnswersAreSeen(t *testing.T) {
	program := plain.tool(t, "liar", "assay-worker-liar")
	for lie, want := range map[string]struct {
		text     string
		verified counters.Outcome
		blind    counters.Outcome
	}{
		"none":      {"", counters.OK, counters.OK},
		"twice":     {"a query found a record twice", counters.Wrong, counters.OK},
		"other":     {"a query found a record that it did not ask for", counters.Wrong, counters.OK},
		"exchanged": {"a query found a record that is not its key's", counters.Wrong, counters.OK},
		"torn":      {"a query found columns that are not the record's", counters.Wrong, counters.OK},
		"goes_on":   {"a query went on after it was told to stop", counters.Wrong, counters.Wrong},
	} {
		t.Run(lie, func(t *testing.T) {
			for _, verify := range []bool{false, true} {
				worker := openedAs(t, program, &control.Open{Driver: "liar", Directory: t.TempDir(), Durability: store.D0, Handles: control.HandlesPerThread,
					Threads: 1, Options: map[string]string{"lie": lie}})
				if class := define(t, worker, fmt.Sprintf(news, "")); class != "" {
					t.Fatal(class)
				}
				fill := phase{entries: each(trace.Insert, 0, 0, 1, 2, 3, newsPerCategory, newsPerCategory+1),
					change: func(p *control.Prepare) { p.ZeroVersions = true }}
				fill.run(t, worker)
				p := phase{number: 1, entries: each(trace.Query, 0, 1),
					amounts: map[int]uint32{0: newsQuery(columnCategory, 3)},
					change:  func(p *control.Prepare) { p.Verify = verify }}
				c, _ := p.prepare(t, worker)
				call(t, worker, control.Request{Command: control.CommandRun})
				outcome := want.blind
				if verify {
					outcome = want.verified
				}
				if total := c.Sample(false).Totals[0]; total.Outcomes[outcome] != 1 {
					t.Errorf("verify %v: %v, expected one %v", verify, total.Outcomes, outcome)
				}
				messages := c.Messages()
				if verify && want.text != "" && (len(messages) != 1 || messages[0].Text != want.text) {
					t.Errorf("messages %v, expected %q", messages, want.text)
				}
			}
		})
	}
}

// What can't be a definition is refused, in the contract's classes, and changes nothing.
func TestDefineIsChecked(t *testing.T) {
	const column = `{"name":"c","type":"text","constant":"x"}`
	worker := opened(t, plain.worker(t, "tokyocabinet"), "tokyocabinet-table", nil)
	many := strings.Repeat(column+",", 64) + column
	for name, fields := range map[string]string{
		"no columns":            `{}`,
		"an empty list":         `{"columns":[]}`,
		"65 columns":            `{"columns":[` + many + `]}`,
		"one name twice":        `{"columns":[` + column + `,` + column + `]}`,
		"an unknown field":      `{"columns":[` + column + `],"more":1}`,
		"a column's":            `{"columns":[{"name":"c","type":"text","constant":"x","more":1}]}`,
		"no name":               `{"columns":[{"type":"text","constant":"x"}]}`,
		"a digit first":         `{"columns":[{"name":"1c","type":"text","constant":"x"}]}`,
		"a name with a space":   `{"columns":[{"name":"a-c","type":"text","constant":"x"}]}`,
		"a long name":           `{"columns":[{"name":"` + strings.Repeat("c", 65) + `","type":"text","constant":"x"}]}`,
		"an unknown type":       `{"columns":[{"name":"c","type":"number","constant":"1"}]}`,
		"nothing in it":         `{"columns":[{"name":"c","type":"text"}]}`,
		"two things in it":      `{"columns":[{"name":"c","type":"bytes","constant":"x","proof":24}]}`,
		"a long constant":       `{"columns":[{"name":"c","type":"text","constant":"` + strings.Repeat("x", 65536) + `"}]}`,
		"a text as integer":     `{"columns":[{"name":"c","type":"integer","constant":"x"}]}`,
		"19 digits":             `{"columns":[{"name":"c","type":"integer","constant":"1234567890123456789"}]}`,
		"an integer's prefix":   `{"columns":[{"name":"c","type":"integer","sequence":{"prefix":"1"}}]}`,
		"a sequence too large":  `{"columns":[{"name":"c","type":"integer","sequence":{"add":999999999999999999}}]}`,
		"an unknown part":       `{"columns":[{"name":"c","type":"text","sequence":{"times":2}}]}`,
		"a negative part":       `{"columns":[{"name":"c","type":"text","sequence":{"add":-1}}]}`,
		"a proof of text":       `{"columns":[{"name":"c","type":"text","proof":24}]}`,
		"a short proof":         `{"columns":[{"name":"c","type":"bytes","proof":23}]}`,
		"a long proof":          `{"columns":[{"name":"c","type":"bytes","proof":65536}]}`,
		"two proofs":            `{"columns":[{"name":"c","type":"bytes","proof":24},{"name":"d","type":"bytes","proof":24}]}`,
		"an index of nothing":   `{"columns":[` + column + `],"indexes":[{"column":"d","kind":"ordered"}]}`,
		"an unknown index":      `{"columns":[` + column + `],"indexes":[{"column":"c","kind":"hash"}]}`,
		"an index of bytes":     `{"columns":[{"name":"c","type":"bytes","constant":"x"}],"indexes":[{"column":"c","kind":"ordered"}]}`,
		"words of an integer":   `{"columns":[{"name":"c","type":"integer","constant":"1"}],"indexes":[{"column":"c","kind":"token"}]}`,
		"an index's field":      `{"columns":[` + column + `],"indexes":[{"column":"c","kind":"ordered","more":1}]}`,
		"nothing leads back":    `{"columns":[{"name":"c","type":"integer","sequence":{"divide":2}}],"queries":[{"limit":1}]}`,
		"a query's field":       `{"columns":[` + column + `],"queries":[{"more":1}]}`,
		"a condition's field":   `{"columns":[` + column + `],"queries":[{"where":[[{"column":"c","is":"equal","more":1}]]}]}`,
		"a where of objects":    `{"columns":[` + column + `],"queries":[{"where":[{"column":"c","is":"equal"}]}]}`,
		"columns as an object":  `{"columns":{"c":1}}`,
		"a column that is null": `{"columns":[null]}`,
	} {
		if class := define(t, worker, fields); class != "bad_request" {
			t.Errorf("%s: %q, expected bad_request", name, class)
		}
	}
	if class := sent(t, worker, "define", func(id int64) []byte { return fmt.Appendf(nil, `{"id":%d,"command":"define"}`, id) }); class != "bad_request" {
		t.Errorf("without its fields: %q", class)
	}
	both := `{"columns":[` + column + `],"indexes":[{"column":"c","kind":"ordered"},{"column":"c","kind":"token"}]}`
	if class := define(t, worker, both); class != "refused" {
		t.Errorf("two indexes on one column of a table: %q, expected refused", class)
	}
	if class := define(t, worker, fmt.Sprintf(news, tokenIndexes)); class != "" {
		t.Errorf("a definition after those that were refused: %q", class)
	}
	load(t, worker) // the handles that define opened anew work
}

// define has its place: in an open store, once, before the first prepare.
func TestDefineHasItsPlace(t *testing.T) {
	definition := fmt.Sprintf(news, "")
	worker := opened(t, plain.worker(t, "leveldb"), "leveldb", nil)
	expect := func(when, want string, got string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, expected %q", when, got, want)
		}
	}
	expect("indexes of a driver without columns", "refused", define(t, worker, fmt.Sprintf(news, orderedIndexes)))
	expect("define", "", define(t, worker, definition))
	expect("define twice", "bad_request", define(t, worker, definition))
	call(t, worker, control.Request{Command: control.CommandClose})
	expect("define before open", "bad_request", define(t, worker, definition))
	call(t, worker, control.Request{Command: control.CommandOpen, Open: &control.Open{Driver: "leveldb", Directory: t.TempDir(), Durability: store.D1,
		Handles: control.HandlesPerThread, Threads: 1}})
	_ = phase{entries: each(trace.Read, 0, 1)}.run(t, worker)
	expect("define after prepare", "bad_request", define(t, worker, definition))
}

// A trace that the columns can't answer is refused.
func TestQueriesAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		driver, definition string
		operation          trace.Operation
		amount             uint32
		lengthMax          int
		want               string
	}{
		"query":                       {"table", fmt.Sprintf(news, ""), trace.Query, 1, 100, ""},
		"without columns":             {"table", "", trace.Query, 0, 100, "bad_request"},
		"a query beyond":              {"table", fmt.Sprintf(news, ""), trace.Query, newsLast + 1, 100, "bad_request"},
		"no limit":                    {"table", fmt.Sprintf(news, ""), trace.Query, newsLast, 100, "bad_request"},
		"a count without a limit":     {"table", fmt.Sprintf(news, ""), trace.Count, newsLast, 100, ""},
		"a proof beyond length_max":   {"table", fmt.Sprintf(news, ""), trace.Read, 0, 99, "bad_request"},
		"counts need no way back":     {"table", `{"columns":[{"name":"c","type":"integer","sequence":{"divide":2}}],"queries":[{}]}`, trace.Count, 0, 100, ""},
		"a store that has no queries": {"hash", fmt.Sprintf(news, ""), trace.Query, 1, 100, "refused"},
		"nor counts":                  {"hash", fmt.Sprintf(news, ""), trace.Count, 0, 100, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			worker := opened(t, plain.worker(t, "tokyocabinet"), "tokyocabinet-"+c.driver, nil)
			if c.definition != "" {
				if class := define(t, worker, c.definition); class != "" {
					t.Fatalf("define: %s", class)
				}
			}
			p := phase{entries: each(c.operation, 0, 1), amounts: map[int]uint32{0: c.amount},
				change: func(p *control.Prepare) { p.Values.LengthMax = c.lengthMax }}
			if _, class := p.prepare(t, worker); class != c.want {
				t.Errorf("prepare: %q, expected %q", class, c.want)
			}
		})
	}
}

// After kill -9, the indexes of the class D1 find what was acknowledged: each record once, by a
// column that it alone has.
func TestIndexesSurviveKill(t *testing.T) {
	const records, killed = 1100, 300
	of := func(p *control.Prepare) { p.LoadedRecords, p.MustHitBelow = records, records }
	for _, table := range tables {
		for _, class := range []store.Durability{store.D1, store.D3} {
			t.Run(table.driver+"/"+string(class), func(t *testing.T) {
				t.Parallel()
				program, definition := plain.worker(t, table.program), fmt.Sprintf(news, table.indexes)
				open := &control.Open{Driver: table.driver, Directory: t.TempDir(), Durability: class,
					Handles: control.HandlesPerThread, Threads: 1}
				writer := openedAs(t, program, open)
				if refused := define(t, writer, definition); refused != "" {
					t.Fatal(refused)
				}
				c, refused := phase{entries: each(trace.Insert, 0, below(records)...),
					change: func(p *control.Prepare) {
						of(p)
						p.ZeroVersions = true
					}}.prepare(t, writer)
				if refused != "" {
					t.Fatal(refused)
				}
				if _, err := writer.Send(control.Request{Command: control.CommandRun}); err != nil {
					t.Fatal(err)
				}
				for end := time.Now().Add(costTimeout); c.Thread(0).Acknowledged < killed && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
				writer.Kill()
				_ = writer.End(costTimeout) // it says that the worker was killed
				acknowledged := c.Sample(false).Acknowledged[0]
				if acknowledged < killed {
					t.Fatalf("only %d writes in %v", acknowledged, costTimeout)
				}
				reader := openedAs(t, program, open)
				if refused := define(t, reader, definition); refused != "" {
					t.Fatalf("define after the kill: %s", refused)
				}
				p := phase{number: 1, entries: each(trace.Query, 0, below(acknowledged)...),
					amounts: map[int]uint32{0: newsQuery(columnTitle, 2)}, change: of}
				if total := p.run(t, reader)[trace.Query]; total.Outcomes[counters.OK] != acknowledged ||
					total.Items != acknowledged {
					t.Errorf("of %d acknowledged records, the index on title finds %d: %v", acknowledged, total.Items, total.Outcomes)
				}
			})
		}
	}
}

// inspect names the indexes that are in force, as the library has them, also after a reopen.
func TestIndexesInForceAreSettings(t *testing.T) {
	for driver, c := range map[string]struct {
		program, indexes string
		want             map[string]string
	}{
		"tokyocabinet-table": {"tokyocabinet", tokenIndexes, map[string]string{"index_category": "decimal", "index_title": "lexical", "index_tags": "token"}},
		"sqlite-c":           {"sqlite", orderedIndexes, map[string]string{"index_category": "ordered", "index_title": "ordered"}},
	} {
		t.Run(driver, func(t *testing.T) {
			open := &control.Open{Driver: driver, Directory: t.TempDir(), Durability: store.D1,
				Handles: control.HandlesPerThread, Threads: 1}
			worker := openedAs(t, plain.worker(t, c.program), open)
			for _, when := range []string{"at first", "after a reopen"} {
				if class := define(t, worker, fmt.Sprintf(news, c.indexes)); class != "" {
					t.Fatalf("%s: %s", when, class)
				}
				var told control.Inspected
				if err := worker.Call(control.Request{Command: control.CommandInspect}, costTimeout,
					&told); err != nil {
					t.Fatal(err)
				}
				maps.DeleteFunc(told.Settings, func(name, _ string) bool { return !strings.HasPrefix(name, "index_") })
				if !maps.Equal(told.Settings, c.want) {
					t.Errorf("%s: %v, expected %v", when, told.Settings, c.want)
				}
				call(t, worker, control.Request{Command: control.CommandClose})
				call(t, worker, control.Request{Command: control.CommandOpen, Open: open})
			}
			files, err := filepath.Glob(filepath.Join(open.Directory, "*"))
			if err != nil || len(files) == 0 {
				t.Errorf("the store wrote nothing: %v", err)
			}
		})
	}
}
