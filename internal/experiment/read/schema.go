package read

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"

	"assay/internal/experiment"
	"assay/internal/experiment/recording"
	"assay/store"
)

// Schema returns the JSON Schema (draft 2020-12) of the experiment file, for editors: names, types
// and enumerations of everything, the options of each driver among them. Load checks more: what
// depends on several fields at once.
func Schema(descriptions []store.Description) ([]byte, error) {
	reflector := jsonschema.Reflector{FieldNameTag: "yaml", DoNotReference: true, ExpandedStruct: true, Anonymous: true, RequiredFromJSONSchemaTags: true}
	schema := reflector.Reflect(&File{})
	schema.Title = "Assay experiment"
	schema.Required = []string{"name", "stores", "phases"}

	stores, ok := schema.Properties.Get("stores")
	if !ok || stores.Items == nil {
		return nil, fmt.Errorf("making the schema: it has no stores")
	}
	stores.Items = storeSchema(stores.Items, descriptions)

	nameTasks(schema)
	phases, ok := schema.Properties.Get("phases")
	if !ok || phases.Items == nil {
		return nil, fmt.Errorf("making the schema: it has no phases")
	}
	workSchema(phases.Items)
	if groups, ok := phases.Items.Properties.Get("groups"); ok && groups.Items != nil {
		workSchema(groups.Items)
	}
	if values, ok := schema.Properties.Get("values"); ok {
		if indexes, ok := values.Properties.Get("indexes"); ok {
			indexes.Items = orShort(&jsonschema.Schema{Type: "string"}, indexes.Items)
		}
		if queries, ok := values.Properties.Get("queries"); ok {
			querySchema(queries.AdditionalProperties)
		}
	}
	emptyIsAbsent(schema)
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("making the schema: %w", err)
	}
	return append(text, '\n'), nil
}

// workSchema adds what the work of a phase, or of a group, may be.
func workSchema(s *jsonschema.Schema) {
	s.Required = []string{"name"}
	nameTasks(s)
	if query, ok := s.Properties.Get("query"); ok {
		querySchema(query)
	}
	if order, ok := s.Properties.Get("order"); ok {
		s.Properties.Set("order", orShort(enumOf(experiment.Distributions), order))
	}
	if rate, ok := s.Properties.Get("rate"); ok {
		s.Properties.Set("rate", rateSchema(rate.Description))
	}
	weights := jsonschema.NewProperties()
	for _, name := range mixNames() {
		weights.Set(name, &jsonschema.Schema{Type: "number", Minimum: "0"})
	}
	if mix, ok := s.Properties.Get("mix"); ok {
		mix.Properties, mix.AdditionalProperties = weights, jsonschema.FalseSchema
		mix.PatternProperties = map[string]*jsonschema.Schema{`^(query|count|delete):[^: ]+$`: {Type: "number", Minimum: "0"}}
	}
}

// rateSchema is a number, a ramp over the whole phase, or segments.
func rateSchema(description string) *jsonschema.Schema {
	const number = `[0-9][0-9_.]*[kKmMgG]?`
	thousand := &jsonschema.Schema{Type: "string", Pattern: `^` + number + `(\.\.` + number + `)?$`}
	reflector := jsonschema.Reflector{FieldNameTag: "yaml", DoNotReference: true, Anonymous: true, RequiredFromJSONSchemaTags: true}
	segment := reflector.Reflect(&SegmentFile{})
	segment.Version = ""
	one := uint64(1)
	segments := &jsonschema.Schema{Type: "array", Items: segment, MinItems: &one}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "number"}, thousand, segment, segments}, Description: description}
}

// nameTasks lets threads have its other name.
func nameTasks(s *jsonschema.Schema) {
	if threads, ok := s.Properties.Get("threads"); ok {
		s.Properties.Set("tasks", threads)
	}
}

// querySchema lets conditions be words alone.
func querySchema(s *jsonschema.Schema) {
	short := func(conditions *jsonschema.Schema) {
		conditions.AdditionalProperties = orShort(enumOf(comparisons), conditions.AdditionalProperties)
	}
	if where, ok := s.Properties.Get("where"); ok {
		short(where)
	}
	if alternatives, ok := s.Properties.Get("any"); ok {
		short(alternatives.Items)
	}
}

