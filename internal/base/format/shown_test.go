package format_test

import (
	"testing"

	"assay/internal/base/format"
)

// What is not exported stays as it is, whatever it is made of.
func TestShownLeavesUnexportedFields(t *testing.T) {
	t.Parallel()
	type inner struct{ Text string }
	type outer struct {
		Text   string
		hidden *inner
		list   []inner
		byName map[string]*inner
	}
	const attack = "a\x1b[31m"
	given := outer{attack, &inner{attack}, []inner{{attack}}, map[string]*inner{"x": {attack}}}
	shown := format.Shown(&given)
	if shown.Text == attack || shown.hidden.Text != attack || shown.list[0].Text != attack || shown.byName["x"].Text != attack {
		t.Errorf("%+v", shown)
	}
}
