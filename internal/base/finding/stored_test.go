package finding

import (
	"encoding/json"
	"testing"
)

// A mark that an older Assay wrote says what it said, under the code of today.
func TestMark_of_an_older_run_is_read_under_its_present_code(t *testing.T) {
	for old, want := range map[string]struct {
		code Code
		text string
	}{
		`{"code":"readback-lost","phase":"final check","params":{"count":2,"of":100}}`: {
			MarkReadbackLost, "2 of 100 records read back at the end were gone, though their writes were acknowledged"},
		`{"code":"cpu-foreign","params":{"least":0.35,"most":0.65}}`: {
			MarkForeign, "other processes took 35 to 65 % of the CPU time that it could use"},
		`{"code":"lost-values","params":{"kind":"readback","count":2,"of":100}}`: {
			MarkReadbackLost, "2 of 100 records read back at the end were gone, though their writes were acknowledged"},
	} {
		var m Mark
		if err := json.Unmarshal([]byte(old), &m); err != nil || m.Code != want.code || Text(m.Message) != want.text {
			t.Errorf("%s: %v, got %q: %s", old, err, m.Code, Text(m.Message))
		}
	}
}

// Each code that was renamed has a sentence now.
func TestRenamed_codes_are_known(t *testing.T) {
	for old, now := range renamed {
		if !known(now) || known(old) {
			t.Errorf("%s is now %s", old, now)
		}
	}
}

func TestMessage_in_JSON_has_its_kind_as_parameter(t *testing.T) {
	m := New(CountParams{Code: MarkReadbackLost, Count: 2, Of: 100})
	for what, value := range map[string]any{"message": m, "mark": Mark{Message: m}, "evidence": Evidence{Message: m},
		"finding": Make(Where{}, m)} {
		text, err := json.Marshal(value)
		var got struct {
			Code   string
			Params struct{ Kind string }
		}
		if err != nil || json.Unmarshal(text, &got) != nil || got.Code != "lost-values" || got.Params.Kind != "readback" {
			t.Errorf("%s: %v, %s", what, err, text)
		}
	}
}

// What embeds a message must not be read as one: all else would be lost.
func TestFinding_survives_JSON(t *testing.T) {
	f := Make(Where{Arm: "bbolt", Class: "D3"}, New(CountParams{Code: MarkReadbackLost, Count: 2, Of: 100}))
	f.Severity, f.Cause, f.More = Grave, "errors", 3
	f.Evidence = []Evidence{{Trial: "b1-001", Message: f.Message}}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var read Finding
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(read); err != nil || string(again) != string(text) || read.Evidence[0].Trial != "b1-001" || read.Severity != Grave {
		t.Errorf("%v: %s was %s", err, again, text)
	}
}
