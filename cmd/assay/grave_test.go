package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/presentation/model"
)

const buffered = `name: grave
stores: [{driver: lies-buffered, worker: WORKER}]
records: 0
keys: {format: binary, bytes: 16}
values: {bytes: 1KiB, repeated: 0}
threads: 1
durability: CLASS
phases:
  - {name: insert, mix: {insert: 1}, for: 30s, operations: 2000}
blocks: 1
busy_machine: tell
verify_records: 10
`

// A grave finding takes the rank and sets the exit status, whether it comes from a mark of a trial
// or is made when the run is read. The store keeps its writes in memory, and reads them back from
// there.
func TestGraveFindingsTakeTheRankAndTheStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class string
		code  finding.Code
	}{{"D1", finding.NotOnDisk}, {"D3", finding.FaultNotDurable}} {
		t.Run(c.class, func(t *testing.T) {
			t.Parallel()
			scratch := t.TempDir()
			if _, err := host.NewSyncCounter(scratch); err != nil && c.class == "D3" {
				t.Skip(err)
			}
			directory := filepath.Join(scratch, "run")
			text := strings.NewReplacer("WORKER", hosted(), "CLASS", c.class).Replace(buffered)
			assay(t, "run", written(t, "grave.yaml", text), "--out", directory, "--plain").wants(t, exitTrials)
			var r model.Result
			shown := assay(t, "report", directory, "--format", "json")
			if err := json.Unmarshal([]byte(shown.stdout), &r); err != nil {
				t.Fatal(err)
			}
			grave := false
			for _, f := range r.Findings {
				grave = grave || f.Code == c.code && f.Severity == finding.Grave
			}
			if !grave {
				t.Errorf("no grave finding %s: %+v", c.code, r.Findings)
			}
			for _, table := range r.Tables {
				for _, row := range table.Rows {
					if row.Arm == "lies-buffered" && (row.Standing == model.Ranked || row.Rank != 0) {
						t.Errorf("%s: it has rank %d", table.Phase, row.Rank)
					}
				}
			}
		})
	}
}
