package main

import (
	"fmt"
	"slices"
	"testing"

	"assay/internal/experiment"
)

// A dry run prints a limit or a choice where some cell has it, whatever the words of a cell without it are.
func TestSettings(t *testing.T) {
	plain := experiment.Cell{Records: 0, ValueBytes: 100, Threads: 1, Handles: experiment.Shared, Durability: "D1"}
	full := experiment.Cell{Records: 10, ValueBytes: 1, Threads: 2, Agents: 2, Rate: 50, Handles: experiment.PerThread,
		Entry: "all", CPUs: &experiment.CPUs{Number: 1}, MemoryLimit: 64 << 20, DiskQuota: 32 << 20, Durability: "D3"}
	settings := func(cells ...experiment.Cell) (all []string) {
		for _, s := range settingsOf(&experiment.Experiment{Cells: cells}) {
			all = append(all, fmt.Sprintf("%s %q", s.Name, s.Values))
		}
		return all[:len(all)-1] // keys
	}
	for _, c := range []struct {
		name  string
		cells []experiment.Cell
		want  []string
	}{
		{"what no cell has is left out", []experiment.Cell{plain}, []string{`records ["0"]`, `values.bytes ["100 B"]`,
			`threads ["1"]`, `handles ["shared"]`, `durability ["D1"]`}},
		{"what some cell has is there", []experiment.Cell{full, plain}, []string{`records ["10" "0"]`,
			`values.bytes ["1 B" "100 B"]`, `threads ["2" "1"]`, `agents ["2" "none"]`,
			`rate ["50/s asked" "none"]`, `handles ["per_thread" "shared"]`,
			`entry ["all" "none"]`, `cpus ["1 CPU" "none"]`, `memory_limit ["64 MiB" "none"]`,
			`disk_quota ["32 MiB" "none"]`, `durability ["D3" "D1"]`}},
	} {
		if got := settings(c.cells...); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	for _, a := range experiment.Axes() {
		if !a.Set(full) {
			t.Errorf("%s is set, and Set says it is not", a.Path)
		}
	}
}
