package worker

import (
	"errors"
	"fmt"

	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/store"
)

// explain asks the store how it answers a query: on a handle that operations use, for a session may
// plan by settings of its own.
func (s *session) explain(e *control.Explain) (told control.Explained, err error) {
	name := s.hosted.description.Name
	switch {
	case e.Query < 0 || e.Query >= len(s.queries):
		return told, badRequest("explain of query %d, but define named %d", e.Query, len(s.queries))
	case !e.Count && s.queries[e.Query].Query.Limit == 0:
		return told, badRequest("explain of query %d, which has no limit and can only be counted", e.Query)
	case !s.abilities.Explain:
		return told, refused("%s has no explain", name)
	}
	handle := s.handles.first
	if s.handles.mode == control.HandlesPerOperation {
		if handle, err = s.store.Handle(); err != nil {
			return told, fmt.Errorf("opening a handle of %s: %w", name, err)
		}
		defer func() { err = errors.Join(err, handle.Close()) }()
	} else if _, lost := handle.(lostHandle); lost {
		if handle, err = s.handles.reopen(); err != nil {
			return told, fmt.Errorf("opening a handle of %s: %w", name, err)
		}
	}
	var asked keyval.Asked
	s.queries[e.Query].Ask(&asked, e.Index)
	plan, err := handle.(store.Explainer).Explain(e.Query, asked.Values, e.Count)
	return control.Explained{Use: plan.Use, Index: plan.Index, Plan: plan.Text}, err
}
