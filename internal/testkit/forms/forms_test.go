package forms

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

// Sample is what the tests describe.
type Sample struct {
	// ElapsedNS is how long it took; nil: not known. See [Sample.Parts].
	ElapsedNS *int64 `json:"elapsed_ns"`
	// Parts and Named are what it
	// consists of.
	Parts []Part           `json:"parts,omitempty"`
	Named map[string]*Part `json:"named"`
}

// Part is a piece.
type Part struct {
	Name string `json:"name"` // of the part
}

func sampleForm() Form {
	return Form{Root: &Sample{}, Title: "a sample", Sources: []string{"internal/testkit/forms"}}
}

func TestSchema(t *testing.T) {
	schema := sampleForm().Schema(t)
	for _, want := range []string{`"title": "a sample"`, `"Sample is what the tests describe."`,
		`"elapsed_ns is how long it took; null: not known. See parts."`, `"parts and named are what it consists of."`,
		`"of the part"`} {
		if !strings.Contains(string(schema), want) {
			t.Errorf("no %s in %s", want, schema)
		}
	}
	compiled := Compile(t, schema)
	for text, right := range map[string]bool{
		`{"elapsed_ns": 5, "named": {"a": {"name": "x"}, "b": null}}`: true,
		`{"elapsed_ns": null, "named": null}`:                         true,
		`{"elapsed_ns": 5, "named": {}, "parts": [{"name": "x"}]}`:    true,
		`{"elapsed_ns": 5}`:                               false,
		`{"elapsed_ns": 5, "named": {}, "parts": null}`:   false,
		`{"elapsed_ns": 5, "named": {}, "parts": [null]}`: false,
		`{"elapsed_ns": 5, "named": {}, "other": 1}`:      false,
		`{"elapsed_ns": "5", "named": {}}`:                false,
	} {
		value, err := validator.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); (err == nil) != right {
			t.Errorf("%s: %v", text, err)
		}
	}
	undescribed := sampleForm().Undescribed(t, func(reflect.Type) bool { return true })
	if !slices.Equal(undescribed, []string{"Sample.Named"}) {
		t.Errorf("undescribed: %v", undescribed)
	}
}
