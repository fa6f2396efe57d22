package export_test

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"assay/internal/presentation/tell"
	"assay/internal/testkit/hostile"
	"assay/internal/testkit/recordtest"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// Whatever a run directory says, its ID and trials' IDs included, no format writes what moves a cursor,
// hides a line or reorders one.
//
// Fault (conductor): names, labels or errors hold terminal escapes, scripts, or characters that
// reorder others
// Assay: each format's writer cleans all that it writes, and errors are cleaned; the page may run
// its own script alone
// With: text.TestScreen_shows_no_control_character, html.TestHostilePageInABrowser
func TestEachFormat_writes_no_control_character(t *testing.T) {
	t.Parallel()
	const attack = hostile.Text + "\u009b31m"
	run := resulttest.CleanRun()
	r, err := tell.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	hostile.Poison(r, attack)
	// What finds trials, phases and operations stays: the rest of the run is an attacker's.
	hostile.Poison(&run.Header, attack)
	for i := range run.Plan {
		was := run.Plan[i].ID
		run.Plan[i].ID += attack
		run.Trials[run.Plan[i].ID] = run.Trials[was]
	}
	written := map[string]*bytes.Buffer{}
	if err := inEachFormat(run, r, func(format string) io.Writer {
		written[format] = &bytes.Buffer{}
		return written[format]
	}); err != nil {
		t.Fatal(err)
	}
	for format, out := range written {
		bad := func(c rune) bool {
			return unicode.IsControl(c) && c != '\n' && c != '\t' && c != '\r' || unicode.Is(unicode.Bidi_Control,
				c) || c == 0x2028
		}
		if at := strings.IndexFunc(out.String(), bad); at >= 0 {
			t.Errorf("%s has %q", format, out.String()[max(0, at-60):min(at+8, out.Len())])
		}
	}
	if !strings.Contains(written["hlog"].String(), "alert(1)") || !strings.Contains(written["json"].String(), "alert(1)") {
		t.Error("none of the texts is written, so that nothing was shown")
	}
}

// Every list of a result may have no element, one or many: a run that was stopped early, a store alone.
func TestEachFormat_of_lists_of_none_one_and_many(t *testing.T) {
	t.Parallel()
	run := recordtest.Run(recordtest.Shape{Name: "lists", Classes: []store.Durability{store.D1}, Blocks: 2, Seconds: 2, Seed: 1, AA: true,
		Arms: []recordtest.Arm{{Name: "a", PutRate: 1e5, GetRate: 2e5, Noise: 0.05}, {Name: "b", PutRate: 2e5, GetRate: 1e5, Noise: 0.05}}})
	whole, err := tell.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	// A row has a cell for each column, and groups name findings by their place: none is shorter alone.
	together := []string{"Result.Findings", "Result.Summary.Sections[].Columns", "Result.Summary.Sections[].Rows[].Cells"}
	eachList(reflect.ValueOf(whole).Elem(), "Result", func(path string, list reflect.Value) {
		if tried[path] || list.Len() == 0 || slices.Contains(together, path) {
			return
		}
		tried[path] = true
		was := list.Interface()
		defer list.Set(reflect.ValueOf(was))
		// A list of numbers goes with others of its length: only all of them together can be empty.
		sizes := []int{0, 1, 3}
		if os.Getenv("ASSAY_LONG") == "" {
			sizes = sizes[len(tried)%3:][:1]
		}
		if kind := list.Type().Elem().Kind(); kind != reflect.Struct && kind != reflect.String {
			sizes = []int{0}
		}
		for _, n := range sizes {
			list.Set(reflect.ValueOf(was))
			of := reflect.MakeSlice(list.Type(), n, n)
			for i := range n {
				of.Index(i).Set(list.Index(min(i, list.Len()-1)))
			}
			list.Set(of)
			if err := inEachFormat(run, whole, func(string) io.Writer { return io.Discard }); err != nil {
				t.Errorf("%s with %d elements: %v", path, n, err)
			}
		}
	})
	if len(tried) < 30 {
		t.Errorf("only %d lists were tried", len(tried))
	}
}

// eachList calls do with each list that v has, at any depth; of a list's elements with the first's alone.
func eachList(v reflect.Value, path string, do func(path string, list reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			eachList(v.Elem(), path, do)
		}
	case reflect.Slice:
		if !v.CanSet() {
			return
		}
		do(path, v)
		if v.Len() > 0 {
			eachList(v.Index(0), path+"[]", do)
		}
	case reflect.Struct:
		if v.Type().PkgPath() == "time" {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachList(v.Field(i), path+"."+v.Type().Field(i).Name, do)
			}
		}
	}
}
