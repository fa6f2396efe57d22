package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/forms"
	"assay/internal/testkit/golden"
)

// holdForm holds the trial.json of the one trial of a run against a golden file: its fields, how the
// trial ended, and all marks and sentences. What the machine and the moment decide is masked.
func holdForm(t *testing.T, name, directory string, trial *record.Trial) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(directory, "trials", trial.Plan.ID, "trial.json"))
	if err != nil {
		t.Fatal(err)
	}
	holdSchema(t, text)
	var form map[string]any
	if err := json.Unmarshal(text, &form); err != nil {
		t.Fatal(err)
	}
	var told struct{ Marks []finding.Mark }
	if err := json.Unmarshal(text, &told); err != nil {
		t.Fatal(err)
	}
	delete(form, "plan") // held by package plan's own tests
	if marks := marksAlike(told.Marks); len(marks) > 0 {
		form["marks"] = marks
	} else if delete(form, "marks"); form["state"] == string(record.Marked) {
		form["state"] = record.OK // the machine is no matter
	}
	masked, err := json.MarshalIndent(mask("", form, directory), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("misbehaviours", name+".json"), string(masked)+"\n")
}

// holdSchema holds a trial.json against docs/run-directory.schema.json.
func holdSchema(t *testing.T, trial []byte) {
	t.Helper()
	schema, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "run-directory.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"trial.json":` + string(trial) + `}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := forms.Compile(t, schema).Validate(value); err != nil {
		t.Errorf("trial.json has not its form: %v", err)
	}
}

// marksAlike are the sentences of a trial's marks, without those that the machine or a moment decides.
func marksAlike(marks []finding.Mark) (all []string) {
	for _, m := range marks {
		if !m.Machine() && !slices.Contains(ofTimes, m.Code) && !strings.HasSuffix(string(m.Code), " history") {
			all = append(all, fmt.Sprintf("%s: %s: %s", m.Phase, m.Code, masked(finding.Text(m.Message), "")))
		}
	}
	return slices.Compact(all)
}

// ofTimes are marks that one run of a worker has and the next one may lack.
var ofTimes = []finding.Code{finding.MarkTimeOver, finding.MarkTimeUnder, finding.MarkMaxOver, finding.MarkMeanOver,
	finding.MarkShortTime}

// kept are the numbers that each run of an experiment has.
var kept = []string{"number", "threads", "batch", "sample_ns", "query"}

// measured are those that a machine or a moment decides: that they are there is held, and no more.
var measured = []string{"machine", "process", "memory", "telemetry", "runtime", "not_measured", "syncs", "settled", "clock", "history",
	"service_ns", "response_ns", "messages", "examples"}

// mayLack are fields that one run has and the next one lacks.
var mayLack = []string{"stops", "starved", "late", "not_begun", "behind_ns", "evicted", "clock_drift_ns", "anomalies", "messages", "examples", "open_seconds"}

func mask(name string, value any, directory string) any {
	switch v := value.(type) {
	case map[string]any:
		if slices.Contains(measured, name) {
			return "…"
		}
		for field, one := range v {
			if slices.Contains(mayLack, field) {
				delete(v, field)
				continue
			}
			v[field] = mask(field, one, directory)
		}
	case []any:
		if slices.Contains(measured, name) {
			return "…"
		}
		for i := range v {
			v[i] = mask(name, v[i], directory)
		}
	case float64:
		if !slices.Contains(kept, name) {
			return "#"
		}
	case string:
		if slices.Contains(measured, name) {
			return "…"
		}
		return masked(v, directory)
	}
	return value
}

var figures = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+([.,:][0-9]+)*( operations?\b| records?\b)?`)

func masked(text, directory string) string {
	if directory != "" {
		text = strings.ReplaceAll(text, directory, "RUN")
	}
	text = strings.ReplaceAll(text, os.Args[0], "PROGRAM")
	first, _, _ := strings.Cut(text, "\n")
	return figures.ReplaceAllString(first, "#")
}
