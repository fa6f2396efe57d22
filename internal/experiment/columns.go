package experiment

import (
	"fmt"

	"assay/internal/experiment/keyval"
	"assay/store"
)

// Index asks for an index of a column.
type Index struct {
	Column string          `json:"column"`
	Kind   store.IndexKind `json:"kind"`

	Descending bool `json:"descending,omitempty"`
	Optional   bool `json:"optional,omitempty"` // a store that has no such index does without it
}

// Text names an index: "Tags (words)".
func (x Index) Text() string {
	switch {
	case x.Kind == store.TokenIndex:
		return x.Column + " (words)"
	case x.Descending:
		return x.Column + " descending"
	}
	return x.Column
}

// Record returns the shape of records with columns; nil where values are plain.
func (v *Values) Record() *keyval.RecordShape {
	if len(v.Columns) == 0 {
		return nil
	}
	r, err := keyval.NewRecordShape(v.Columns)
	if err != nil {
		panic("experiment: columns that were resolved: " + err.Error())
	}
	return r
}

// refuseColumns: an index needs a store with columns of its own, and with indexes of its kind.
func (e *Experiment) refuseColumns(s Store) *Refusal {
	for _, x := range e.Values.Indexes {
		if why := lacksIndex(s, x); why != "" && !x.Optional {
			return &Refusal{"values", why}
		}
	}
	return nil
}

// lacksIndex says why a store can't have an index; "" if it can. A null driver has nothing to index.
func lacksIndex(s Store, x Index) string {
	d := s.Description
	switch {
	case d.Kind == store.None:
	case !d.Abilities.Records:
		return fmt.Sprintf("%s has no columns of its own, and so no indexes", s.Name)
	case x.Kind == store.TokenIndex && !d.TokenIndexes:
		return fmt.Sprintf("%s has no index of the words of %s", s.Name, x.Column)
	}
	return ""
}

// IndexesOf returns the indexes that a store has, and the optional ones that it does without.
func (e *Experiment) IndexesOf(s Store) (has, lacks []Index) {
	for _, x := range e.Values.Indexes {
		switch {
		case lacksIndex(s, x) != "":
			lacks = append(lacks, x)
		case s.Description.Kind != store.None:
			has = append(has, x)
		}
	}
	return has, lacks
}
