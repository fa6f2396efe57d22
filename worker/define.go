package worker

import (
	"fmt"
	"slices"

	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// define gives the records columns, and names queries: sections 1.5 and 1.6 of
// docs/worker-contract.md. Handles are opened anew, for what they prepare depends on the columns.
func (s *session) define(d *control.Define) error {
	switch {
	case s.record != nil:
		return badRequest("define twice: the columns hold until close")
	case len(s.phases) > 0:
		return badRequest("define after the first prepare")
	}
	record, err := keyval.NewRecordShape(d.Columns)
	if err != nil {
		return badRequest("define: %w", err)
	}
	indexes, err := indexesOf(d)
	if err != nil {
		return badRequest("define: %w", err)
	}
	queries, asked, err := queriesOf(d, record)
	if err != nil {
		return badRequest("define: %w", err)
	}
	definer, ok := s.store.(store.Definer)
	if !ok {
		if len(indexes) > 0 {
			return refused("%s has no columns of its own, and so no indexes", s.hosted.description.Name)
		}
		s.record, s.queries = record, queries
		return nil
	}
	columns := make([]store.Column, len(d.Columns))
	for i, c := range d.Columns {
		columns[i] = store.Column{Name: c.Name, Type: c.Type}
	}
	if err := s.handles.close(); err != nil {
		return fmt.Errorf("closing a handle before define: %w", err)
	}
	defineErr := definer.Define(columns, indexes, asked)
	count, err := handleCount(s.open, s.hosted.description)
	if err != nil {
		return err
	}
	handles, err := openHandles(s.store, &s.hosted.description, s.open, count)
	if err != nil {
		return fmt.Errorf("opening a handle after define: %w (closing the store: %v)", err, s.close())
	}
	s.handles = handles
	if defineErr != nil {
		return fmt.Errorf("defining columns and indexes: %w", defineErr)
	}
	s.record, s.queries = record, queries
	return nil
}

// queriesOf says what is wrong with the queries, or returns them ready to be checked, and as drivers
// get them.
func queriesOf(d *control.Define, record *keyval.RecordShape) (shapes []*keyval.QueryShape, queries []store.Query,
	err error) {
	if len(d.Queries) > keyval.QueriesMax {
		return nil, nil, fmt.Errorf("%d queries: expected at most %d", len(d.Queries), keyval.QueriesMax)
	}
	for i, q := range d.Queries {
		shape, err := record.NewQueryShape(d.Columns, q)
		if err != nil {
			return nil, nil, fmt.Errorf("query %d %q: %w", i, q.Name, err)
		}
		shapes, queries = append(shapes, shape), append(queries, shape.Query)
	}
	return shapes, queries, nil
}

// indexesOf says what is wrong with the indexes, or returns them by their columns' positions.
func indexesOf(d *control.Define) (indexes []store.Index, err error) {
	for _, asked := range d.Indexes {
		column := slices.IndexFunc(d.Columns, func(c keyval.Column) bool { return c.Name == asked.Column })
		if column < 0 {
			return nil, fmt.Errorf("an index of %q, which is no column", asked.Column)
		}
		kind := d.Columns[column].Type
		if !(asked.Kind == store.OrderedIndex && kind != store.BytesColumn || asked.Kind == store.TokenIndex &&
			kind == store.TextColumn) {
			return nil, fmt.Errorf("index of %s: kind %q does not go with type %s", asked.Column, asked.Kind, kind)
		}
		if asked.Descending && asked.Kind != store.OrderedIndex {
			return nil, fmt.Errorf("index of %s: only an ordered index is descending", asked.Column)
		}
		index := store.Index{Column: column, Kind: asked.Kind, Descending: asked.Descending}
		if slices.ContainsFunc(indexes, func(x store.Index) bool {
			return x.Column == column && x.Kind == asked.Kind
		}) {
			return nil, fmt.Errorf("two indexes of one kind on column %s", asked.Column)
		}
		indexes = append(indexes, index)
	}
	return indexes, nil
}

// checkQueries holds a trace's queries and counts against those of define.
func (s *session) checkQueries(t *trace.File) error {
	if !slices.ContainsFunc(t.Operations, trace.Operation.Asks) {
		return nil
	}
	for i := range t.Threads {
		for _, e := range t.Threads[i].Entries {
			o := e.Operation()
			if !o.Asks() {
				continue
			}
			number := int(t.Amounts[e.SizeClass()])
			switch {
			case number >= len(s.queries):
				return badRequest("a %s by query %d, but define named %d", o, number, len(s.queries))
			case o == trace.Query && s.queries[number].Query.Limit == 0:
				return badRequest("a query by query %d, which has no limit and can only be counted", number)
			case o == trace.DeleteQuery && len(s.queries[number].Query.Where) > 1:
				return badRequest("a delete by query %d, which has several alternatives", number)
			}
		}
	}
	return nil
}
