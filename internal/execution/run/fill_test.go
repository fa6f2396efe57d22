package run

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/testkit/misbehave"
)

// Reads that fill, on a store that begins empty and loses a part to deletes: each miss puts one value, which
// later reads find. A worker that puts twice is marked by the bytes.
//
// Fault (values): a read that fills what it missed puts the value twice, or another one
// Assay: `counts-disagree` (`bytes`), `lost-values`, `wrong-values`
// With: audit.TestFillsAreInDoubt, audit.TestReadsThatFillAreReadsOrPuts,
// storetest.TestLiesAreFound
func TestFillsOnMiss(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		worker string
		mark   finding.Code
	}{{own(), ""}, {liar("counts-bytes"), finding.MarkBytes}} {
		t.Run(string(c.mark), func(t *testing.T) {
			t.Parallel()
			before, _, _ := strings.Cut(anExperiment(misbehave.Honest, c.worker), "  - {name: load")
			text := before + "  - {name: warm, mix: {upsert: 1}, order: counting, operations: 100}\n" +
				"  - {name: cache, mix: {read: 90, delete: 10}, on_miss: fill, backend: 100us, order: zipfian, operations: 1000}\n" +
				"blocks: 1\nbusy_machine: tell\nstep_timeout: 300s\n"
			directory := filepath.Join(t.TempDir(), "run")
			if _, err := runText(context.Background(), text, directory); err != nil {
				t.Fatal(err)
			}
			trial := trialOf(t, directory, misbehave.Honest)
			if trial.Error != "" {
				t.Fatal(trial.Error)
			}
			if c.mark == "" && len(codes(trial)) > 0 || c.mark != "" && !hasMark(trial, c.mark, nil) {
				t.Errorf("marks %v, expected %q", trial.Marks, c.mark)
			}
			p := trial.Phases[len(trial.Phases)-1]
			fills := p.Operations[len(p.Operations)-1]
			if fills.Name != "read_or_fill" || fills.OK == 0 || fills.Miss == 0 || c.mark == "" && fills.BytesWritten != fills.Miss*(16+200) {
				t.Errorf("%+v", fills)
			}
			if p.History == nil || p.History.Fills == nil || p.History.Fills.Fills == 0 {
				t.Errorf("the sample's fills are missing: %+v", p.History)
			}
		})
	}
}
