package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/drivers/redis"
	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/agents"
	"assay/internal/execution/event"
	"assay/internal/execution/server"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/live"
	"assay/internal/presentation/tell"
	"assay/internal/testkit/loopback"
	"assay/internal/testkit/natstest"
	"assay/internal/testkit/processes"
	"assay/store"
)

// The fault table of docs/agents.md, each row by a whole run on a real Redis.

// agentsPaced is a phase that goes on while something happens to an agent, at a rate that any machine
// keeps up with.
const agentsPaced = `name: agents
stores: [{driver: redis, server: start}]
durability: D0
agents: PLACES
threads: 2
records: 100
blocks: 1
repeats: 1
busy_machine: tell
verify_records: 100
phases:
  - {name: load, load: true}
  - {name: mixed, mix: {read: 1, update: 1}, rate: 200, for: LASTS}
step_timeout: 300s
`

// joinAgent is the agent that TestMain's "agent NAME join SERVER" is: it serves one conductor after
// the other.
func joinAgent(server string) error {
	o := agentOptions()
	o.Server, o.Token, o.AllowRemote = server, agents.Token(os.Getenv("ASSAY_TEST_TOKEN")), os.Getenv(hubVariable) != ""
	return agents.Serve(context.Background(), o)
}

func agentOptions() agents.AgentOptions {
	return agents.AgentOptions{Version: "test", Worker: []string{os.Args[0], "worker"}, Guard: []string{os.Args[0], "guard"}, Log: os.Stderr}
}

const agentsToken = agents.Token("a token of the tests")

// natsOf starts a NATS server of somebody else's.
func natsOf(t *testing.T) (endpoint string) {
	t.Helper()
	return natsOn(t, "127.0.0.1")
}

func natsOn(t *testing.T, address string) (endpoint string) {
	t.Helper()
	return natstest.Start(t, address, agentsToken.Credential()).Addr().String()
}

const (
	long = 2 * time.Minute
	// testLease is longer than a busy machine keeps an agent from being heard.
	testLease = 5 * time.Second
)

// joining starts an agent by hand.
func joining(t *testing.T, endpoint string) (pid int) {
	t.Helper()
	c := exec.Command(os.Args[0], "agent", nameOf(t), "join", "nats://"+endpoint)
	c.Env = append(os.Environ(), "ASSAY_TEST_TOKEN="+string(agentsToken))
	return begin(t, c)
}

// endView closes a channel when a trial has ended.
type endView struct {
	event.View
	once  sync.Once
	ended chan struct{}
}

func (v *endView) TrialEnded(e event.TrialEnd) {
	v.once.Do(func() { close(v.ended) })
	v.View.TrialEnded(e)
}

// agentTries is [agentRun] with a longer phase where there was no second try: on so busy a machine the first
// had ended before what is to happen in it had.
func agentTries(t *testing.T, places, lasts string, fault func(ended <-chan struct{}),
	change ...func(*Options)) (tries []*record.Trial, said string) {
	t.Helper()
	for _, times := range longer {
		tries, said = agentRun(t, places, strings.TrimPrefix(lengthened("for: "+lasts, times), "for: "), fault, change...)
		if len(tries) > 1 {
			break
		}
	}
	return tries, said
}

// agentRun runs the experiment, with what happens once its phase is under way, and returns its tries.
// ended is closed when the first of them has ended.
func agentRun(t *testing.T, places, lasts string, fault func(ended <-chan struct{}),
	change ...func(*Options)) (tries []*record.Trial, said string) {
	t.Helper()
	var told heard
	ended := make(chan struct{})
	v := &faultyView{View: &endView{View: live.NewPlain(&told), ended: ended}, in: "mixed", fault: func() { fault(ended) }}
	text := strings.NewReplacer("PLACES", places, "LASTS", lasts).Replace(agentsPaced)
	directory := runServer(context.Background(), t, installed(t, "redis"), v, text, append([]func(*Options){withAgents(t)}, change...)...)
	v.done.Wait()
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, planned := range run.Plan {
		if trial := run.Trials[planned.ID]; trial != nil {
			tries = append(tries, trial)
		}
	}
	if left := agentsOf(t); len(left) > 0 && strings.HasPrefix(places, "local") {
		t.Errorf("agents that are left: %v", left)
	}
	return tries, told.String()
}

