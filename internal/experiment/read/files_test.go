package read_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay/internal/experiment/read"
	"assay/presets"
	"assay/store"
)

// fileFields returns the names of all fields of the file form.
func fileFields(t reflect.Type, into map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("yaml"); name != "" {
			into[name] = true
			fileFields(f.Type, into)
		}
	}
}

func allFields() map[string]bool {
	fields := map[string]bool{}
	fileFields(reflect.TypeFor[read.File](), fields)
	return fields
}

func TestTemplateLoadsAndNamesEveryField(t *testing.T) {
	e := mustLoad(t, string(read.Template()))
	if len(e.Phases) != 3 || len(e.Cells) != 2 {
		t.Errorf("%d phases, %d cells", len(e.Phases), len(e.Cells))
	}
	for cell := range e.Cells { // what a first run shows should be a comparison
		for s := range e.Stores {
			if refusal := e.Refusal(s, cell); refusal != nil || len(e.Stores) < 2 {
				t.Errorf("%s: %d stores, refused: %v", e.Cells[cell].Label(e), len(e.Stores), refusal)
			}
		}
	}
	for field := range allFields() {
		if !regexp.MustCompile(`[ {#-] *` + field + `:|^` + field + `:|\n` + field + `:`).Match(read.Template()) {
			t.Errorf("the template does not name %q", field)
		}
	}
}

// Each line of the template must load once its # is taken away.
func TestTemplateLoadsUncommented(t *testing.T) {
	text := regexp.MustCompile(`(?m)^( *)# ( *[a-z_]+:|  - |- )`).ReplaceAllString(string(read.Template()), "$1$2")
	text = regexp.MustCompile(`(?m)^records: .*\n`).ReplaceAllString(text, "")                          // every case sets it
	text = regexp.MustCompile(`(?m)^    (scan|query): .*\n`).ReplaceAllString(text, "")                 // the phase does no scans and queries
	text = regexp.MustCompile(`(?m)^  (sizes|digits|indexes|queries): .*\n`).ReplaceAllString(text, "") // in place of bytes; of decimal keys; not of these stores
	text = regexp.MustCompile(`(?m)^  columns:.*\n(    - .*\n)+`).ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\n  bytes: 100\n", "\n") // every case sets it
	text = strings.ReplaceAll(text, "full: {records: 1000000, ", "full: {")
	text = strings.ReplaceAll(text, "options: {} ", "options: {}\n    #")
	if strings.Count(text, "\n#") > 8 || !strings.Contains(text, "\nscale: full") {
		t.Fatalf("too little was uncommented:\n%s", text)
	}
	e := mustLoad(t, text)
	if e.Scale != "full" || len(e.Stores) != 5 {
		t.Errorf("scale %q, %d stores", e.Scale, len(e.Stores))
	}
}

