// Package sqlkv is what drivers of SQL databases share: the statements of a table of keys and
// values or of records with columns, and a handle that does the operations with them.
//
//	layout.go     the tables, and the texts of their statements
//	explain.go    plans of queries, as databases tell them
//	record.go     records taken apart into columns, and put together again
//	handle.go     [Handle]: the operations, over a [Connection]
//	lane.go       [Lane]: the operations of asynchronous handles, over a [Dialogue]
//	database.go   a [Connection] by database/sql
//	surviving.go  connectors whose panics are errors
//	link.go       [Link]: the socket of a handle, with the operation's deadline
//	server.go     [Server]: what the store of a database server has, whichever it is
//
// A driver gives a [Dialect], and connections of its library's own where database/sql is not the
// only way to it.
//
// # Decisions
//
//   - A database of Assay's own has a fixed name (option schema or database), and not the trial's,
//     which a driver is not told; keys begin with the trial's name. A comment on it says that
//     Assay made it: any other is refused, whatever stands in it. The store that closes last drops
//     it, if no record is left; a table of records with columns has their fingerprint in its name,
//     so that experiments do not meet each other's definitions.
//   - An SQL server that Assay starts asks for no password, but for few rights: the superuser
//     can't log in over the network, and the user who runs Assay can, from this machine, with
//     rights on data alone. A password would have to reach the worker, and no process list, log or
//     result may have it.
package sqlkv

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

// Dialect is how a database writes what SQL leaves open.
type Dialect struct {
	Name  string // of the driver, in messages
	Quote string // around a name
	// Numbered: parameters are $1, $2, and not question marks.
	Numbered bool
	// KeyType and TableEnd stand in the definition of a table.
	KeyType, TableEnd string
	Types             map[store.ColumnType]string
	// IndexedText is appended to a text column in an index's definition.
	IndexedText string
	// RowByRow: rows are made when they are asked for, so that no LIMIT is needed. SQLite prepares
	// a statement again when the parameter of its LIMIT is bound (sqlite3ExprIsInteger,
	// src/expr.c).
	RowByRow bool
	// NamesFold: the names of columns are the same in upper and lower case.
	NamesFold bool
	// Has is a condition, with one parameter, that a text column has a word between spaces or commas.
	Has func(column string) string
	// TokenIndex makes an index of the words of a text column, under a name; nil: there is none.
	TokenIndex func(name, table, column string) string
	// Overwrite ends an INSERT, so that it overwrites columns where the key is there: names are the
	// key's and theirs.
	Overwrite func(names []string) string
	// Skip ends an INSERT, so that it does nothing where the key is there; "": that is an error,
	// which the connection tells as [store.ErrConflict].
	Skip string
	// Document is how the database keeps a record's columns in one document; nil: it does not.
	Document *Document
	// Some is a DELETE from a table of so many of the rows that a condition holds for, at most.
	Some func(table, key, condition string, atMost int) string
	// Explain is how the database reports its plans.
	Explain Explaining

	KeyBytesMax, ValueBytesMax int
}

// OnConflict is the [Dialect].Overwrite of SQLite and PostgreSQL.
func OnConflict(names []string) string {
	updates := make([]string, len(names)-1)
	for i, name := range names[1:] {
		updates[i] = name + " = excluded." + name
	}
	return fmt.Sprintf("ON CONFLICT (%s) DO UPDATE SET %s", names[0], strings.Join(updates, ", "))
}

// Kind is the type of a parameter.
type Kind byte

// The kinds of parameters. An integer is given in decimal, as in a record's encoded form.
const (
	Blob Kind = iota
	Text
	Integer
)

var kindOf = map[store.ColumnType]Kind{store.BytesColumn: Blob, store.TextColumn: Text,
	store.IntegerColumn: Integer}

// Document is how the columns of records are kept in one column of the table.
type Document struct {
	Type string // of that column
	// Column is the expression for a column of the record, in parentheses: what is read, compared and
	// indexed.
	Column func(document string, c store.Column) string
	// Make is the expression for a document of these columns, with values for them.
	Make func(columns []store.Column, values []string) string
	// Replace is the expression for a document in which the columns of another one replace its own.
	Replace func(document, with string) string
}

