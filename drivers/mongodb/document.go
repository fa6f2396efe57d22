package mongodb

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
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
		if l.indexes[i] == store.TokenIndex {
			dst = appendWords(dst, l.columns[i].Name+tokensSuffix, column)
		}
		value = rest
	}
	if len(value) > 0 {
		return dst, fmt.Errorf("%s: %w", l.driver, errNotARecord)
	}
	return dst, nil
}

func (l *layout) appendColumn(dst []byte, i int, column []byte) ([]byte, error) {
	c := l.columns[i]
	switch c.Type {
	case store.TextColumn:
		return bsoncore.AppendStringElement(dst, c.Name, string(column)), nil
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

// byColumn asks for documents with just these bytes in a column. An index of words finds them by
// the words, of which a text without any has none.
func (l *layout) byColumn(column int, value []byte) (bson.Raw, error) {
	at, filter := bsoncore.AppendDocumentStart(nil)
	filter, err := l.appendColumn(filter, column, value)
	if err != nil {
		return nil, err
	}
	if l.indexes[column] == store.TokenIndex && len(words(value)) > 0 {
		name := l.columns[column].Name + tokensSuffix
		inner, all := bsoncore.AppendDocumentElementStart(filter, name)
		all = appendWords(all, "$all", value)
		filter = end(all, inner)
	}
	return end(filter, at), nil
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
