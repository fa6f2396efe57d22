package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/base/clock"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/server"
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
	trial, phase, did := faultyTrialInTime(t, p, 6, 2000, "{at: %s, kill: node 1}, {at: %s, start: node 1}, "+
		"{at: %s, freeze: node 1}, {at: %s, start: node 1}, {at: %s, cut: node 1}", 300, 500, 900, 1200, 1500)
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

// What passes between clients and a server is delayed, slowed down and reset, and each is undone: no value
// is wrong, and only connections that were reset fail.
func TestPerturbationsAreAPartOfAPhase(t *testing.T) {
	t.Parallel()
	p, _ := memcachedProgram(t)
	_, phase, did := faultyTrialInTime(t, p, 8, 2000, "{at: %s, delay: 20ms ± 5ms}, {at: %s, start: node 1}, "+
		"{at: %s, bandwidth: 20KB/s, node: 1}, {at: %s, start: node 1}, {at: %s, drop_connections: 10%%}, {at: %s, reset: node 1}, "+
		"{at: %s, delay: 5ms}", 300, 900, 1000, 1400, 1500, 1600, 1700)
	want := []string{"delay 20ms ± 5ms", "start", "bandwidth 20.0 kB/s", "start", "drop_connections 10 %", "reset", "delay 5ms", "start"}
	if !slices.Equal(did, want) || !phase.Faults[7].After || phase.Faults[1].Undoes != experiment.FaultDelay {
		t.Errorf("what happened is %q, want %q: %+v", did, want, phase.Faults)
	}
	var failed, wrong uint64
	for _, o := range phase.Operations {
		failed += o.Errors + o.Timeout
		wrong += o.Wrong + o.Lost
	}
	if failed == 0 || failed > 20 || wrong > 0 || phase.Forgot { // each thread's connection is reset twice at most
		t.Errorf("%d failed and %d were wrong; forgot %v", failed, wrong, phase.Forgot)
	}
}

// The machine gives a server less memory and CPU time, which is undone, also after a kill. What can't be set
// ends the trial, and nothing is left.
//
// Fault (servers): the experiment limits a server's memory, CPU time or disk
// Assay: limits are as asked for and lifted again, also after a kill; one that can't be set ends
// the run before its first trial, or the trial
// With: facts.TestInjectedLimitsAreFound
func TestLimitsOfTheMachineAreAPartOfAPhase(t *testing.T) {
	t.Parallel()
	some := host.RoomLimits{CPUs: 1, MemoryBytes: 1 << 30}
	if err := host.CheckRoom(some, host.RoomCPU, host.RoomMemory); err != nil {
		t.Skip(err)
	}
	p, _ := memcachedProgram(t)
	_, phase, did := faultyTrialInTime(t, p, 8, 2000, "{at: %s, memory: 256MiB}, {at: %s, start: node 1}, "+
		"{at: %s, cpu: 20%%}, {at: %s, start: node 1}, {at: %s, kill: node 1}, {at: %s, start: node 1}, {at: %s, cpu: 150%%}",
		300, 500, 600, 1000, 1100, 1200, 1500)
	want := []string{"memory 256 MiB", "start", "cpu 20 %", "start", "kill", "start", "cpu 150 %", "start"}
	if !slices.Equal(did, want) || !phase.Faults[7].After || phase.Faults[3].Undoes != experiment.FaultCPU {
		t.Errorf("what happened is %q, want %q: %+v", did, want, phase.Faults)
	}
	if len(phase.Confined) > 0 {
		t.Errorf("it is reported as another's doing: %+v", phase.Confined)
	}
}

