package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"assay/internal/evidence/record"
	"assay/internal/execution/agents"
	"assay/internal/presentation/live"
)

const agentsRun = `name: agents
stores: [{driver: redis, server: start}]
durability: D0
threads: {processes: 2, threads: 2}
records: 400
blocks: 1
repeats: 0
busy_machine: tell
phases:
  - {name: load, load: true}
  - {name: mixed, mix: {read: 2, update: 2, insert: 1}, operations: 4000}
  - {name: again, mix: {read: 1}, order: zipfian, operations: 2000}
step_timeout: 300s
`

// withAgents lets agents of this program do the phases.
func withAgents(t *testing.T) func(o *Options) {
	return func(o *Options) {
		o.Agents = agents.Options{Version: "test", Agent: []string{os.Args[0], "agent", nameOf(t)}, Log: discard{}}
	}
}

// Two agents do what two processes of one machine do, to the operation.
func TestAgentsDoWhatOneMachineDoes(t *testing.T) {
	t.Parallel()
	p := installed(t, "redis")
	var trials []*record.Trial
	for _, text := range []string{agentsRun, agentsRun + "agents: local:2\n"} {
		trials = append(trials, trialOf(t, runServer(context.Background(), t, p, live.NewPlain(discard{}), text, withAgents(t)), "redis"))
	}
	for i, trial := range trials {
		if trial.Error != "" || len(codes(trial)) > 0 || len(trial.Phases) != 3 {
			t.Fatalf("run %d: %s: %s %v", i, trial.State, trial.Error, trial.Marks)
		}
		if trial.Final == nil || trial.Final.Right != trial.Final.Records || trial.Final.Records < 400 {
			t.Errorf("run %d: final check: %+v", i, trial.Final)
		}
	}
	for i := range trials[0].Phases {
		one, many := &trials[0].Phases[i], &trials[1].Phases[i]
		if one.Attempted != many.Attempted || one.Threads != many.Threads || one.Processes != many.Processes || many.Unfinished > 0 {
			t.Errorf("%s: %d and %d operations, %d and %d threads", one.Name, one.Attempted, many.Attempted, one.Threads, many.Threads)
		}
		for k, o := range one.Operations {
			m := many.Operations[k]
			if got, want := countedText(m), countedText(o); got != want || m.Service.Count() != o.Done() {
				t.Errorf("%s: agents counted %s, and timed %d; one machine %s", one.Name, got, m.Service.Count(), want)
			}
		}
	}
	if many := &trials[1].Phases[1]; many.Clock != "monotonic" || many.StartSpreadNS < 0 || many.Process.CPUSeconds == nil || *many.Process.CPUSeconds <= 0 {
		t.Errorf("clock %s, a spread of %d ns, %+v", many.Clock, many.StartSpreadNS, many.Process)
	}
	if left := agentsOf(t); len(left) > 0 {
		t.Errorf("agents that are left: %v", left)
	}
}

func countedText(o record.Operation) string {
	return fmt.Sprint(o.Name, " ", o.OK, o.Miss, o.Lost, o.Conflict, o.Wrong, o.Errors, o.Timeout, o.Items, " ", o.BytesWritten, " ", o.BytesRead)
}

// agentsOf returns the agents of a test that run.
func agentsOf(t *testing.T) (pids []int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), "\x00agent\x00"+nameOf(t)+"\x00") {
			continue // it ended, or is another
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
