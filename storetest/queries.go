package storetest

import (
	"fmt"
	"slices"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// askedMax is more records than any question of the kit finds.
const askedMax = 100

// equalTo asks for the records that have the same bytes in a column.
func equalTo(column, limit int) keyval.Query {
	name := columns[column].Name
	return keyval.Query{Name: fmt.Sprintf("%s, at most %d", name, limit), Limit: limit,
		Where: [][]keyval.Condition{{{Column: name, Is: store.Equal}}}}
}

// equalQueries are those of single columns, and of the column of groups with every limit.
func equalQueries() (queries []keyval.Query) {
	for _, column := range []int{columnName, columnGroup, columnNumber, columnKind, columnText} {
		queries = append(queries, equalTo(column, askedMax))
	}
	for limit := 1; limit <= groupRecords+1; limit++ {
		queries = append(queries, equalTo(columnGroup, limit))
	}
	return queries
}

// groupRecords is how many indexes have the same group.
const groupRecords = 10

// combinedQuery is a query of several conditions, or in an order. Where own is true, it finds none
// of the records of other rules in the same table of a server.
type combinedQuery struct {
	keyval.Query
	own bool
}

// combinedQueries are named for what they ask: faults are reported by that name.
func combinedQueries() []combinedQuery {
	equal := func(column int) keyval.Condition {
		return keyval.Condition{Column: columns[column].Name, Is: store.Equal}
	}
	word := func(column, n int) keyval.Condition {
		return keyval.Condition{Column: columns[column].Name, Is: store.Has, Word: n}
	}
	within := keyval.Condition{Column: "key", Is: store.Range, Span: 7}
	begins := keyval.Condition{Column: "order", Is: store.Prefix, Bytes: len("name 1")}
	ascending, descending := &keyval.Sort{Column: "key"}, &keyval.Sort{Column: "key", Descending: true}
	all := func(conditions ...keyval.Condition) [][]keyval.Condition { return [][]keyval.Condition{conditions} }
	return []combinedQuery{
		{keyval.Query{Name: "two conditions", Where: all(equal(columnGroup), equal(columnKind)), Limit: askedMax}, true},
		{keyval.Query{Name: "two conditions, the wide one first", Where: all(equal(columnKind), equal(columnGroup)), Limit: askedMax}, true},
		{keyval.Query{Name: "a range", Where: all(within), Limit: askedMax}, true},
		{keyval.Query{Name: "a range and a condition", Where: all(equal(columnKind), within), Limit: askedMax}, true},
		{keyval.Query{Name: "a prefix", Where: all(begins), Limit: askedMax}, false},
		{keyval.Query{Name: "a word", Where: all(word(columnName, 1)), Limit: askedMax}, true},
		{keyval.Query{Name: "a word of many", Where: all(word(columnText, 3), equal(columnGroup)), Limit: askedMax}, true},
		{keyval.Query{Name: "one of two", Where: [][]keyval.Condition{{equal(columnGroup)}, {within}}, Limit: askedMax}, true},
		{keyval.Query{Name: "one of three", Where: [][]keyval.Condition{{equal(columnGroup), equal(columnKind)}, {within}, {word(columnName, 1)}}, Limit: askedMax}, true},
		{keyval.Query{Name: "ascending", Where: all(equal(columnGroup)), Sort: ascending, Limit: askedMax}, true},
		{keyval.Query{Name: "the first three", Where: all(equal(columnGroup)), Sort: ascending, Limit: 3}, true},
		{keyval.Query{Name: "the last three", Where: all(equal(columnGroup)), Sort: descending, Limit: 3}, true},
		{keyval.Query{Name: "the last two of one of two", Where: [][]keyval.Condition{{equal(columnGroup)}, {within}}, Sort: descending, Limit: 2}, true},
		{keyval.Query{Name: "all, the first five", Sort: ascending, Limit: 5}, false},
		{keyval.Query{Name: "two columns", Where: all(equal(columnGroup)), Limit: askedMax, Columns: []string{"value", "group"}}, true},
		{keyval.Query{Name: "one column, sorted by another", Where: all(equal(columnGroup)), Sort: descending, Limit: 4, Columns: []string{"order"}}, true},
	}
}

// kitQueries are all queries of the kit.
func kitQueries() []keyval.Query {
	queries := equalQueries()
	for _, q := range combinedQueries() {
		queries = append(queries, q.Query)
	}
	return queries
}

// number returns the position of a query of the kit by its name.
func number(name string) int {
	at := slices.IndexFunc(kitQueries(), func(q keyval.Query) bool { return q.Name == name })
	if at < 0 {
		panic("storetest: no query " + name)
	}
	return at
}

// found is what a query finds in the model, and what can be known of it.
type found struct {
	matching, records int // that fulfil the conditions; that a query gives
	bytes             int // of what it gives; −1: it may give any of the matching
	sortSum           uint64
}

// answer computes what a query finds.
func (s *records) answer(shape *keyval.QueryShape, index uint64) (f found) {
	var asked keyval.Asked
	shape.Ask(&asked, index)
	var matching []uint64
	for _, i := range s.present() {
		if shape.Holds(&asked, i) {
			matching = append(matching, i)
		}
	}
	slices.SortStableFunc(matching, func(a, b uint64) int {
		if shape.Query.Descending {
			a, b = b, a
		}
		return compareWords(shape.SortNumber(a), shape.SortNumber(b))
	})
	f.matching, f.records = len(matching), min(len(matching), shape.Query.Limit)
	if shape.Query.Sort < 0 && f.records < f.matching {
		f.bytes = -1
		return f
	}
	for _, i := range matching[:f.records] {
		f.bytes += shape.Bytes(i)
		f.sortSum += shape.SortNumber(i)
	}
	return f
}

func compareWords(a, b uint64) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

// question is a query or a count, with the values that an index has.
type question struct {
	of    trace.Operation
	query int
	index uint64
}

// byColumn asks for the records that have the same bytes in a column as an index.
func byColumn(of trace.Operation, column, limit int, index uint64) question {
	return question{of, number(equalTo(column, limit).Name), index}
}

// askedAtOnce is how many questions a phase has, where the driver has so many handles: each is a
// thread's only one, so that its counts are those of the question.
const askedAtOnce = 8

// ask holds what comes against the model.
func (s *records) ask(what string, questions ...question) error {
	for together := range slices.Chunk(questions, s.askers) {
		asked := s.script(len(together))
		asked.loaded = s.loaded
		for thread, q := range together {
			asked.do(thread, q.of, q.index, q.query)
		}
		r, err := s.run(asked)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		for thread, q := range together {
			if err := s.hold(r, thread, what, q); err != nil {
				return err
			}
		}
	}
	return nil
}

// hold holds one question, alone in its thread.
func (s *records) hold(r *ran, thread int, what string, asked question) error {
	q := s.queries[asked.query]
	shape, err := s.shape.NewQueryShape(columns, q)
	if err != nil {
		return err
	}
	expected := s.answer(shape, asked.index)
	what = fmt.Sprintf("%s: %s, as index %d has it, which %d records fulfil", what, q.Name, asked.index, expected.matching)
	items, outcome := expected.matching, counters.OK
	if asked.of == trace.Query {
		items = expected.records
	}
	if items == 0 {
		outcome = counters.Miss
	}
	outcomes, found := r.outcomesOf[thread][asked.of], r.foundBy[thread][asked.of]
	if outcomes[outcome] != 1 {
		s.fault("%s: expected %s, counted %s", what, outcome, r.outcomes(asked.of))
	}
	if outcomes[counters.OK] == 0 {
		return nil
	}
	if found.items != uint64(items) {
		s.fault("%s: the %s gave %d records", what, asked.of, found.items)
	}
	if asked.of != trace.Query || found.items != uint64(items) {
		return nil
	}
	if expected.bytes >= 0 && found.bytes != uint64(expected.bytes) {
		s.fault("%s: what was found has %d bytes in all, expected %d", what, found.bytes, expected.bytes)
	}
	if found.sortSum != expected.sortSum {
		s.fault("%s: the sort columns of what was found add up to %d, expected %d", what, found.sortSum, expected.sortSum)
	}
	return nil
}

// queryConditionsRule asks every query of several conditions, of orders and of parts of records.
func queryConditionsRule(b *bench) error {
	can := b.description.Abilities
	if !can.Query {
		return skip("%s has no queries", b.description.Name)
	}
	refused := 0
	err := b.eachIndexing(func(s *records, base uint64) error {
		var questions []question
		for _, q := range combinedQueries() {
			query := slices.IndexFunc(s.queries, func(known keyval.Query) bool { return known.Name == q.Name })
			if query < 0 {
				refused++
			}
			if query < 0 || !q.own && b.sharesTable() {
				continue
			}
			for _, index := range []uint64{base, base + 1, base + 12, base + 29, base + 59} {
				questions = append(questions, question{trace.Query, query, index})
				if can.Count {
					questions = append(questions, question{trace.Count, query, index})
				}
			}
		}
		return s.ask(s.indexText(), questions...)
	})
	if err == nil && refused > 0 {
		return skip("%s refuses some of the kit's queries: those of several conditions, and in orders, were not asked", b.description.Name)
	}
	return err
}

// queryManyRule asks often enough that a store which drops a small share of what it finds is seen.
func queryManyRule(b *bench) error {
	if !b.description.Abilities.Query {
		return skip("%s has no queries", b.description.Name)
	}
	return b.eachIndexing(func(s *records, base uint64) error {
		shape, err := s.shape.NewQueryShape(columns, s.queries[number(equalTo(columnGroup, askedMax).Name)])
		if err != nil {
			return err
		}
		asked, expected := s.reader(), 0
		queries := b.rare(300)
		for i := range uint64(queries) {
			index := base + i%askedRecords
			asked.do(0, trace.Query, index, number(equalTo(columnGroup, askedMax).Name))
			expected += s.answer(shape, index).records
		}
		r, err := s.run(asked)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%d queries by group, %s", queries, s.indexText())
		s.expect(r, what, trace.Query, counters.OK, queries)
		if total := r.total(trace.Query); total.Items != uint64(expected) {
			s.fault("%s: they gave %d records, expected %d", what, total.Items, expected)
		}
		return nil
	})
}

// questionsRule asks several queries in one thread, each another number of times: what the counters
// say of each, its times among them, is held against the trace as of every phase.
func questionsRule(b *bench) error {
	can := b.description.Abilities
	if !can.Query && !can.Count {
		return skip("%s has no queries and no counts", b.description.Name)
	}
	return b.eachIndexing(func(s *records, base uint64) error {
		asked := s.reader()
		var questions []question
		for times, column := range []int{columnGroup, columnNumber, columnName} {
			for _, o := range []trace.Operation{trace.Query, trace.Count} {
				if o == trace.Query && !can.Query || o == trace.Count && !can.Count {
					continue
				}
				q := byColumn(o, column, askedMax, base+uint64(times))
				for range 2*times + 1 {
					asked.do(0, q.of, q.index, q.query)
				}
				questions = append(questions, q)
			}
		}
		r, err := s.run(asked)
		if err != nil {
			return err
		}
		for _, q := range questions {
			shape, err := s.shape.NewQueryShape(columns, s.queries[q.query])
			if err != nil {
				return err
			}
			expected := uint64(s.answer(shape, q.index).matching)
			for _, t := range r.sample.Totals {
				if t.Operation == q.of && t.Query == q.query && t.Items != expected*t.Operations() {
					s.fault("%s, %s by query %d: %d records in %d answers, expected %d in each", s.indexText(), q.of, q.query, t.Items, t.Operations(), expected)
				}
			}
		}
		return nil
	})
}
