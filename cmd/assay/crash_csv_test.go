package main

import (
	"encoding/csv"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/drivers"
	"assay/internal/execution/crash"
	"assay/store"
)

func TestCutsAsCSV(t *testing.T) {
	r := &crash.Report{Kind: crash.Kill, Seed: 7, Results: []crash.Result{
		{Store: "kept", Version: "v1", Class: store.D1, State: crash.Kept, Cuts: make([]crash.Cut, 20)},
		{Store: "lossy", Class: store.D2, WindowNS: int64(3 * time.Second), Servers: 3, State: crash.Refuted, Broken: 2, Why: "3 of 500, lost",
			Cuts: make([]crash.Cut, 20), Loss: &crash.LossWindow{Median: 1500 * time.Microsecond,
				Worst: time.Second, RecordsMax: 9, LostAll: 1}},
	}}
	var text strings.Builder
	if err := writeCutRows(&text, r); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	want := [][]string{cutColumns,
		{"kept", "v1", "D1", "1", "kill", "", "7", "kept", "20", "0", "0", "", "", "", "", ""},
		{"lossy", "", "D2(3s)", "3", "kill", "", "7", "refuted", "20", "2", "0", "1.5", "1000.0", "9", "1", "3 of 500, lost"},
	}
	if err != nil || !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("got %q, %v, want %q", rows, err, want)
	}
}

// make kills cuts every store of ours that keeps files, and every server that claims more than its process.
func TestLongFormKillsEveryStore(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\nKILLED ?= ")
	list, _, _ = strings.Cut(list, "\nCUTS")
	for _, driver := range drivers.All() {
		d := driver.Describe()
		name := d.Name
		_, starts := drivers.Program(name)
		if starts {
			name += "@start"
		}
		claims := slices.ContainsFunc(d.Durability,
			func(c store.DurabilityClaim) bool { return c.Class != store.D0 && c.Class != store.D4 })
		if !claims || d.Kind != store.Embedded && !starts {
			continue
		}
		if !regexp.MustCompile(`\s` + regexp.QuoteMeta(name) + `\s`).MatchString(" " + list + " ") {
			t.Errorf("make kills leaves %s out", name)
		}
	}
}
