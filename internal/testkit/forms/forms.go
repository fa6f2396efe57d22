// Package forms makes the JSON Schemas of docs/ from the Go types whose JSON they describe. What the
// comments of these types say, the schemas say as descriptions.
package forms

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

// Form is what a schema is made of.
type Form struct {
	Root  any // a pointer to a value of the type
	Title string
	// Parts: the root is no form itself, each of its fields is. None of them is required.
	Parts bool
	// Own are the forms of types that write their own JSON, or that are described elsewhere.
	Own map[reflect.Type]*jsonschema.Schema
	// Names are of types whose own name another type has.
	Names map[reflect.Type]string
	// Sources are directories of packages, from the module's root on, whose comments become descriptions.
	Sources []string
}

// Schema returns the JSON Schema (draft 2020-12).
func (f Form) Schema(t testing.TB) []byte {
	t.Helper()
	types := f.types(t)
	reflector := jsonschema.Reflector{Anonymous: true, ExpandedStruct: f.Parts, Namer: f.name,
		Mapper: func(of reflect.Type) *jsonschema.Schema {
			if f.Own[of] == nil {
				return nil
			}
			return Reference(f.name(of))
		}}
	f.comments(t, &reflector, types)
	schema := reflector.Reflect(f.Root)
	schema.Title = f.Title
	if f.Parts {
		schema.Required = nil
		types[""] = reflect.TypeOf(f.Root).Elem()
	}
	for name, of := range types {
		definition := schema.Definitions[name]
		if name == "" {
			definition = schema
		}
		if definition != nil && f.Own[of] == nil {
			orNull(definition, of)
		}
	}
	for of, own := range f.Own {
		schema.Definitions[f.name(of)] = own
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// Reference refers to a definition.
func Reference(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }

// Described is a form that has its own words: of a type that is described elsewhere, or that is of one kind.
func Described(kind, text string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: kind, Description: text}
}

// Undescribed returns the fields, as Type.field, that no comment describes, of the types that want it.
func (f Form) Undescribed(t testing.TB, wants func(reflect.Type) bool) (fields []string) {
	t.Helper()
	types := f.types(t)
	var reflector jsonschema.Reflector
	f.comments(t, &reflector, types)
	for name, of := range types {
		if f.Own[of] != nil || !wants(of) {
			continue
		}
		for _, field := range reflect.VisibleFields(of) {
			if tag, _ := jsonName(field); tag == "" || field.Tag.Get("jsonschema_description") != "" {
				continue
			}
			in := of
			if len(field.Index) > 1 {
				in = of.FieldByIndex(field.Index[:len(field.Index)-1]).Type
			}
			if reflector.LookupComment(in, field.Name) == "" {
				fields = append(fields, name+"."+field.Name)
			}
		}
	}
	slices.Sort(fields)
	return fields
}

// Compile returns what checks JSON against a schema.
func Compile(t testing.TB, schema []byte) *validator.Schema {
	t.Helper()
	document, err := validator.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("form.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("form.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// Valid returns an error where a text is no JSON of the schema's form.
func Valid(schema *validator.Schema, text []byte) error {
	value, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (f Form) name(of reflect.Type) string {
	if name := f.Names[of]; name != "" {
		return name
	}
	return of.Name()
}

// types are the structs that the root leads to, by the names of their definitions. Two of one name would be
// one definition, and a type that writes its own JSON has another form than its fields tell.
func (f Form) types(t testing.TB) map[string]reflect.Type {
	t.Helper()
	found, marshals := map[string]reflect.Type{}, reflect.TypeFor[json.Marshaler]()
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		own := f.Own[of] != nil
		switch {
		case of == reflect.TypeFor[time.Time]():
			return
		case own:
		case of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map ||
			of.Kind() == reflect.Array:
			walk(of.Elem())
			return
		case of.Kind() != reflect.Struct:
			return
		case reflect.PointerTo(of).Implements(marshals):
			t.Fatalf("%v writes its own JSON: its form is needed", of)
		}
		if other := found[f.name(of)]; other == of {
			return
		} else if other != nil {
			t.Fatalf("%v and %v have one name", of, other)
		}
		if found[f.name(of)] = of; own {
			return
		}
		for _, field := range reflect.VisibleFields(of) {
			if name, _ := jsonName(field); name != "" {
				walk(field.Type)
			}
		}
	}
	walk(reflect.TypeOf(f.Root))
	return found
}

// jsonName is a field's name in JSON, and whether it is left out where it is empty. "": it has none.
func jsonName(field reflect.StructField) (name string, omitted bool) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case !field.IsExported() || name == "-" || field.Anonymous && name == "":
		return "", false
	case name == "":
		name = field.Name
	}
	return name, strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
}

// orNull lets fields be null that Go writes so: pointers, lists and maps that are not there.
func orNull(s *jsonschema.Schema, of reflect.Type) {
	for _, field := range reflect.VisibleFields(of) {
		name, omitted := jsonName(field)
		if property, has := s.Properties.Get(name); has {
			s.Properties.Set(name, ofType(property, field.Type, !omitted))
		}
	}
}

func ofType(s *jsonschema.Schema, of reflect.Type, mayBeNull bool) *jsonschema.Schema {
	kind := of.Kind()
	if kind == reflect.Slice && s.Items != nil {
		s.Items = ofType(s.Items, of.Elem(), true)
	}
	if kind == reflect.Map && s.AdditionalProperties != nil {
		s.AdditionalProperties = ofType(s.AdditionalProperties, of.Elem(), true)
	}
	if !mayBeNull || kind != reflect.Pointer && kind != reflect.Slice && kind != reflect.Map {
		return s
	}
	inner := *s
	inner.Description = ""
	return &jsonschema.Schema{Description: s.Description, OneOf: []*jsonschema.Schema{&inner, {Type: "null"}}}
}

// comments reads what the sources say of types and fields.
func (f Form) comments(t testing.TB, reflector *jsonschema.Reflector, types map[string]reflect.Type) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := here
	for ; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		} else if root == filepath.Dir(root) {
			t.Fatal("no go.mod above ", here)
		}
	}
	below, err := filepath.Rel(root, here)
	if err != nil {
		t.Fatal(err)
	}
	module := strings.TrimSuffix(reflect.TypeFor[Form]().PkgPath(), "/internal/testkit/forms")
	for _, source := range f.Sources {
		from, err := filepath.Rel(here, filepath.Join(root, source))
		if err == nil {
			here := path.Join(module, filepath.ToSlash(below))
			err = reflector.AddGoComments(here, from, jsonschema.WithFullComment())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	comments := reflector.CommentMap
	reflector.CommentMap = nil
	reflector.LookupComment = func(of reflect.Type, field string) string {
		key := of.PkgPath() + "." + of.Name()
		if field == "" {
			return inJSON(comments[key], types)
		}
		return inJSON(withoutGoNames(comments[key+"."+field], of), types)
	}
}

var (
	link  = regexp.MustCompile(`\[([A-Z]\w*)\.([A-Z]\w*)\]`)
	other = regexp.MustCompile(`\[(\w+(?:\.\w+)*)\]`)
	none  = regexp.MustCompile(`\b(N|n)il\b`)
	// joined is a name of several words, the last of which may be a unit.
	joined = regexp.MustCompile(`^[A-Z]+[a-z]+[A-Z]`)
)

// withoutGoNames is the comment of a field with the names that JSON has: those that it begins with, and those
// that no other word looks like.
func withoutGoNames(comment string, of reflect.Type) string {
	for _, field := range reflect.VisibleFields(of) {
		name, _ := jsonName(field)
		if name == "" || !strings.Contains(comment, field.Name) {
			continue
		}
		first := regexp.MustCompile(`^((?:\S+ and )?)` + field.Name +
			` (is|are|and|has|have|says|reports|bound)\b`)
		comment = first.ReplaceAllString(comment, "${1}"+name+" ${2}")
		if joined.MatchString(field.Name) {
			comment = regexp.MustCompile(`\b`+field.Name+`\b`).ReplaceAllString(comment, name)
		}
	}
	return comment
}

// inJSON is a comment in the words of who reads the JSON: links are fields' names there, and nil is null.
func inJSON(comment string, types map[string]reflect.Type) string {
	comment = link.ReplaceAllStringFunc(comment, func(found string) string {
		parts := link.FindStringSubmatch(found)
		if of := types[parts[1]]; of != nil {
			if field, has := of.FieldByName(parts[2]); has {
				name, _ := jsonName(field)
				return name
			}
		}
		return found
	})
	comment = none.ReplaceAllStringFunc(other.ReplaceAllString(comment, "$1"), func(found string) string {
		return map[string]string{"Nil": "Null", "nil": "null"}[found]
	})
	var paragraphs []string
	for _, paragraph := range strings.Split(comment, "\n\n") {
		paragraphs = append(paragraphs, strings.Join(strings.Fields(paragraph), " "))
	}
	return strings.Join(paragraphs, "\n")
}
