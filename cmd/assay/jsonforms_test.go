package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/experiment"
	"assay/internal/testkit/forms"
	"assay/internal/testkit/golden"
)

// allForms are the JSON forms of commands, each by the name of its definition in
// docs/commands.schema.json.
type allForms struct {
	List     listed     `json:"list"`
	Plan     planned    `json:"plan"`
	Doctor   diagnosed  `json:"doctor"`
	Analysis []analyzed `json:"analysis"`
	Profile  profiled   `json:"profile"`
	Tune     tuned      `json:"tune"`
}

func formsOfCommands() forms.Form {
	return forms.Form{
		Root: &allForms{}, Parts: true,
		Title: "What commands of Assay print as JSON: each property is the form of one command",
		Own: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[experiment.Experiment](): forms.Described("object", "Experiment of docs/run-directory.schema.json"),
			reflect.TypeFor[host.Environment]():      forms.Described("object", "Environment of docs/run-directory.schema.json"),
			reflect.TypeFor[finding.Finding]():       forms.Described("object", "a finding, as in docs/result.schema.json"),
			reflect.TypeFor[finding.Message]():       forms.Described("object", "a message, as in docs/result.schema.json"),
		},
		Sources: []string{"cmd/assay", "internal/analysis", "internal/experiment"},
	}
}

func TestJSONForms(t *testing.T) {
	t.Parallel()
	text := formsOfCommands().Schema(t)
	golden.Check(t, "../../../docs/commands.schema.json", string(text))
	schema := forms.Compile(t, text)
	rates := "time_s,rate\n"
	for second := range 60 {
		rates += fmt.Sprintf("%d,1000\n", second+1)
	}
	for name, e := range map[string]ended{
		"list":     assay(t, "list", "--json"),
		"plan":     assay(t, "run", "memory", "bbolt", "--rate", "100", "--dry-run", "--json"),
		"doctor":   assay(t, "doctor", "--json"),
		"analysis": assayIn(t, t.TempDir(), rates, "analyze", "-", "--json"),
		"profile":  assay(t, "profile", recordingOf(t, 3000), "--json"),
	} {
		e.wants(t, 0)
		wrapped := `{"` + name + `":` + e.stdout + `}`
		told, err := validator.UnmarshalJSON(strings.NewReader(wrapped))
		if err != nil {
			t.Errorf("%s is not JSON: %v\n%s", name, err, e.stdout)
			continue
		}
		if err := schema.Validate(told); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// A field that the schema does not know is refused.
		if more, _ := validator.UnmarshalJSON(strings.NewReader(strings.Replace(wrapped, "{\n", "{\n\"other\": 1,\n", 1))); name != "analysis" && schema.Validate(more) == nil {
			t.Errorf("%s: the schema takes any field", name)
		}
	}
	assay(t, "run", "memory", "--dry-run", "--format", "csv").wants(t, exitUsage, "--dry-run prints text or JSON")
}
