package run

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/testkit/misbehave"
)

// Appends and exchanges by several threads, through whole trials: an honest store is accused of nothing. A store
// that drops a part, stores it in place of the value or before it, or returns another value than the replaced one
// is marked.
//
// Fault (values): an append drops its part, stores it in place of the value, or before it
// Assay: parts prove themselves; the final check knows the last of each thread: `wrong-values`,
// `stale-values`
// With: storetest.TestLiesAreFound, worker.TestParts
//
// Fault (values): an exchange returns the new value, an older one, or keeps the old one
// Assay: `wrong-values`, `lost-updates`: what comes back is held as a read
// With: storetest.TestLiesAreFound
func TestAppendsAndExchanges(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for name, marks := range map[string][]finding.Code{
		misbehave.Honest:         nil,
		"lies-append-drops":      {finding.MarkWrong},
		"lies-append-overwrites": {finding.MarkWrong},
		"lies-append-last":       {finding.MarkReadbackWrong},
		"lies-append-before":     {finding.MarkWrong},
		"lies-exchange-new":      {finding.MarkWrong},
		"lies-exchange-stale":    {finding.MarkAtomicLost},
		"lies-exchange-nothing":  {finding.MarkAtomicLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, _, _ := strings.Cut(anExperiment(name, own()), "  - {name: look")
			text := before + "  - {name: parts, mix: {append: 40, read: 40, update: 10, delete: 5, upsert: 5}, append: {bytes: 30, parts: 3}, operations: 3000}\n" +
				"  - {name: exchanges, mix: {get_and_set: 50, read: 50}, order: zipfian, operations: 2000}\n" +
				"  - {name: again, mix: {append: 60, read: 40}, append: {bytes: 50, parts: 6}, order: zipfian, operations: 3000}\n" +
				"blocks: 1\nbusy_machine: tell\nstep_timeout: 300s\n"
			text = strings.Replace(text, "update: 10, delete: 5", "delete: 15", 1)
			if name == "lies-append-last" { // then no later part shows that it is missing
				text = strings.Replace(text, "parts: 6", "parts: 3", 1)
			}
			directory := filepath.Join(t.TempDir(), "run")
			if _, err := runText(context.Background(), text, directory); err != nil {
				t.Fatal(err)
			}
			trial := trialOf(t, directory, name)
			if trial.Error != "" {
				t.Fatal(trial.Error)
			}
			if len(marks) == 0 && len(codes(trial)) > 0 {
				t.Errorf("marks %v, expected none", trial.Marks)
			}
			for _, mark := range marks {
				if !hasMark(trial, mark, nil) {
					t.Errorf("marks %v, expected %s", trial.Marks, mark)
				}
			}
			if name != misbehave.Honest {
				return
			}
			parts, exchanges := trial.Phases[1].Operations, trial.Phases[2].Operations
			for _, o := range parts {
				if o.Name == "append" && (o.OK == 0 || o.BytesWritten != o.OK*(16+30)) {
					t.Errorf("appends: %+v", o)
				}
			}
			if last := exchanges[len(exchanges)-1]; last.Name != "get_and_set" || last.OK == 0 || last.BytesRead == 0 {
				t.Errorf("exchanges: %+v", last)
			}
		})
	}
}