// storeSchema adds the drivers' names and their options to the schema of a store.
func storeSchema(s *jsonschema.Schema, descriptions []store.Description) *jsonschema.Schema {
	s.Required = []string{"driver"}
	var names []any
	for _, d := range descriptions {
		if d.Name == experiment.NullDriver {
			continue // it is added by itself, and refused as a store
		}
		names = append(names, d.Name)
		if len(d.Durability) == 0 {
			continue // known by name only, since it is not built here: its options are not known
		}
		driverIs := properties("driver", &jsonschema.Schema{Const: d.Name})
		options := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
		for _, o := range d.Options {
			options.Properties.Set(o.Name, optionSchema(o))
		}
		s.AllOf = append(s.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: driverIs.Properties, Required: []string{"driver"}, Not: &jsonschema.Schema{Required: []string{"worker"}}},
			Then: properties("options", orNull(options)),
		})
	}
	known := &jsonschema.Schema{Type: "string", Enum: names}
	s.AllOf = append(s.AllOf, &jsonschema.Schema{
		If:   &jsonschema.Schema{Not: &jsonschema.Schema{Required: []string{"worker"}}},
		Then: properties("driver", known),
	})
	anyValue(s, "options")
	if server, ok := s.Properties.Get("server"); ok {
		anyValue(server, "options")
		anyValue(server, "settings")
		s.Properties.Set("server", orShort(&jsonschema.Schema{Const: "start"}, server))
	}
	return orShort(known, s)
}

// anyValue lets a table of texts have values that look like something else.
func anyValue(s *jsonschema.Schema, field string) {
	if values, ok := s.Properties.Get(field); ok {
		values.AdditionalProperties = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
	}
}

func optionSchema(o store.Option) *jsonschema.Schema {
	s := &jsonschema.Schema{Description: o.Help}
	switch o.Type {
	case store.Bool:
		s.Type = "boolean"
	case store.Int:
		s.Type = "integer"
	case store.Bytes:
		s.AnyOf = bytesSchema().AnyOf
	case store.Choice:
		for _, choice := range o.Choices {
			s.Enum = append(s.Enum, choice)
		}
	case store.Duration:
		s.Type = "string"
	default:
		s.AnyOf = []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}
	}
	if o.Default != "" {
		s.Default = o.Default
	}
	return s
}

func properties(name string, of *jsonschema.Schema) *jsonschema.Schema {
	p := jsonschema.NewProperties()
	p.Set(name, of)
	return &jsonschema.Schema{Properties: p}
}

// orShort is a table or the lone scalar that stands for it.
func orShort(short, long *jsonschema.Schema) *jsonschema.Schema {
	emptyIsAbsent(long)
	description := long.Description
	long.Description = ""
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{short, long}, Description: description}
}

// emptyIsAbsent lets every field of a table be empty, as Load does: "options:" with all its lines
// commented out.
func emptyIsAbsent(s *jsonschema.Schema) {
	if s == nil || s.Properties == nil {
		return
	}
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		field := pair.Value
		emptyIsAbsent(field)
		if field.Items != nil {
			emptyIsAbsent(field.Items)
		}
		if slices.Contains(s.Required, pair.Key) {
			continue
		}
		pair.Value = orNull(field)
	}
}

func orNull(field *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{field, {Type: "null"}}, Description: field.Description}
}

func enumOf(names []string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, name := range names {
		s.Enum = append(s.Enum, name)
	}
	return s
}

func bytesSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "integer", Minimum: "0"},
		{Type: "string", Pattern: `^[0-9][0-9_]*(\.[0-9]+)?([eE][0-9]+)? ?([kKmMgG]|[kKmMgGtT]?[iI]?[bB])?$`},
	}}
}

func durationSchema() *jsonschema.Schema {
	const unit = `(ns|us|usec|µs|μs|ms|msec|millis|milliseconds|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)`
	return &jsonschema.Schema{Type: "string", Pattern: `^(([0-9]+(\.[0-9]*)?|\.[0-9]+) *` + unit + ` *)+$`}
}

func textOr(text string, other *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Const: text}, other}}
}

