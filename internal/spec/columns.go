package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/keyval"
	"assay/internal/trace"
	"assay/store"
)

// Index asks for an index of a column.
type Index struct {
	Column string          `json:"column"`
	Kind   store.IndexKind `json:"kind"`
}

// Query says what a phase's queries and counts are about.
type Query struct {
	Column int `json:"column"` // position in Values.Columns
	Limit  int `json:"limit"`  // records that a query finds at most
}

// Record returns the shape of records with columns; nil where values are plain.
func (v *Values) Record() *keyval.RecordShape {
	if len(v.Columns) == 0 {
		return nil
	}
	r, err := keyval.NewRecordShape(v.Columns)
	if err != nil {
		panic("spec: columns that were resolved: " + err.Error())
	}
	return r
}

func (r *resolver) columns() *Error {
	v := r.file.Values
	if len(v.Columns) == 0 {
		if len(v.Indexes) > 0 {
			return r.fail([]string{"values", "indexes"}, "indexes without columns: there is nothing to index").
				hint("expected columns: [{name: NAME, value: \"text {i}\"}, …] beside it")
		}
		return nil
	}
	if len(v.Bytes) > 0 || len(v.Sizes) > 0 {
		return r.fail([]string{"values", "columns"}, "values have one of bytes, sizes and columns")
	}
	for i, c := range v.Columns {
		column, err := r.column(i, c)
		if err != nil {
			return err
		}
		r.e.Values.Columns = append(r.e.Values.Columns, column)
	}
	if _, err := keyval.NewRecordShape(r.e.Values.Columns); err != nil {
		return r.fail([]string{"values", "columns"}, "%v", err)
	}
	for i, x := range v.Indexes {
		at := []string{"values", "indexes", fmt.Sprint(i)}
		place := r.columnOf(x.Column)
		if place < 0 {
			return r.fail(append(at, "column"), "an index of %q, which is no column", x.Column).
				hint("expected one of %s", strings.Join(r.columnNames(), ", ")).near(x.Column, r.columnNames())
		}
		index := Index{x.Column, store.IndexKind(orText(string(x.Kind), string(store.OrderedIndex)))}
		switch columnType := r.e.Values.Columns[place].Type; {
		case columnType == store.BytesColumn, index.Kind == store.TokenIndex && columnType != store.TextColumn:
			return r.fail(append(at, "kind"), "a column of type %s has no %s index", columnType, index.Kind)
		case slices.Contains(r.e.Values.Indexes, index):
			return r.fail(at, "a second %s index of %s", index.Kind, index.Column)
		}
		r.e.Values.Indexes = append(r.e.Values.Indexes, index)
	}
	return nil
}

func (r *resolver) columnNames() (names []string) {
	for _, c := range r.file.Values.Columns {
		names = append(names, c.Name)
	}
	return names
}

func (r *resolver) columnOf(name string) int { return slices.Index(r.columnNames(), name) }

func (r *resolver) column(i int, c ColumnFile) (keyval.Column, *Error) {
	at := []string{"values", "columns", fmt.Sprint(i)}
	column := keyval.Column{Name: c.Name, Type: store.ColumnType(orText(string(c.Type), string(store.TextColumn)))}
	switch {
	case c.Proof != nil && c.Value != nil:
		return column, r.fail(append(at, "proof"), "the column %s has either a value or a proof", c.Name)
	case c.Proof != nil:
		if c.Type != "" && column.Type != store.BytesColumn {
			return column, r.fail(append(at, "type"), "a proof is of type bytes, not %s", column.Type)
		}
		if *c.Proof < keyval.StampBytes || *c.Proof > store.ColumnBytesMax {
			return column, r.fail(append(at, "proof"), "a proof has %d to %d bytes, not %d", keyval.StampBytes, store.ColumnBytesMax, *c.Proof)
		}
		column.Type, column.Proof = store.BytesColumn, int(*c.Proof)
	case c.Value != nil:
		constant, sequence, err := parseColumnValue(*c.Value)
		if err != nil {
			return column, r.fail(append(at, "value"), "the column %s: %v", c.Name, err).
				hint("expected text such as \"title {i}\", where {i} is the record's number; {i/55%%100*2+1} divides, takes the remainder, multiplies and adds, in this order")
		}
		column.Constant, column.Sequence = constant, sequence
	default:
		return column, r.fail(at, "the column %q has no value", c.Name).hint(`expected value: "text {i}", or proof: BYTES`)
	}
	if _, err := keyval.NewRecordShape([]keyval.Column{column}); err != nil {
		return column, r.fail(at, "%v", err)
	}
	return column, nil
}

