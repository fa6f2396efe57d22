package mongodb

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"assay/store"
)

// layout is how records are kept: as a key and a value, or with fields for their columns.
type layout struct {
	driver     string // in messages
	collection string
	columns    []store.Column
	indexes    []store.IndexKind // by column; "": none
	queries    []store.Query
}

// Names of fields that no column can have. tokensSuffix is behind a column's name: the words of a
// text, each of which an index finds. The text stays as it is beside them, for the words don't tell
// what stood between them.
const (
	keyField     = "_id"
	valueField   = "v"
	tokensSuffix = "#words"
)

func plain(driver string) layout { return layout{driver: driver, collection: plainCollection} }

var errNotARecord = errors.New("the value is no record of the defined columns")

// appendKey writes each byte of a key as a character: then the server's order of strings, bytewise
// in UTF-8, is the keys' own.
func appendKey(dst []byte, field string, key []byte) []byte {
	dst = bsoncore.AppendHeader(dst, bsoncore.TypeString, field)
	at, dst := bsoncore.ReserveLength(dst)
	start := len(dst)
	for _, b := range key {
		if b < utf8.RuneSelf {
			dst = append(dst, b)
		} else {
			dst = append(dst, 0xc0|b>>6, 0x80|b&0x3f)
		}
	}
	dst = append(dst, 0)
	return bsoncore.UpdateLength(dst, at, int32(len(dst)-start))
}

// keyOf undoes appendKey.
func keyOf(dst []byte, text string) []byte {
	for _, character := range text {
		dst = append(dst, byte(character))
	}
	return dst
}

// byKey asks for one document.
func byKey(key []byte) bson.Raw {
	at, filter := bsoncore.AppendDocumentStart(make([]byte, 0, 24+len(key)))
	return end(appendKey(filter, keyField, key), at)
}

func end(document []byte, at int32) bson.Raw {
	return bsoncore.UpdateLength(append(document, 0), at, int32(len(document)+1)-at)
}

// check says if key and value are within the limits.
func (l *layout) check(key, value []byte) error {
	if len(key) > keyBytesMax {
		return fmt.Errorf("%s: the key is longer than %d bytes", l.driver, keyBytesMax)
	}
	if len(value) > valueBytesMax {
		return fmt.Errorf("%s: the value is longer than %d bytes", l.driver, valueBytesMax)
	}
	return nil
}

// document makes one of a key and a value.
func (l *layout) document(key, value []byte) (bson.Raw, error) {
	if err := l.check(key, value); err != nil {
		return nil, err
	}
	at, document := bsoncore.AppendDocumentStart(make([]byte, 0, 48+len(key)+len(value)+24*len(l.columns)))
	document, err := l.appendFields(appendKey(document, keyField, key), value)
	return end(document, at), err
}

// endField is the date at which the server is to remove a document, of those that have one.
const endField = "assay_end"

// documentUntil is document with the date at which the server is to remove it.
func (l *layout) documentUntil(key, value []byte, until time.Time) (bson.Raw, error) {
	if err := l.check(key, value); err != nil {
		return nil, err
	}
	at, document := bsoncore.AppendDocumentStart(make([]byte, 0, 72+len(key)+len(value)))
	document, err := l.appendFields(appendKey(document, keyField, key), value)
	return end(bsoncore.AppendDateTimeElement(document, endField, until.UnixMilli()), at), err
}

// appendFields appends what a value is made of.
func (l *layout) appendFields(dst, value []byte) ([]byte, error) {
	if l.columns == nil {
		return bsoncore.AppendBinaryElement(dst, valueField, bson.TypeBinaryGeneric, value), nil
	}
	for i := range l.columns {
		column, rest, ok := store.NextColumn(value)
		if !ok {
			return dst, fmt.Errorf("%s: %w", l.driver, errNotARecord)
		}
		var err error
		if dst, err = l.appendColumn(dst, i, column); err != nil {
			return dst, err
		}
		value = rest
	}
	if len(value) > 0 {
		return dst, fmt.Errorf("%s: %w", l.driver, errNotARecord)
	}
	return dst, nil
}

// appendColumn appends a column's field, and its words where an index finds them.
func (l *layout) appendColumn(dst []byte, i int, column []byte) ([]byte, error) {
	c := l.columns[i]
	switch c.Type {
	case store.TextColumn:
		dst = bsoncore.AppendStringElement(dst, c.Name, string(column))
		if l.indexes[i] == store.TokenIndex {
			dst = appendWords(dst, c.Name+tokensSuffix, column)
		}
		return dst, nil
	case store.IntegerColumn:
		n, err := strconv.ParseInt(string(column), 10, 64)
		if err != nil {
			return dst, fmt.Errorf("%s: %w: column %s is no integer", l.driver, errNotARecord, c.Name)
		}
		return bsoncore.AppendInt64Element(dst, c.Name, n), nil
	default:
		return bsoncore.AppendBinaryElement(dst, c.Name, bson.TypeBinaryGeneric, column), nil
	}
}

// update sets fields, and leaves the others.
func (l *layout) update(columns []int, values [][]byte) (bson.Raw, error) {
	if l.columns == nil {
		return nil, fmt.Errorf("%s: %w", l.driver, errNotARecord)
	}
	at, update := bsoncore.AppendDocumentStart(nil)
	inner, update := bsoncore.AppendDocumentElementStart(update, "$set")
	for i, column := range columns {
		var err error
		if update, err = l.appendColumn(update, column, values[i]); err != nil {
			return nil, err
		}
	}
	return end(end(update, inner), at), nil
}

