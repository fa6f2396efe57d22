package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// badDefinitions break what section 1.5 of the contract says of columns and indexes, one each.
func badDefinitions() map[string]control.Define {
	column := func(c keyval.Column) control.Define { return control.Define{Columns: []keyval.Column{c}} }
	named := func(name string) keyval.Column {
		return keyval.Column{Name: name, Type: store.TextColumn, Constant: constant("x")}
	}
	integer := func(text string) control.Define {
		return column(keyval.Column{Name: "n", Type: store.IntegerColumn, Constant: constant(text)})
	}
	index := func(column string, kind store.IndexKind) control.Define {
		return control.Define{Columns: columns, Indexes: []control.Index{{Column: column, Kind: kind}}}
	}
	query := func(q keyval.Query) control.Define {
		return control.Define{Columns: columns, Queries: []keyval.Query{q}}
	}
	where := func(c keyval.Condition) control.Define {
		return query(keyval.Query{Limit: 1, Where: [][]keyval.Condition{{c}}})
	}
	within := keyval.Condition{Column: "key", Is: store.Range, Span: 1}
	proof := keyval.Column{Name: "p", Type: store.BytesColumn, Proof: proofBytes}
	many := make([]keyval.Column, keyval.ColumnsMax+1)
	for i := range many {
		many[i] = named(fmt.Sprintf("c%d", i))
	}
	return map[string]control.Define{
		"no columns":                        {},
		"65 columns":                        {Columns: many},
		"a column without a name":           column(named("")),
		"a name that begins with a digit":   column(named("1a")),
		"a name with a space":               column(named("a b")),
		"a name with a quote":               column(named(`a"b`)),
		"a name of 65 letters":              column(named(strings.Repeat("n", keyval.ColumnNameMax+1))),
		"two columns of one name":           {Columns: []keyval.Column{named("a"), named("a")}},
		"an unknown type":                   column(keyval.Column{Name: "a", Type: "float", Constant: constant("1")}),
		"a column without bytes":            column(keyval.Column{Name: "a", Type: store.TextColumn}),
		"a column of two sources":           column(keyval.Column{Name: "a", Type: store.TextColumn, Constant: constant("x"), Sequence: &keyval.Sequence{}}),
		"a column of 65,536 bytes":          column(keyval.Column{Name: "a", Type: store.TextColumn, Constant: constant(strings.Repeat("x", store.ColumnBytesMax+1))}),
		"a proof of type text":              column(keyval.Column{Name: "p", Type: store.TextColumn, Proof: proofBytes}),
		"a proof of 23 bytes":               column(keyval.Column{Name: "p", Type: store.BytesColumn, Proof: keyval.StampBytes - 1}),
		"a stamp of type text":              {Columns: []keyval.Column{proof, {Name: "s", Type: store.TextColumn, Stamp: &keyval.Stamp{Modulo: 10}}}},
		"a stamp of no numbers":             {Columns: []keyval.Column{proof, {Name: "s", Type: store.IntegerColumn, Stamp: &keyval.Stamp{}}}},
		"a stamp of more than 18 digits":    {Columns: []keyval.Column{proof, {Name: "s", Type: store.IntegerColumn, Stamp: &keyval.Stamp{Modulo: keyval.StampModuloMax + 1}}}},
		"a stamp without a proof":           column(keyval.Column{Name: "s", Type: store.IntegerColumn, Stamp: &keyval.Stamp{Modulo: 10}}),
		"a counter of type text":            column(keyval.Column{Name: "c", Type: store.TextColumn, Counter: true}),
		"two counters":                      {Columns: []keyval.Column{{Name: "c", Type: store.IntegerColumn, Counter: true}, {Name: "d", Type: store.IntegerColumn, Counter: true}}},
		"a part of two kinds":               column(keyval.Column{Name: "p", Type: store.TextColumn, Parts: []keyval.Part{{Text: "x", Sequence: &keyval.Sequence{}}}}),
		"65 parts":                          column(keyval.Column{Name: "p", Type: store.TextColumn, Parts: slices.Repeat([]keyval.Part{{Text: "x"}}, keyval.PartsMax+1)}),
		"words without letters":             column(keyval.Column{Name: "p", Type: store.TextColumn, Parts: []keyval.Part{{Words: &keyval.Words{Counts: []uint64{1}}}}}),
		"words of which none is taken":      column(keyval.Column{Name: "p", Type: store.TextColumn, Parts: []keyval.Part{{Words: &keyval.Words{Letters: 3, Counts: []uint64{0}}}}}),
		"an integer of parts":               column(keyval.Column{Name: "p", Type: store.IntegerColumn, Parts: []keyval.Part{{Sequence: &keyval.Sequence{}}}}),
		"two proofs":                        {Columns: []keyval.Column{proof, {Name: "q", Type: store.BytesColumn, Proof: proofBytes}}},
		"an integer without digits":         integer(""),
		"an integer with a zero in front":   integer("01"),
		"an integer with a sign":            integer("-1"),
		"an integer of 19 digits":           integer("1234567890123456789"),
		"an integer with a prefix":          column(keyval.Column{Name: "n", Type: store.IntegerColumn, Sequence: &keyval.Sequence{Prefix: "n"}}),
		"an index of an unknown column":     index("nowhere", store.OrderedIndex),
		"an index of an unknown kind":       index("group", "round"),
		"an ordered index of bytes":         index("bytes", store.OrderedIndex),
		"an index of the words of a number": index("group", store.TokenIndex),
		"a descending index of words":       {Columns: columns, Indexes: []control.Index{{Column: "table", Kind: store.TokenIndex, Descending: true}}},

		"65 queries":                          {Columns: columns, Queries: make([]keyval.Query, keyval.QueriesMax+1)},
		"a query by a column that is not":     where(keyval.Condition{Column: "nowhere", Is: store.Equal}),
		"a query by the proof":                where(keyval.Condition{Column: "value", Is: store.Equal}),
		"a query by a stamp":                  where(keyval.Condition{Column: "limit", Is: store.Equal}),
		"a query in the order of a stamp":     query(keyval.Query{Limit: 1, Sort: &keyval.Sort{Column: "limit"}}),
		"a query of a stamp without a proof":  query(keyval.Query{Limit: 1, Columns: []string{"order", "limit"}}),
		"a query by a counter":                where(keyval.Condition{Column: "count", Is: store.Equal}),
		"a query in the order of a counter":   query(keyval.Query{Limit: 1, Sort: &keyval.Sort{Column: "count"}}),
		"an unknown comparison":               where(keyval.Condition{Column: "group", Is: "like"}),
		"a comparison with what is another's": where(keyval.Condition{Column: "group", Is: store.Equal, Span: 1}),
		"a range of a text":                   where(keyval.Condition{Column: "order", Is: store.Range, Span: 1}),
		"a range without a span":              where(keyval.Condition{Column: "group", Is: store.Range}),
		"a prefix of a number":                where(keyval.Condition{Column: "group", Is: store.Prefix, Bytes: 1}),
		"a prefix of no bytes":                where(keyval.Condition{Column: "order", Is: store.Prefix}),
		"a prefix of a text beyond ASCII":     where(keyval.Condition{Column: "table", Is: store.Prefix, Bytes: 1}),
		"a word of a text without words":      where(keyval.Condition{Column: "empty", Is: store.Has}),
		"a word of a number":                  where(keyval.Condition{Column: "group", Is: store.Has}),
		"an alternative without conditions":   query(keyval.Query{Limit: 1, Where: [][]keyval.Condition{{}}}),
		"ranges of two columns": query(keyval.Query{Limit: 1, Where: [][]keyval.Condition{
			{within}, {{Column: "group", Is: store.Range, Span: 1}}}}),
		"two ranges at once":                              query(keyval.Query{Limit: 1, Where: [][]keyval.Condition{{within, within}}}),
		"a query in the order of texts":                   query(keyval.Query{Limit: 1, Sort: &keyval.Sort{Column: "order"}}),
		"a query of one column twice":                     query(keyval.Query{Limit: 1, Columns: []string{"order", "order"}}),
		"a query that gives nothing that tells the index": query(keyval.Query{Limit: 1, Columns: []string{"group"}}),
		"a limit of 2^24 records":                         query(keyval.Query{Limit: keyval.QueryLimitMax + 1}),
	}
}

