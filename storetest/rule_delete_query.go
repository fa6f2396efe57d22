package storetest

import (
	"fmt"
	"slices"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// deletingQueries are by a column with an index, by several conditions, and by one that no index
// helps.
var deletingQueries = []string{equalTo(columnGroup, askedMax).Name, "two conditions", "a range and a condition", "a word"}

func deleteQueryRule(b *bench) error {
	if !b.description.Abilities.DeleteQuery {
		return skip("%s has no deletes by query", b.description.Name)
	}
	err := b.eachIndexing(func(s *records, base uint64) error {
		for i, name := range deletingQueries {
			query := slices.IndexFunc(s.queries, func(q keyval.Query) bool { return q.Name == name })
			if query < 0 {
				continue
			}
			for _, index := range []uint64{base + uint64(i)*10 + 1, base + 55, base + 1000} {
				if err := s.deletesBy(query, index); err != nil {
					return err
				}
			}
			if err := s.readBack(fmt.Sprintf("%s, after deletes by %s", s.indexText(), name), s.reader(), base); err != nil {
				return err
			}
		}
		return s.groups(s.indexText()+", after deletes by query", base)
	})
	if err != nil {
		return err
	}
	s, base, err := b.asked(false)
	if err != nil {
		return err
	}
	query := slices.IndexFunc(s.queries, func(q keyval.Query) bool { return len(q.Where) > 1 })
	if query < 0 {
		return nil
	}
	bad := s.script(1)
	bad.do(0, trace.DeleteQuery, base, query)
	_, err = s.prepare(bad)
	if err == nil {
		return fmt.Errorf("a trace with a delete by a query of several alternatives was accepted")
	}
	return b.judgeRefusal("a trace with a delete by a query of several alternatives", "bad_request", err)
}

// deletesBy does one delete by query and holds its number against the model.
func (s *records) deletesBy(query int, index uint64) error {
	shape, err := s.shape.NewQueryShape(columns, s.queries[query])
	if err != nil {
		return err
	}
	var asked keyval.Asked
	shape.Ask(&asked, index)
	deleted := 0
	for _, i := range s.present() {
		if shape.Holds(&asked, i) {
			s.model[i] = absent
			deleted++
		}
	}
	deletes := s.script(1)
	deletes.do(0, trace.DeleteQuery, index, query)
	r, err := s.run(deletes)
	what := fmt.Sprintf("%s: a delete by %s, as index %d has it, which %d records fulfil", s.indexText(), s.queries[query].Name, index, deleted)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	outcome := counters.OK
	if deleted == 0 {
		outcome = counters.Miss
	}
	s.expect(r, what, trace.DeleteQuery, outcome, 1)
	if items := r.total(trace.DeleteQuery).Items; items != uint64(deleted) {
		s.fault("%s: it says %d", what, items)
	}
	return nil
}
