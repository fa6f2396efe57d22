package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/control"
	"assay/internal/keyval"
	"assay/internal/trace"
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
	}
}

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
	if err := b.define(columns); err != nil {
		return fmt.Errorf("define after definitions that were refused: %w", err)
	}
	if err := b.expectRefusal("define a second time", control.ClassBadRequest, good); err != nil {
		return err
	}
	if err := b.badQuery("by a column that there is not", trace.QueryAmount(len(columns), 1)); err != nil {
		return err
	}
	if err := b.badQuery("for at most 0 records", trace.QueryAmount(columnGroup, 0)); err != nil {
		return err
	}
	if err := b.defineAfterPhase(good); err != nil {
		return err
	}
	if b.sharesTable() {
		return b.close() // other columns are none of its own
	}
	return b.queryOfNoIndex()
}

// indexesAreThereOrRefused opens a store for each kind of index. What is refused must leave the
// store as it was; one that can take no columns of its own has no indexes either. A store stays
// open, without columns.
func (b *bench) indexesAreThereOrRefused() error {
	for _, index := range []control.Index{{Column: "group", Kind: store.OrderedIndex}, {Column: "table", Kind: store.OrderedIndex}, {Column: "table", Kind: store.TokenIndex}} {
		what := fmt.Sprintf("define with an index of kind %s of %s", index.Kind, index.Column)
		err := b.define(columns, index)
		var no *control.Error
		switch {
		case err == nil && !b.description.Abilities.Records:
			b.fault("%s was accepted by a store without the ability records", what)
		case err == nil:
		case !errors.As(err, &no):
			return err
		case no.Class != control.ClassRefused:
			b.fault("%s was answered with class %q (%s), expected ok or refused", what, no.Class, no.Message)
		default:
			if err := b.define(columns); err != nil {
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
func (b *bench) badQuery(what string, amount uint32) error {
	if !b.description.Abilities.Query {
		return nil
	}
	s := b.script(1)
	s.do(0, trace.Query, b.base(s.keys), int(amount))
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
	if err := b.badQuery("before define", trace.QueryAmount(0, 1)); err != nil {
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

// queryOfNoIndex asks for records that do not tell their index: what comes could not be checked.
func (b *bench) queryOfNoIndex() error {
	if err := b.close(); err != nil {
		return err
	}
	if _, err := b.open(opening{}); err != nil {
		return err
	}
	if err := b.define(columns[columnKind : columnKind+1]); err != nil {
		return err
	}
	if err := b.badQuery("of records that do not tell their index", trace.QueryAmount(0, 1)); err != nil {
		return err
	}
	return b.close()
}
