package run

import (
	"context"
	"slices"
	"testing"

	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/live"
)

// A server is killed and comes back, is frozen and cut off, and what it is left in is undone: the trial
// has the errors of that time, and is not marked for them. A store in memory forgets, which its class
// allows, also in the phases that follow.
func TestFaultsOfServersAreAPartOfAPhase(t *testing.T) {
	t.Parallel()
	p, _ := memcachedProgram(t)
	const text = `name: faulty
stores: [{driver: memcached, worker: WORKER, server: start, options: {operation_timeout: 1s}}]
durability: D0
threads: 2
records: 300
blocks: 1
busy_machine: tell
keys: {format: decimal, digits: 12}
phases:
  - {name: load, load: true}
  - name: faulty
    mix: {read: 1}
    for: 2s
    faults: [{at: 300ms, kill: node 1}, {at: 500ms, start: node 1}, {at: 900ms, freeze: node 1}, {at: 1200ms, start: node 1}, {at: 1500ms, cut: node 1}]
  - {name: after, mix: {read: 1}, operations: 200}
step_timeout: 300s
`
	var told heard
	directory := runServer(context.Background(), t, p, live.NewPlain(&told), text, func(o *Options) {
		o.trials = func(all []plan.Trial) []plan.Trial {
			return slices.DeleteFunc(all, func(one plan.Trial) bool { return one.Role != plan.Measured })
		}
	})
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	trial := run.Trials[run.Plan[0].ID]
	if trial == nil || trial.State != record.OK {
		t.Fatalf("the trial is %+v", trial)
	}
	var phase *record.Phase
	for i := range trial.Phases {
		if trial.Phases[i].Name == "faulty" {
			phase = &trial.Phases[i]
		}
	}
	var did []string
	for _, f := range phase.Faults {
		if f.Error != "" {
			t.Errorf("%s: %s", f.Does, f.Error)
		}
		did = append(did, f.Does)
	}
	want := []string{experiment.FaultKill, "start", experiment.FaultFreeze, "start", experiment.FaultCut, "start"}
	if !slices.Equal(did, want) || !phase.Faults[5].After || phase.Faults[5].Undoes != experiment.FaultCut {
		t.Errorf("what happened is %+v", phase.Faults)
	}
	var failed uint64
	for _, o := range phase.Operations {
		failed += o.Errors + o.Timeout
	}
	if failed == 0 || !phase.Forgot || len(phase.Stops) > 0 {
		t.Errorf("%d failed, forgot %v, stops %v", failed, phase.Forgot, phase.Stops)
	}
	if f := trial.Final; f == nil || f.Lost+f.Stale == 0 || !f.Forgot {
		t.Errorf("what was read back of a store that forgot: %+v", f)
	}
}
