package export

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
	"assay/internal/presentation/model"
	"assay/internal/testkit/forms"
	"assay/internal/testkit/golden"
)

// resultForm is the form of what JSON writes.
func resultForm() forms.Form {
	text := func(required ...string) *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: required}
		s.Properties.Set("code", forms.Described("string", "what is stated: does not change between versions"))
		s.Properties.Set("text", forms.Described("string", "the sentence: may change between versions"))
		s.Properties.Set("params", forms.Described("object", "its parameters by name"))
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
	found.Properties.Set("evidence", &jsonschema.Schema{Type: "array", Items: forms.Reference("Evidence")})
	found.Properties.Set("evidence_more", &jsonschema.Schema{Type: "integer"})
	found.Properties.Set("cause", forms.Described("string", "the code of another finding that explains this one"))
	return forms.Form{
		Root: &model.Result{}, Title: fmt.Sprintf("Assay result, version %d", model.Version),
		Own: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[finding.Message](): text("code"),
			reflect.TypeFor[finding.Evidence](): evidence, reflect.TypeFor[finding.Finding](): found},
		Sources: []string{"internal/presentation/model", "internal/analysis", "internal/experiment"},
	}
}

func TestSchema_in_docs_is_this_one(t *testing.T) {
	golden.Check(t, "../../../../docs/result.schema.json", string(resultForm().Schema(t)))
}

// fill sets every field of a value that can be set, so that nothing is left out as empty.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if depth < 12 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.String:
		v.SetString("warning")
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint64:
		v.SetUint(3)
	case reflect.Bool:
		v.SetBool(true)
	}
}

func TestSchema_takes_empty_and_full_results_and_refuses_others(t *testing.T) {
	schema := forms.Compile(t, resultForm().Schema(t))
	full := &model.Result{}
	fill(reflect.ValueOf(full).Elem(), 0)
	full.Findings = append(full.Findings, finding.Make(finding.Where{Arm: "bbolt"}, finding.New(finding.PlainParams{Text: "x"}),
		finding.Evidence{Trial: "t1", Message: finding.New(finding.PlainParams{Text: "y"})}))
	for i, r := range []*model.Result{{}, full} {
		var out bytes.Buffer
		if err := JSON(&out, r); err != nil {
			t.Fatal(err)
		}
		value, err := validator.UnmarshalJSON(&out)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("result %d: %v", i, err)
		}
		value.(map[string]any)["title"] = json.Number("3")
		if schema.Validate(value) == nil {
			t.Errorf("result %d: the schema takes a number as title", i)
		}
	}
}

func TestCSV_has_a_line_for_each_row_and_no_formula(t *testing.T) {
	rate := 1500.0
	r := &model.Result{Tables: []model.Table{{Class: "D1", Phase: "put", Rows: []model.Row{
		{Arm: "=evil()", Ranking: model.Ranking{Rate: &model.Estimate{Value: rate}}, Kinds: []model.Kind{{Operation: "read"}, {Operation: "update"}}},
		{Arm: "b", Reasons: []finding.Message{finding.New(finding.PlainParams{Text: "\x1b[2J@x"})}},
	}}}}
	var out bytes.Buffer
	if err := CSV(&out, r); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 || strings.Contains(out.String(), "\x1b") || !strings.Contains(lines[1], ",'=evil(),") {
		t.Errorf("got %q", lines)
	}
	for _, line := range lines {
		if got, want := strings.Count(line, ","), len(csvHeader())-1; got != want {
			t.Errorf("%d commas, want %d: %s", got, want, line)
		}
	}
}