// silentThen holds a trial to have been marked for an agent that sent nothing, with all its
// operations counted, and its repetition to have no error.
func silentThen(t *testing.T, tries []*record.Trial, agent string, least float64) {
	t.Helper()
	if len(tries) != 2 {
		t.Fatalf("%d tries, expected one and its repetition", len(tries))
	}
	first, again := tries[0], tries[1]
	marked := false
	for _, m := range first.Marks {
		if seconds, _ := m.Params["seconds"].(float64); m.Code == finding.MarkAgentSilent && m.Params["agent"] == agent && seconds >= least {
			marked = true
			if text := finding.Text(m.Message); !strings.Contains(text, "the agent "+agent+" sent nothing") {
				t.Errorf("it says %q", text)
			}
		}
	}
	if first.State != record.Marked || !marked || len(first.Phases) != 2 {
		t.Fatalf("%s %s, expected it to be marked for the silence of %s: %v", first.State, first.Error, agent, first.Marks)
	}
	outcomesAddUp(t, &first.Phases[1])
	if p := &first.Phases[1]; p.Unfinished > 0 || first.Final == nil || first.Final.Right != first.Final.Records {
		t.Errorf("%d operations were not finished; final check: %+v", p.Unfinished, first.Final)
	}
	if again.Error != "" { // its marks are the machine's: a busy one may silence an agent as well
		t.Errorf("the repetition: %s %s %v", again.State, again.Error, again.Marks)
	}
}

// lostThen holds a trial to have failed for the loss of an agent, and its repetition not.
func lostThen(t *testing.T, tries []*record.Trial, agent, why string) {
	t.Helper()
	if len(tries) != 2 {
		t.Fatalf("%d tries, expected one and its repetition", len(tries))
	}
	first, again := tries[0], tries[1]
	if first.State != record.Failed || first.Cause != finding.CauseAgentLost || !strings.Contains(first.Error,
		agent) || !strings.Contains(first.Error, why) {
		t.Errorf("the first try: %s, %s: %s", first.State, first.Cause, first.Error)
	}
	accusesNoStore(t, first)
	if again.Error != "" { // its marks are the machine's: a busy one may silence an agent as well
		t.Errorf("the repetition: %s %s %v", again.State, again.Error, again.Marks)
	}
}

// accusesNoStore holds a trial that lost an agent to its store: what was not heard is not what was not
// done.
func accusesNoStore(t *testing.T, trial *record.Trial) {
	t.Helper()
	for _, m := range trial.CountedMarks() {
		if !m.Machine() {
			t.Errorf("an honest store is accused: %s: %s", m.Phase, finding.Text(m.Message))
		}
	}
	if f := trial.Final; f == nil || f.Records == 0 || f.Right+f.Unknown != f.Records {
		t.Errorf("final check: %+v", f)
	}
}

// inLongTests skips what takes long, or more than a small machine has to spare.
func inLongTests(t *testing.T) {
	t.Helper()
	if os.Getenv("ASSAY_LONG") == "" {
		t.Skip("SKIPPED: ASSAY_LONG=1 runs this test")
	}
}

// soon waits for something.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(long); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%s did not come to be", what)
			return
		}
	}
}

func signal(t *testing.T, s syscall.Signal, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil {
			t.Errorf("%v to %d: %v", s, pid, err)
		}
	}
}

// An agent that is stopped for 2 s: its load goes on, and all of it is counted; the trial is marked,
// and run again. So it is with one whose whole machine is paused.
//
// Fault (agents): an agent is stopped for 2 s, alone or with its workers
// Assay: all it does is counted; the trial is marked and runs again
func TestAgentThatIsStopped(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, whole := range []bool{false, true} {
		t.Run(map[bool]string{false: "alone", true: "with its workers"}[whole], func(t *testing.T) {
			t.Parallel()
			if whole {
				inLongTests(t)
			}
			tries, _ := agentTries(t, "local:2", "4s", func(<-chan struct{}) {
				pids := agentsOf(t)
				if len(pids) != 2 {
					t.Errorf("agents: %v", pids)
					return
				}
				stopped := pids[1:]
				if whole {
					stopped = append(stopped, processes.Children(t, pids[1])...)
				}
				signal(t, syscall.SIGSTOP, stopped...)
				time.Sleep(2 * time.Second)
				signal(t, syscall.SIGCONT, stopped...)
			})
			silentThen(t, tries, "local-2", 1.5)
		})
	}
}

