package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/execution/agents"
	"assay/internal/execution/server"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/live"
	"assay/internal/testkit/sshtest"
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

// Agents do what as many processes of one machine do, to the operation: two in the fast tests.
func TestAgentsDoWhatOneMachineDoes(t *testing.T) {
	t.Parallel()
	p := installed(t, "redis")
	counts := []int{2}
	if os.Getenv("ASSAY_LONG") != "" {
		counts = []int{1, 2, 4, 8}
	}
	for _, count := range counts {
		t.Run(fmt.Sprint(count), func(t *testing.T) { agentsAndOneMachine(t, p, count, agentsRun) })
	}
}

// Four agents load a cluster of three servers.
func TestAgentsLoadACluster(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	cluster := strings.Replace(agentsRun, "server: start", "server: {start: true, count: 3}", 1)
	trial := agentsAndOneMachine(t, installed(t, "redis"), 4, cluster)
	if s := trial.Server; s == nil || len(s.Members) != 3 {
		t.Fatalf("not three servers: %+v", s)
	}
}

// What scans of agents find is held against what was acknowledged, as far as one agent knows it: records
// that others wrote in the phase may be missing, and no honest store is accused for it.
func TestAgentsRecordFinds(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	text := strings.NewReplacer("driver: redis", "driver: postgres", "durability: D0", "durability: D1",
		"{read: 2, update: 2, insert: 1}", "{scan: 2, insert: 4, upsert: 1}", "{read: 1}, order: zipfian", "{scan: 1}, order: zipfian",
	).Replace(agentsRun) + "agents: local:2\n"
	trial := trialOf(t, runServer(context.Background(), t, installed(t, "postgres"), live.NewPlain(discard{}), text, withAgents(t)), "postgres")
	if trial.Error != "" || len(codes(trial)) > 0 || len(trial.Phases) != 3 {
		t.Fatalf("%s: %s %v", trial.State, trial.Error, trial.Marks)
	}
	for _, p := range trial.Phases[1:] {
		f := p.Finds
		if f == nil || f.Finds < 20 || f.Owed == 0 || f.NotJudged > 0 || f.Missing+f.Beyond > 0 {
			t.Fatalf("%s: %+v", p.Name, f)
		}
		t.Logf("%s: %+v", p.Name, *f)
	}
}

// agentsAndOneMachine runs a text by so many processes of one machine and by so many agents, and returns
// the agents' trial.
func agentsAndOneMachine(t *testing.T, p server.Program, count int, text string) *record.Trial {
	t.Helper()
	here := strings.Replace(text, "{processes: 2, threads: 2}", fmt.Sprintf("{processes: %d, threads: %d}", count, 8/count), 1)
	var trials []*record.Trial
	for _, text := range []string{here, here + fmt.Sprintf("agents: local:%d\n", count)} {
		trials = append(trials, trialOf(t, runServer(context.Background(), t, p, live.NewPlain(discard{}), text, withAgents(t)), "redis"))
	}
	sameWork(t, trials[0], trials[1])
	if t.Failed() {
		t.FailNow()
	}
	for i, a := range trials[1].Phases[1].Agents {
		if a.Name != fmt.Sprint("local-", i+1) || a.Threads != 8/count || a.Processes != 1 || a.Operations != uint64(4000/count) || a.CPUSeconds <= 0 || a.ClockErrorNS <= 0 {
			t.Errorf("agent %d: %+v", i, a)
		}
	}
	if left := agentsOf(t); len(left) > 0 {
		t.Errorf("agents that are left: %v", left)
	}
	return trials[1]
}

