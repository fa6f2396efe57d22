package finding

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"assay/internal/base/format"

	"assay/internal/testkit/golden"
)

// Every sentence, as its example gives it: a better one is one changed line here.
func TestCatalogue_sentences(t *testing.T) {
	var out strings.Builder
	for _, code := range Codes() {
		e := entries[code]
		m := New(e.Example)
		fmt.Fprintf(&out, "%s\n  says    %s\n", code, Text(m))
		for _, also := range e.Also {
			fmt.Fprintf(&out, "  also    %s\n", Text(New(also)))
		}
		if e.Many != "" {
			two := []Finding{Make(Where{Arm: "bbolt", Phase: "put", Class: "D1"}, m), Make(Where{Arm: "pebble", Phase: "get", Class: "D3"}, m)}
			fmt.Fprintf(&out, "  many    %s\n", Group(two, nil))
		}
		if remedy := Remedy(m); remedy != "" {
			fmt.Fprintf(&out, "  remedy  %s\n", remedy)
		}
		if head := HeadOf(e.Example); head.Unit != "" || e.Short != "" {
			fmt.Fprintf(&out, "  column  %s, %s\n", head.Unit, head.Short)
		}
	}
	golden.Check(t, "catalogue.txt", out.String())
}

func TestCatalogue_examples_fill_every_sentence(t *testing.T) {
	for _, code := range Codes() {
		e, m := entries[code], New(entries[code].Example)
		both := []Finding{Make(Where{Arm: "a"}, m), Make(Where{Arm: "b"}, m)}
		for part, text := range map[string]string{"Says": Text(m), "Many": Group(both, nil), "Remedy": Remedy(m)} {
			if text != "" && text == bare(m) || strings.HasPrefix(text, string(code)+" {") {
				t.Errorf("%s: %s needs a parameter that the example lacks: %s", code, part, text)
			}
		}
		if e.Says == "" {
			t.Errorf("%s has no sentence", code)
		}
		for _, also := range e.Also {
			if m := New(also); m.Code != code || Text(m) == bare(m) {
				t.Errorf("%s: needs a parameter that an example lacks: %s", code, Text(m))
			}
		}
		if words := len(strings.Fields(Text(m))); words > 50 {
			t.Errorf("%s: %d words in two sentences at most of 25", code, words)
		}
	}
}

func TestText_of_unknown_code_and_missing_parameter_loses_nothing(t *testing.T) {
	register(Entry{Example: Bare("test-code"), Says: "{{.arm}} fell to {{rate .rate}}"})
	defer delete(entries, "test-code")
	for _, c := range []struct {
		m    Message
		want string
	}{
		{Message{"no-such-code", Params{"n": 1}}, `no-such-code {"n":1}`},
		{Message{"test-code", Params{"arm": "bbolt"}}, `test-code {"arm":"bbolt"}`},
		{Message{"test-code", Params{"rate": 5.0}}, `test-code {"rate":5}`},
		{Message{"test-code", Params{"arm": "bbolt", "rate": 12000}}, "bbolt fell to 12.0 k/s"},
	} {
		if got := Text(c.m); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestMark_survives_JSON_with_the_same_sentence(t *testing.T) {
	register(Entry{Example: Bare("test-mark"), Says: "{{plural .n \"record\" \"\"}} of {{list .arms}}"})
	defer delete(entries, "test-mark")
	mark := Mark{Message{"test-mark", Params{"n": uint64(3), "arms": []string{"a", "b"}}}, "put"}
	written, err := json.Marshal(mark)
	if err != nil {
		t.Fatal(err)
	}
	var read Mark
	if err := json.Unmarshal(written, &read); err != nil {
		t.Fatal(err)
	}
	if Text(read.Message) != "3 records of a and b" || read.Phase != "put" {
		t.Errorf("got %+v from %s", read, written)
	}
}

// A phase and class is named once, whatever its cells; what is no cell stays as it is.
func TestPlacesOfAPhaseAreNamedTogether(t *testing.T) {
	for want, places := range map[string][]string{
		"put (D3)":             {"put (D3)"},
		"put (D3, 1 thread)":   {"put (D3, 1 thread)"},
		"the final check":      {"the final check"},
		"put (D3) and get(D1)": {"put (D3)", "get(D1)"},
		"put (D3; 1 and 8 threads) and get (D3, 1 thread)": {
			"put (D3, 1 thread)", "get (D3, 1 thread)", "put (D3, 8 threads)"},
		"put (D3; 1 thread, pool(4) and 2 threads, pool(4))": {"put (D3, 1 thread, pool(4))", "put (D3, 2 threads, pool(4))"},
		"put (D1; 1, 2, 4, 8 threads and 2 more)": {"put (D1, 1 thread)", "put (D1, 2 threads)", "put (D1, 4 threads)",
			"put (D1, 8 threads)", "put (D1, 16 threads)", "put (D1, 32 threads)"},
	} {
		if got := format.List(togetherIn(places)); got != want {
			t.Errorf("%q: %q, want %q", places, got, want)
		}
	}
}

// Three or more places are not listed where each arm was found in every table.
func TestEveryTableIsNotListed(t *testing.T) {
	at := func(pairs ...string) (found []Finding) {
		for _, pair := range pairs {
			arm, place, _ := strings.Cut(pair, " ")
			found = append(found, Make(Where{Arm: arm}, New(PlaceParams{Code: LessWork, At: At{arm, place}})))
		}
		return found
	}
	for _, c := range []struct{ of, all, want string }{
		{"elm get,elm put,elm scan", "scan,put,get", "every table"},
		{"elm get,elm put,elm scan,ash get,ash put,ash scan", "scan,put,get", "every table"},
		{"elm get,elm put,ash scan", "scan,put,get", "scan, put and get"},
		{"elm get,elm put", "scan,put,get", "put and get"},
		{"elm get,elm put", "get,put", "get and put"},
		{"elm get,elm put,elm scan", "", "get, put and scan"},
	} {
		if text := Group(at(strings.Split(c.of, ",")...), strings.Split(c.all, ",")); !strings.Contains(text, " in "+c.want+";") {
			t.Errorf("in %s of %s: %q, expected %q", c.of, c.all, text, c.want)
		}
	}
}