// appendWords appends the words of a text as an array.
func appendWords(dst []byte, field string, text []byte) []byte {
	at, dst := bsoncore.AppendArrayElementStart(dst, field)
	for i, word := range words(text) {
		dst = bsoncore.AppendStringElement(dst, strconv.Itoa(i), word)
	}
	return bsoncore.UpdateLength(append(dst, 0), at, int32(len(dst)+1)-at)
}

func words(text []byte) []string {
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == ' ' || r == ',' })
}

// filter asks for the documents that fulfil a query's conditions.
func (l *layout) filter(q *store.Query, values [][]byte) (bson.D, error) {
	any := bson.A{}
	for _, all := range q.Where {
		var conditions bson.A
		for _, c := range all {
			field, comparison, err := l.condition(c, values)
			if err != nil {
				return nil, err
			}
			conditions = append(conditions, bson.D{{Key: field, Value: comparison}})
			values = values[c.Is.Values():]
		}
		if len(conditions) == 1 {
			any = append(any, conditions[0])
		} else {
			any = append(any, bson.D{{Key: "$and", Value: conditions}})
		}
	}
	switch len(any) {
	case 0:
		return bson.D{}, nil
	case 1:
		return any[0].(bson.D), nil
	}
	return bson.D{{Key: "$or", Value: any}}, nil
}

// order is a query's sort order as the server takes it.
func (l *layout) order(q *store.Query) (order bson.D, ordered bool) {
	if q.Sort < 0 {
		return nil, false
	}
	direction := 1
	if q.Descending {
		direction = -1
	}
	return bson.D{{Key: l.columns[q.Sort].Name, Value: direction}}, true
}

// condition returns a field and what is asked of it. Strings are compared by their bytes. Without
// an index of words, a word is found by an expression.
func (l *layout) condition(c store.Condition, values [][]byte) (field string, comparison any, err error) {
	column := l.columns[c.Column]
	switch c.Is {
	case store.Range:
		from, err := strconv.ParseInt(string(values[0]), 10, 64)
		if err != nil {
			return "", nil, err
		}
		below, err := strconv.ParseInt(string(values[1]), 10, 64)
		return column.Name, bson.D{{Key: "$gte", Value: from}, {Key: "$lt", Value: below}}, err
	case store.Prefix:
		past := []byte(string(values[0]))
		past[len(past)-1]++ // of ASCII: still a text
		return column.Name, bson.D{{Key: "$gte", Value: string(values[0])}, {Key: "$lt", Value: string(past)}}, nil
	case store.Has:
		if l.indexes[c.Column] == store.TokenIndex {
			return column.Name + tokensSuffix, string(values[0]), nil
		}
		return column.Name, bson.Regex{Pattern: "(^|[ ,])" + regexp.QuoteMeta(string(values[0])) + "([ ,]|$)"}, nil
	}
	switch column.Type {
	case store.TextColumn:
		return column.Name, string(values[0]), nil
	case store.IntegerColumn:
		n, err := strconv.ParseInt(string(values[0]), 10, 64)
		return column.Name, n, err
	}
	return column.Name, bson.Binary{Data: values[0]}, nil
}

// found returns the columns of a document that a query gives, put together behind dst.
func (l *layout) found(dst []byte, q *store.Query, document bson.Raw) ([]byte, error) {
	for _, column := range q.Columns {
		c := l.columns[column]
		field, err := bsoncore.Document(document).LookupErr(c.Name)
		ok := err == nil
		if ok {
			dst, ok = appendField(dst, c.Type, field)
		}
		if !ok {
			return nil, fmt.Errorf("%s: a document without column %s, or of another type", l.driver, c.Name)
		}
	}
	return dst, nil
}

// value returns the value of a document: a part of it, or, for records, put together behind dst.
func (l *layout) value(dst []byte, document bson.Raw) ([]byte, error) {
	if l.columns == nil {
		_, value, ok := document.Lookup(valueField).BinaryOK()
		if !ok {
			return nil, fmt.Errorf("%s: a document without a value", l.driver)
		}
		return value, nil
	}
	rest := []byte(document[4:]) // behind its length
	for _, c := range l.columns {
		field, ok := bsoncore.Value{}, true
		for name := ""; ok && name != c.Name; { // fields stay in their order; other ones stand between them
			var element bsoncore.Element
			if element, rest, ok = bsoncore.ReadElement(rest); ok {
				name, field = element.Key(), element.Value()
			}
		}
		if dst, ok = appendField(dst, c.Type, field); !ok {
			return nil, fmt.Errorf("%s: a document without column %s, or of another type", l.driver, c.Name)
		}
	}
	return dst, nil
}

func appendField(dst []byte, t store.ColumnType, field bsoncore.Value) (_ []byte, ok bool) {
	var column []byte
	switch t {
	case store.TextColumn:
		var text string
		text, ok = field.StringValueOK()
		column = []byte(text)
	case store.IntegerColumn:
		var n int64
		n, ok = field.Int64OK()
		column = strconv.AppendInt(nil, n, 10)
	default:
		_, column, ok = field.BinaryOK()
	}
	return store.AppendColumn(dst, column), ok
}
