package read_test

import (
	"slices"
	"testing"

	"assay/internal/experiment"
)

func TestCPUs(t *testing.T) {
	const text = "name: x\nstores: [{driver: memcached, server: start}, memory]\ndurability: D0\nkeys: {format: decimal}\nphases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]\n"
	for set, want := range map[string]experiment.CPUList{"0": {0}, "1-3": {1, 2, 3}, "5,0-1": {0, 1, 5}, "2,2": {2}} {
		e := mustLoad(t, text, `cpus={client: "`+set+`"}`)
		if e.CPUs == nil || !slices.Equal(e.CPUs.Client, want) || e.CPUs.Server != nil {
			t.Errorf("%s: %+v", set, e.CPUs)
		}
	}
	e := mustLoad(t, text, "cpus={client: 0, server: 1}")
	if e.CPUs == nil || e.CPUs.Client.String() != "0" || e.CPUs.Server.String() != "1" {
		t.Errorf("%+v", e.CPUs)
	}
	if got := (experiment.CPUList{0, 1, 2, 5, 7, 8}).String(); got != "0-2,5,7-8" {
		t.Error(got)
	}
	if e := mustLoad(t, text); e.CPUs != nil {
		t.Errorf("%+v without cpus", e.CPUs)
	}
}