// Layout is how records are kept: as a key and a value, with columns of their own, or with columns in
// a document.
type Layout struct {
	Dialect  *Dialect
	Table    string   // as written in statements
	Key      string   // the key's column, quoted where it must be
	Names    []string // of the other columns; of those in a document, expressions
	Columns  []store.Column
	Queries  []store.Query
	document string // the column that all others are in; "": there is none
}

// Plain is the table of keys and values.
func (d *Dialect) Plain(table string) Layout {
	return Layout{Dialect: d, Table: table, Key: "k", Names: []string{"v"}}
}

// Records is a table of records with columns. The key's column has a name that no column of a
// record can have.
func (d *Dialect) Records(table string, columns []store.Column, indexes []store.Index,
	queries []store.Query) (Layout, error) {
	l := Layout{Dialect: d, Table: table, Key: d.name("#key"), Columns: append([]store.Column{}, columns...), Queries: queries}
	for _, index := range indexes {
		if index.Kind != store.OrderedIndex && (index.Kind != store.TokenIndex || d.TokenIndex == nil) {
			return l, fmt.Errorf("%s: an index of kind %s of %s: there are ordered ones only: %w",
				d.Name, index.Kind, columns[index.Column].Name, store.ErrRefused)
		}
	}
	seen := map[string]string{}
	for _, c := range columns {
		folded := c.Name
		if d.NamesFold {
			folded = strings.ToLower(folded)
		}
		if other, taken := seen[folded]; taken {
			return l, fmt.Errorf("%s: columns %s and %s have the same name to it: %w", d.Name, other, c.Name,
				store.ErrRefused)
		}
		seen[folded] = c.Name
		if _, known := d.Types[c.Type]; !known {
			return l, fmt.Errorf("%s: column %s has the unknown type %q: %w", d.Name, c.Name, c.Type, store.ErrRefused)
		}
		l.Names = append(l.Names, d.name(c.Name))
	}
	return l, nil
}

// InDocument puts the columns of records into one.
func (l *Layout) InDocument() {
	l.document = l.Dialect.name("#record")
	for i, c := range l.Columns {
		l.Names[i] = l.Dialect.Document.Column(l.document, c)
	}
}

// set returns assignments of values to columns, by their positions.
func (l *Layout) set(columns []int, values []string) string {
	if l.document != "" {
		made := make([]store.Column, len(columns))
		for i, column := range columns {
			made[i] = l.Columns[column]
		}
		d := l.Dialect.Document
		return l.document + " = " + d.Replace(l.document, d.Make(made, values))
	}
	sets := make([]string, len(columns))
	for i, column := range columns {
		sets[i] = l.Names[column] + " = " + values[i]
	}
	return strings.Join(sets, ", ")
}

// stored are the columns of the table beside the key, and what is stored in each: parameters.
func (l *Layout) stored() (names, values []string) {
	values = slices.Repeat([]string{"?"}, len(l.Names))
	if l.document == "" {
		return l.Names, values
	}
	return []string{l.document}, []string{l.Dialect.Document.Make(l.Columns, values)}
}

// Fingerprint names columns and indexes in a table's name, so that each definition has a table of
// its own.
func Fingerprint(columns []store.Column, indexes []store.Index) string {
	h := fnv.New64a()
	fmt.Fprint(h, columns, indexes) // a hash's Write has no error
	return fmt.Sprintf("%016x", h.Sum64())
}

func (d *Dialect) name(name string) string { return d.Quote + name + d.Quote }

// hasColumns says if records are taken apart.
func (l *Layout) hasColumns() bool { return l.Columns != nil }

// kinds returns the kinds of the columns beside the key.
func (l *Layout) kinds() []Kind {
	if !l.hasColumns() {
		return []Kind{Blob}
	}
	kinds := make([]Kind, len(l.Columns))
	for i, c := range l.Columns {
		kinds[i] = kindOf[c.Type]
	}
	return kinds
}

// text puts parameters in the place of question marks, in order.
func (l *Layout) text(format string, arguments ...any) string {
	text := fmt.Sprintf(format, arguments...)
	if !l.Dialect.Numbered {
		return text
	}
	var b strings.Builder
	n := 0
	for _, part := range strings.SplitAfter(text, "?") {
		if rest, cut := strings.CutSuffix(part, "?"); cut {
			n++
			part = rest + "$" + strconv.Itoa(n)
		}
		b.WriteString(part)
	}
	return b.String()
}

