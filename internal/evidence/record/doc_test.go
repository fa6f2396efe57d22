package record_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/store"
)

// docs/run-directory.md promises a stranger that it names every field. experiment.Experiment is left to
// its JSON Schema.
func TestEachFieldIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/run-directory.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split("\n"+string(text), "\n#")[1:] {
		heading, body, _ := strings.Cut(strings.TrimLeft(section, "#"), "\n")
		sections[strings.TrimSpace(heading)] = body
	}
	for heading, value := range map[string]any{
		"run.json":         record.Header{},
		"plan.json":        plan.Trial{},
		"environment.json": record.Environment{},
		"events.jsonl":     record.Event{},
		"trial.json":       record.Trial{},
		"Abilities":        store.Abilities{},
		"Phases":           record.Phase{},
		"Operations":       record.Operation{},
		"Messages":         record.Message{},
		"Sizes":            record.Sizes{},
		"Memory":           record.Memory{},
		"Settled":          record.Settled{},
		"Quota mount":      record.QuotaMount{},

		"Telemetry of a phase": record.Telemetry{},
		"Process":              record.Process{},
		"Stops of a phase":     record.Stop{},
		"Syncs of a phase":     record.Syncs{},
		"Machine of a phase":   record.Machine{},
		"Final check":          record.FinalCheck{},
		"series.jsonl":         record.Sample{},
	} {
		var names strings.Builder // the first column of the section's table
		for line := range strings.Lines(sections[heading]) {
			if cells := strings.Split(line, "|"); len(cells) > 2 {
				names.WriteString(cells[1])
			}
		}
		kind := reflect.TypeOf(value)
		for i := range kind.NumField() {
			if !kind.Field(i).IsExported() {
				continue
			}
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if name == "" || name == "-" {
				t.Errorf("%s.%s has no JSON name", kind, kind.Field(i).Name)
			} else if !strings.Contains(names.String(), "`"+name+"`") {
				t.Errorf("section %q does not name the field `%s` of %s", heading, name, kind)
			}
		}
	}
	var stated []string // every mark's code and kind, and every cause
	for _, code := range finding.Codes() {
		fault := finding.Mark{Message: finding.Message{Code: code}}.Fault()
		entry, _ := finding.Lookup(fault)
		_, is := entry.Example.(finding.FaultParams)
		if is && code != fault && (code.Is(fault) || fault != finding.FaultCounts) {
			stated = append(stated, strings.Fields(string(code))...)
		}
	}
	for _, cause := range finding.Causes {
		stated = append(stated, string(cause))
	}
	for _, words := range map[string][]string{
		"Marks": stated,
		"events.jsonl": {record.EventStarted, record.EventTrialStarted, record.EventTrialEnded, record.EventInterrupted,
			record.EventResumed, record.EventEnded, record.EventNote},
		"trial.json": {string(record.OK), string(record.Marked), string(record.Failed), string(record.Refused), string(record.Interrupted)},
	} {
		for _, word := range words {
			if !strings.Contains(string(text), "`"+word+"`") {
				t.Errorf("the page does not name `%s`", word)
			}
		}
	}
}
