package tokyotyrant

import (
	"fmt"
	"slices"
	"sync/atomic"

	"assay/store"
)

// plainColumn holds a value without columns.
const plainColumn = "v"

// layout is how records stand in the table.
type layout struct {
	columns []store.Column
	token   []bool // of each column: it has an index of words
	names   [][]byte
	all     []int // the positions of the columns
	plain   bool  // values have no columns: each is the one column
	queries []store.Query

	// Queries by what the server reported about each: it used an index, or looked at every record.
	indexed, scanned atomic.Uint64
}

func newLayout(columns []store.Column, indexes []store.Index) *layout {
	l := &layout{columns: columns, token: make([]bool, len(columns)), plain: true}
	for i, c := range columns {
		l.names, l.all = append(l.names, []byte(c.Name)), append(l.all, i)
	}
	for _, index := range indexes {
		l.token[index.Column] = index.Kind == store.TokenIndex
	}
	return l
}

// hasBytes reports whether one of these columns is of type bytes: it may well have zero bytes, by
// which a search separates the columns that it gives.
func (l *layout) hasBytes(columns []int) bool {
	return slices.ContainsFunc(columns, func(i int) bool { return l.columns[i].Type == store.BytesColumn })
}

// tableDB has records with columns.
type tableDB struct {
	*db
	class  store.Durability
	layout *layout // Define changes it, while no handle is open
}

// Define makes the indexes that are not there. Columns need nothing: a record has those that it is
// stored with.
func (d *tableDB) Define(columns []store.Column, indexes []store.Index, queries []store.Query) error {
	if len(indexes) > 0 && d.class == store.D1 && !d.noAnswer {
		return fmt.Errorf("%s can't reach D1 with indexes: their leaves are changed in the server's cache, "+
			"and a kill "+
			"leaves records that no query finds; D0 has them: %w", d.name, store.ErrRefused)
	}
	has := make([]bool, len(columns))
	for _, index := range indexes {
		if has[index.Column] {
			return fmt.Errorf("%s: a table has one index for each column, and %s is to have two: %w",
				d.name, columns[index.Column].Name, store.ErrRefused)
		}
		has[index.Column] = true
	}
	l := newLayout(append([]store.Column{}, columns...), indexes)
	l.plain, l.queries = false, append([]store.Query{}, queries...)
	for i := range queries {
		if err := d.refuseQuery(l, &queries[i]); err != nil {
			return err
		}
	}
	if l.hasBytes(l.all) && d.noAnswer {
		return fmt.Errorf("%s: write: putnr ends a column at a zero byte, and one of the columns is of type "+
			"bytes: %w",
			d.name, store.ErrRefused)
	}
	for _, index := range indexes {
		if err := d.index(l, index); err != nil {
			return err
		}
	}
	d.layout = l
	return nil
}

// refuseQuery is an error for a query by bytes: a condition ends at a zero byte.
func (d *tableDB) refuseQuery(l *layout, q *store.Query) error {
	for _, all := range q.Where {
		for _, c := range all {
			if column := l.columns[c.Column]; column.Type == store.BytesColumn {
				return fmt.Errorf("%s: a condition ends at a zero byte, so that no query can be by column %s, which "+
					"is of "+
					"type bytes: %w", d.name, column.Name, store.ErrRefused)
			}
		}
	}
	return nil
}

// index makes an index, and asks if the server uses it: where one of another kind was there, it
// does not.
func (d *tableDB) index(l *layout, index store.Index) error {
	column := l.columns[index.Column]
	kind := "+LEXICAL" // +: one that is there stays as it is
	switch {
	case index.Kind == store.TokenIndex:
		kind = "+TOKEN"
	case column.Type == store.IntegerColumn:
		kind = "+DECIMAL"
	}
	c := &d.control
	if err := c.Begin(); err != nil {
		return err
	}
	c.Request = appendMisc(c.Request[:0], "setindex", 0, 2)
	c.Request = appendElement(appendElement(c.Request, l.names[index.Column]), []byte(kind))
	if err := c.Send(); err != nil {
		return err
	}
	if _, err := c.none("setindex"); err != nil { // it fails where an index is there
		return err
	}
	probe := store.Equal
	if index.Kind == store.TokenIndex {
		probe = store.Has
	}
	q := store.Query{Where: [][]store.Condition{{{Column: index.Column, Is: probe}}}, Sort: -1, Limit: 1}
	s := &search{layout: l}
	if err := s.ask(c, &q, [][]byte{[]byte("0")}, keys); err != nil {
		return err
	}
	if l.indexed.Load() == 0 {
		return fmt.Errorf("%s at %s: column %s has an index of another kind than %s, or can have none: %w",
			d.name, d.endpoint, column.Name, kind[1:], store.ErrRefused)
	}
	l.indexed.Store(0)
	return nil
}

// Handle opens one more connection.
func (d *tableDB) Handle() (store.Handle, error) {
	h, err := d.newHandle()
	if err != nil {
		return nil, err
	}
	return &tableHandle{handle: h, search: search{layout: d.layout}}, nil
}

// Settings adds what the class means for indexes, which differ in nothing else here.
func (d *tableDB) Settings() map[string]string {
	settings := d.db.Settings()
	settings["driver.indexes"] = "taken, a kill loses their newest entries"
	if d.class == store.D1 {
		settings["driver.indexes"] = "refused"
	}
	return settings
}

// Inspect adds what the server reported about the driver's queries.
func (d *tableDB) Inspect() store.Inspection {
	i := d.db.Inspect()
	i.Stats["queries_indexed"] = float64(d.layout.indexed.Load())
	i.Stats["queries_scanned"] = float64(d.layout.scanned.Load())
	return i
}
