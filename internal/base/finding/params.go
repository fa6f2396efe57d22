package finding

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Parameters are what a message is made of: a struct for each code (or family of codes), with its
// entry in the catalogue. A field AtS is the parameter at_s of the JSON form and of templates. A nil
// pointer is left out, and so is the zero value of a field with the tag param:"omitempty"; fields of
// an embedded struct, and of a pointer with the tag param:"inline", are the message's own.
type Parameters interface{ code() Code }

// Bare is a code without parameters.
type Bare Code

func (b Bare) code() Code { return Code(b) }

// New makes a message of its parameters.
func New(p Parameters) Message {
	m := Message{Code: p.code(), Params: Params{}}
	if v := reflect.ValueOf(p); v.Kind() == reflect.Struct {
		m.Params.add(v)
	}
	return m
}

func (p Params) add(v reflect.Value) {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		tag := field.Tag.Get("param")
		switch {
		case tag == "-", tag == "omitempty" && value.IsZero(), value.Kind() == reflect.Pointer && value.IsNil():
		case field.Anonymous:
			p.add(value)
		case tag == "inline":
			p.add(value.Elem())
		case value.Kind() == reflect.Pointer:
			p[paramName(field.Name)] = value.Elem().Interface()
		default:
			p[paramName(field.Name)] = value.Interface()
		}
	}
}

// paramName is the name in JSON of a field: "late_max_ns" of LateMaxNS.
func paramName(field string) string {
	var name strings.Builder
	letters := []rune(field)
	for i, r := range letters {
		begins := i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) &&
			unicode.IsLower(letters[i+1]))
		if begins {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToLower(r))
	}
	return name.String()
}

// paramNames lists the parameters that a struct may have.
func paramNames(t reflect.Type) (names []string) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		switch field := t.Field(i); {
		case field.Tag.Get("param") == "-":
		case field.Anonymous:
			names = append(names, paramNames(field.Type)...)
		case field.Tag.Get("param") == "inline":
			names = append(names, paramNames(field.Type.Elem())...)
		default:
			names = append(names, paramName(field.Name))
		}
	}
	slices.Sort(names)
	return names
}

// Number returns a number of a message that was read from JSON; 0: it has none.
func (m Message) Number(name string) float64 {
	v, _ := number(m.Params[name])
	return v
}

// Text returns a text of a message that was read from JSON; "": it has none.
func (m Message) Text(name string) string {
	text, _ := m.Params[name].(string)
	return text
}