// A worker of an agent that is stopped alone, for 2 s, is reported as that, on the agent's machine. What
// timed out meanwhile is no fault of the store, which answered.
//
// Fault (agents): a worker of an agent is stopped alone, for 2 s
// Assay: `machine-disturbed` (`stopped`) on that agent's machine, and run again; time-outs
// meanwhile are no fault of the store
// With: record.TestMarks_timeouts_of_stopped_threads
func TestWorkerOfAnAgentThatIsStopped(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	tries, _ := agentTries(t, "local:2", "4s", func(<-chan struct{}) {
		pids := agentsOf(t)
		if len(pids) != 2 {
			t.Errorf("agents: %v", pids)
			return
		}
		stopped := workersAmong(t, processes.Children(t, pids[1]))
		signal(t, syscall.SIGSTOP, stopped...)
		time.Sleep(2 * time.Second)
		signal(t, syscall.SIGCONT, stopped...)
	})
	if len(tries) != 2 {
		t.Fatalf("%d tries, expected one and its repetition", len(tries))
	}
	first := tries[0]
	var seconds float64
	for _, m := range first.Marks {
		if m.Code == finding.MarkStoppedSignal && m.Params["agent"] == "local-2" {
			seconds, _ = m.Params["seconds"].(float64)
		}
	}
	if first.State != record.Marked || seconds < 1.5 || seconds > long.Seconds() {
		t.Errorf("%s %s: %v", first.State, first.Error, first.Marks)
	}
	accusesNoStore(t, first)
	for _, m := range first.CountedMarks() {
		t.Log(finding.Text(m.Message))
	}
}

// An agent that is stopped permanently can't end its workers: its guard does, within its lease. The trial
// fails for it and is run again, with a new agent where the run had started it.
//
// Fault (agents): an agent is stopped permanently
// Assay: its guard ends its workers within its lease; the trial fails and runs again
// With: agents.TestGuard
func TestAgentStoppedForever(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	lease := func(o *Options) { o.Agents.Lease = testLease }
	stopped := func(t *testing.T, pid int) {
		below := workersAmong(t, processes.Children(t, pid))
		if len(below) != 1 {
			t.Errorf("workers of the agent: %v", below)
		}
		signal(t, syscall.SIGSTOP, pid)
		soon(t, "the end of its workers", func() bool { return len(workersAmong(t, below)) == 0 })
	}
	t.Run("of the run", func(t *testing.T) {
		t.Parallel()
		inLongTests(t)
		var pid int
		tries, _ := agentTries(t, "local:2", "3s", func(<-chan struct{}) {
			if pids := agentsOf(t); len(pids) == 2 {
				pid = pids[1]
				stopped(t, pid)
			}
		}, lease)
		lostThen(t, tries, "local-2", "it sent nothing")
		soon(t, "its end", func() bool { return pid != 0 && !host.ProcessAlive(pid) })
	})
	t.Run("by hand", func(t *testing.T) {
		t.Parallel()
		endpoint := natsOf(t)
		pid := joining(t, endpoint)
		tries, _ := agentTries(t, "join:1", "3s", func(ended <-chan struct{}) {
			stopped(t, pid)
			<-ended
			signal(t, syscall.SIGCONT, pid) // it joins again, by itself
		}, lease, joinsAt(endpoint))
		lostThen(t, tries, hostname(t), "it sent nothing")
	})
}

// A worker of an agent that is killed from outside: the trial failed for that, accuses no store, and is
// run again.
func TestWorkerOfAnAgentThatIsKilled(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	tries, _ := agentTries(t, "local:2", "2s", func(<-chan struct{}) {
		workers := workersAmong(t, processes.Children(t, agentsOf(t)[0]))
		signal(t, syscall.SIGKILL, workers[0])
	})
	lostThen(t, tries, "local-", "killed from outside")
}

