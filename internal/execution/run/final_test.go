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

// Where memory has room for fewer records than are to be checked, as many are drawn, and the report says so.
//
// Fault (conductor): more records are to be checked than memory has room for
// Assay: as many as fit in half of it are drawn, and the report says how many
func TestFinalCheckFitsIntoMemory(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	const records = checkedMin + 2000
	text := strings.NewReplacer("records: 300", "records: 12000", "upsert, mix: {upsert: 100}, order: counting, operations: 3000",
		"load, load: true}\n  - {name: read, mix: {read: 100}, operations: 3000").Replace(sameKeys(misbehave.Honest, "counting", "1000000"))
	for name, c := range map[string]struct{ bytes, read, fits uint64 }{
		"little":    {1 << 10, checkedMin, checkedMin},
		"enough":    {checkedShare * checkedBytes * records, records, 0},
		"not known": {0, records, 0},
		"one less":  {checkedShare * checkedBytes * (records - 1), records - 1, records - 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := filepath.Join(t.TempDir(), "run")
			if _, err := runTextWith(t.Context(), text, directory, func(o *Options) {
				o.availableBytes = func() uint64 { return c.bytes }
			}); err != nil {
				t.Fatal(err)
			}
			f := trialOf(t, directory, misbehave.Honest).Final
			if f == nil || f.Records != c.read || f.Right != c.read || f.Of != records || f.Fits != c.fits {
				t.Errorf("final check %+v, expected %d of %d, fits %d", f, c.read, uint64(records), c.fits)
			}
		})
	}
}

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
