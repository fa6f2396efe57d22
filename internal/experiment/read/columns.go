package read

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

func (r *resolver) columns() *Error {
	v := r.file.Values
	if len(v.Columns) == 0 {
		if len(v.Indexes) > 0 {
			return r.fail([]string{"values", "indexes"}, "indexes without columns: there is nothing to index").
				hint("expected columns: [{name: NAME, value: \"text {i}\"}, …] beside it")
		}
		return nil
	}
	if len(v.Bytes) > 0 || v.Sizes.count() > 0 {
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
		index := experiment.Index{Column: x.Column, Kind: store.IndexKind(orText(string(x.Kind),
			string(store.OrderedIndex))), Descending: x.Descending, Optional: x.Optional}
		same := func(other experiment.Index) bool { return other.Column == index.Column && other.Kind == index.Kind }
		switch columnType := r.e.Values.Columns[place].Type; {
		case columnType == store.BytesColumn, index.Kind == store.TokenIndex && columnType != store.TextColumn:
			return r.fail(append(at, "kind"), "a column of type %s has no %s index", columnType, index.Kind)
		case index.Descending && index.Kind != store.OrderedIndex:
			return r.fail(append(at, "descending"), "only an ordered index is descending")
		case slices.ContainsFunc(r.e.Values.Indexes, same):
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
	sources := 0
	for _, given := range []bool{c.Value != nil, c.Proof != nil, c.Stamp != nil, c.isCounter()} {
		if given {
			sources++
		}
	}
	switch {
	case sources > 1:
		return column, r.fail(at, "the column %s has one of value, proof, stamp and counter", c.Name)
	case c.isCounter():
		if c.Type != "" && column.Type != store.IntegerColumn {
			return column, r.fail(append(at, "type"), "a counter is of type integer, not %s", column.Type)
		}
		column.Type, column.Counter = store.IntegerColumn, true
	case c.Stamp != nil:
		if c.Type != "" && column.Type != store.IntegerColumn {
			return column, r.fail(append(at, "type"), "a stamp is of type integer, not %s", column.Type)
		}
		if *c.Stamp < 1 || *c.Stamp > keyval.StampModuloMax {
			return column, r.fail(append(at, "stamp"), "a stamp is one of 1 to %d numbers, not of %d", uint64(keyval.StampModuloMax), *c.Stamp)
		}
		column.Type, column.Stamp = store.IntegerColumn, &keyval.Stamp{Modulo: uint64(*c.Stamp)}
	case c.Proof != nil:
		if c.Type != "" && column.Type != store.BytesColumn {
			return column, r.fail(append(at, "type"), "a proof is of type bytes, not %s", column.Type)
		}
		if *c.Proof < keyval.StampBytes || *c.Proof > store.ColumnBytesMax {
			return column, r.fail(append(at, "proof"), "a proof has %d to %d bytes, not %d", keyval.StampBytes, store.ColumnBytesMax, *c.Proof)
		}
		column.Type, column.Proof = store.BytesColumn, int(*c.Proof)
	case c.Value != nil:
		if err := parseColumnValue(&column, *c.Value); err != nil {
			return column, r.fail(append(at, "value"), "the column %s: %v", c.Name, err).
				hint("expected text such as \"title {i}\", where {i} is the record's number; {i/55%%100*2+1} divides, takes the remainder, multiplies and adds, in this order; {2,1 words aaa..zzz} is two words, then one, in turn")
		}
	default:
		return column, r.fail(at, "the column %q has no value", c.Name).hint(`expected value: "text {i}", proof: BYTES, stamp: NUMBERS or counter: true`)
	}
	if err := column.Check(); err != nil {
		return column, r.fail(at, "%v", err)
	}
	return column, nil
}

// parseColumnValue reads a column's text, in which braces hold numbers and words: a constant, a
// sequence where there is one number, and otherwise parts.
func parseColumnValue(column *keyval.Column, text string) error {
	if !strings.Contains(text, "{") {
		column.Constant = &text
		return nil
	}
	var parts []keyval.Part
	braces := 0
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if before != "" {
			parts = append(parts, keyval.Part{Text: before})
		}
		if rest = ""; found {
			expression, behind, closed := strings.Cut(after, "}")
			if !closed || strings.Contains(expression, "{") {
				return fmt.Errorf("%q opens a brace that it does not close", text)
			}
			part, err := parsePart(expression)
			if err != nil {
				return fmt.Errorf("{%s}: %w", expression, err)
			}
			parts, rest, braces = append(parts, part), behind, braces+1
		}
	}
	if at := slices.IndexFunc(parts, func(p keyval.Part) bool { return p.Sequence != nil }); braces == 1 && at >= 0 {
		column.Sequence = parts[at].Sequence
		if at > 0 {
			column.Sequence.Prefix = parts[at-1].Text
		}
		if at+1 < len(parts) {
			column.Sequence.Suffix = parts[at+1].Text
		}
		return nil
	}
	column.Parts = parts
	return nil
}

// parsePart reads what stands in braces.
func parsePart(expression string) (keyval.Part, error) {
	if counts, letters, found := strings.Cut(expression, "words"); found {
		words, err := parseWords(strings.ReplaceAll(counts, " ", ""), strings.TrimSpace(letters))
		return keyval.Part{Words: words}, err
	}
	sequence, err := parseSequence(strings.ReplaceAll(expression, " ", ""))
	return keyval.Part{Sequence: sequence}, err
}

// parseWords reads "2,3,1" and "aaa..zzz" of "2,3,1 words aaa..zzz".
func parseWords(counts, letters string) (*keyval.Words, error) {
	w := &keyval.Words{Letters: len(letters)/2 - 1}
	if w.Letters < 1 || letters != strings.Repeat("a", w.Letters)+".."+strings.Repeat("z", w.Letters) {
		return nil, errors.New("after words come the first and the last of them, such as aaa..zzz")
	}
	for _, text := range strings.Split(counts, ",") {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return nil, errors.New("before words comes how many, such as 2,3,1 for records in turn")
		}
		w.Counts = append(w.Counts, n)
	}
	return w, nil
}

