package record_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"

	"assay/internal/base/finding"
	"assay/internal/base/histogram"
	"assay/internal/evidence/finds"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/testkit/forms"
	"assay/internal/testkit/golden"
	"assay/internal/testkit/recordtest"
	"assay/store"
)

const docs = "../../../../docs/" // from testdata, as package golden counts

// files are those of a run directory that hold JSON; of those with lines, one line.
type files struct {
	Header      record.Header         `json:"run.json"`
	Experiment  experiment.Experiment `json:"experiment.json"`
	Plan        []plan.Trial          `json:"plan.json"`
	Environment record.Environment    `json:"environment.json"`
	Event       record.Event          `json:"events.jsonl"`
	Trial       record.Trial          `json:"trial.json"`
	Sample      record.Sample         `json:"series.jsonl"`
}

func runForm() forms.Form {
	sentence := func(text string, more ...string) *jsonschema.Schema {
		s := forms.Described("object", text)
		s.Properties, s.Required = jsonschema.NewProperties(), []string{"code"}
		s.Properties.Set("code", forms.Described("string", "what is stated: docs/run-directory/marks.csv"))
		for i := 0; i < len(more); i += 2 {
			s.Properties.Set(more[i], forms.Described("string", more[i+1]))
		}
		s.Properties.Set("params", forms.Described("object", "the evidence by name; units stand in the names (_ns, _s); "+
			"the parameter kind says how it was seen"))
		s.Properties.Set("text", forms.Described("string", "a sentence made of both, for people"))
		return s
	}
	counts := forms.Described("array", "A histogram: bucket, count, bucket, count … of the buckets of section 3.4 of "+
		"docs/worker-contract.md.")
	counts.Items = &jsonschema.Schema{Type: "integer"}
	figures := forms.Described("object", "Figures by name.")
	figures.AdditionalProperties = &jsonschema.Schema{Type: "number"}
	return forms.Form{
		Root: &files{}, Parts: true,
		Title: fmt.Sprintf("The run directory, format %d: each property is the form of one file, or of a line of it",
			record.FormatVersion),
		Own: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[finding.Message](): sentence("A statement."),
			reflect.TypeFor[finding.Mark](): sentence("What forbids ranking a trial. The code is that of the finding "+
				"which the mark makes in reports.", "phase", "the phase's name, where it is about one; \"final check\": "+
				"the reading back"),
			reflect.TypeFor[histogram.Histogram](): counts,
			reflect.TypeFor[record.Values]():       figures,
		},
		Names: map[reflect.Type]string{
			reflect.TypeFor[plan.Trial]():        "PlannedTrial",
			reflect.TypeFor[finds.Result]():      "Finds",
			reflect.TypeFor[finding.Message]():   "Statement",
			reflect.TypeFor[record.Values]():     "Figures",
			reflect.TypeFor[experiment.Phase]():  "ExperimentPhase",
			reflect.TypeFor[experiment.Server](): "ExperimentServer",
			reflect.TypeFor[store.Expiry]():      "StoreExpiry",
			reflect.TypeFor[store.Left]():        "ServerLeft",
		},
		Sources: []string{"internal/evidence", "internal/experiment", "store"},
	}
}

// docs/run-directory.schema.json has every field of a run directory, with its meaning. What the experiment
// file has too is described by its own schema.
func TestEachFieldIsDescribed(t *testing.T) {
	t.Parallel()
	form := runForm()
	golden.Check(t, docs+"run-directory.schema.json", string(form.Schema(t)))
	form.Root = &struct {
		Header      record.Header      `json:"header"`
		Plan        plan.Trial         `json:"plan"`
		Environment record.Environment `json:"environment"`
		Event       record.Event       `json:"event"`
		Trial       record.Trial       `json:"trial"`
		Sample      record.Sample      `json:"sample"`
	}{}
	undescribed := form.Undescribed(t, func(of reflect.Type) bool { return of.Name() != "" })
	if len(undescribed) > 0 {
		t.Errorf("no comment says what these are:\n%s", strings.Join(undescribed, "\n"))
	}
	none := forms.Form{Root: &record.Milestones{}}
	if got := none.Undescribed(t, func(reflect.Type) bool { return true }); len(got) != 2 {
		t.Errorf("without the comments only %v lack them", got)
	}
}

// What is recorded has the form that is published, empty or full; a field that it does not know, or of
// another kind, has not.
func TestRecordsHaveTheirForm(t *testing.T) {
	t.Parallel()
	schema := forms.Compile(t, runForm().Schema(t))
	run := recordtest.Run(recordtest.Example())
	var all []files
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if trial == nil {
			continue
		}
		one := files{Header: run.Header, Experiment: run.Experiment, Plan: run.Plan, Environment: run.Environment,
			Event: run.Events[0], Trial: *trial}
		if samples := run.InMemory[planned.ID]; len(samples) > 0 {
			one.Sample = samples[len(samples)-1]
		}
		all = append(all, one)
	}
	if len(all) < 5 {
		t.Fatalf("the example has %d trials", len(all))
	}
	var full files
	fill(reflect.ValueOf(&full).Elem(), 0)
	full.Sample.Resources = record.ValuesOf(map[string]float64{"machine.dirty": 1})
	for i, one := range append(all, files{}, full) {
		text, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		if err := forms.Valid(schema, text); err != nil {
			t.Errorf("%d: %v\n%s", i, err, text)
		}
		for what, broken := range map[string][]byte{
			"an unknown field": bytes.Replace(text, []byte(`"phases":`), []byte(`"fases":[],"phases":`), 1),
			"a text as time":   bytes.Replace(text, []byte(`"dt":`), []byte(`"dt":"now","dot":`), 1),
		} {
			if forms.Valid(schema, broken) == nil {
				t.Errorf("%d: the schema takes %s", i, what)
			}
		}
	}
}

