package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/event"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/read"
	"assay/internal/presentation/live"
	"assay/internal/testkit/misbehave"
	"assay/store"
)

// startedServers are the servers that a run has started.
type startedServers struct {
	mu   sync.Mutex
	seen []string // HOST:PORT, in their order
}

func (s *startedServers) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

func (s *startedServers) add(endpoint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, endpoint)
}

// memcachedProgram is the real server, with a look at where it runs. The test is skipped visibly
// where it is not installed.
func memcachedProgram(t *testing.T) (server.Program, *startedServers) {
	t.Helper()
	p, _ := programOf("memcached")
	if _, err := p.Find(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	started, settings := new(startedServers), p.Settings
	p.Settings = func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		started.add(i.Endpoint())
		return settings(ctx, i)
	}
	return p, started
}

const startedRun = `name: started
stores: [{driver: memcached, worker: WORKER, server: {start: true, options: {threads: 2}}}]
durability: D0
threads: 2
records: 300
blocks: 1
busy_machine: tell
keys: {format: decimal, digits: 12}
phases:
  - {name: load, load: true}
  - {name: update, mix: {read: 1, update: 1}, for: 300ms}
step_timeout: 300s
`

// runStarted runs an experiment whose server is a program, or some of its trials.
func runStarted(ctx context.Context, t *testing.T, p server.Program, trials func([]plan.Trial) []plan.Trial,
	changes ...string) (directory, said string) {
	t.Helper()
	var told heard
	text := strings.NewReplacer(changes...).Replace(startedRun)
	directory = runServer(ctx, t, p, live.NewPlain(&told), text, func(o *Options) { o.trials = trials })
	return directory, told.String()
}

// runServer runs an experiment whose servers are a program, in the view of a test.
func runServer(ctx context.Context, t *testing.T, p server.Program, v event.View, text string,
	change ...func(*Options)) (directory string) {
	t.Helper()
	text = strings.ReplaceAll(text, "WORKER", own())
	e, programs, err := experimentOn(p, text)
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	if err := os.Chmod(filepath.Dir(here), 0o711); err != nil { // a server may run as another user
		t.Fatal(err)
	}
	directory = filepath.Join(here, "run")
	o := options(directory)
	o.Program, o.View = programs, v
	for _, c := range change {
		c(&o)
	}
	if _, err := New(ctx, e, []byte(text), o); err != nil {
		t.Fatal(err)
	}
	return directory
}

// experimentOn reads an experiment whose servers are a program.
func experimentOn(p server.Program, text string) (e *experiment.Experiment,
	programs func(driver string) (server.Program, bool), err error) {
	programs = func(driver string) (server.Program, bool) { return p, driver == p.Driver }
	e, err = read.Load([]byte(text), "test.yaml", nil, read.Drivers{Names: []string{p.Driver}, ProgramOf: server.Startable(programs),
		Describe: func(s experiment.Store) (store.Description, error) { return describe(s.Driver) }})
	return e, programs, err
}

// expectNoServers looks for listeners and for data directories.
func expectNoServers(t *testing.T, started *startedServers, directory string) {
	t.Helper()
	if pids := host.Listeners(started.all()); len(pids) > 0 {
		t.Errorf("servers are left: %v", pids)
	}
	if left, err := filepath.Glob(filepath.Join(directory, "data", "*")); err != nil || len(left) > 0 {
		t.Errorf("data is left: %v, %v", left, err)
	}
}

