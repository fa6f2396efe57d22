package read

import (
	"maps"
	"slices"
	"strings"

	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// queries resolves the experiment's named queries, which come first.
func (r *resolver) queries() *Error {
	for _, name := range slices.Sorted(maps.Keys(r.file.Values.Queries)) {
		at := []string{"values", "queries", name}
		if name == "" || strings.ContainsAny(name, ": ") {
			return r.fail(at, "a query's name has no colons and spaces, and is not empty")
		}
		if _, err := r.queryOf(name, r.file.Values.Queries[name], at); err != nil {
			return err
		}
	}
	return nil
}

// queryOf resolves a query, and returns its position.
func (r *resolver) queryOf(name string, f QueryFile, at []string) (int, *Error) {
	if len(r.e.Values.Columns) == 0 {
		return 0, r.fail(at, "queries need records with columns").hint("expected values: {columns: [{name: NAME, value: \"text {i}\"}, …]}")
	}
	q := keyval.Query{Name: name, Columns: f.Columns}
	for _, column := range append(append([]string{}, f.Columns...), f.Column) {
		if column != "" && r.columnOf(column) < 0 {
			return 0, r.noColumn(append(at, "column"), column)
		}
	}
	alternatives, places := f.Any, "any"
	switch {
	case f.Column != "" && (len(f.Where) > 0 || len(f.Any) > 0), len(f.Where) > 0 && len(f.Any) > 0:
		return 0, r.fail(at, "a query has one of column, where and any")
	case f.Column != "":
		alternatives, places = []map[string]ConditionFile{{f.Column: {}}}, "column"
	case len(f.Where) > 0:
		alternatives, places = []map[string]ConditionFile{f.Where}, "where"
	}
	for _, all := range alternatives {
		conditions, err := r.conditions(all, append(at, places))
		if err != nil {
			return 0, err
		}
		q.Where = append(q.Where, conditions)
	}
	if f.Sort != "" {
		column, order, _ := strings.Cut(f.Sort, " ")
		if r.columnOf(column) < 0 {
			return 0, r.noColumn(append(at, "sort"), column)
		}
		if order != "" && order != "asc" && order != "desc" {
			return 0, r.fail(append(at, "sort"), "%q is no order", order).hint("expected COLUMN, COLUMN asc or COLUMN desc")
		}
		q.Sort = &keyval.Sort{Column: column, Descending: order == "desc"}
	}
	limit := orCount64(f.Limit, defaultQueryLimit)
	if limit < 1 || limit > keyval.QueryLimitMax {
		return 0, r.fail(append(at, "limit"), "a query finds 1 to %d records, not %d", keyval.QueryLimitMax, limit)
	}
	q.Limit = int(limit)
	record := r.e.Values.Record()
	if !record.LeadsBack() { // it can be counted: ask refuses the rest
		q.Limit = 0
	}
	if _, err := record.NewQueryShape(r.e.Values.Columns, q); err != nil {
		return 0, r.fail(at, "%v", err)
	}
	if len(r.e.Values.Queries) == keyval.QueriesMax {
		return 0, r.fail(at, "more than %d queries", keyval.QueriesMax)
	}
	r.e.Values.Queries = append(r.e.Values.Queries, q)
	return len(r.e.Values.Queries) - 1, nil
}

func (r *resolver) noColumn(at []string, name string) *Error {
	return r.fail(at, "no column %q", name).
		hint("expected one of %s", strings.Join(r.columnNames(), ", ")).near(name, r.columnNames())
}

func (r *resolver) conditions(all map[string]ConditionFile, at []string) (conditions []keyval.Condition, _ *Error) {
	for _, column := range slices.Sorted(maps.Keys(all)) {
		if r.columnOf(column) < 0 {
			return nil, r.noColumn(append(at, column), column)
		}
		f := all[column]
		c := keyval.Condition{Column: column, Is: store.Comparison(orText(string(f.Is), string(store.Equal)))}
		given := 0
		for _, form := range []struct {
			count *Count
			is    store.Comparison
			into  func(uint64)
		}{
			{f.Range, store.Range, func(n uint64) { c.Span = n }},
			{f.Prefix, store.Prefix, func(n uint64) { c.Bytes = int(min(n, store.ColumnBytesMax+1)) }},
			{f.Has, store.Has, func(n uint64) { c.Word = int(min(n, store.ColumnBytesMax+1)) }},
		} {
			if form.count != nil {
				c.Is, given = form.is, given+1
				form.into(uint64(*form.count))
			}
		}
		if given > 1 || given == 1 && f.Is != "" {
			return nil, r.fail(append(at, column), "a condition is one of equal, has, range, prefix and has with a number")
		}
		if c.Is == store.Range && f.Range == nil || c.Is == store.Prefix && f.Prefix == nil {
			return nil, r.fail(append(at, column), "%s needs a number", c.Is).hint("expected {range: SPAN} or {prefix: BYTES}")
		}
		conditions = append(conditions, c)
	}
	return conditions, nil
}

// askedBy splits "query:NAME", "count:NAME" and "delete:NAME" of a mix.
func askedBy(name string) (operation, query string, named bool) {
	operation, query, named = strings.Cut(name, ":")
	if named && operation == trace.Delete.String() {
		operation = trace.DeleteQuery.String()
	}
	o, _ := trace.ParseOperation(operation)
	return operation, query, named && o.Asks()
}

// asks adds the named queries of a mix up, so that the mix has operations alone, and returns what
// each of the operations asks.
func (r workResolver) asks(p PhaseFile) (mix map[string]float64, asked []experiment.AskedQuery, _ *Error) {
	if p.Mix != nil {
		mix = map[string]float64{}
	}
	plain := false
	for _, name := range slices.Sorted(maps.Keys(p.Mix)) {
		weight := p.Mix[name]
		operation, query, named := askedBy(name)
		if o, _ := trace.ParseOperation(name); o.Asks() && weight > 0 {
			plain = true
		}
		if !named {
			mix[name] += weight
			continue
		}
		at := slices.IndexFunc(r.e.Values.Queries, func(q keyval.Query) bool { return q.Name == query })
		if _, there := r.file.Values.Queries[query]; !there || at < 0 {
			return nil, nil, r.fail(r.in("mix", name), "no query %q", query).
				hint("expected a name in values.queries").near(query, slices.Sorted(maps.Keys(r.file.Values.Queries)))
		}
		if weight < 0 || weight > 1e12 {
			return nil, nil, r.fail(r.in("mix", name), "a weight is 0 to 1e12, not %v", weight)
		}
		mix[operation] += weight
		if weight > 0 {
			asked = append(asked, experiment.AskedQuery{Operation: operation, Query: at, Weight: weight})
		}
	}
	if !plain && p.Query != nil {
		return nil, nil, r.fail(r.in("query"), "the phase %s has no queries or counts: query has no effect", p.Name)
	}
	if plain {
		own, err := r.plainAsks(p)
		if err != nil {
			return nil, nil, err
		}
		asked = append(asked, own...)
	}
	record := r.e.Values.Record()
	for _, a := range asked {
		if a.Operation == trace.DeleteQuery.String() && len(r.e.Values.Queries[a.Query].Where) > 1 {
			return nil, nil, r.fail(r.in("mix"), "a delete by query is by conditions that all hold, and %s has alternatives", r.e.Values.Queries[a.Query].Name).
				hint("give each alternative a query of its own")
		}
		if a.Operation == trace.Query.String() && !record.LeadsBack() {
			return nil, nil, r.fail(r.in("mix"), "query results could not be verified: no column identifies the record").
				hint(`add to values.columns: {name: id, value: "{i}", type: integer} (any text with {i} without / and %% will do), or {name: v, proof: 24}`)
		}
	}
	return mix, asked, nil
}

// plainAsks is what query and count without a name ask: the phase's own query.
func (r workResolver) plainAsks(p PhaseFile) (asked []experiment.AskedQuery, _ *Error) {
	if len(r.e.Values.Columns) == 0 {
		return nil, r.fail(r.in("mix"), "queries and counts need records with columns").hint("expected values: {columns: [{name: NAME, value: \"text {i}\"}, …]}")
	}
	if p.Query == nil {
		return nil, r.fail(r.in("mix"), "the phase %s has queries or counts, but no column to query by", p.Name).
			hint("expected query: {column: NAME, limit: 10}, the column one of %s", strings.Join(r.columnNames(), ", "))
	}
	query, err := r.queryOf(p.Name, *p.Query, r.in("query"))
	if err != nil {
		return nil, err
	}
	for _, o := range []trace.Operation{trace.Query, trace.Count, trace.DeleteQuery} {
		if weight := p.Mix[o.String()]; weight > 0 {
			asked = append(asked, experiment.AskedQuery{Operation: o.String(), Query: query, Weight: weight})
		}
	}
	return asked, nil
}