// countedOnly is a query without a limit, which can't be asked for records.
var countedOnly = []keyval.Query{{Name: "counted only", Where: equalTo(columnGroup, 0).Where}}

func defineRule(b *bench) error {
	good := control.Request{Command: control.CommandDefine, Define: &control.Define{Columns: columns}}
	if err := b.expectRefusal("define before open", control.ClassBadRequest, good); err != nil {
		return err
	}
	if _, err := b.open(opening{}); err != nil {
		return err
	}
	definitions := badDefinitions()
	for _, what := range slices.Sorted(maps.Keys(definitions)) {
		bad := definitions[what]
		if err := b.expectRefusal("define with "+what, control.ClassBadRequest, control.Request{Command: control.CommandDefine, Define: &bad}); err != nil {
			return err
		}
	}
	if err := b.indexesAreThereOrRefused(); err != nil {
		return err
	}
	if err := b.define(columns, countedOnly); err != nil {
		return fmt.Errorf("define after definitions that were refused: %w", err)
	}
	if err := b.expectRefusal("define a second time", control.ClassBadRequest, good); err != nil {
		return err
	}
	if err := b.badQuery("that was not defined", 1); err != nil {
		return err
	}
	if err := b.badQuery("that has no limit", 0); err != nil {
		return err
	}
	if err := b.defineAfterPhase(good); err != nil {
		return err
	}
	return b.close()
}