func TestEachTrialGetsAServerOfItsOwn(t *testing.T) {
	t.Parallel()
	p, started := memcachedProgram(t)
	directory, said := runStarted(context.Background(), t, p, nil)
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	if binary, err := p.Find(); err != nil || run.Environment.Programs[binary] == "" {
		t.Errorf("the server's program %s is not sealed: %v, %v", binary, run.Environment.Programs, err)
	}
	endpoints := map[string]bool{}
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if !sound(trial) {
			t.Errorf("%s: %s %s %v", planned.ID, trial.State, trial.Error, trial.Marks)
		}
		if planned.Arm == experiment.NullDriver {
			if trial.Server != nil {
				t.Errorf("%s has a server", planned.ID)
			}
			continue
		}
		s := trial.Server
		if s == nil || s.Options["threads"] != "2" || s.Settings()["num_threads"] != "2" || s.Version == "" || s.Members[0].StartSeconds <= 0 {
			t.Fatalf("%s: the server is %+v", planned.ID, s)
		}
		endpoints[s.Members[0].Endpoint] = true
		if trial.Namespace != "" {
			t.Errorf("%s: keys begin with %q, though the server is the trial's alone", planned.ID, trial.Namespace)
		}
		for _, phase := range trial.Phases {
			if u := phase.Process; u.ServerWhy != "" || u.ServerCPUSeconds == nil || u.ServerRSSMaxBytes == nil {
				t.Errorf("%s %s: the server was not measured: %+v", planned.ID, phase.Name, u)
			}
			if phase.Sizes.DiskBytes != nil {
				t.Errorf("%s %s: a server in memory has %d bytes of files", planned.ID, phase.Name, *phase.Sizes.DiskBytes)
			}
		}
	}
	if len(endpoints) < 2 || len(started.all()) != len(endpoints) {
		t.Errorf("%d servers were started, at %v: the baseline and the A/A arm have one each", len(started.all()), endpoints)
	}
	expectNoServers(t, started, directory)
	if strings.Contains(said, "is not empty") || strings.Contains(said, "did not end") {
		t.Errorf("the run said:\n%s", said)
	}
}

// The first files of a server are made once in a run, and each server of it begins with a copy.
func TestServersOfARunBeginWithCopies(t *testing.T) {
	t.Parallel()
	p, started := memcachedProgram(t)
	var made, given atomic.Int64
	p.Initial = &server.Initial{Directory: "first", Make: func(_ context.Context, i *server.Instance) error {
		made.Add(1)
		return os.Mkdir(filepath.Join(i.Directory, "first"), 0o700)
	}}
	prepare := p.Prepare
	p.Prepare = func(ctx context.Context, i *server.Instance) error {
		if _, err := os.Stat(filepath.Join(i.Directory, "first")); err == nil {
			given.Add(1)
		}
		return prepare(ctx, i)
	}
	directory, _ := runStarted(context.Background(), t, p, nil)
	if n := len(started.all()); made.Load() != 1 || n < 2 || given.Load() != int64(n) {
		t.Errorf("made %d times for %d servers, of which %d had them", made.Load(), n, given.Load())
	}
	expectNoServers(t, started, directory)
	if left, err := filepath.Glob(filepath.Join(directory, ".assay-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestSeveralServersMakeOneStore(t *testing.T) {
	t.Parallel()
	p, started := memcachedProgram(t)
	directory, said := runStarted(context.Background(), t, p, nil, "server: {start: true,", "server: {start: true, count: 3,")
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	endpoints := map[string]bool{}
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if !sound(trial) {
			t.Errorf("%s: %s %s %v", planned.ID, trial.State, trial.Error, trial.Marks)
		}
		if planned.Arm == experiment.NullDriver {
			continue
		}
		if len(trial.Server.Members) != 3 || trial.Settings["driver.servers"] != "3" {
			t.Fatalf("%s: the servers are %+v, the driver tells %v", planned.ID, trial.Server.Members, trial.Settings)
		}
		var ports []string
		for _, m := range trial.Server.Members {
			endpoints[m.Endpoint] = true
			ports = append(ports, m.Settings["tcpport"])
			if m.Settings["num_threads"] != "2" || m.StartSeconds <= 0 {
				t.Errorf("%s: a server tells %v, and took %v s", planned.ID, m.Settings, m.StartSeconds)
			}
		}
		all := trial.Server.Settings()
		if all["tcpport"] != strings.Join(ports, ", ") || all["num_threads"] != "2" {
			t.Errorf("%s: together they tell %v", planned.ID, all)
		}
		for _, phase := range trial.Phases {
			if u := phase.Process; u.ServerWhy != "" || u.ServerCPUSeconds == nil || *u.ServerRSSMaxBytes < 3<<20 {
				t.Errorf("%s %s: the servers were not measured: %+v", planned.ID, phase.Name, u)
			}
		}
	}
	if len(endpoints) != 6 || len(started.all()) != 6 {
		t.Errorf("%d servers were started, at %v: the baseline and the A/A arm have three each", len(started.all()), endpoints)
	}
	expectNoServers(t, started, directory)
	if strings.Contains(said, "did not end") {
		t.Errorf("the run said:\n%s", said)
	}
}

// Fault (servers): `cpus` names a CPU that is not there
// Assay: the run does not begin
func TestClientAndServerArePinned(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	p, started := memcachedProgram(t)
	settings, last := p.Settings, strconv.Itoa(runtime.NumCPU()-1)
	if err := host.CheckCPUs([]int{0, runtime.NumCPU() - 1}); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	allowed := func(pid int) string {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have ended
		_, list, _ := strings.Cut(string(text), "Cpus_allowed_list:")
		list, _, _ = strings.Cut(list, "\n")
		return strings.TrimSpace(list)
	}
	var serverOn, clientOn atomic.Value
	p.Settings = func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		serverOn.Store(allowed(i.PID()))
		return settings(ctx, i)
	}
	v := tickView{View: live.NewPlain(discard{}), look: func() {
		for _, pid := range host.Processes(os.Getpid()) { // other tests' workers are pinned to no CPU
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if list := allowed(pid); strings.HasSuffix(string(command), "worker\x00") && list == "0" {
				clientOn.Store(list)
			}
		}
	}}
	text := strings.Replace(startedRun, "threads: 2\n", "threads: 2\ncpus: {client: 0, server: "+last+"}\n", 1)
	directory := runServer(context.Background(), t, p, v, text)
	if clientOn.Load() != "0" || serverOn.Load() != last {
		t.Errorf("the client may use CPU %v, the server %v; expected 0 and %s", clientOn.Load(), serverOn.Load(), last)
	}
	if trial := trialOf(t, directory, "memcached"); !sound(trial) {
		t.Errorf("%s: %s %v", trial.State, trial.Error, trial.Marks)
	}
	if _, err := runTextWith(context.Background(), anExperiment(misbehave.Honest, own(), "threads: 2", "threads: 2\ncpus: {client: 1023}"),
		filepath.Join(t.TempDir(), "run"), func(*Options) {}); !errors.Is(err, host.ErrNoCPU) {
		t.Errorf("a run on a CPU that is not there: %v", err)
	}
	expectNoServers(t, started, directory)
}

