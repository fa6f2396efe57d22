package run

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/testkit/misbehave"
)

// sameKeys has no load: threads upsert the same keys in one of the orders, and nothing ever reads
// them but the final check.
func sameKeys(driver, order, verify string) string {
	return strings.NewReplacer("DRIVER", driver, "ORDER", order, "VERIFY", verify, "WORKER", own()).Replace(`name: same-keys
stores: [{driver: DRIVER, worker: WORKER}]
records: 300
values: {bytes: 100}
threads: 3
durability: D3
verify_records: VERIFY
phases:
  - {name: upsert, mix: {upsert: 100}, order: ORDER, operations: 3000}
blocks: 1
busy_machine: tell
step_timeout: 300s
`)
}

func TestUpsertsWithoutALoadAreReadBack(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		order string
		of    uint64 // 0: not known beforehand
	}{{"counting", 1000}, {"shuffled", 300}, {"uniform", 0}} {
		for driver, lost := range map[string]bool{misbehave.Honest: false, "lies-all-lost": true} {
			t.Run(c.order+" "+driver, func(t *testing.T) {
				t.Parallel()
				directory := filepath.Join(t.TempDir(), "run")
				if _, err := runText(context.Background(), sameKeys(driver, c.order, "200"), directory); err != nil {
					t.Fatal(err)
				}
				trial := trialOf(t, directory, driver)
				f := trial.Final
				if f == nil || f.Records != 200 || f.Of < 200 || c.of > 0 && f.Of != c.of {
					t.Fatalf("final check %+v, expected 200 of %d (error %q)", f, c.of, trial.Error)
				}
				if marked := slices.Contains(codes(trial), string(finding.FaultLost)); marked != lost || !lost &&
					f.Right != 200 || lost && f.Lost != 200 {
					t.Errorf("final check %+v, marks %v", f, trial.Marks)
				}
			})
		}
	}
}
