package read

import (
	"reflect"
	"strconv"
	"strings"
)

// fromNode is a type with a form of its own in the file. The method has a pointer receiver.
type fromNode interface {
	fromNode(n *node, path string) *Error
}

// shortForm is a struct that a lone scalar may stand for.
type shortForm interface{ shortForm() string }

// unknownHinter is a struct that says by itself what is right in place of a field that it has not. key is one
// of the table's.
type unknownHinter interface {
	unknownHint(n *node, key string) string
}

// decode reads a node into a value. Null leaves the value as it is: a field that is empty is a
// field that is not there.
func decode(n *node, into reflect.Value, path string) *Error {
	if own, ok := into.Addr().Interface().(fromNode); ok {
		return own.fromNode(n, path)
	}
	if n.kind == null {
		return nil
	}
	switch into.Kind() {
	case reflect.Pointer:
		value := reflect.New(into.Type().Elem())
		if err := decode(n, value.Elem(), path); err != nil {
			return err
		}
		into.Set(value)
		return nil
	case reflect.Struct:
		return decodeStruct(n, into, path)
	case reflect.Slice:
		return decodeList(n, into, path)
	case reflect.Map:
		return decodeMap(n, into, path)
	case reflect.String:
		if n.kind != scalar {
			return n.expected(path, "text")
		}
		into.SetString(n.text)
	case reflect.Bool:
		if n.kind != scalar || n.quoted || n.text != "true" && n.text != "false" {
			return n.expected(path, "true or false")
		}
		into.SetBool(n.text == "true")
	case reflect.Float64:
		number, ok := parseNumber(n.text)
		if n.kind != scalar || n.quoted || !ok {
			return n.expected(path, "a number")
		}
		into.SetFloat(number)
	default:
		panic("read: no form in the file for " + into.Type().String())
	}
	return nil
}

func decodeStruct(n *node, into reflect.Value, path string) *Error {
	if short, ok := into.Interface().(shortForm); ok && n.kind == scalar {
		n = &node{kind: table, at: n.at, entries: []entry{{short.shortForm(), n.at, n}}}
	}
	if n.kind != table {
		return n.expected(path, "a table of "+strings.Join(fieldNames(into.Type()), ", "))
	}
	for _, e := range n.entries {
		field, ok := fieldOf(into.Type(), e.key)
		if !ok {
			mistake := unknownField(e.key, e.at, into.Type(), path)
			if own, ok := into.Interface().(unknownHinter); ok {
				mistake = mistake.hint("%s", own.unknownHint(n, e.key))
			}
			return mistake
		}
		if err := decode(e.value, into.FieldByIndex(field.Index), join(path, e.key)); err != nil {
			return err
		}
	}
	return nil
}

func inside(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

func decodeList(n *node, into reflect.Value, path string) *Error {
	if n.kind != list {
		return n.expected(path, "a list")
	}
	values := reflect.MakeSlice(into.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		if item.kind == null && values.Index(i).Type() != reflect.TypeFor[StoreFile]() {
			return item.expected(path, "a value")
		}
		if err := decode(item, values.Index(i), memberPath(path, values.Index(i), item, i)); err != nil {
			return err
		}
	}
	into.Set(values)
	return nil
}

// memberPath names a member of a list as --set does, so that the path of an error can be typed.
func memberPath(path string, member reflect.Value, n *node, position int) string {
	if named, ok := member.Interface().(namedMember); ok {
		if name := named.memberName(n); name != "" {
			return join(path, name)
		}
	}
	return join(path, strconv.Itoa(position))
}

func decodeMap(n *node, into reflect.Value, path string) *Error {
	if n.kind != table {
		return n.expected(path, "a table")
	}
	values := reflect.MakeMapWithSize(into.Type(), len(n.entries))
	for _, e := range n.entries {
		value := reflect.New(into.Type().Elem()).Elem()
		if e.value.kind == null && value.Kind() != reflect.Slice {
			return e.value.expected(join(path, e.key), "a value")
		}
		if err := decode(e.value, value, join(path, e.key)); err != nil {
			return err
		}
		values.SetMapIndex(reflect.ValueOf(e.key), value)
	}
	into.Set(values)
	return nil
}

// fieldOf returns the field that a name in the file stands for.
func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("yaml") == name && name != "" {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("yaml"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (c *CaseFile) fromNode(n *node, path string) *Error {
	if n.kind != table {
		return n.expected(path, "a table of name and "+strings.Join(axisPaths(), ", "))
	}
	for _, e := range n.entries {
		if e.key == "name" {
			if e.value.kind != scalar {
				return e.value.expected(join(path, "name"), "text")
			}
			c.Name = e.value.text
			continue
		}
		if e.key = canonical(reflect.TypeFor[File](), e.key); !isAxis(e.key) {
			return e.at.fail(join(path, e.key), "a case can't set %q", e.key).
				hint("expected name and %s", strings.Join(axisPaths(), ", ")).near(e.key, append(axisPaths(), "name"))
		}
		c.Changes = append(c.Changes, change{e.key, e.at, e.value})
	}
	return nil
}

func (c *Changes) fromNode(n *node, path string) *Error {
	if n.kind == null { // a scale may change nothing: the file as it stands
		return nil
	}
	if n.kind != table {
		return n.expected(path, "a table of changes, such as {records: 1000, phases.read.for: 2s}")
	}
	for _, e := range n.entries {
		if first, _, _ := strings.Cut(e.key, "."); first == "scale" || first == "scales" {
			return e.at.fail(join(path, e.key), "a scale can't change %s", first)
		}
		*c = append(*c, change{e.key, e.at, e.value})
	}
	return nil
}
