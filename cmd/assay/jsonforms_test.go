package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"assay/internal/base/finding"
	"assay/internal/experiment"
	"assay/internal/testkit/golden"
)

// allForms are the JSON forms of commands, each by the name of its definition in
// docs/commands.schema.json.
type allForms struct {
	List     listed     `json:"list"`
	Plan     planned    `json:"plan"`
	Doctor   diagnosed  `json:"doctor"`
	Analysis []analyzed `json:"analysis"`
	Profile  profiled   `json:"profile"`
	Tune     tuned      `json:"tune"`
}

func formsSchema(t *testing.T) []byte {
	t.Helper()
	elsewhere := map[reflect.Type]string{
		reflect.TypeFor[experiment.Experiment](): "experiment.json of docs/run-directory.md",
		reflect.TypeFor[finding.Finding]():       "a finding, as in docs/result.schema.json",
		reflect.TypeFor[finding.Message]():       "a message, as in docs/result.schema.json",
	}
	reflector := jsonschema.Reflector{Anonymous: true, ExpandedStruct: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if where := elsewhere[t]; where != "" {
				return &jsonschema.Schema{Type: "object", Description: where}
			}
			return nil
		}}
	schema := reflector.Reflect(&allForms{})
	schema.Title = "What commands of Assay print as JSON: each property is the form of one command"
	schema.Required = nil
	for _, definition := range schema.Definitions {
		orNull(definition)
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// orNull lets fields that are absent in Go be null: lists and maps without members, and numbers
// that were not measured.
func orNull(s *jsonschema.Schema) {
	if s.Properties == nil {
		return
	}
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		if f := pair.Value; f.Type == "array" || f.Type == "number" || f.Type == "object" {
			pair.Value = &jsonschema.Schema{OneOf: []*jsonschema.Schema{f, {Type: "null"}}}
		}
	}
}

func TestJSONForms(t *testing.T) {
	t.Parallel()
	text := formsSchema(t)
	golden.Check(t, "../../../docs/commands.schema.json", string(text))
	document, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("commands.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("commands.json")
	if err != nil {
		t.Fatal(err)
	}
	rates := "time_s,rate\n"
	for second := range 60 {
		rates += fmt.Sprintf("%d,1000\n", second+1)
	}
	for name, e := range map[string]ended{
		"list":     assay(t, "list", "--json"),
		"plan":     assay(t, "run", "memory", "bbolt", "--rate", "100", "--dry-run", "--json"),
		"doctor":   assay(t, "doctor", "--json"),
		"analysis": assayIn(t, t.TempDir(), rates, "analyze", "-", "--json"),
		"profile":  assay(t, "profile", recordingOf(t, 3000), "--json"),
	} {
		e.wants(t, 0)
		wrapped := `{"` + name + `":` + e.stdout + `}`
		told, err := validator.UnmarshalJSON(strings.NewReader(wrapped))
		if err != nil {
			t.Errorf("%s is not JSON: %v\n%s", name, err, e.stdout)
			continue
		}
		if err := schema.Validate(told); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// A field that the schema does not know is refused.
		if more, _ := validator.UnmarshalJSON(strings.NewReader(strings.Replace(wrapped, "{\n", "{\n\"other\": 1,\n", 1))); name != "analysis" && schema.Validate(more) == nil {
			t.Errorf("%s: the schema takes any field", name)
		}
	}
	assay(t, "run", "memory", "--dry-run", "--format", "csv").wants(t, exitUsage, "--dry-run prints text or JSON")
}
