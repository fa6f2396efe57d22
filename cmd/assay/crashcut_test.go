package main

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"assay/internal/execution/crash"
	"assay/internal/testkit/walstore"
)

func TestCrash(t *testing.T) {
	t.Parallel()
	few := []string{"--cuts", "2", "--operations", "200", "--records", "50"}
	t.Run("a store that keeps its promise", func(t *testing.T) {
		t.Parallel()
		e := assay(t, append([]string{"crash", "bbolt", "--durability", "D1", "--format", "json"}, few...)...)
		e.wants(t, 0, "bbolt D1: kept after 2 cuts")
		var r crash.Report
		if err := json.Unmarshal([]byte(e.stdout), &r); err != nil {
			t.Fatalf("%v in %s", err, e.stdout)
		}
		if len(r.Results) != 1 || r.Results[0].State != crash.Kept || r.Results[0].Control == nil || r.Results[0].Cuts[0].Records == 0 {
			t.Errorf("the result is %+v", r)
		}
	})
	t.Run("one that does not", func(t *testing.T) {
		t.Parallel()
		own, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		file := fmt.Sprintf("name: w\nstores: [{driver: %s, worker: [%s, worker]}, {driver: %s, worker: [%[2]s, worker]}]\ndurability: D1\n"+
			"phases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]\n", walstore.Buffers, own, walstore.Honest)
		e := assayIn(t, "", file, append([]string{"crash", "-"}, few...)...)
		e.wants(t, exitTrials, "refuted: wal-buffers (D1)")
		wantParts(t, "the text", e.stdout, "wal-buffers (D1) is refuted. cut ", "--cut ", "wal-honest", "kept")
	})
	t.Run("bad arguments", func(t *testing.T) {
		t.Parallel()
		for expected, arguments := range map[string][]string{
			"takes an experiment file, a preset or stores": {},
			`there is no file, preset or driver "bolltt"`:  {"bolltt"},
			"--kind flood: expected kill":                  {"bbolt", "--kind", "flood"},
			"--cuts 0: expected 1 or more":                 {"bbolt", "--cuts", "0"},
			"--cut 30: expected one of the 20 of --cuts":   {"bbolt", "--cut", "30"},
			`unknown durability class "D9"`:                {"bbolt", "--durability", "D9"},
		} {
			assay(t, append([]string{"crash"}, arguments...)...).wants(t, exitUsage, expected)
		}
	})
	t.Run("a store that can't be cut off", func(t *testing.T) {
		t.Parallel()
		e := assay(t, "crash", "memory")
		e.wants(t, exitTrials, "nothing was tested")
		wantParts(t, "the text", e.stdout, "memory (D0) was not tested: keeps nothing after it is closed.")
	})
}
