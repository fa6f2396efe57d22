package export

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"

	"assay/internal/base/finding"
	"assay/internal/presentation/model"
)

// Schema returns the JSON Schema (draft 2020-12) of what [JSON] writes.
func Schema() ([]byte, error) {
	text := func(required ...string) *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: required}
		s.Properties.Set("code", &jsonschema.Schema{Type: "string",
			Description: "what is stated: does not change between versions"})
		s.Properties.Set("text", &jsonschema.Schema{Type: "string",
			Description: "the sentence: may change between versions"})
		s.Properties.Set("params", &jsonschema.Schema{Type: "object", Description: "its parameters by name"})
		return s
	}
	// Messages write their own JSON, so that their form is given here.
	evidence := text("code", "text")
	evidence.Properties.Set("trial", &jsonschema.Schema{Type: "string"})
	found := text("code", "severity", "text", "where")
	found.Properties.Set("severity", &jsonschema.Schema{Type: "string", Enum: []any{"grave", "warning", "notice"}})
	found.Properties.Set("remedy", &jsonschema.Schema{Type: "string"})
	found.Properties.Set("where", (&jsonschema.Reflector{Anonymous: true,
		ExpandedStruct: true}).Reflect(finding.Where{}))
	found.Properties.Set("evidence", &jsonschema.Schema{Type: "array", Items: reference("Evidence")})
	found.Properties.Set("evidence_more", &jsonschema.Schema{Type: "integer"})
	found.Properties.Set("cause", &jsonschema.Schema{Type: "string",
		Description: "the code of another finding that explains this one"})
	own := map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[finding.Message](): text("code"),
		reflect.TypeFor[finding.Evidence](): evidence, reflect.TypeFor[finding.Finding](): found}
	reflector := jsonschema.Reflector{Anonymous: true, Mapper: func(t reflect.Type) *jsonschema.Schema {
		if own[t] != nil {
			return reference(t.Name())
		}
		return nil
	}}
	schema := reflector.Reflect(&model.Result{})
	schema.Title = fmt.Sprintf("Assay result, version %d", model.Version)
	for t, form := range own {
		schema.Definitions[t.Name()] = form
	}
	for _, definition := range schema.Definitions {
		orNull(definition)
	}
	out, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("making the schema of results: %w", err)
	}
	return append(out, '\n'), nil
}

func reference(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }

// orNull lets what a type holds be null, which stands for "not measured" and for an empty list.
func orNull(s *jsonschema.Schema) {
	may := func(of *jsonschema.Schema) *jsonschema.Schema {
		if of.Type == "string" || of.Type == "integer" || of == jsonschema.TrueSchema {
			return of
		}
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{of, {Type: "null"}}}
	}
	if s.Properties != nil {
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			inner := pair.Value
			for _, of := range []**jsonschema.Schema{&inner.Items, &inner.AdditionalProperties} {
				if *of != nil {
					orNull(*of)
					*of = may(*of)
				}
			}
			pair.Value = may(inner)
		}
	}
	if s.Items != nil {
		s.Items = may(s.Items)
	}
}
