package run

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/evidence/record"
	"assay/internal/testkit/misbehave"
)

// Groups that insert, delete, read and come and go at the same time are counted apart, their sum is
// the phase's, and what they did to the data is known: an honest store is never marked.
func TestGroupsAreCountedApart(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	text := anExperiment(misbehave.Honest, own())
	text = text[:strings.Index(text, "  - {name: look")] + `  - name: beside
    for: 900ms
    groups:
      - {name: first, threads: 2, mix: {insert: 3, read: 1}, order: latest}
      - {name: second, threads: 1, mix: {insert: 1}, batch: 3}
      - {name: paced, threads: 2, mix: {read: 1, delete: 1}, rate: 400, from: 200ms, for: 400ms}
      - {name: few, threads: 1, mix: {upsert: 1}, operations: 25, from: 300ms}
  - {name: after, mix: {read: 1, insert: 1}, order: uniform, operations: 200}
` + text[strings.Index(text, "blocks: 1"):]
	if _, err := runText(context.Background(), text, directory); err != nil {
		t.Fatal(err)
	}
	trial := trialOf(t, directory, misbehave.Honest)
	if !sound(trial) {
		t.Fatalf("%s: %s %v", trial.State, trial.Error, trial.Marks)
	}
	if f := trial.Final; f == nil || f.Right != f.Records || f.Records == 0 {
		t.Errorf("the final check: %+v", f)
	}
	whole := trial.Phases[1]
	var names []string
	var attempted uint64
	done := map[string]uint64{}
	for _, g := range whole.Groups {
		names = append(names, g.Name)
		attempted += g.Attempted
		for _, o := range g.Operations {
			done[o.Name] += o.Done()
			if (o.Response != nil) != g.Open {
				t.Errorf("%s: response times of open load %v: %v", g.Name, g.Open, o.Response != nil)
			}
		}
	}
	if !slices.Equal(names, []string{"beside · first", "beside · second", "beside · paced", "beside · few"}) || attempted != whole.Attempted {
		t.Errorf("groups %q, %d attempted of %d", names, attempted, whole.Attempted)
	}
	for _, o := range whole.Operations {
		if done[o.Name] != o.Done() {
			t.Errorf("%s: %d over the groups, %d in the phase", o.Name, done[o.Name], o.Done())
		}
	}
	few, paced := whole.Groups[3], whole.Groups[2]
	// A thread that gets no CPU is not through when the phase ends.
	through := few.EndedBy == record.EndedOperations && few.Attempted == 25 ||
		few.EndedBy == record.EndedDuration && few.Attempted < 25
	if !through || few.BeganNS != 300e6 {
		t.Errorf("few: %+v", few)
	}
	if !paced.Open || paced.EndedBy == "" || paced.BeganNS < 200e6 || paced.ElapsedNS == 0 { // a thread that gets no CPU ends early
		t.Errorf("paced: ended by %s, from %d for %d ns", paced.EndedBy, paced.BeganNS, paced.ElapsedNS)
	}
	if batched := whole.Groups[1].Operations; len(batched) != 1 || batched[0].Name != "batch" || batched[0].Items != 3*batched[0].OK {
		t.Errorf("second: %+v", batched)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	sampled := false
	for _, planned := range run.Plan {
		for _, s := range run.Samples(planned.ID, "") {
			if s.Phase != "beside" {
				continue
			}
			sampled = true
			var operations, bad uint64
			for _, g := range s.Groups {
				operations, bad = operations+g.Operations, bad+g.Bad
			}
			if operations != s.Operations || bad != s.Bad || len(s.Groups) != 4 {
				t.Errorf("a sample of %d operations, %d over its %d groups", s.Operations, operations, len(s.Groups))
			}
		}
	}
	if !sampled {
		t.Error("no samples")
	}
}
