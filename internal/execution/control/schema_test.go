package control_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/testkit/forms"
	"assay/internal/testkit/golden"
	"assay/store"
)

// messages are requests, replies, and the results of commands by their names.
type messages struct {
	Request  control.Request   `json:"request"`
	Reply    control.Reply     `json:"reply"`
	Describe control.Described `json:"describe"`
	Open     control.Opened    `json:"open"`
	Prepare  control.Prepared  `json:"prepare"`
	Run      control.Ran       `json:"run"`
	Inspect  control.Inspected `json:"inspect"`
	Explain  control.Explained `json:"explain"`
	Remove   control.Removed   `json:"remove"`
}

func contractForm() forms.Form {
	return forms.Form{
		Root: &messages{}, Parts: true,
		Title: fmt.Sprintf("Control messages of the worker contract, version %d: a request, a reply, and the result of "+
			"each command that has one", control.Contract),
		Own: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[json.RawMessage](): forms.Described("object", "The property of the command's name; {} of the others."),
		},
		Names:   map[reflect.Type]string{reflect.TypeFor[json.RawMessage](): "AnyResult"},
		Sources: []string{"internal/execution/control", "internal/experiment/keyval", "store"},
	}
}

// docs/worker-contract.schema.json has every field of a message, with its meaning. Those of keys, values,
// columns and queries stand in the contract itself, with their bytes.
func TestEachMessageIsDescribed(t *testing.T) {
	t.Parallel()
	form := contractForm()
	golden.Check(t, "../../../../docs/worker-contract.schema.json", string(form.Schema(t)))
	undescribed := form.Undescribed(t, func(of reflect.Type) bool {
		return of != reflect.TypeFor[messages]() && !strings.HasSuffix(of.PkgPath(), "/keyval")
	})
	if len(undescribed) > 0 {
		t.Errorf("no comment says what these are:\n%s", strings.Join(undescribed, "\n"))
	}
}

func TestMessagesHaveTheirForm(t *testing.T) {
	t.Parallel()
	schema := forms.Compile(t, contractForm().Schema(t))
	all := messages{
		Request: control.Request{ID: 7, Command: control.CommandOpen, Open: &control.Open{Driver: "bbolt", Durability: "D1",
			Handles: control.HandlesShared, Threads: 1, Options: map[string]string{"page_bytes": "4096"}}},
		Reply: control.Reply{ID: 7, OK: true, Result: json.RawMessage(`{"version":"1"}`)},
		Describe: control.Described{Drivers: []store.Description{{Name: "bbolt", Expiry: &store.Expiry{UnitNS: 1},
			Options: []store.Option{{Name: "page_bytes", Type: store.Bytes}}}}},
		Inspect: control.Inspected{Durability: &store.DurabilityEvidence{}, Left: []store.Left{{State: "full"}}},
	}
	all.Request.Define = &control.Define{Columns: []keyval.Column{{Name: "a"}}, Queries: []keyval.Query{{Name: "q"}}}
	for name, c := range map[string]struct {
		of    messages
		wrong map[string]string
	}{
		"empty": {messages{}, map[string]string{`"command":""`: `"command":1`}},
		"full":  {all, map[string]string{`"driver":"bbolt"`: `"diver":"bbolt"`, `"threads":1`: `"threads":"one"`}},
	} {
		text, err := json.Marshal(c.of)
		if err != nil {
			t.Fatal(err)
		}
		if err := forms.Valid(schema, text); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		for right, wrong := range c.wrong {
			broken := strings.Replace(string(text), right, wrong, 1)
			if broken == string(text) || forms.Valid(schema, []byte(broken)) == nil {
				t.Errorf("%s: the schema takes %s", name, wrong)
			}
		}
	}
}
