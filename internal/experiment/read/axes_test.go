package read_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
)

// Any lists of any axes: a label names one cell. Neighbouring byte counts are what a rounding
// writer would confuse.
func TestLabelsAreUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := func(name string, least int) string {
			n := rapid.SampledFrom([]int{1, 1023, 1024, 1025, 1536, 1 << 20, 1<<20 + 1, 3 << 19, 1 << 29,
				1<<29 + 1<<20})
			list := rapid.SliceOfNDistinct(rapid.Map(n, func(v int) int { return v + least }), 1, 2,
				rapid.ID[int]).Draw(t, name)
			return strings.Join(strings.Fields(fmt.Sprint(list)), ", ")
		}
		distinct := func(name string, of ...string) string {
			return "[" + strings.Join(rapid.SliceOfNDistinct(rapid.SampledFrom(of), 1, 3, rapid.ID[string]).Draw(t, name), ", ") + "]"
		}
		fields := map[string]func() string{
			"records":      func() string { return numbers("records", 0) },
			"values.bytes": func() string { return numbers("values", -1) },
			"threads":      func() string { return distinct("threads", "1", "2", "10", "1000") },
			"rate":         func() string { return distinct("rate", "0", "1000", "1001", "2_000_000") },
			"handles": func() string {
				return distinct("handles", "shared", "per_thread", "pool(1)", "pool(11)", "per_operation")
			},
			"entry":        func() string { return distinct("entry", "one", "all", "prefer") },
			"cpus":         func() string { return distinct("cpus", "1", "2", "0-1", "{client: 0}", "{client: 0-1}") },
			"memory_limit": func() string { return strings.Replace(numbers("memory", 16<<20), "[", "[none, ", 1) },
			"disk_quota":   func() string { return strings.Replace(numbers("quota", 1<<20), "[", "[none, ", 1) },
			"durability":   func() string { return distinct("durability", "D1", "D2(1ms)", "D2(1s)", "D2(1001ms)", "D3") },
		}
		axes := slices.DeleteFunc(experiment.Axes(), func(a experiment.Axis) bool { return a.Path == "agents" }) // of servers alone
		if len(fields) != len(axes) {
			t.Fatalf("%d axes, %d are tried here", len(axes), len(fields))
		}
		text := "name: x\nstores: [{driver: d, worker: [./w]}]\nphases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]\n"
		var sets, cases []string
		for i, a := range axes {
			if i%2 == 0 || rapid.Bool().Draw(t, "in the file") {
				sets = append(sets, a.Path+"="+fields[a.Path]())
			} else {
				cases = append(cases, a.Path+": "+fields[a.Path]())
			}
		}
		if len(cases) > 0 {
			text += "cases: [{name: \"8\", " + strings.Join(cases, ", ") + "}, {name: none}]\n"
		}
		e, err := read.Load([]byte(text), "x.yaml", sets, fakeDrivers())
		if err != nil {
			if strings.Contains(err.Error(), "more than 1000 cells") {
				t.Skip()
			}
			t.Fatal(err)
		}
		labels := map[string]experiment.Cell{}
		for _, c := range e.Cells {
			if other, taken := labels[c.Label(e)]; taken {
				t.Fatalf("%+v and %+v are both %q", other, c, c.Label(e))
			}
			labels[c.Label(e)] = c
		}
	})
}

// Where cases are described, in the schema and in the document, each axis has its name.
func TestCasesNameEachAxis(t *testing.T) {
	field, _ := reflect.TypeFor[read.File]().FieldByName("Cases")
	page, err := os.ReadFile("../../../docs/experiment-file.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## `cases`\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, a := range experiment.Axes() {
		if !strings.Contains(field.Tag.Get("jsonschema_description"), a.Path) {
			t.Errorf("the schema's description of cases lacks %s", a.Path)
		}
		if !strings.Contains(section, "`"+a.Path+"`") {
			t.Errorf("docs/experiment-file.md, cases, lacks %s", a.Path)
		}
	}
}
