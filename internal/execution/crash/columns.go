package crash

import (
	"cmp"
	"fmt"
	"slices"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// Of a store that finds records by their columns, every second life has records with columns, and an
// index. What its queries and counts say is then held against what its reads find.
const (
	numberColumn = "number" // the record's index
	groupColumn  = "group_number"
	groupRecords = 16 // records of a group: few, so that a planner takes the index

	queryOfGroup = 0
	queryOfAll   = 1
	foundMax     = 1<<24 - 1 // a limit that no query reaches
)

// ByColumns is what queries and counts said of the records that are there.
type ByColumns struct {
	Found   uint64 `json:"found"`         // by queries of an indexed column
	Sum     uint64 `json:"sum"`           // of their numbers
	Read    uint64 `json:"sum_read"`      // of the numbers of the records that reads found
	Counted uint64 `json:"counted"`       // by counts of the same column, one for each of its values
	All     uint64 `json:"counted_whole"` // by one count of all records
}

// differs says what queries and counts find that reads do not, or the other way round; "": nothing.
func (b *ByColumns) differs(found uint64) string {
	switch {
	case b.Found != found:
		return fmt.Sprintf("an index of a column finds %d records, reads find %d", b.Found, found)
	case b.Sum != b.Read:
		return fmt.Sprintf("an index of a column finds other records than reads, though as many: %d", found)
	case b.Counted != found:
		return fmt.Sprintf("counts by a column add up to %d records, reads find %d", b.Counted, found)
	case b.All != found:
		return fmt.Sprintf("a count says %d records, reads find %d", b.All, found)
	}
	return ""
}

// lives are the kinds of lives that the store has: without columns, and with them where it finds
// records by them.
func (t *Target) lives() []bool {
	a := t.Store.Description.Abilities
	if a.Query && a.Count && t.define() != nil {
		return []bool{false, true}
	}
	return []bool{false}
}

// hasColumns reports whether the records of a life have columns.
func (t *Target) hasColumns(life int) bool {
	kinds := t.lives()
	return kinds[life%len(kinds)]
}

// define gives the records their columns; nil: values of this length are no column.
func (t *Target) define() *control.Define {
	d := &control.Define{
		Columns: []keyval.Column{
			{Name: numberColumn, Type: store.IntegerColumn, Sequence: &keyval.Sequence{}},
			{Name: groupColumn, Type: store.IntegerColumn, Sequence: &keyval.Sequence{Divide: groupRecords}},
			{Name: "value", Type: store.BytesColumn, Proof: t.Cell.ValueBytes},
		},
		Indexes: []control.Index{{Column: groupColumn, Kind: store.OrderedIndex}},
		Queries: []keyval.Query{
			queryOfGroup: {Name: "a group", Where: [][]keyval.Condition{{{Column: groupColumn, Is: store.Equal}}},
				Sort: &keyval.Sort{Column: numberColumn}, Limit: foundMax, Columns: []string{numberColumn}},
			queryOfAll: {Name: "all"},
		},
	}
	if _, err := keyval.NewRecordShape(d.Columns); err != nil {
		return nil
	}
	return d
}

// askColumns asks for all groups that the records may belong to.
func (s *session) askColumns(indexes, observed []uint64) (*ByColumns, error) {
	b := &ByColumns{}
	for i, word := range observed {
		if isFound(word) {
			b.Read += indexes[i]
		}
	}
	groups := slices.CompactFunc(slices.Sorted(slices.Values(indexes)),
		func(a, b uint64) bool { return a/groupRecords == b/groupRecords })
	asked, err := s.ask(numberFind, trace.Query, queryOfGroup, groups)
	if err != nil {
		return nil, err
	}
	b.Found, b.Sum = asked.Items, asked.SortSum
	if asked, err = s.ask(numberCount, trace.Count, queryOfGroup, groups); err != nil {
		return nil, err
	}
	b.Counted = asked.Items
	if asked, err = s.ask(numberCountAll, trace.Count, queryOfAll, groups[:min(len(groups), 1)]); err != nil {
		return nil, err
	}
	b.All = asked.Items
	return b, nil
}

// ask asks a query once with the values of each record.
func (s *session) ask(number int, o trace.Operation, query uint8, of []uint64) (total counters.Total, err error) {
	if len(of) == 0 {
		return total, nil
	}
	file := &trace.File{Groups: 1, Operations: []trace.Operation{o}, Queries: []uint8{query},
		Threads: []trace.Thread{{Limit: uint64(len(of))}}}
	file.Amounts[0] = uint32(query)
	for _, index := range of {
		file.Threads[0].Entries = append(file.Threads[0].Entries, trace.MakeEntry(o, index, 0, false))
	}
	p, err := s.do(o.String(), number, file)
	if err != nil {
		return total, err
	}
	total = p.counters.Sample(false).Totals[0]
	message := ""
	if messages := p.counters.Messages(); len(messages) > 0 {
		message = messages[0].Text
	}
	if err := p.release(); err != nil {
		return total, err
	}
	if good := total.Outcomes[counters.OK] + total.Outcomes[counters.Miss]; good != uint64(len(of)) {
		return total, &control.Error{Class: control.ClassFailed, Message: cmp.Or(message, fmt.Sprintf("%d of %d did not end well", uint64(len(of))-good, len(of)))}
	}
	return total, nil
}
