package worker

import (
	"fmt"
	"slices"

	"assay/internal/control"
	"assay/internal/keyval"
	"assay/internal/trace"
	"assay/store"
)

// define gives the records columns: section 1.5 of docs/worker-contract.md. Handles are opened
// anew, for what they prepare depends on the columns.
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
	definer, ok := s.store.(store.Definer)
	if !ok {
		if len(indexes) > 0 {
			return refused("%s has no columns of its own, and so no indexes", s.hosted.description.Name)
		}
		s.record = record
		return nil
	}
	columns := make([]store.Column, len(d.Columns))
	for i, c := range d.Columns {
		columns[i] = store.Column{Name: c.Name, Type: c.Type}
	}
	if err := s.handles.close(); err != nil {
		return fmt.Errorf("closing a handle before define: %w", err)
	}
	defineErr := definer.Define(columns, indexes)
	count, err := handleCount(s.open, s.hosted.description)
	if err != nil {
		return err
	}
	handles, err := openHandles(s.store, s.open, count)
	if err != nil {
		return fmt.Errorf("opening a handle after define: %w (closing the store: %v)", err, s.close())
	}
	s.handles = handles
	if defineErr != nil {
		return fmt.Errorf("defining columns and indexes: %w", defineErr)
	}
	s.record = record
	return nil
}

// indexesOf says what is wrong with the indexes, or returns them by their columns' positions.
func indexesOf(d *control.Define) (indexes []store.Index, err error) {
	for _, asked := range d.Indexes {
		column := slices.IndexFunc(d.Columns, func(c keyval.Column) bool { return c.Name == asked.Column })
		if column < 0 {
			return nil, fmt.Errorf("an index of %q, which is no column", asked.Column)
		}
		kind := d.Columns[column].Type
		if !(asked.Kind == store.OrderedIndex && kind != store.BytesColumn || asked.Kind == store.TokenIndex && kind == store.TextColumn) {
			return nil, fmt.Errorf("index of %s: kind %q does not go with type %s", asked.Column, asked.Kind, kind)
		}
		index := store.Index{Column: column, Kind: asked.Kind}
		if slices.Contains(indexes, index) {
			return nil, fmt.Errorf("two indexes of one kind on column %s", asked.Column)
		}
		indexes = append(indexes, index)
	}
	return indexes, nil
}

// checkQueries holds a trace's queries and counts against the columns.
func (s *session) checkQueries(t *trace.File) error {
	for i := range t.Threads {
		for _, e := range t.Threads[i].Entries {
			o := e.Operation()
			if o != trace.Query && o != trace.Count {
				continue
			}
			if s.record == nil {
				return badRequest("a %s before define: records have no columns", o)
			}
			column, limit := trace.SplitQueryAmount(t.Amounts[e.SizeClass()])
			switch {
			case column >= s.record.Columns():
				return badRequest("a %s by column %d of %d", o, column, s.record.Columns())
			case s.record.IsProof(column):
				return badRequest("a %s by the proof column: its bytes need a version, which no index gives", o)
			case o == trace.Query && limit < 1, o == trace.Count && limit != 0:
				return badRequest("a %s of at most %d records", o, limit)
			case o == trace.Query && !s.record.LeadsBack():
				return badRequest("a query of records that do not tell their index: they need a proof, or a column whose number leads back to it")
			}
		}
	}
	return nil
}