func (l *Layout) list() string { return strings.Join(l.Names, ", ") }

// CreateSQL makes the table, its indexes apart where they are not part of it.
func (l *Layout) CreateSQL() string {
	definitions := []string{l.Key + " " + l.Dialect.KeyType}
	if !l.hasColumns() {
		definitions = append(definitions, l.Names[0]+" "+l.Dialect.Types[store.BytesColumn]+" NOT NULL")
	}
	if l.document != "" {
		definitions = append(definitions, l.document+" "+l.Dialect.Document.Type+" NOT NULL")
	}
	for i, c := range l.Columns {
		if l.document == "" {
			definitions = append(definitions, l.Names[i]+" "+l.Dialect.Types[c.Type]+" NOT NULL")
		}
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s)%s", l.Table, strings.Join(definitions, ", "),
		l.Dialect.TableEnd)
}

// IndexSQL makes an index under a name.
func (l *Layout) IndexSQL(name string, index store.Index) string {
	if index.Kind == store.TokenIndex {
		return l.Dialect.TokenIndex(l.Dialect.name(name), l.Table, l.Names[index.Column])
	}
	part := l.Names[index.Column]
	if l.Columns[index.Column].Type == store.TextColumn {
		part += l.Dialect.IndexedText
	}
	if index.Descending {
		part += " DESC"
	}
	return fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (%s)", l.Dialect.name(name), l.Table, part)
}

// GetSQL reads the columns of a key.
func (l *Layout) GetSQL() string {
	return l.text("SELECT %s FROM %s WHERE %s = ?", l.list(), l.Table, l.Key)
}

// GetManySQL reads so many keys, each with its columns.
func (l *Layout) GetManySQL(keys int) string {
	return l.text("SELECT %s, %s FROM %s WHERE %[1]s IN (%[4]s)", l.Key, l.list(), l.Table,
		strings.TrimSuffix(strings.Repeat("?, ", keys), ", "))
}

func (l *Layout) insertSQL() string {
	names, values := l.stored()
	return fmt.Sprintf("INSERT INTO %s (%s, %s) VALUES (?, %s)", l.Table, l.Key, strings.Join(names, ", "),
		strings.Join(values, ", "))
}

// PutSQL stores a key and its columns, whether the key is there or not.
func (l *Layout) PutSQL() string {
	names, _ := l.stored()
	return l.text("%s %s", l.insertSQL(), l.Dialect.Overwrite(append([]string{l.Key}, names...)))
}

// AddSQL stores a key and its columns if the key is absent.
func (l *Layout) AddSQL() string { return l.text("%s %s", l.insertSQL(), l.Dialect.Skip) }

// SwapSQL stores columns if a key has others: its parameters are the new ones, the key, and the
// old.
func (l *Layout) SwapSQL() string {
	names, values := l.stored()
	pairs := make([]string, len(names))
	for i := range names {
		pairs[i] = names[i] + " = " + values[i]
	}
	return l.text("UPDATE %s SET %s WHERE %s = ? AND %s", l.Table, strings.Join(pairs, ", "), l.Key,
		strings.Join(pairs, " AND "))
}

// ModifySQL updates columns of a key, and gives the kinds of its parameters: the columns and the key.
func (l *Layout) ModifySQL(columns []int) (text string, kinds []Kind) {
	for _, column := range columns {
		kinds = append(kinds, kindOf[l.Columns[column].Type])
	}
	set := l.set(columns, slices.Repeat([]string{"?"}, len(columns)))
	return l.text("UPDATE %s SET %s WHERE %s = ?", l.Table, set, l.Key), append(kinds, Blob)
}

// IncrementSQL adds to a column of a key: its parameters are the number and the key.
func (l *Layout) IncrementSQL(column int) string {
	set := l.set([]int{column}, []string{l.Names[column] + " + ?"})
	return l.text("UPDATE %s SET %s WHERE %s = ?", l.Table, set, l.Key)
}

// DeleteSQL removes a key.
func (l *Layout) DeleteSQL() string { return l.text("DELETE FROM %s WHERE %s = ?", l.Table, l.Key) }

