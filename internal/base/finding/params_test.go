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

// Every parameter is in a sentence of some code that has it: any other would be unused data.
func TestCatalogue_sentences_say_every_field(t *testing.T) {
	said := map[string]bool{}
	for _, e := range entries {
		of := reflect.TypeOf(e.Example).Name()
		for _, text := range []string{e.Says, e.Remedy, e.Unit, e.Many} {
			for _, name := range namesIn(text) {
				said[of+"."+name] = true
				for _, together := range []string{"min_", "max_", "all_"} {
					said[of+"."+strings.TrimPrefix(name, together)] = true
				}
			}
		}
	}
	for _, code := range Codes() {
		of := reflect.TypeOf(entries[code].Example)
		for _, name := range paramNames(of) {
			if field := of.Name() + "." + name; !said[field] {
				t.Errorf("%s: no sentence says %s", code, field)
			}
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
	m = New(RateDropsParams{AtS: Known(1.0), RatePeriod: RatePeriod{PeriodS: Known(2.0)}, Count: 4})
	_, tested := m.Params["tested"]
	_, ofArm := m.Params["arm"]
	if tested || ofArm || m.Params["period_s"] != 2.0 || m.Params["stalls"] != 0 || m.Params["at_s"] != 1.0 {
		t.Errorf("got %v", m.Params)
	}
	m = New(RateDropsParams{Of: &OfBlocks{At: example, Blocks: 3}})
	if m.Params["arm"] != "bbolt" || m.Params["blocks"] != 3 {
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
	}{{"Says", e.Says, fields}, {"Remedy", e.Remedy, fields}, {"Unit", e.Unit, fields}, {"Short", e.Short, fields}, {"Many", e.Many, together}} {
		for _, name := range namesIn(part.text) {
			if !slices.Contains(part.known, name) {
				problems = append(problems, fmt.Sprintf("%s has no parameter %s", part.name, name))
			}
		}
	}
	return problems
}

// namesIn lists the parameters that a sentence names.
func namesIn(text string) (used []string) {
	parsed := template.Must(template.New("").Funcs(functions()).Parse(text))
	named(reflect.ValueOf(parsed.Root), &used)
	slices.Sort(used)
	return slices.Compact(used)
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
