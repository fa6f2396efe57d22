package read_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
)

const cpusText = "name: x\nstores: [{driver: memcached, server: start}, memory]\ndurability: D0\nkeys: {format: decimal}\n" +
	"phases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]\n"

func TestCPUs(t *testing.T) {
	for set, want := range map[string]experiment.CPUList{"0": {0}, "1-3": {1, 2, 3}, "5,0-1": {0, 1, 5}, "2,2": {2}} {
		at := mustLoad(t, cpusText, `cpus={client: "`+set+`"}`).Cells[0].CPUs
		if at == nil || !slices.Equal(at.Client, want) || at.Server != nil {
			t.Errorf("%s: %+v", set, at)
		}
	}
	at := mustLoad(t, cpusText, "cpus={client: 0, server: 1}").Cells[0].CPUs
	if at == nil || at.Client.String() != "0" || at.Server.String() != "1" || at.Text() != "client on CPUs 0, server on CPUs 1" {
		t.Errorf("%+v", at)
	}
	if got := (experiment.CPUList{0, 1, 2, 5, 7, 8}).String(); got != "0-2,5,7-8" {
		t.Error(got)
	}
	if at := mustLoad(t, cpusText).Cells[0].CPUs; at != nil {
		t.Errorf("%+v without cpus", at)
	}
}

// A list of numbers of CPUs, or of which ones, makes a cell each.
func TestCPUsAreAnAxis(t *testing.T) {
	drivers := fakeDrivers()
	drivers.OwnCPUs = func() []int { return []int{4, 6, 5, 7} } // two cores of two threads
	for set, want := range map[string][]string{
		"[1, 2, 4]":    {"1 CPU: 4 4", "2 CPUs: 4,6 4,6", "4 CPUs: 4-7 4-7"},
		"2":            {"2 CPUs: 4,6 4,6"},
		`[4-5, "4,6"]`: {"CPUs 4-5: 4-5 4-5", "CPUs 4,6: 4,6 4,6"},
		"[{client: 4, server: 6}, {client: 4, server: 6-7}]": {"client on CPUs 4, server on CPUs 6: 4 6", "client on CPUs 4, server on CPUs 6-7: 4 6-7"},
		"[3, {client: 5}]": {"3 CPUs: 4-6 4-6", "client on CPUs 5: 5 "},
	} {
		e, err := read.Load([]byte(cpusText), "x.yaml", []string{"cpus=" + set}, drivers)
		if err != nil {
			t.Errorf("%s: %v", set, err)
			continue
		}
		var got []string
		for _, c := range e.Cells {
			got = append(got, c.CPUs.Text()+": "+c.CPUs.Client.String()+" "+c.CPUs.Server.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, expected %q", set, got, want)
		}
	}
	e := mustLoad(t, cpusText, "cases=[{name: small, cpus: 1, threads: 2}, {name: large, cpus: 2, threads: 4}]")
	if len(e.Cells) != 2 || e.Cells[1].CPUs.Client.String() != "0-1" || e.Cells[1].Label(e) != "D0 · large" {
		t.Errorf("%+v", e.Cells)
	}
}

func TestImpossibleCPUsAreRefused(t *testing.T) {
	drivers := fakeDrivers()
	drivers.OwnCPUs = func() []int { return []int{0, 1} }
	for set, want := range map[string]string{
		"cpus=0":            "a whole number of CPUs from 1 to 1024, which ones such as 0-3, or {client: 0, server: 1-3}",
		"cpus=[1, many]":    "a whole number of CPUs from 1 to 1024",
		"cpus=3-1":          "numbers of CPUs such as",
		"cpus=[1, 1]":       "cpus lists 1 CPU twice",
		"cpus={clients: 1}": "client",
	} {
		if _, err := read.Load([]byte(cpusText), "x.yaml", []string{set}, drivers); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", set, err, want)
		}
	}
	loaded, err := read.Source{Text: []byte(cpusText), Name: "x.yaml", Changes: []read.Change{{Flag: "--cpus", Path: "cpus", Value: "1,3,4"}}}.Load(drivers)
	if err != nil || !slices.Contains(loaded.Notes, "4 CPUs: Assay may use 2 here, and a run would not begin") || loaded.Experiment.Cells[2].CPUs.Client.String() != "0-3" {
		t.Errorf("more CPUs than there are: %v, %v", err, loaded)
	}
	embedded := strings.Replace(cpusText, "{driver: memcached, server: start}, ", "", 1)
	for set, want := range map[string]string{
		"cpus=2":                          "",
		"cpus=0-1":                        "",
		"cpus={client: 0, server: 1}":     "cpus.server has no effect: Assay starts no server",
		"cpus=[{client: 0}, {server: 1}]": "cpus.server has no effect: Assay starts no server",
	} {
		_, err := read.Load([]byte(embedded), "x.yaml", []string{set}, drivers)
		var mistake *read.Error
		if want == "" && err != nil || want != "" && (!errors.As(err, &mistake) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, expected %q", set, err, want)
		}
	}
}