// DeletePrefixSQL deletes so many keys of an interval at most: from its first parameter on, below its second.
func (l *Layout) DeletePrefixSQL(atMost int) string {
	return l.text("%s", l.Dialect.Some(l.Table, l.Key, l.Key+" >= ? AND "+l.Key+" < ?", atMost))
}

// SomeByKey is the [Dialect].Some of databases that take a LIMIT within IN.
func SomeByKey(table, key, condition string, atMost int) string {
	return fmt.Sprintf("DELETE FROM %s WHERE %s IN (SELECT %s FROM %s WHERE %s LIMIT %d)", table, key, key, table, condition, atMost)
}

// ThereSQL returns a row if a key is there.
func (l *Layout) ThereSQL() string {
	return l.text("SELECT 1 FROM %s WHERE %s = ?", l.Table, l.Key)
}

func (l *Layout) limit() string {
	if l.Dialect.RowByRow {
		return ""
	}
	return " LIMIT ?"
}

// ScanSQL walks so many keys from one on.
func (l *Layout) ScanSQL() string {
	return l.text("SELECT %s, %s FROM %s WHERE %[1]s >= ? ORDER BY %[1]s%[4]s", l.Key, l.list(), l.Table,
		l.limit())
}

// whereSQL is the conditions of a query, with a parameter for each of their values; of a prefix,
// the value and what no text with this prefix reaches.
func (l *Layout) whereSQL(q *store.Query) string {
	var any []string
	for _, all := range q.Where {
		var conditions []string
		for _, c := range all {
			name := l.Names[c.Column]
			switch c.Is {
			case store.Range, store.Prefix:
				conditions = append(conditions, name+" >= ? AND "+name+" < ?")
			case store.Has:
				conditions = append(conditions, l.Dialect.Has(name))
			default:
				conditions = append(conditions, name+" = ?")
			}
		}
		any = append(any, strings.Join(conditions, " AND "))
	}
	switch len(any) {
	case 0:
		return ""
	case 1:
		return " WHERE " + any[0]
	}
	return " WHERE (" + strings.Join(any, ") OR (") + ")"
}

// parameters are the kinds of a query's parameters.
func (l *Layout) parameters(q *store.Query) (kinds []Kind) {
	for _, all := range q.Where {
		for _, c := range all {
			kind := kindOf[l.Columns[c.Column].Type]
			if kinds = append(kinds, kind); c.Is == store.Range || c.Is == store.Prefix {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// arguments appends a query's values as its parameters want them.
func (l *Layout) arguments(dst [][]byte, q *store.Query, values [][]byte) [][]byte {
	for _, all := range q.Where {
		for _, c := range all {
			dst = append(dst, blob(values[0]))
			switch c.Is {
			case store.Range:
				dst = append(dst, values[1])
			case store.Prefix:
				dst = append(dst, pastPrefix(values[0]))
			}
			values = values[c.Is.Values():]
		}
	}
	return dst
}

// pastPrefix returns the first text that comes after all texts with a prefix, which is ASCII and
// not empty.
func pastPrefix(prefix []byte) []byte {
	past := append([]byte{}, prefix...)
	past[len(past)-1]++
	return past
}

// QuerySQL finds records. The limit is written out, so that the database plans with it.
func (l *Layout) QuerySQL(q *store.Query) string {
	names := []string{l.Key}
	for _, column := range q.Columns {
		names = append(names, l.Names[column])
	}
	order := ""
	if q.Sort >= 0 {
		order = " ORDER BY " + l.Names[q.Sort]
		if q.Descending {
			order += " DESC"
		}
	}
	return l.text("SELECT %s FROM %s%s%s LIMIT %d", strings.Join(names, ", "), l.Table, l.whereSQL(q), order, q.Limit)
}

// CountSQL counts records.
func (l *Layout) CountSQL(q *store.Query) string {
	return l.text("SELECT count(*) FROM %s%s", l.Table, l.whereSQL(q))
}

// DeleteQuerySQL deletes what a query finds.
func (l *Layout) DeleteQuerySQL(q *store.Query) string {
	return l.text("DELETE FROM %s%s", l.Table, l.whereSQL(q))
}