// JSONSchema says what the forms look like; the reflector calls it.
func (o OneOrMany[T]) JSONSchema() *jsonschema.Schema {
	reflector := jsonschema.Reflector{DoNotReference: true, Anonymous: true}
	one := reflector.Reflect(new(T))
	one.Version = ""
	least := uint64(1)
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{one, {Type: "array", Items: one, MinItems: &least}}}
}

// A count may be bytes too ("64KiB"): Load knows by the field which it is, and refuses "64KiB
// records".
func (Count) JSONSchema() *jsonschema.Schema      { return bytesSchema() }
func (BlocksForm) JSONSchema() *jsonschema.Schema { return textOr("auto", bytesSchema()) }
func (ShareForm) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "number", ExclusiveMinimum: "0", ExclusiveMaximum: "1"}, {Type: "string", Pattern: `^[0-9.]+ ?%$`},
	}}
}
func (DurationForm) JSONSchema() *jsonschema.Schema { return durationSchema() }
func (SampleForm) JSONSchema() *jsonschema.Schema   { return textOr("auto", durationSchema()) }
func (MemoryLimitForm) JSONSchema() *jsonschema.Schema {
	return textOr("none", bytesSchema())
}
func (DiskQuotaForm) JSONSchema() *jsonschema.Schema {
	return textOr("none", bytesSchema())
}
func (HandlesForm) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		enumOf([]string{experiment.Shared, experiment.PerThread, experiment.PerOperation, experiment.Async}), {Type: "string", Pattern: `^(pool|async)\([1-9][0-9]*\)$`},
	}}
}
func (TasksForm) JSONSchema() *jsonschema.Schema {
	table := properties("processes", bytesSchema())
	table.Properties.Set("threads", bytesSchema())
	table.Type, table.AdditionalProperties = "object", jsonschema.FalseSchema
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{bytesSchema(), table}}
}
func (ClientsForm) JSONSchema() *jsonschema.Schema {
	reflector := jsonschema.Reflector{FieldNameTag: "yaml", DoNotReference: true, Anonymous: true, RequiredFromJSONSchemaTags: true}
	step := reflector.Reflect(&ThreadStepFile{})
	step.Version = ""
	one := uint64(1)
	tasks := TasksForm{}.JSONSchema()
	tasks.AnyOf = append(tasks.AnyOf, &jsonschema.Schema{Type: "array", Items: step, MinItems: &one})
	return tasks
}
func (ObjectivesForm) JSONSchema() *jsonschema.Schema {
	one, most := uint64(1), uint64(objectivesMax)
	objective := &jsonschema.Schema{Type: "string", Pattern: `^\s*(p[0-9.]+|mean|errors|misses)\s*<=?\s*[0-9.]+\s*[a-zµ%]*\s*$`}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{objective, {Type: "array", Items: objective, MinItems: &one, MaxItems: &most}}}
}
func (DurabilityForm) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		enumOf([]string{"D0", "D1", "D3", "D4"}), {Type: "string", Pattern: `^D2\([0-9a-zµ.]+\)$`},
	}}
}
func (SizesForm) JSONSchema() *jsonschema.Schema {
	one := uint64(1)
	each := properties("bytes", bytesSchema())
	each.Properties.Set("weight", &jsonschema.Schema{Type: "number"})
	each.Type, each.AdditionalProperties = "object", jsonschema.FalseSchema
	file := properties("file", &jsonschema.Schema{Type: "string"})
	file.Type, file.AdditionalProperties = "object", jsonschema.FalseSchema
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "array", Items: each, MinItems: &one}, file}}
}
func (OnMissForm) JSONSchema() *jsonschema.Schema { return enumOf([]string{fillOnMiss}) }
func (PartForm) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "number"}, {Type: "string", Pattern: `^[0-9.]+ ?%$`}}}
}
func (ThinkForm) JSONSchema() *jsonschema.Schema {
	table := properties("exponential", durationSchema())
	table.Type, table.AdditionalProperties = "object", jsonschema.FalseSchema
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{durationSchema(), table}}
}
func (TTLForm) JSONSchema() *jsonschema.Schema {
	one := uint64(1)
	each := properties("after", LifeForm{}.JSONSchema())
	each.Properties.Set("weight", &jsonschema.Schema{Type: "number"})
	each.Type, each.AdditionalProperties = "object", jsonschema.FalseSchema
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{durationSchema(), {Type: "array", Items: each, MinItems: &one}}}
}
func (LifeForm) JSONSchema() *jsonschema.Schema { return textOr("none", durationSchema()) }
func (StepForm) JSONSchema() *jsonschema.Schema {
	one, two := uint64(1), uint64(2)
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		enumOf(stepNames()),
		{Type: "object", AdditionalProperties: bytesSchema(), MinProperties: &one, MaxProperties: &two},
	}}
}
func (KeyFormatForm) JSONSchema() *jsonschema.Schema { return enumOf(keyFormats) }
func (EntryForm) JSONSchema() *jsonschema.Schema     { return enumOf(entries) }
func (LatencyForm) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		enumOf([]string{experiment.LatencyAll}), {Type: "string", Pattern: `^sampled\([0-9]+\)$`},
	}}
}
func (ClockForm) JSONSchema() *jsonschema.Schema { return enumOf(clocks) }
func (StartForm) JSONSchema() *jsonschema.Schema {
	return textOr("start", &jsonschema.Schema{Type: "boolean"})
}
func (CacheForm) JSONSchema() *jsonschema.Schema         { return enumOf(caches) }
func (DiskQuotaByForm) JSONSchema() *jsonschema.Schema   { return enumOf(diskQuotaWays) }
func (BusyMachineForm) JSONSchema() *jsonschema.Schema   { return enumOf(busyMachineWays) }
func (CrashKindForm) JSONSchema() *jsonschema.Schema     { return enumOf(crashKinds) }
func (CutFileSystemForm) JSONSchema() *jsonschema.Schema { return enumOf(experiment.CutFileSystems) }
func (CPUListForm) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "integer", Minimum: "0"}, {Type: "string", Pattern: `^[0-9]+(-[0-9]+)?(, ?[0-9]+(-[0-9]+)?)*$`},
	}}
}
func (CPUsForm) JSONSchema() *jsonschema.Schema {
	ends := jsonschema.NewProperties()
	for _, end := range fieldNames(reflect.TypeFor[CPUsFile]()) {
		ends.Set(end, CPUListForm{}.JSONSchema())
	}
	number, list := &jsonschema.Schema{Type: "integer", Minimum: "1"}, CPUListForm{}.JSONSchema().AnyOf[1]
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{number, list,
		{Type: "object", Properties: ends, AdditionalProperties: jsonschema.FalseSchema}}}
}
func (DistributionForm) JSONSchema() *jsonschema.Schema { return enumOf(experiment.Distributions) }
func (ColumnTypeForm) JSONSchema() *jsonschema.Schema   { return enumOf(columnTypes) }
func (ComparisonForm) JSONSchema() *jsonschema.Schema   { return enumOf(comparisons) }
func (IndexKindForm) JSONSchema() *jsonschema.Schema    { return enumOf(indexKinds) }
func (ArrivalsForm) JSONSchema() *jsonschema.Schema     { return enumOf(arrivals) }
func (RecordingForm) JSONSchema() *jsonschema.Schema    { return enumOf(recording.Formats) }
func (TimeUnitForm) JSONSchema() *jsonschema.Schema     { return enumOf(recording.Units) }
func (OneInForm) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^1/[0-9]+$"}
}
func (ScanDistributionForm) JSONSchema() *jsonschema.Schema { return enumOf(scanDistributions) }

func (Changes) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "object"} }

func (CaseFile) JSONSchema() *jsonschema.Schema {
	p := jsonschema.NewProperties()
	p.Set("name", &jsonschema.Schema{Type: "string"})
	reflector := jsonschema.Reflector{DoNotReference: true, Anonymous: true}
	for _, a := range fileAxes {
		s := reflector.Reflect(a.form())
		s.Version = ""
		p.Set(a.Path, s)
	}
	nameTasks(&jsonschema.Schema{Properties: p})
	return &jsonschema.Schema{Type: "object", Properties: p, Required: []string{"name"}, AdditionalProperties: jsonschema.FalseSchema}
}

// Fields are the names of the fields at the top of an experiment file.
func Fields() (names []string) {
	file := reflect.TypeFor[File]()
	for i := range file.NumField() {
		if name := file.Field(i).Tag.Get("yaml"); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// IsField reports whether a name is that of a field at the top of an experiment file.
func IsField(name string) bool { return slices.Contains(Fields(), name) }
