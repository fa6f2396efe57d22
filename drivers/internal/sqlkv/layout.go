// Package sqlkv is what drivers of SQL databases share: the statements of a table of keys and
// values or of records with columns, and a handle that does the operations with them.
//
//	layout.go     the tables, and the texts of their statements
//	record.go     records taken apart into columns, and put together again
//	handle.go     [Handle]: the operations, over a [Connection]
//	database.go   a [Connection] by database/sql
//	link.go       [Link]: the socket of a handle, with the operation's deadline
//
// A driver gives a [Dialect], and connections of its library's own where database/sql is not the
// only way to it.
package sqlkv

import (
	"fmt"
	"hash/fnv"
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
	// Overwrite ends an INSERT, so that it overwrites columns where the key is there: names are the
	// key's and theirs.
	Overwrite func(names []string) string
	// Skip ends an INSERT, so that it does nothing where the key is there; "": that is an error,
	// which the connection tells as [store.ErrConflict].
	Skip string

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

// Layout is how records are kept: as a key and a value, or with columns of their own.
type Layout struct {
	Dialect *Dialect
	Table   string   // as written in statements
	Key     string   // the key's column, quoted where it must be
	Names   []string // of the other columns
	Columns []store.Column
}

// Plain is the table of keys and values.
func (d *Dialect) Plain(table string) Layout {
	return Layout{Dialect: d, Table: table, Key: "k", Names: []string{"v"}}
}

// Records is a table of records with columns. The key's column has a name that no column of a
// record can have.
func (d *Dialect) Records(table string, columns []store.Column, indexes []store.Index) (Layout, error) {
	l := Layout{Dialect: d, Table: table, Key: d.name("#key"), Columns: append([]store.Column{}, columns...)}
	for _, index := range indexes {
		if index.Kind != store.OrderedIndex {
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
	for i, c := range l.Columns {
		definitions = append(definitions, l.Names[i]+" "+l.Dialect.Types[c.Type]+" NOT NULL")
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s)%s", l.Table, strings.Join(definitions, ", "),
		l.Dialect.TableEnd)
}

// IndexSQL makes an index of a column under a name.
func (l *Layout) IndexSQL(name string, column int) string {
	part := l.Names[column]
	if l.Columns[column].Type == store.TextColumn {
		part += l.Dialect.IndexedText
	}
	return fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (%s)", l.Dialect.name(name), l.Table, part)
}

// GetSQL reads the columns of a key.
func (l *Layout) GetSQL() string {
	return l.text("SELECT %s FROM %s WHERE %s = ?", l.list(), l.Table, l.Key)
}

func (l *Layout) insertSQL() string {
	return fmt.Sprintf("INSERT INTO %s (%s, %s) VALUES (?%s)", l.Table, l.Key, l.list(),
		strings.Repeat(", ?", len(l.Names)))
}

// PutSQL stores a key and its columns, whether the key is there or not.
func (l *Layout) PutSQL() string {
	return l.text("%s %s", l.insertSQL(), l.Dialect.Overwrite(append([]string{l.Key}, l.Names...)))
}

// AddSQL stores a key and its columns if the key is absent.
func (l *Layout) AddSQL() string { return l.text("%s %s", l.insertSQL(), l.Dialect.Skip) }

// SwapSQL stores columns if a key has others: its parameters are the new ones, the key, and the
// old.
func (l *Layout) SwapSQL() string {
	return l.text("UPDATE %s SET %s WHERE %s = ? AND %s", l.Table,
		strings.Join(l.Names, " = ?, ")+" = ?", l.Key, strings.Join(l.Names, " = ? AND ")+" = ?")
}

// DeleteSQL removes a key.
func (l *Layout) DeleteSQL() string { return l.text("DELETE FROM %s WHERE %s = ?", l.Table, l.Key) }

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

// QuerySQL finds so many records by a column.
func (l *Layout) QuerySQL(column int) string {
	return l.text("SELECT %s, %s FROM %s WHERE %s = ?%s", l.Key, l.list(), l.Table, l.Names[column], l.limit())
}

// CountSQL counts the records with a column.
func (l *Layout) CountSQL(column int) string {
	return l.text("SELECT count(*) FROM %s WHERE %s = ?", l.Table, l.Names[column])
}