// sameWork holds a trial by agents against one of the same lanes by processes of one machine.
func sameWork(t *testing.T, here, away *record.Trial) {
	t.Helper()
	for i, trial := range []*record.Trial{here, away} {
		if trial.Error != "" || len(codes(trial)) > 0 || len(trial.Phases) != 3 {
			t.Errorf("run %d: %s: %s %v", i, trial.State, trial.Error, trial.Marks)
			return
		}
		if trial.Final == nil || trial.Final.Right != trial.Final.Records || trial.Final.Records < 400 {
			t.Errorf("run %d: final check: %+v", i, trial.Final)
		}
	}
	for i := range here.Phases {
		one, many := &here.Phases[i], &away.Phases[i]
		if one.Attempted != many.Attempted || one.Threads != many.Threads || one.Processes != many.Processes ||
			many.Unfinished > 0 {
			t.Errorf("%s: %d and %d operations, %d and %d threads", one.Name, one.Attempted, many.Attempted, one.Threads, many.Threads)
		}
		for k, o := range one.Operations {
			m := many.Operations[k]
			if got, want := countedText(m), countedText(o); got != want || m.Service.Count() != o.Done() {
				t.Errorf("%s: agents counted %s, and timed %d; one machine %s", one.Name, got, m.Service.Count(), want)
			}
		}
	}
	if many := &away.Phases[1]; many.Clock != "monotonic" || many.StartSpreadNS < 0 || many.Process.CPUSeconds == nil || *many.Process.CPUSeconds <= 0 {
		t.Errorf("clock %s, a spread of %d ns, %+v", many.Clock, many.StartSpreadNS, many.Process)
	}
	if h := away.Phases[1].History; h == nil || h.Sample < 2 || h.Records == 0 || h.Covered == 0 || h.Dropped > 0 ||
		h.ClockErrorNS <= 0 || h.Broken() > 0 {
		t.Errorf("history of keys: %+v", h)
	} else if one := here.Phases[1].History; one.Sample != h.Sample || one.Records != h.Records ||
		one.Writes != h.Writes {
		t.Errorf("one machine recorded %d operations of %d keys, agents %d of %d", one.Records, one.Sample, h.Records, h.Sample)
	}
}

// A whole run whose agent is started by ssh: the record says where, the agent counts as one of this
// machine does, and leaves nothing that runs.
func TestRunBySSH(t *testing.T) {
	t.Parallel()
	p := installed(t, "redis")
	target, ssh := sshtest.Start(t)
	there := t.TempDir()
	trial := trialOf(t, runServer(context.Background(), t, p, live.NewPlain(discard{}), strings.Replace(agentsTimed, "local:2", "ssh://"+target, 1), withAgents(t),
		func(o *Options) { o.Agents.SSH, o.Agents.SSHDirectory = ssh, there }), "redis")
	if trial.Error != "" || len(codes(trial)) > 0 || len(trial.Phases) != 2 {
		t.Fatalf("%s: %s %v", trial.State, trial.Error, trial.Marks)
	}
	phase := &trial.Phases[1]
	outcomesAddUp(t, phase)
	if a := phase.Agents; len(a) != 1 || !strings.HasPrefix(a[0].Name, target) || a[0].Operations == 0 ||
		a[0].Operations != phase.Attempted || a[0].ClockErrorNS <= 0 {
		t.Errorf("agents %+v of %d operations", a, phase.Attempted)
	}
	if left := agentsOf(t); len(left) > 0 {
		t.Errorf("agents that are left: %v", left)
	}
}

const agentsTimed = `name: agents
stores: [{driver: redis, server: start}]
durability: D0
agents: local:2
threads: 2
records: 100
blocks: 1
repeats: 1
busy_machine: tell
verify_records: 100
phases:
  - {name: load, load: true}
  - {name: mixed, mix: {read: 1, update: 1}, rate: 200, for: 1s}
step_timeout: 300s
`