var examples = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// Each example of the page that has stores is a whole file; the others are fields that a small file
// gets.
func TestExamplesOfThePageLoad(t *testing.T) {
	page, err := os.ReadFile("../../../docs/experiment-file.md")
	if err != nil {
		t.Fatal(err)
	}
	found := examples.FindAllSubmatch(page, -1)
	if len(found) < 13 {
		t.Fatalf("%d examples", len(found))
	}
	for _, example := range found {
		text := string(example[1])
		for _, piece := range []struct{ field, text string }{
			{"name", "name: x\n"}, {"stores", "stores: [bbolt, pebble]\n"},
			{"phases", "phases: [{name: load, load: true}, {name: read, mix: {read: 100}, for: 10s}]\n"},
		} {
			if !regexp.MustCompile(`(?m)^` + piece.field + `:`).MatchString(text) {
				text += piece.text
			}
		}
		if _, err := read.Load([]byte(text), "example.yaml", nil, fakeDrivers()); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
	for field := range allFields() {
		if !bytes.Contains(page, []byte("`"+field+"`")) {
			t.Errorf("the page does not tell about `%s`", field)
		}
	}
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	descriptions := fakeDescriptions()
	known := func(name string) bool {
		return slices.ContainsFunc(descriptions, func(d store.Description) bool { return d.Name == name })
	}
	for _, name := range driversOfPresets(t) {
		if !known(name) {
			descriptions = append(descriptions, store.Description{Name: name}) // not built here
		}
	}
	text, err := read.Schema(descriptions)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("experiment.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("experiment.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// driversOfPresets are the names in the presets' lists of stores, of scales too.
func driversOfPresets(t *testing.T) (names []string) {
	t.Helper()
	var walk func(part any)
	walk = func(part any) {
		fields, _ := part.(map[string]any)
		for _, field := range fields {
			walk(field)
		}
		list, _ := fields["stores"].([]any)
		for _, one := range list {
			switch one := one.(type) {
			case string:
				names = append(names, one)
			case map[string]any:
				names = append(names, one["driver"].(string))
			}
		}
	}
	for _, preset := range presets.Names() {
		text, err := presets.Source(preset)
		if err != nil {
			t.Fatal(err)
		}
		walk(asJSON(t, text))
	}
	return names
}

func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestSchemaAcceptsWhatLoads(t *testing.T) {
	schema := compiledSchema(t)
	texts := map[string][]byte{"template": read.Template(), "small": []byte(small)}
	for _, name := range presets.Names() {
		text, err := presets.Source(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	texts["forms"] = []byte(`
name: x
stores:
  - {driver: pebble, options: {cache_bytes: 64MiB, wal: true, compression: zstd}}
  - {driver: mine, worker: [./my-worker], options: {anything: 5}}
  - driver: bbolt
    options:
  - {driver: memcached, server: start}
  - {driver: memcached, name: m2, server: {start: true, options: {threads: 2, memory_bytes: 64MiB}, settings: {x: 1}}}
  - {driver: memcached, name: m3, server: {start: start}}
threads: [1, 8]
handles: [shared, pool(8)]
durability: [D1, D2(100ms)]
memory_limit: [none, 512MiB]
values: {sizes: [{bytes: 1KiB, weight: 1}]}
sample: 100ms
cpus: {client: 0, server: "1-2,5"}
phases: [{name: load, load: true}, {name: r, mix: {read: 0.5}, order: {distribution: latest, theta: 0.9}, for: 1m30s},
  {name: d, mix: {"delete:a": 1, "query:a": 1, "count:a": 2, increment: 1, modify: 1}, tasks: {processes: 2, threads: 3}}]
`)
	for name, text := range texts {
		if err := schema.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefusesMistakes(t *testing.T) {
	schema := compiledSchema(t)
	for _, name := range []string{
		"unknown-field", "unknown-field-of-store", "unknown-field-of-phase", "unknown-field-of-keys", "unknown-field-of-values",
		"unknown-field-of-order", "unknown-field-of-scan", "unknown-field-of-size", "unknown-field-of-case",
		"type-number", "type-fraction", "type-list", "type-table", "type-bool", "type-duration", "type-empty-list", "type-null-in-list",
		"type-weight", "no-name", "no-stores", "no-phases", "no-driver", "unknown-driver", "null-driver", "null-driver-short", "null-driver-quoted",
		"unknown-option", "unknown-option-of-none", "option-bytes", "option-choice", "option-bool", "clock", "durability-unknown",
		"durability-no-window", "handles-unknown", "handles-pool", "key-format", "unknown-operation", "batch-in-mix", "negative-weight",
		"unknown-distribution", "case-no-name", "phase-no-name",
		"seed-negative", "bytes-fraction",
	} {
		text, err := os.ReadFile(filepath.Join("testdata/errors", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(asJSON(t, text)) == nil {
			t.Errorf("the schema accepts %s:\n%s", name, text)
		}
	}
}

func TestSchemaIsStableAndDescribesEveryField(t *testing.T) {
	first, err := read.Schema(fakeDescriptions())
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := read.Schema(fakeDescriptions())
		if err != nil || !bytes.Equal(first, again) {
			t.Fatalf("the schema differs from run to run (%v)", err)
		}
	}
	var parsed struct {
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal(first, &parsed); err != nil {
		t.Fatal(err)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[read.File]()) {
		if parsed.Properties[f.Tag.Get("yaml")].Description == "" {
			t.Errorf("no description of %s", f.Tag.Get("yaml"))
		}
	}
}
