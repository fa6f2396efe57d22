package export

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay/internal/base/finding"
	"assay/internal/presentation/model"
	"assay/internal/testkit/golden"
)

func TestSchema_in_docs_is_this_one(t *testing.T) {
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../../../docs/result.schema.json", string(schema))
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
	written, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(written))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("result.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("result.json")
	if err != nil {
		t.Fatal(err)
	}
	full := &model.Result{}
	fill(reflect.ValueOf(full).Elem(), 0)
	full.Findings = append(full.Findings, finding.Make(finding.Where{Arm: "bbolt"}, finding.New(finding.PlainParams{Text: "x"}),
		finding.Evidence{Trial: "t1", Message: finding.New(finding.PlainParams{Text: "y"})}))
	for i, r := range []*model.Result{{}, full} {
		var out bytes.Buffer
		if err := JSON(&out, r); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(&out)
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
