package detect_test

import (
	"math"
	"slices"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/resulttest"
)

// planted is a cause in the clean run and what it must bring.
type planted struct {
	name   string
	plant  func(run *record.Run)
	want   []finding.Code // all that is found
	params finding.Params // of the first of the first code, some of them
}

// expect reports each run and holds its findings against what is wanted.
func expect(t *testing.T, run func() *record.Run, cases []planted) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := run()
			c.plant(run)
			r := resulttest.ResultOf(t, run)
			want := slices.Clone(c.want)
			slices.Sort(want)
			if got := resulttest.CodesOf(r); !slices.Equal(got, want) {
				t.Fatalf("found %v, want %v: %+v", got, want, r.Findings)
			}
			if len(c.want) == 0 {
				return
			}
			f := resulttest.Find(r, c.want[0])
			for name, value := range c.params {
				if name == "severity" && value != string(f.Severity) {
					t.Errorf("%s is %s, want %s", f.Code, f.Severity, value)
				}
				if name != "severity" && !same(f.Params[name], value) {
					t.Errorf("%s: %s is %v, want %v", f.Code, name, f.Params[name], value)
				}
			}
			for _, f := range r.Findings {
				if text := finding.Text(f.Message); text == "" || text[0] == '{' || len(text) > len(f.Code) && text[:len(f.Code)+2] == string(f.Code)+" {" {
					t.Errorf("%s lacks a parameter of its sentence: %s", f.Code, text)
				}
			}
		})
	}
}

// same compares parameters, whole numbers of every type alike and others to 2 %.
func same(got, want any) bool {
	if list, is := want.([]string); is {
		words, _ := got.([]string)
		return slices.Equal(words, list)
	}
	m := finding.Message{Params: finding.Params{"got": got, "want": want}}
	if a, b := m.Number("got"), m.Number("want"); b != 0 {
		return math.Abs(a/b-1) < 0.02
	}
	return got == want
}
