package finding

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/template"
	"text/template/parse"
)

// Every parameter that a sentence names is a field of its struct, so that none is ever shown as a
// code with parameters.
func TestCatalogue_sentences_name_fields(t *testing.T) {
	for _, code := range Codes() {
		for _, problem := range misnamed(entries[code]) {
			t.Errorf("%s: %s", code, problem)
		}
	}
}

type misspeltParams struct{ Blocks, Tabels int }

func (misspeltParams) code() Code { return "misspelt" }

func TestMisnamed(t *testing.T) {
	e := Entry{Example: misspeltParams{}, Says: `{{.blocks}} of {{if .tables}}{{.tables}}{{end}}`, Many: `{{.max_blocks}} {{.min_tables}} {{list .Arms}}`}
	want := []string{"Says has no parameter tables", "Many has no parameter min_tables"}
	if got := misnamed(e); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNew(t *testing.T) {
	m := New(CountParams{Code: MarkLost, Count: 3, Of: 100})
	if want := (Params{"count": uint64(3), "of": uint64(100)}); m.Code != MarkLost || !reflect.DeepEqual(m.Params, want) {
		t.Errorf("got %s %v", m.Code, m.Params)
	}
	drops := SeriesDrops{AtS: 1, SeriesPeriod: SeriesPeriod{PeriodS: Known(2.0)}, Count: 4}
	m = New(SeriesStallsParams{SeriesDrops: drops})
	if _, tested := m.Params["tested"]; tested || m.Params["period_s"] != 2.0 || m.Params["dips"] != 0 || m.Params["at_s"] != 1.0 {
		t.Errorf("got %v", m.Params)
	}
	if name := paramName("LateMaxNS"); name != "late_max_ns" {
		t.Errorf("got %s", name)
	}
}

// misnamed lists the parameters that sentences of an entry name and its struct lacks.
func misnamed(e Entry) (problems []string) {
	fields := paramNames(reflect.TypeOf(e.Example))
	together := []string{"Count", "Arms", "Places", "Trials"}
	for _, name := range fields {
		together = append(together, name, "min_"+name, "max_"+name, "all_"+name)
	}
	for _, part := range []struct {
		name, text string
		known      []string
	}{{"Says", e.Says, fields}, {"Remedy", e.Remedy, fields}, {"Many", e.Many, together}} {
		parsed := template.Must(template.New("").Funcs(functions).Parse(part.text))
		var used []string
		named(reflect.ValueOf(parsed.Root), &used)
		slices.Sort(used)
		for _, name := range slices.Compact(used) {
			if !slices.Contains(part.known, name) {
				problems = append(problems, fmt.Sprintf("%s has no parameter %s", part.name, name))
			}
		}
	}
	return problems
}

// named gathers the parameters that a template's tree names: .name, and $.name.
func named(v reflect.Value, used *[]string) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		switch n := v.Interface().(type) {
		case *parse.FieldNode:
			*used = append(*used, n.Ident[0])
			return
		case *parse.VariableNode:
			if n.Ident[0] == "$" && len(n.Ident) > 1 {
				*used = append(*used, n.Ident[1])
			}
			return
		}
		named(v.Elem(), used)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !strings.HasSuffix(f.Type.String(), "parse.Tree") {
				named(v.Field(i), used)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			named(v.Index(i), used)
		}
	}
}
