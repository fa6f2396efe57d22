package storetest

import (
	"fmt"
	"slices"

	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

// explainedRecords are so many that a planner prefers an index to looking at all of them. They are
// fewer where each write may take a sync, or looks at all of them because indexes are idle: such
// stores do not choose.
const explainedRecords, explainedAlone, explainedIdle = 1500, 300, 60

// explainRule asks for plans of queries by a column with an index, where the store has one, and by
// one without.
func explainRule(b *bench) error {
	if !b.description.Abilities.Explain {
		return skip("%s does not tell how it answers queries", b.description.Name)
	}
	for _, indexed := range []bool{false, true} {
		s, err := b.openRecords(opening{}, columns, indexed)
		if err != nil {
			return err
		}
		if s.indexed == indexed {
			if err := s.explained(); err != nil {
				return err
			}
		}
		if err := b.close(); err != nil {
			return err
		}
	}
	return nil
}

func (s *records) explained() error {
	writer := s.script(1)
	base := s.base(writer.keys)
	var batch []write
	most := explainedRecords / 10
	if limit := s.description.BatchMax; limit > 0 {
		most = min(most, limit)
	}
	records := uint64(s.rare(explainedRecords))
	switch {
	case s.description.IndexesIdle:
		records = explainedIdle
	case !s.description.Abilities.Batch:
		records = explainedAlone
	}
	for i := range records {
		if !s.description.Abilities.Batch {
			writer.do(0, trace.Upsert, base+i, proofBytes)
			continue
		}
		if batch = append(batch, write{trace.Upsert, base + i, proofBytes}); len(batch) == most {
			writer.batch(0, batch...)
			batch = nil
		}
	}
	if len(batch) > 0 {
		writer.batch(0, batch...)
	}
	if err := s.write("writing what is to be asked for", writer); err != nil {
		return err
	}
	can := s.description.Abilities
	for _, column := range []int{columnGroup, columnName, columnNumber} {
		for _, count := range []bool{false, true} {
			if count && !can.Count || !count && !can.Query {
				continue
			}
			if err := s.explains(column, base+records/2, count); err != nil {
				return err
			}
		}
	}
	unknown := control.Explain{Query: len(s.queries), Index: base}
	return s.expectRefusal("explain of a query that was not defined", control.ClassBadRequest,
		control.Request{Command: control.CommandExplain, Explain: &unknown})
}

// explains asks for the plan of a query by one column.
func (s *records) explains(column int, index uint64, count bool) error {
	ever := slices.ContainsFunc(groupIndex, func(x control.Index) bool { return x.Column == columns[column].Name })
	indexed, idle := ever && s.indexed, s.description.IndexesIdle
	left := ever && !s.indexed && s.sharesTable() // by other rules, where a table's indexes are not the definition's
	what := fmt.Sprintf("a query by %s, counted: %v, %s", columns[column].Name, count, s.indexText())
	var told control.Explained
	err := s.call(control.Request{Command: control.CommandExplain, Explain: &control.Explain{
		Query: number(equalTo(column, askedMax).Name), Count: count, Index: index}}, &told)
	switch {
	case err != nil:
		return fmt.Errorf("explain of %s: %w", what, err)
	case indexed && idle && told.Use != store.IndexNone:
		s.fault("%s: the driver says that its indexes are idle, but the plan is %q with index %q: %s", what, told.Use, told.Index, told.Plan)
	case indexed && !idle && (told.Use != store.IndexFinds || told.Index == ""):
		s.fault("%s: the column has an index, but the plan is %q with index %q: %s", what, told.Use, told.Index, told.Plan)
	case !indexed && !left && told.Use != store.IndexNone:
		s.fault("%s: the column has no index, but the plan is %q with index %q: %s", what, told.Use, told.Index, told.Plan)
	}
	return nil
}
