package report

import (
	"slices"

	"assay/internal/record"
	"assay/internal/verdict"
)

// Kind is what one kind of operation did in a row. A mix has several, and what is true of all together is true of none: a scan
// and a read share no percentile.
type Kind struct {
	Operation string   `json:"operation"` // its name in the trace: "read", "scan"
	Done      uint64   `json:"done"`      // operations with an outcome
	Misses    uint64   `json:"misses"`
	Bad       uint64   `json:"bad"`          // lost, wrong, errors, timeouts
	Items     *float64 `json:"items_per_op"` // records scanned or members of batches, an operation; nil: it has no items
	Latencies
}

// kindsOf takes the kinds of operations of phases apart, in the order in which they were recorded.
func kindsOf(used []*record.Phase) (kinds []Kind) {
	var names []string
	for _, p := range used {
		for _, op := range p.Operations {
			if op.Done() > 0 && !slices.Contains(names, op.Name) {
				names = append(names, op.Name)
			}
		}
	}
	for _, name := range names {
		k := Kind{Operation: name}
		var alone []*record.Phase
		var items uint64
		for _, p := range used {
			of := *p
			of.Operations = nil
			for _, op := range p.Operations {
				if op.Name == name {
					of.Operations = append(of.Operations, op)
					k.Done += op.Done()
					k.Misses += op.Miss
					k.Bad += op.Lost + op.Wrong + op.Errors + op.Timeout
					items += op.Items
				}
			}
			alone = append(alone, &of)
		}
		if items > 0 {
			each := float64(items) / float64(k.Done)
			k.Items = &each
		}
		k.Latencies = latenciesOf(verdict.RefuseKind(name, used...), alone...)
		kinds = append(kinds, k)
	}
	return kinds
}

// kindRow is one arm's part in one kind of operation.
type kindRow struct {
	Row Row
	Kind
	First bool // of its kind
	Last  bool
	Span  int // rows of its kind
}

// kindTable is the table of a page.
type kindTable struct {
	Names         []string
	Missed, Items bool // the columns that it has
	Rows          []kindRow
}

func kindTableOf(t Table) *kindTable {
	table := kindTable{Rows: kindRows(t)}
	if len(table.Rows) == 0 {
		return nil
	}
	for _, k := range table.Rows {
		if k.First {
			table.Names = append(table.Names, operationText(k.Operation))
		}
		table.Missed = table.Missed || k.Misses > 0
		table.Items = table.Items || k.Items != nil
	}
	return &table
}

// kindRows lists the kinds of a table whose phase has several, and in each the arms in the table's order, so that like stands
// beside like; nil where there is one kind only: then the table itself says all.
func kindRows(t Table) (rows []kindRow) {
	var names []string
	for _, r := range t.Rows {
		for _, k := range r.Kinds {
			if !slices.Contains(names, k.Operation) {
				names = append(names, k.Operation)
			}
		}
	}
	if len(names) < 2 {
		return nil
	}
	for _, name := range names {
		from := len(rows)
		for _, r := range t.Rows {
			at := slices.IndexFunc(r.Kinds, func(k Kind) bool { return k.Operation == name })
			if at < 0 || r.Rate == nil {
				continue
			}
			rows = append(rows, kindRow{Row: r, Kind: r.Kinds[at]})
		}
		for i := from; i < len(rows); i++ {
			rows[i].First, rows[i].Last, rows[i].Span = i == from, i == len(rows)-1, len(rows)-from
		}
	}
	return rows
}