// indexesAreThereOrRefused opens a store for each kind of index. What is refused must leave the
// store as it was; one that can take no columns of its own has no indexes either. A store stays
// open, without columns.
func (b *bench) indexesAreThereOrRefused() error {
	for _, index := range []control.Index{
		{Column: "group", Kind: store.OrderedIndex}, {Column: "table", Kind: store.OrderedIndex},
		{Column: "tags", Kind: store.TokenIndex}, // a store may have one index for each column
		{Column: "group", Kind: store.OrderedIndex, Descending: true},
	} {
		what := fmt.Sprintf("define with an index of kind %s of %s", index.Kind, index.Column)
		err := b.define(columns, nil, index)
		var no *control.Error
		switch {
		case err == nil && !b.description.Abilities.Records:
			b.fault("%s was accepted by a store without the ability records", what)
		case err == nil && index.Kind == store.TokenIndex && !b.description.TokenIndexes &&
			b.description.Kind != store.None:
			b.fault("%s was accepted, but the driver does not say that it has such indexes (token_indexes)", what)
		case err == nil:
		case !errors.As(err, &no):
			return err
		case no.Class != control.ClassRefused:
			b.fault("%s was answered with class %q (%s), expected ok or refused", what, no.Class, no.Message)
		case index.Kind == store.TokenIndex && b.description.TokenIndexes:
			b.fault("%s was refused (%s), but the driver says that it has such indexes (token_indexes)", what, no.Message)
		default:
			if err := b.define(columns, countedOnly); err != nil {
				return fmt.Errorf("define without indexes, after %s was refused: %w", what, err)
			}
		}
		if err := b.close(); err != nil {
			return err
		}
		if _, err := b.open(opening{}); err != nil {
			return err
		}
	}
	return nil
}

// badQuery prepares a query that must be answered with bad_request, if the store has queries at
// all.
func (b *bench) badQuery(what string, query int) error {
	if !b.description.Abilities.Query {
		return nil
	}
	s := b.script(1)
	s.do(0, trace.Query, b.base(s.keys), query)
	b.lengthMax = max(b.lengthMax, proofBytes)
	r, err := b.prepare(s)
	if err == nil {
		b.fault("a trace with a query %s was accepted", what)
		return errors.Join(r.counters.Unmap(), b.call(control.Request{Command: control.CommandRun}, nil))
	}
	return b.judgeRefusal("a trace with a query "+what, control.ClassBadRequest, err)
}

// defineAfterPhase opens a store anew and runs a phase before define.
func (b *bench) defineAfterPhase(good control.Request) error {
	if err := b.close(); err != nil {
		return err
	}
	if _, err := b.open(opening{}); err != nil {
		return err
	}
	if err := b.badQuery("before define", 0); err != nil {
		return err
	}
	s := b.script(1)
	s.do(0, trace.Upsert, b.base(s.keys), proofBytes)
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.allOK(r, "a phase without columns")
	return b.expectRefusal("define after the first prepare", control.ClassBadRequest, good)
}