// fill sets every field of a value that can be set, so that nothing is left out as empty.
func fill(v reflect.Value, depth int) {
	const depthMax = 12
	switch v.Kind() {
	case reflect.Pointer:
		if depth < depthMax {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if depth < depthMax {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), depth+1)
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.Interface || depth >= depthMax {
			return
		}
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), depth+1)
			}
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(3)
	case reflect.Bool:
		v.SetBool(true)
	}
}

// What texts of a run may be stands in the descriptions of their fields.
func TestEachWordIsDescribed(t *testing.T) {
	t.Parallel()
	var schema struct {
		Definitions map[string]struct {
			Description string
			Properties  map[string]struct{ Description string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(runForm().Schema(t), &schema); err != nil {
		t.Fatal(err)
	}
	for place, words := range map[string][]string{
		"Event.kind": {record.EventStarted, record.EventTrialStarted, record.EventTrialEnded, record.EventInterrupted,
			record.EventResumed, record.EventEnded, record.EventNote},
		"Trial.state": {string(record.OK), string(record.Marked), string(record.Failed), string(record.Refused),
			string(record.Interrupted)},
		"Phase.ended_by": {string(record.EndedDuration), string(record.EndedOperations), string(record.EndedQuota),
			string(record.EndedDiskFull), string(record.EndedMemory), string(record.EndedInterrupted),
			string(record.EndedUnanswered), string(record.EndedFailed)},
		"Stop.why": {host.StoppedBySignal, host.StoppedByDebugger, host.StoppedFrozen, host.StoppedGap,
			host.StoppedSuspend},
		"Process.host_write_source": {record.WritesOfProcess, record.WritesOfDisk, record.WritesOfServer},
		"Settled.not_back":          {host.LeftDirty, host.LeftQueue, host.LeftCPU},
		"PlannedTrial.role":         {string(plan.Measured), string(plan.AA), string(plan.Ceiling)},
		"Confined.what": {host.ConfinedCPUs, host.ConfinedScheduling, host.ConfinedCgroup, host.ConfinedLimits,
			host.ConfinedGroup},
		"QueryPlan.use": {string(store.IndexFinds), string(store.IndexOrders), string(store.IndexNone)},
	} {
		definition, property, _ := strings.Cut(place, ".")
		text := schema.Definitions[definition].Properties[property].Description
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("the description of %s has no %q: %s", place, word, text)
			}
		}
	}
}

// docs/run-directory/telemetry.csv has each series of the catalogue.
func TestEachSeriesIsListed(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"series", "unit", "kind", "meaning", "source", "field"}}
	fields := map[string]string{"worker.cpu": "cpu", "worker.rss": "rss", "worker.read": "read", "worker.write": "write",
		"data.bytes": "disk", "machine.steal": "steal", "machine.foreign": "foreign"}
	for _, s := range host.Catalogue {
		rows = append(rows, []string{s.Name, s.Unit, string(s.Kind), s.Meaning, s.Source, fields[s.Name]})
		delete(fields, s.Name)
	}
	if len(fields) > 0 {
		t.Errorf("no series: %v", fields)
	}
	golden.Check(t, docs+"run-directory/telemetry.csv", table(t, rows))
}

// docs/run-directory/marks.csv has each mark and each cause, with a sentence as an example.
func TestEachMarkIsListed(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"is", "code", "kind", "example"}}
	for _, code := range finding.Codes() {
		fault := finding.Mark{Message: finding.Message{Code: code}}.Fault()
		entry, _ := finding.Lookup(fault)
		_, is := entry.Example.(finding.FaultParams)
		if !is || code == fault || !code.Is(fault) && fault == finding.FaultCounts {
			continue
		}
		name, kind, _ := strings.Cut(string(code), " ")
		rows = append(rows, []string{"mark", name, kind, said(t, code)})
	}
	for _, cause := range finding.Causes {
		rows = append(rows, []string{"cause", string(cause), "", said(t, finding.NoResult+" "+cause)})
	}
	golden.Check(t, docs+"run-directory/marks.csv", table(t, rows))
}

// said is a code's sentence, of its example.
func said(t *testing.T, code finding.Code) string {
	t.Helper()
	entry, known := finding.Lookup(code)
	if !known {
		t.Fatalf("no entry for %q", code)
	}
	return finding.Text(finding.New(entry.Example))
}

func table(t *testing.T, rows [][]string) string {
	t.Helper()
	var text strings.Builder
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