// parseSequence reads "i/D%M*F+A", where D may be several numbers with commas between them, and i/D
// stand as (i/D+S).
func parseSequence(left string) (_ *keyval.Sequence, err error) {
	q := &keyval.Sequence{}
	quotient := []sequencePart{{'/', &q.Divide}}
	if inner, rest, grouped := strings.Cut(left, ")"); grouped && strings.HasPrefix(inner, "(") {
		if inner, err = parseSteps(q, inner[1:], append(quotient, sequencePart{'+', &q.Shift})); err == nil && inner != "" {
			err = fmt.Errorf("%q is not understood", inner)
		}
		left = rest
	} else {
		left, err = parseSteps(q, left, quotient)
	}
	if err == nil {
		left, err = parseParts(left, []sequencePart{{'%', &q.Modulo}, {'*', &q.Multiply}, {'+', &q.Add}})
	}
	if err == nil && left != "" {
		err = fmt.Errorf("%q is not understood", left)
	}
	return q, err
}

// sequencePart is a number behind a sign.
type sequencePart struct {
	sign   byte
	number *uint64
}

// parseSteps reads "i/D+S", or "i/D,D,D+S", up to what is left.
func parseSteps(q *keyval.Sequence, text string, parts []sequencePart) (left string, err error) {
	left, isIndex := strings.CutPrefix(text, "i")
	if !isIndex {
		return "", errors.New("it does not begin with i")
	}
	if left, err = parseParts(left, parts[:1]); err != nil {
		return "", err
	}
	if strings.HasPrefix(left, ",") {
		q.Steps, q.Divide = []uint64{q.Divide}, 0
	}
	for strings.HasPrefix(left, ",") {
		var width uint64
		if left, err = parseParts(left, []sequencePart{{',', &width}}); err != nil {
			return "", err
		}
		q.Steps = append(q.Steps, width)
	}
	return parseParts(left, parts[1:])
}

func parseParts(left string, parts []sequencePart) (string, error) {
	for _, part := range parts {
		if left == "" || left[0] != part.sign {
			continue
		}
		end := 1
		for end < len(left) && left[end] >= '0' && left[end] <= '9' {
			end++
		}
		n, err := strconv.ParseUint(left[1:end], 10, 64)
		if err != nil || n == 0 {
			return "", fmt.Errorf("after %c comes a whole number above 0", part.sign)
		}
		*part.number, left = n, left[end:]
	}
	return left, nil
}

// provesVersions says if records have a column that proves which write they are of.
func (r *resolver) provesVersions() bool {
	record := r.e.Values.Record()
	return record != nil && record.Proves()
}

func (c *ColumnFile) isCounter() bool { return c.Counter != nil && *c.Counter }

// overwriting are the operations that write a record anew, or remove it, and its counter with it.
var overwriting = []trace.Operation{trace.Update, trace.Upsert, trace.Delete, trace.DeleteQuery,
	trace.ReadModifyWrite, trace.CompareAndSwap}

// increments refuses what would make the number of increments unknown.
func (r *resolver) increments() *Error {
	counts := slices.ContainsFunc(r.e.Phases, func(p experiment.Phase) bool { return p.Does(trace.Increment) })
	if !counts {
		return nil
	}
	for i, p := range r.e.Phases {
		for j, part := range p.Parts() {
			at := r.part(p, i, j).in("mix")
			if record := r.e.Values.Record(); part.Mix[trace.Increment.String()] > 0 && (record == nil ||
				record.Counter() < 0) {
				return r.fail(at, "increment adds 1 to a counter, and the records have none").
					hint("expected values: {columns: [{name: NAME, value: \"text {i}\"}, {name: NAME, counter: true}, …]}")
			}
			for _, o := range overwriting {
				if part.Mix[o.String()] > 0 {
					return r.fail(at, "%s replaces or removes records, and their counters with them: beside increments no sum could be checked", o).
						hint("expected insert, add, modify, read, scan, query and count beside increment")
				}
			}
		}
	}
	return nil
}
