package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/evidence/proof"
	"assay/internal/execution/crash"
	"assay/internal/execution/powercut"
	"assay/store"
)

func TestColumns_of_none_one_and_many_rows(t *testing.T) {
	for rows, want := range map[int]string{0: "", 1: "a\nx\n", 3: "a\nx\nx\nx\n"} {
		table := newColumns("a", "never")
		for range rows {
			table.add("x", "–")
		}
		table.dropEmpty()
		var out bytes.Buffer
		if err := table.print(&out); err != nil || out.String() != want {
			t.Errorf("%d rows: %q, %v; want %q", rows, out.String(), err, want)
		}
	}
	empty := newColumns("a")
	empty.add("–")
	empty.dropEmpty()
	if err := empty.print(&bytes.Buffer{}); err != nil {
		t.Errorf("a table of which every column is empty: %v", err)
	}
}

// A test that is stopped has the cuts so far: of no store, of one without a cut, of several.
func TestCrashReport_of_none_one_and_many(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	result := func(state crash.State, cuts int) crash.Result {
		r := crash.Result{Store: "bbolt", Class: store.D3, State: state, Why: "why", Cuts: []crash.Cut{}, FileSystem: "ext4"}
		for i := range cuts {
			r.Cuts = append(r.Cuts, crash.Cut{Number: i + 1, Check: crash.Check{Wrong: 1}})
		}
		return r
	}
	for _, kind := range []crash.Kind{crash.Kill, crash.Power} {
		for _, state := range []crash.State{crash.Kept, crash.Refuted, crash.NoPromise, crash.NotPassing,
			crash.NotTested, crash.Stopped} {
			for _, results := range [][]crash.Result{{}, {result(state, 0)}, {result(state, 1)}, {result(state, 3),
				result(crash.Kept, 0), result(state, 1)}} {
				if state == crash.Refuted && (len(results) == 1 && len(results[0].Cuts) == 0) {
					continue // a cut refuted it
				}
				for _, form := range []string{"text", "json", "html"} {
					r := &crash.Report{Kind: kind, Cuts: 3, Stopped: true, Results: results}
					if kind == crash.Power {
						r.Rig = &crash.RigInfo{Version: powercut.Version}
					}
					var out bytes.Buffer
					if err := writeCrashes(&out, r, form); err != nil || out.Len() == 0 {
						t.Errorf("%s, %s, %d results as %s: %v, %d bytes", kind, state, len(results), form, err, out.Len())
					}
					if form == "text" && len(results) == 0 && !strings.Contains(out.String(), "no store was tested, the test was stopped") {
						t.Errorf("%s without a result: %q", kind, out.String())
					}
					if form == "json" && !json.Valid(out.Bytes()) {
						t.Errorf("no JSON: %s", out.Bytes())
					}
				}
			}
		}
	}
	var out bytes.Buffer
	if all, err := proof.All(); err != nil || len(all) > 0 {
		t.Fatal(all, err)
	}
	if err := printProofs(&out); err != nil || !strings.Contains(out.String(), "No proofs are kept") {
		t.Errorf("%q, %v", out.String(), err)
	}
}