// parseColumnValue reads "text {i/D%M*F+A} text".
func parseColumnValue(text string) (constant *string, sequence *keyval.Sequence, err error) {
	before, rest, found := strings.Cut(text, "{")
	if !found {
		return &text, nil, nil
	}
	expression, after, closed := strings.Cut(rest, "}")
	if !closed {
		return nil, nil, fmt.Errorf("%q opens a brace that it does not close", text)
	}
	if strings.ContainsAny(after, "{}") || strings.Contains(before, "}") {
		return nil, nil, fmt.Errorf("%q has more than one pair of braces", text)
	}
	left, isIndex := strings.CutPrefix(strings.ReplaceAll(expression, " ", ""), "i")
	if !isIndex {
		return nil, nil, fmt.Errorf("{%s} does not begin with i", expression)
	}
	q := &keyval.Sequence{Prefix: before, Suffix: after}
	for _, part := range []struct {
		sign   byte
		number *uint64
	}{{'/', &q.Divide}, {'%', &q.Modulo}, {'*', &q.Multiply}, {'+', &q.Add}} {
		if left == "" || left[0] != part.sign {
			continue
		}
		end := 1
		for end < len(left) && left[end] >= '0' && left[end] <= '9' {
			end++
		}
		n, err := strconv.ParseUint(left[1:end], 10, 64)
		if err != nil || n == 0 {
			return nil, nil, fmt.Errorf("{%s}: after %c comes a whole number above 0", expression, part.sign)
		}
		*part.number, left = n, left[end:]
	}
	if left != "" {
		return nil, nil, fmt.Errorf("{%s}: %q is not understood", expression, left)
	}
	return nil, q, nil
}

// meanRecordBytes is over the first records: later ones have a few digits more.
func (r *resolver) meanRecordBytes() Count {
	const looked = 1000
	record, sum := r.e.Values.Record(), 0
	for index := range uint64(looked) {
		sum += record.Bytes(index)
	}
	return Count(math.Round(float64(sum) / looked))
}

func (r *resolver) query(in func(...string) []string, p PhaseFile, resolved *Phase) *Error {
	queries, counts := p.Mix[trace.Query.String()] > 0, p.Mix[trace.Count.String()] > 0
	if !queries && !counts {
		if p.Query != nil {
			return r.fail(in("query"), "the phase %s has no queries or counts: query has no effect", p.Name)
		}
		return nil
	}
	if len(r.e.Values.Columns) == 0 {
		return r.fail(in("mix"), "queries and counts need records with columns").hint("expected values: {columns: [{name: NAME, value: \"text {i}\"}, …]}")
	}
	if p.Query == nil || p.Query.Column == "" {
		return r.fail(in("mix"), "the phase %s has queries or counts, but no column to query by", p.Name).
			hint("expected query: {column: NAME, limit: 10}, the column one of %s", strings.Join(r.columnNames(), ", "))
	}
	column := r.columnOf(p.Query.Column)
	if column < 0 {
		return r.fail(in("query", "column"), "no column %q", p.Query.Column).
			hint("expected one of %s", strings.Join(r.columnNames(), ", ")).near(p.Query.Column, r.columnNames())
	}
	record := r.e.Values.Record()
	if record.IsProof(column) {
		return r.fail(in("query", "column"), "the proof column can't be queried: it differs with each write").hint("expected another column")
	}
	if queries && !record.LeadsBack() {
		return r.fail(in("mix"), "query results could not be verified: no column identifies the record").
			hint("one column needs {i} without / and %%, or be a proof")
	}
	limit := orCount64(p.Query.Limit, defaultQueryLimit)
	if limit < 1 || limit > trace.QueryLimitMax {
		return r.fail(in("query", "limit"), "a query finds 1 to %d records, not %d", trace.QueryLimitMax, limit)
	}
	resolved.Query = Query{Column: column, Limit: int(limit)}
	return nil
}

// refuseColumns: an index, query or count needs a store with columns of its own.
func (e *Experiment) refuseColumns(s Store) *Refusal {
	if len(e.Values.Indexes) > 0 && !s.Description.Abilities.Records && s.Description.Kind != store.None {
		return &Refusal{"values", fmt.Sprintf("%s has no columns of its own, and so no indexes", s.Name)}
	}
	return nil
}
