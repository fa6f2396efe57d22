package report

import (
	"strings"
	"testing"

	"assay/internal/plan"
	"assay/internal/record"
)

func TestSourceOfHostWritesIsTold(t *testing.T) {
	row := func(arm string, role plan.Role) Row {
		return Row{Arm: arm, Role: string(role), Rate: &Estimate{Value: 1}}
	}
	phase := func(source, why string) []*record.Phase {
		return []*record.Phase{{Process: record.Process{HostWriteSource: source, HostWriteWhy: why}}}
	}
	oak, elm, null := row("oak", plan.Measured), row("elm", plan.Measured), row("null", plan.Ceiling)
	nothing := phase("", "it stores nothing")
	for _, c := range []struct {
		name     string
		oak, elm []*record.Phase
		want     string
	}{
		{"all true", phase(record.WritesOfProcess, ""), phase(record.WritesOfProcess, ""), ""},
		{"none", phase("", "of the moon"), phase("", "of the moon"), "Host writes and write amplification are not measured: of the moon."},
		{"one without", phase(record.WritesOfProcess, ""), phase("", "of the moon"), "Host writes and write amplification of elm are not measured: of the moon."},
		{"disk", phase(record.WritesOfDisk, ""), phase(record.WritesOfDisk, ""), "Host writes are what each trial's own disk was sent until a sync after the phase's drain, its file system's journal and metadata included."},
	} {
		text := writesText([]Row{null, oak, elm}, [][]*record.Phase{nothing, c.oak, c.elm})
		if text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
	elm.Rate = nil // no row: nothing to say of its figures
	if text := writesText([]Row{oak, elm}, [][]*record.Phase{phase("", "of the moon"), nil}); strings.Contains(text, "of oak") {
		t.Errorf("the only store is named: %q", text)
	}
}

func TestSourceOfHostWritesIsShown(t *testing.T) {
	v := exampleView(t)
	v.Tables[0].Writes = "They come from the moon."
	if !strings.Contains(textOfView(t, v), v.Tables[0].Writes) {
		t.Error("not on the terminal")
	}
	if !strings.Contains(htmlOf(t, v), "were acknowledged. "+v.Tables[0].Writes+"</p>") {
		t.Error("not on the page")
	}
}