func TestServerThatDoesNotStartFailsTheTrial(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(*server.Program)
		expected []string
	}{
		"it ends at once": {func(p *server.Program) {
			p.Command = func(*server.Instance) ([]string, []string) { return []string{"-l", "no-such-host.invalid"}, nil }
		}, []string{"the server died", "exit status"}},
		"it does other than asked": {func(p *server.Program) {
			asked := p.Asked
			p.Asked = func(i *server.Instance) map[string]string {
				a := asked(i)
				a["num_threads"] = "7"
				return a
			}
		}, []string{`asked for num_threads = "7"`, `reports "2"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, started := memcachedProgram(t)
			c.change(&p)
			directory, _ := runStarted(context.Background(), t, p, ofStores)
			trial := trialOf(t, directory, "memcached")
			if trial.State != record.Failed || trial.Cause != finding.CauseNoServer {
				t.Errorf("%s, %s: %s", trial.State, trial.Cause, trial.Error)
			}
			for _, part := range c.expected {
				if !strings.Contains(trial.Error, part) {
					t.Errorf("the error is %q, expected %q in it", trial.Error, part)
				}
			}
			expectNoServers(t, started, directory)
		})
	}
}

func TestServerIsUnderTheMemoryLimitToo(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	if err := host.CheckMemoryLimit(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	p, started := memcachedProgram(t)
	ready, groups := p.Ready, make(chan string, 100)
	p.Ready = func(ctx context.Context, i *server.Instance) error {
		go func() {
			for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
				text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", i.PID()))
				if err != nil {
					return
				}
				if strings.Contains(string(text), "/assay-") {
					groups <- string(text)
					return
				}
			}
		}()
		return ready(ctx, i)
	}
	directory, said := runStarted(context.Background(), t, p, ofStores, "threads: 2\n", "threads: 2\nmemory_limit: 256MiB\n")
	if len(groups) == 0 {
		t.Errorf("no server was put into a cgroup of Assay's; the run said:\n%s", said)
	}
	if strings.Contains(said, "taking the memory limit away") {
		t.Errorf("the run said:\n%s", said)
	}
	if trial := trialOf(t, directory, "memcached"); !sound(trial) {
		t.Errorf("%s: %s %v", trial.State, trial.Error, trial.Marks)
	}
	expectNoServers(t, started, directory)
}