// A clock that is hours away costs the start nothing: it is known to the round trip.
func TestAgentWithAWrongClock(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	p := installed(t, "redis")
	away := []string{"unshare", "--time", "--monotonic", "5000", "--fork", "--kill-child"}
	if out, err := exec.Command(away[0], append(away[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no time namespace can be had: %v %s", err, out)
	}
	trial := trialOf(t, runServer(context.Background(), t, p, live.NewPlain(discard{}), strings.Replace(agentsTimed, "local:2", "local:1", 1), withAgents(t), func(o *Options) {
		o.Agents.Agent = append(away, o.Agents.Agent...)
	}), "redis")
	if trial.Error != "" || len(codes(trial)) > 0 || len(trial.Phases) != 2 {
		t.Fatalf("%s: %s %v", trial.State, trial.Error, trial.Marks)
	}
	// Not --boottime: the kernel reports when a process began by it, which says whose a process is.
	// A start that was wrong by the offset would be in the past, or 5,000 s ahead.
	phase := trial.Phases[1]
	if a := phase.Agents[0]; a.StartNS < -a.ClockErrorNS || a.StartNS > 60e9 || phase.ElapsedNS <= 0 ||
		phase.ElapsedNS > 100e9 {
		t.Errorf("it began %d ns after the agreed moment, give or take %d ns, in a phase of %d ns", a.StartNS, a.ClockErrorNS, phase.ElapsedNS)
	}
	outcomesAddUp(t, &phase)
}

// A trial that lost an agent failed for that, and runs again with a new one.
//
// Fault (agents): an agent is killed
// Assay: the trial fails, names it, and runs again with a new one
func TestAgentThatIsKilled(t *testing.T) {
	t.Parallel()
	p := installed(t, "redis")
	v := &faultyView{View: live.NewPlain(discard{}), in: "mixed", fault: func() {
		if pids := agentsOf(t); len(pids) == 2 {
			_ = syscall.Kill(pids[1], syscall.SIGKILL)
		}
	}}
	run, err := record.Open(runServer(context.Background(), t, p, v, strings.Replace(agentsTimed, "1s", "3s", 1), withAgents(t)))
	v.done.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Trials) != 2 {
		t.Fatalf("%d trials, expected one and its repetition", len(run.Trials))
	}
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if trial == nil || planned.Role == plan.Ceiling {
			continue
		}
		lost := trial.State == record.Failed && trial.Cause == finding.CauseAgentLost && strings.Contains(trial.Error, "local-")
		if first := planned.Again == 0; first != lost || !first && trial.Error != "" {
			t.Errorf("try %d: %s, %s: %s", planned.Again, trial.State, trial.Cause, trial.Error)
		}
		if planned.Again == 0 {
			if len(trial.Phases) < 2 || len(trial.Phases[1].Gone) != 1 {
				t.Errorf("%+v", trial.Phases)
			}
		}
	}
	if left := agentsOf(t); len(left) > 0 {
		t.Errorf("agents that are left: %v", left)
	}
}

func countedText(o record.Operation) string {
	return fmt.Sprint(o.Name, " ", o.OK, o.Miss, o.Lost, o.Conflict, o.Wrong, o.Errors, o.Timeout, o.Items, " ", o.BytesWritten, " ", o.BytesRead)
}

// agentsOf returns the agents of a test that run.
func agentsOf(t *testing.T) []int { return processesOf(t, "agent") }

// Groups are done by the agents that they name, and the number of agents is an axis.
func TestGroupsOnAgentsAndANumberOfThem(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	p := installed(t, "redis")
	text := strings.Replace(agentsTimed, "agents: local:2", "agents: {writers: local:1, readers: local:2}", 1)
	text = text[:strings.Index(text, "phases:")] + `phases:
  - {name: load, load: true}
  - name: apart
    groups:
      - {name: get, agents: readers, threads: 4, mix: {read: 1}, operations: 400}
      - {name: put, agents: writers, threads: 1, mix: {update: 1}, operations: 100}
step_timeout: 300s
`
	text = strings.Replace(text, "threads: 2\n", "threads: 3\n", 1)
	trial := trialOf(t, runServer(context.Background(), t, p, live.NewPlain(discard{}), text, withAgents(t)), "redis")
	if trial.Error != "" || len(codes(trial)) > 0 || len(trial.Phases) != 2 {
		t.Fatalf("%s: %s %v", trial.State, trial.Error, trial.Marks)
	}
	var did []string
	for _, a := range trial.Phases[1].Agents {
		did = append(did, fmt.Sprint(a.Name, " ", a.Threads, " threads ", a.Operations))
	}
	if got := strings.Join(did, ", "); got != "local-2 2 threads 200, local-3 2 threads 200, local-1 1 threads 100" {
		t.Errorf("agents did %s", got)
	}

	text = strings.Replace(agentsTimed, "agents: local:2", "agents: [1, 2]", 1)
	run, err := record.Open(runServer(context.Background(), t, p, live.NewPlain(discard{}), strings.Replace(text, "rate: 200, for: 1s", "operations: 300", 1), withAgents(t)))
	if err != nil {
		t.Fatal(err)
	}
	agents := map[string]int{}
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if planned.Again > 0 || trial == nil {
			continue
		}
		if trial.Error != "" || len(trial.Phases) != 2 {
			t.Fatalf("%s: %s %v", trial.State, trial.Error, trial.Marks)
		}
		done := outcomes(&trial.Phases[1])
		if done.Done() != 300 {
			t.Errorf("%d operations of 300", done.Done())
		}
		agents[run.Experiment.Cells[planned.Cell].Label(&run.Experiment)] = len(trial.Phases[1].Agents)
	}
	if len(agents) != 2 || agents["D0 · 1 agent"] != 1 || agents["D0 · 2 agents"] != 2 {
		t.Errorf("agents by cell: %v", agents)
	}
}