// A limit that can't be set is no phase that was asked for.
func TestImpossibleLimitEndsThePhase(t *testing.T) {
	u := &underTest{store: experiment.Store{Server: &experiment.Server{Count: 1}}}
	for _, one := range []record.ServerFault{
		{Does: experiment.FaultMemory, Amount: "64 MiB", Node: 1, Error: "it holds 80 MB"},
		{Does: experiment.FaultStart, Undoes: experiment.FaultCPU, Node: 1, Error: "no"}} {
		ended := make(chan struct{})
		close(ended)
		f := &faults{servers: u, down: map[int]string{}, events: []record.ServerFault{one}, over: func() {},
			ended: ended}
		_, err := f.end(t.Context(), 1)
		if err == nil || !strings.Contains(err.Error(), one.Error) || errors.Is(err, server.ErrDied) {
			t.Errorf("%s: %v", one.Does, err)
		}
	}
}

// A start that outlasts its phase is waited for, so that what follows has every server, and what was due
// meanwhile is not done after the phase.
func TestStartThatOutlastsItsPhase(t *testing.T) {
	t.Parallel()
	p, _ := memcachedProgram(t)
	var first, began atomic.Int64 // the server's process, and when its second life was first asked if it answers
	ready := p.Ready
	p.Ready = func(ctx context.Context, i *server.Instance) error {
		if first.CompareAndSwap(0, int64(i.PID())) || first.Load() == int64(i.PID()) {
			return ready(ctx, i)
		}
		began.CompareAndSwap(0, clock.MonotonicNS())
		if time.Duration(clock.MonotonicNS()-began.Load()) < 2*time.Second {
			return errors.New("it starts")
		}
		return ready(ctx, i)
	}
	trial, phase := faultyTrial(t, p, "1s", "{at: 100ms, kill: node 1}, {at: 200ms, start: node 1}, {at: 400ms, freeze: node 1}, {at: 600ms, start: node 1}")
	if f := phase.Faults; len(f) != 2 || f[1].Does != experiment.FaultStart || f[1].After || f[1].Seconds < 2 || f[1].Error != "" {
		t.Errorf("what happened is %+v", f)
	}
	for _, o := range trial.Phases[len(trial.Phases)-1].Operations {
		if o.Errors+o.Timeout > 0 {
			t.Errorf("the phase after it has %+v", o)
		}
	}
}

// faultyTrialInTime runs a faultyTrial of so many milliseconds with faults at so many, and does so slower where
// fewer things than are wanted happened: on a machine that others keep busy, a start takes seconds.
func faultyTrialInTime(t *testing.T, p server.Program, wanted, lasts int, faults string,
	at ...int) (trial *record.Trial, phase *record.Phase, did []string) {
	t.Helper()
	for _, slower := range longer {
		var times []any
		for _, ms := range at {
			times = append(times, fmt.Sprint(slower*ms, "ms"))
		}
		trial, phase = faultyTrial(t, p, fmt.Sprint(slower*lasts, "ms"), fmt.Sprintf(faults, times...))
		did = nil
		for _, f := range phase.Faults {
			if f.Error != "" {
				t.Errorf("%s: %s", f.Does, f.Error)
			}
			did = append(did, strings.TrimSpace(f.Does+" "+f.Amount))
		}
		if len(did) == wanted {
			break
		}
	}
	return trial, phase, did
}

// faultyTrial runs a trial whose server has faults in a phase, and returns that phase, too.
func faultyTrial(t *testing.T, p server.Program, lasts, faults string) (*record.Trial, *record.Phase) {
	t.Helper()
	text := strings.NewReplacer("LASTS", lasts, "FAULTS", faults).Replace(`name: faulty
stores: [{driver: memcached, worker: WORKER, server: start, options: {operation_timeout: 1s}}]
durability: D0
threads: 2
records: 300
blocks: 1
busy_machine: tell
keys: {format: decimal, digits: 12}
phases:
  - {name: load, load: true}
  - {name: faulty, mix: {read: 1}, for: LASTS, faults: [FAULTS]}
  - {name: after, mix: {read: 1}, operations: 200}
step_timeout: 300s
`)
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
	if trial == nil || !sound(trial) {
		t.Fatalf("the trial is %+v", trial)
	}
	at := slices.IndexFunc(trial.Phases, func(p record.Phase) bool { return p.Name == "faulty" })
	if at < 0 {
		t.Fatal("the phase is not there")
	}
	return trial, &trial.Phases[at]
}