// workersAmong are those of some processes that are workers and live: a stopped agent does not reap
// them.
func workersAmong(t *testing.T, pids []int) (workers []int) {
	t.Helper()
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // "" of what has ended
		if strings.HasPrefix(string(text), os.Args[0]+"\x00worker") {
			workers = append(workers, pid)
		}
	}
	return workers
}

func hostname(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// joinsAt has the run meet its agents at a NATS server.
func joinsAt(endpoint string) func(*Options) {
	return func(o *Options) {
		o.Agents.Server, o.Agents.Token, o.Agents.Patience = "nats://"+endpoint, agentsToken, long
	}
}

// An agent that is cut off from NATS, and not from the store: within its lease its load goes on, and all
// of it is counted; beyond it, it ends its workers, and joins again when the link is mended.
//
// Fault (agents): an agent is cut off from NATS and not from the store, for 2 or 5 s
// Assay: the trial is marked and runs again
//
// Fault (agents): an agent is cut off for longer than its lease
// Assay: it ends its workers; the trial fails, and it joins again when the link is mended
// With: agents.TestLease
func TestAgentThatIsCutOff(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	cut := func(t *testing.T, agents int, lasts string, fault func(*loopback.Link, int, <-chan struct{}),
		change ...func(*Options)) []*record.Trial {
		endpoint := natsOf(t)
		link := loopback.NewLink(t, endpoint)
		pid := joining(t, link.Endpoint)
		for range agents - 1 {
			joining(t, endpoint)
		}
		tries, _ := agentTries(t, fmt.Sprint("join:", agents), lasts, func(ended <-chan struct{}) { fault(link, pid, ended) },
			append(change, joinsAt(endpoint))...)
		return tries
	}
	for seconds, lasts := range map[int]string{2: "4s", 5: "8s"} {
		t.Run(fmt.Sprint(seconds, " s"), func(t *testing.T) {
			t.Parallel()
			inLongTests(t)
			tries := cut(t, 2, lasts, func(l *loopback.Link, _ int, _ <-chan struct{}) {
				l.Cut()
				time.Sleep(time.Duration(seconds) * time.Second)
				l.Mend()
			})
			silentThen(t, tries, hostname(t), float64(seconds)-0.5)
		})
	}
	t.Run("beyond its lease", func(t *testing.T) {
		t.Parallel()
		tries := cut(t, 1, "3s", func(l *loopback.Link, pid int, ended <-chan struct{}) {
			below := workersAmong(t, processes.Children(t, pid))
			l.Cut()
			soon(t, "the end of its workers", func() bool { return len(workersAmong(t, below)) == 0 })
			<-ended
			l.Mend()
		}, func(o *Options) { o.Agents.Lease = testLease })
		lostThen(t, tries, hostname(t), "it sent nothing")
	})
}

// An agent behind a slow link: what it counts arrives late and whole, the start is reported with the
// error that such a link allows, and the phase begins within that.
//
// Fault (agents): an agent's link takes 60 ms one way and 256 KiB/s
// Assay: sums are exact; its clock is known to no better than that
func TestAgentBehindASlowLink(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	const oneWay = 60 * time.Millisecond
	endpoint := natsOf(t)
	link := loopback.NewLink(t, endpoint)
	link.Slow(oneWay, 256<<10)
	joining(t, link.Endpoint)
	joining(t, endpoint)
	directory := runServer(context.Background(), t, installed(t, "redis"), live.NewPlain(discard{}), agentsRun+"agents: join:2\n", withAgents(t), joinsAt(endpoint))
	trial := trialOf(t, directory, "redis")
	if trial.Error != "" || len(trial.Phases) != 3 {
		t.Fatalf("%s: %s %v", trial.State, trial.Error, trial.Marks)
	}
	for i, operations := range map[int]uint64{1: 4000, 2: 2000} {
		p := &trial.Phases[i]
		if done := outcomes(p); done.Done() != operations || p.Unfinished > 0 || len(p.Agents) != 2 {
			t.Errorf("%s: %d operations of %d, %d unfinished", p.Name, done.Done(), operations, p.Unfinished)
		}
		outcomesAddUp(t, p)
		slow, near := &p.Agents[0], &p.Agents[1]
		if slow.ClockErrorNS < near.ClockErrorNS {
			slow, near = near, slow
		}
		if slow.ClockErrorNS < int64(oneWay) || near.ClockErrorNS > slow.ClockErrorNS/2 {
			t.Errorf("%s: the clocks are reported as known to %d and %d ns, over links of %v and none", p.Name, slow.ClockErrorNS, near.ClockErrorNS, oneWay)
		}
		// Both run on this machine's clock: the reported start is the offset's error, and within its bound.
		if slow.StartNS < -slow.ClockErrorNS {
			t.Errorf("%s: it began by the report %d ns after the agreed moment, known to %d", p.Name, slow.StartNS, slow.ClockErrorNS)
		}
	}
}

// Over a link of 20 kB/s the last counts of many threads take seconds: they come whole, the agent is not taken
// for paused or cut off meanwhile, and its link is reported as slow. The other agent's is not.
//
// Fault (agents): an agent's link carries 20 kB/s, and the last counts of 64 threads take seconds
// Assay: they are waited for; the link is slow (`agent-link`), the agent not paused
func TestAgentBehindALinkOf20KB(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	endpoint := natsOf(t)
	link := loopback.NewLink(t, endpoint)
	link.Slow(20*time.Millisecond, 20<<10)
	joining(t, link.Endpoint)
	joining(t, endpoint)
	text := strings.NewReplacer("threads: 2}", "threads: 64}", "operations: 4000", "operations: 60000").Replace(agentsRun) + "agents: join:2\n"
	directory := runServer(context.Background(), t, installed(t, "redis"), live.NewPlain(discard{}), text, withAgents(t), joinsAt(endpoint))
	trial := trialOf(t, directory, "redis")
	if trial.Error != "" || len(trial.Phases) != 3 {
		t.Fatalf("%s: %s %v", trial.State, trial.Error, trial.Marks)
	}
	p := &trial.Phases[1]
	if done := outcomes(p); done.Done() != 60000 || p.Unfinished > 0 || len(p.Agents) != 2 {
		t.Errorf("%d operations, %d unfinished", done.Done(), p.Unfinished)
	}
	outcomesAddUp(t, p)
	slow, near := p.Agents[0], p.Agents[1]
	if slow.LinkSeconds < near.LinkSeconds {
		slow, near = near, slow
	}
	if slow.LinkSeconds < 1 {
		t.Errorf("the last counts took %.1f s, %d bytes by the report; of the other agent %.1f s", slow.LinkSeconds, slow.LinkBytes, near.LinkSeconds)
	}
	accusesNoStore(t, trial)
}

// throttled makes a cgroup that lets its processes use a tenth of a CPU, and returns what moves a
// process there.
func throttled(t *testing.T) (tasks string) {
	t.Helper()
	version1 := "/sys/fs/cgroup/cpu"
	root, limits := version1, map[string]string{"cpu.cfs_period_us": "50000", "cpu.cfs_quota_us": "5000"}
	if _, err := os.Stat(filepath.Join(version1, "cpu.cfs_quota_us")); err != nil {
		root, limits = "/sys/fs/cgroup", map[string]string{"cpu.max": "5000 50000"}
	}
	group, err := os.MkdirTemp(root, "assay-test-")
	if err != nil {
		t.Skipf("SKIPPED: no cgroup can be made here: %v", err)
	}
	t.Cleanup(func() { soon(t, "the end of the cgroup", func() bool { return os.Remove(group) == nil }) })
	for name, limit := range limits {
		if err := os.WriteFile(filepath.Join(group, name), []byte(limit), 0o600); err != nil {
			t.Skipf("SKIPPED: no quota can be set here: %v", err)
		}
	}
	return filepath.Join(group, "cgroup.procs")
}

// Of two agents, one has a tenth of a CPU. The finding names that one, with its share of the load.
//
// Fault (agents): an agent's cgroup gives it a tenth of a CPU
// Assay: it is client-bound, with its share of the operations; the other agent is not
// With: detect.TestAgentBound
func TestAgentThatIsThrottled(t *testing.T) {
	inLongTests(t)
	t.Parallel()
	tasks, endpoint := throttled(t), natsOf(t)
	slow := exec.Command("sh", "-c", `echo $$ >"$0" && exec "$@"`, tasks, os.Args[0], "agent", nameOf(t), "join", "nats://"+endpoint)
	slow.Env = append(os.Environ(), "ASSAY_TEST_TOKEN="+string(agentsToken))
	begin(t, slow)
	joining(t, endpoint)
	text := strings.NewReplacer("local:2", "join:2", "threads: 2", "threads: 8", "rate: 200, for: 1s", "for: 2s").Replace(agentsTimed)
	directory := runServer(context.Background(), t, installed(t, "redis"), live.NewPlain(discard{}), text, withAgents(t), joinsAt(endpoint))
	trial := trialOf(t, directory, "redis")
	if trial.Error != "" || len(trial.Phases) != 2 || len(trial.Phases[1].Agents) != 2 {
		t.Fatalf("%s: %s %v", trial.State, trial.Error, trial.Marks)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	result, err := tell.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	phase := &trial.Phases[1]
	for _, a := range phase.Agents {
		used := (a.CPUSeconds + a.AgentCPUSeconds) / (float64(phase.ElapsedNS) / 1e9)
		if a.CPUQuota == 0 {
			continue
		}
		said := slices.ContainsFunc(result.Findings, func(f finding.Finding) bool { return f.Code == finding.AgentBound && f.Params["limit"] == 0.1 })
		// A busy machine may leave it less than its quota.
		if t.Logf("it used %.3f CPUs and did %d operations: said: %v", used, a.Operations, said); said != (used >= 0.09) {
			t.Errorf("%+v of %d ns: %+v", a, phase.ElapsedNS, result.Findings)
		}
	}
	if one, other := phase.Agents[0].CPUQuota, phase.Agents[1].CPUQuota; max(one, other) != 0.1 ||
		min(one, other) != 0 {
		t.Errorf("quotas of %g and %g CPUs", one, other)
	}
}

// staleFor is less than what clocks behind a link of staleOneWay may be wrong by, on both of its sides.
const (
	staleFor    = 100 * time.Millisecond
	staleOneWay = 60 * time.Millisecond
)

// staleRedis is Redis with a cache in each client's process, which returns what the same process has
// overwritten a moment ago.
type staleRedis struct{ redis.Driver }

const staleRedisName = "stale-redis"

func (d staleRedis) Describe() store.Description {
	description := d.Driver.Describe()
	description.Name, description.Abilities = staleRedisName, store.Abilities{}
	return description
}

func (d staleRedis) Open(ctx context.Context, c store.Config) (store.Store, error) {
	s, err := d.Driver.Open(ctx, c)
	return &staleStore{Store: s, puts: map[string]stalePut{}}, err
}

type stalePut struct {
	value, replaced []byte
	done            time.Time
}

type staleStore struct {
	store.Store
	mu   sync.Mutex
	puts map[string]stalePut
}

func (s *staleStore) Handle() (store.Handle, error) {
	h, err := s.Store.Handle()
	return staleHandle{h, s}, err
}

type staleHandle struct {
	store.Handle
	of *staleStore
}

func (h staleHandle) Put(key, value []byte) error {
	if err := h.Handle.Put(key, value); err != nil {
		return err
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.puts[string(key)] = stalePut{slices.Clone(value), h.of.puts[string(key)].value, time.Now()}
	return nil
}

func (h staleHandle) Get(key, buf []byte) ([]byte, error) {
	h.of.mu.Lock()
	put := h.of.puts[string(key)]
	h.of.mu.Unlock()
	if put.replaced != nil && time.Since(put.done) < staleFor {
		return append(buf, put.replaced...), nil
	}
	return h.Handle.Get(key, buf)
}

// What one agent's clients wrote and then did not read is found, though its clock is not known to as
// much: they have that clock in common.
func TestStaleReadWithinAnAgent(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	p := installed(t, "redis")
	p.Driver = staleRedisName
	endpoint := natsOf(t)
	link := loopback.NewLink(t, endpoint)
	link.Slow(staleOneWay, 1<<20)
	joining(t, link.Endpoint)
	text := strings.NewReplacer("driver: redis", "driver: "+staleRedisName, "processes: 2, threads: 2", "processes: 2, threads: 4", "records: 400", "records: 40",
		"  - {name: again, mix: {read: 1}, order: zipfian, operations: 2000}\n", "").Replace(agentsRun)
	trial := trialOf(t, runServer(context.Background(), t, p, live.NewPlain(discard{}), text+"agents: join:1\n", withAgents(t), joinsAt(endpoint)), staleRedisName)
	if trial.Error != "" || len(trial.Phases) != 2 || trial.Phases[1].History == nil {
		t.Fatalf("%s: %s %v", trial.State, trial.Error, trial.Marks)
	}
	if h := trial.Phases[1].History; h.Stale == 0 || h.ClockErrorNS < int64(staleOneWay) ||
		h.Ghosts+h.LostUpdates+h.Vanished > 0 || h.Undecided > 0 {
		t.Errorf("reads were stale for up to %v, the clock known to %v: %+v", staleFor, staleOneWay, h)
	}
	if !slices.Contains(codes(trial), string(finding.FaultStale)) {
		t.Errorf("its marks: %v", codes(trial))
	}
}

// Ctrl-C ends the phase on all agents, their workers and those agents that the run had started.
//
// Fault (agents): Ctrl-C in a run on agents
// Assay: workers and the run's own agents end
func TestCtrlCEndsAgents(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	endpoint := natsOf(t)
	for places, byHand := range map[string]bool{"local:2": false, "join:1": true} {
		t.Run(places, func(t *testing.T) {
			t.Parallel()
			if byHand {
				inLongTests(t)
			}
			pid := 0
			if byHand {
				pid = joining(t, endpoint)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var below []int
			v := &faultyView{View: live.NewPlain(discard{}), in: "mixed", fault: func() {
				for _, agent := range agentsOf(t) {
					below = append(below, workersAmong(t, processes.Children(t, agent))...)
				}
				cancel()
			}}
			text := strings.NewReplacer("PLACES", places, "LASTS", "600s").Replace(agentsPaced)
			directory := runServer(ctx, t, installed(t, "redis"), v, text, withAgents(t), func(o *Options) {
				if byHand {
					joinsAt(endpoint)(o)
				}
			})
			v.done.Wait()
			if trial := trialOf(t, directory, "redis"); trial.State != record.Interrupted || len(below) == 0 {
				t.Errorf("%s: %s; workers were %v", trial.State, trial.Error, below)
			}
			soon(t, "the end of the workers", func() bool { return len(workersAmong(t, below)) == 0 })
			if !byHand {
				soon(t, "the end of the agents", func() bool { return len(agentsOf(t)) == 0 })
			} else if !host.ProcessAlive(pid) {
				t.Error("the agent that was started by hand is gone")
			}
		})
	}
}

// conductAgents runs, or resumes, an experiment with agents: TestMain's "conduct-agents".
func conductAgents(text, directory, name, server string) error {
	program, _ := programOf("redis")
	e, programs, err := experimentOn(program, text)
	if err != nil {
		return err
	}
	o := options(directory)
	o.Program = programs
	o.Agents = agents.Options{Version: "test", Agent: []string{os.Args[0], "agent", name}, Log: os.Stderr, Lease: testLease}
	if server != "" {
		joinsAt(server)(&o)
	}
	_, err = New(context.Background(), e, []byte(text), o)
	return err
}

// A conductor that is killed leaves no agent of its own, and no worker of one that was started by hand;
// that one then serves the conductor that resumes the run.
//
// Fault (agents): the conductor of agents is killed
// Assay: its agents and their workers end; agents that were started by hand serve the run that
// resumes
func TestKilledConductorOfAgents(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	p := installed(t, "redis")
	for places, byHand := range map[string]bool{"local:2": false, "join:2": true} {
		t.Run(places, func(t *testing.T) {
			t.Parallel()
			if !byHand {
				inLongTests(t)
			}
			nats := ""
			if byHand {
				nats = natsOf(t)
				joining(t, nats)
				joining(t, nats)
			}
			here := t.TempDir()
			if err := os.Chmod(filepath.Dir(here), 0o711); err != nil { // a server may run as another user
				t.Fatal(err)
			}
			directory := filepath.Join(here, "run")
			text := strings.NewReplacer("PLACES", places, "LASTS", "600s", "WORKER", own()).Replace(agentsPaced)
			c := exec.Command(os.Args[0], "conduct-agents", text, directory, nameOf(t), nats)
			c.Stderr = os.Stderr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			soon(t, "a sample", func() bool { return hasSamples(directory) })
			var below []int
			for _, agent := range agentsOf(t) {
				below = append(below, workersAmong(t, processes.Children(t, agent))...)
			}
			if len(below) != 2 {
				t.Errorf("workers of the agents: %v", below)
			}
			signal(t, syscall.SIGKILL, c.Process.Pid)
			_ = c.Wait() // it was killed
			soon(t, "the end of the workers", func() bool { return len(workersAmong(t, below)) == 0 })
			if !byHand {
				soon(t, "the end of the agents", func() bool { return len(agentsOf(t)) == 0 })
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			resumed := &faultyView{View: live.NewPlain(discard{}), in: "mixed", fault: cancel} // its agents work
			o := options(directory)
			o.View, o.Program = resumed, func(driver string) (server.Program, bool) { return p, driver == p.Driver }
			withAgents(t)(&o)
			if byHand {
				joinsAt(nats)(&o)
			}
			if result, err := Resume(ctx, o); err != nil || !result.Interrupted || !resumed.hit {
				t.Errorf("resuming: %v, %+v", err, result)
			}
			if left := agentsOf(t); !byHand && len(left) > 0 {
				t.Errorf("agents that are left: %v", left)
			}
		})
	}
}

// A conductor that is stopped for longer than its agents' lease has not heard what they did until they
// ended their workers: the trial accuses no store, and is run again.
//
// Fault (agents): the conductor is stopped for longer than the lease, and with it its NATS server
// Assay: the trial fails, accuses no store, and runs again
func TestStoppedConductorOfAgents(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	installed(t, "redis")
	for _, places := range []string{"local:2", "join:2"} {
		t.Run(places, func(t *testing.T) {
			t.Parallel()
			nats, name := "", hostname(t)
			if places == "join:2" {
				inLongTests(t)
				nats = natsOf(t)
				joining(t, nats)
				joining(t, nats)
			} else {
				name = "local-"
			}
			directory := filepath.Join(t.TempDir(), "run")
			text := strings.NewReplacer("PLACES", places, "LASTS", "3s", "WORKER", own()).Replace(agentsPaced)
			c := exec.Command(os.Args[0], "conduct-agents", text, directory, nameOf(t), nats)
			c.Stderr = os.Stderr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			soon(t, "a sample", func() bool { return hasSamples(directory) })
			var below []int
			for _, agent := range agentsOf(t) {
				below = append(below, workersAmong(t, processes.Children(t, agent))...)
			}
			if len(below) != 2 {
				t.Errorf("workers of the agents: %v", below)
			}
			signal(t, syscall.SIGSTOP, c.Process.Pid)
			soon(t, "the end of the workers", func() bool { return len(workersAmong(t, below)) == 0 })
			signal(t, syscall.SIGCONT, c.Process.Pid)
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
			run, err := record.Open(directory)
			if err != nil {
				t.Fatal(err)
			}
			var tries []*record.Trial
			for _, planned := range run.Plan {
				if trial := run.Trials[planned.ID]; trial != nil {
					tries = append(tries, trial)
				}
			}
			lostThen(t, tries, name, "")
		})
	}
}

// Agents that are not there: the run names them, and begins no trial.
func TestAgentThatDoesNotJoin(t *testing.T) {
	t.Parallel()
	endpoint := natsOf(t)
	joining(t, endpoint)
	e, programs, err := experimentOn(installed(t, "redis"), strings.NewReplacer("PLACES", "join:2", "LASTS", "1s").Replace(agentsPaced))
	if err != nil {
		t.Fatal(err)
	}
	o := options(filepath.Join(t.TempDir(), "run"))
	o.Program = programs
	withAgents(t)(&o)
	joinsAt(endpoint)(&o)
	o.Agents.Patience = 3 * time.Second
	_, err = New(context.Background(), e, []byte(agentsPaced), o)
	if err == nil || !strings.Contains(err.Error(), "1 agent of 2 did not join within 3s: join-") {
		t.Errorf("it says %v", err)
	}
	run, err := record.Open(o.Directory)
	if err != nil || len(run.Trials) > 0 || !slices.ContainsFunc(run.Plan, func(p plan.Trial) bool { return p.Arm == "redis" }) {
		t.Errorf("%v: %d trials", err, len(run.Trials))
	}
}
