package run

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/testkit/misbehave"
)

// Multi-reads through whole trials: an honest store's are counted by key, and one that leaves out keys,
// gives others' values or tells no calls is marked.
//
// Fault (values): a multi-read leaves out a key, gives a key another's or an empty value, or
// reports no calls
// Assay: `lost-values`, `wrong-values`; `counts-disagree` (`calls`, `items`)
// With: storetest.TestLiesAreFound
func TestMultiReads(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	phases := "  - {name: look, mix: {read: 100}, multi_read: 20, operations: 300}\n" +
		"  - {name: both, mix: {read: 80, upsert: 10, delete: 10}, batch: 5, multi_read: 10, operations: 400}\n"
	for name, mark := range map[string]finding.Code{
		misbehave.Honest: "", "lies-multi-read-less": finding.MarkLost, "lies-multi-read-other": finding.MarkWrong,
		"lies-multi-read-empty": finding.MarkWrong, "lies-multi-read-calls": finding.MarkCalls,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, _, _ := strings.Cut(anExperiment(name, own()), "  - {name: look")
			directory := filepath.Join(t.TempDir(), "run")
			if _, err := runText(context.Background(), before+phases+"blocks: 1\nbusy_machine: tell\nstep_timeout: 300s\n", directory); err != nil {
				t.Fatal(err)
			}
			trial := trialOf(t, directory, name)
			if trial.Error != "" {
				t.Fatal(trial.Error)
			}
			if mark == "" && len(codes(trial)) > 0 || mark != "" && !hasMark(trial, mark, nil) {
				t.Errorf("marks %v, expected %s", trial.Marks, mark)
			}
			if name != misbehave.Honest {
				return
			}
			look, both := trial.Phases[1].Operations[0], trial.Phases[2].Operations
			if look.Name != "multi_read" || look.OK != 300 || look.Items != 6000 || look.Absent != 0 || look.Calls != 300 {
				t.Errorf("multi-reads of what is there: %+v", look)
			}
			read := both[len(both)-1]
			if read.Items+read.Absent != 10*(read.OK+read.Miss) || read.Absent == 0 {
				t.Errorf("multi-reads of what is deleted meanwhile: %+v", read)
			}
		})
	}
}
