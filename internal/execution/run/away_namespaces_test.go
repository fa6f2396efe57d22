package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/internal/presentation/live"
	"assay/worker"
)

// Agents on networks of their own, each with a clock of its own: what several machines are, but for
// their CPUs.

const (
	// hubVariable is set in the process that is in the conductor's network; toldVariable is where workers
	// write what they have counted.
	hubVariable  = "ASSAY_TEST_HUB"
	toldVariable = "ASSAY_TEST_TOLD"

	hubAddress = "10.77.0.1"
	// clockStep is by how many seconds the clock of each agent is ahead of the one before.
	clockStep = 1000
)

// workerCounts is what a worker's own counters said at the end of a phase.
type workerCounts struct {
	Phase   string
	Process int
	StartNS int64 // when its threads began, on its clock
	Service map[string]*histogram.Histogram
}

// countingWorker is a worker that writes what it has counted of each phase into a directory, before it
// says that the phase is over, so that a test does not depend on what the conductor got.
func countingWorker(directory string) error {
	t := &telling{directory: directory, requests: map[int64]control.Request{}}
	in, told := io.Pipe()
	go func() {
		_, err := io.Copy(io.MultiWriter(&lines{do: t.asked}, told), os.Stdin)
		_ = told.CloseWithError(err) // nil: its input has ended
	}()
	return worker.Serve(in, io.MultiWriter(&lines{do: t.answered}, os.Stdout), driversHere()...)
}

// lines calls do with each line that is written.
type lines struct {
	do   func(line []byte) error
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.rest = rest
		if err := l.do(line); err != nil {
			return 0, err
		}
	}
}

type telling struct {
	directory string
	mu        sync.Mutex
	requests  map[int64]control.Request
	prepared  control.Prepare
	counters  *counters.File
}

func (t *telling) asked(line []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var r control.Request
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	t.requests[r.ID] = r
	return nil
}

func (t *telling) answered(line []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var reply control.Reply
	if err := json.Unmarshal(line, &reply); err != nil {
		return err
	}
	switch r := t.requests[reply.ID]; {
	case r.Prepare != nil && reply.OK:
		return t.open(*r.Prepare)
	case r.Command == control.CommandRun:
		return t.tell(t.prepared, t.counters)
	}
	return nil
}

// open maps the counters as long as the files have names: they are closed when all are prepared.
func (t *telling) open(p control.Prepare) error {
	file, unmap, err := trace.Map(p.Trace)
	if err != nil {
		return err
	}
	t.prepared = p
	if t.counters, err = counters.Open(p.Counters, file); err != nil {
		return err
	}
	return unmap()
}

func (t *telling) tell(p control.Prepare, all *counters.File) error {
	own := all
	if p.ThreadCount > 0 {
		own = all.Part(p.FirstThread, p.FirstThread+p.ThreadCount)
	}
	c := workerCounts{Phase: p.Phase, Process: p.Process, StartNS: int64(all.Process(p.Process).StartNS()),
		Service: map[string]*histogram.Histogram{}}
	for _, total := range own.Sample(true).Totals {
		c.Service[total.Operation.String()] = total.Service
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.directory, fmt.Sprintf("%d-%d-%d.json", os.Getpid(), p.Number, p.Process)), text, 0o600)
}

// countedBy returns what the workers below a directory have written of a phase.
func countedBy(t *testing.T, directory, phase string) (all []workerCounts) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var c workerCounts
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.Phase == phase {
			all = append(all, c)
		}
	}
	return all
}

// tells holds a phase's histograms, and so its percentiles, to be those of all that its workers counted.
func tells(t *testing.T, p *record.Phase, workers []workerCounts) {
	t.Helper()
	for _, o := range p.Operations {
		all := histogram.New()
		for _, w := range workers {
			all.Add(w.Service[o.Name])
		}
		if all.Count() == 0 || !maps.Equal(maps.Collect(all.All()), maps.Collect(o.Service.All())) {
			t.Errorf("%s, %s: the %d workers timed %d operations, and %d are reported", p.Name, o.Name, len(workers), all.Count(), o.Service.Count())
		}
		for _, q := range []float64{0.5, 0.99, 0.999} {
			if got, want := o.Service.Quantile(q), all.Quantile(q); got != want {
				t.Errorf("%s, %s: quantile %g is reported as %g, and is %g", p.Name, o.Name, q, got, want)
			}
		}
	}
}

// One, two, four and eight agents, each on a network of its own and with a clock that is by thousands of
// seconds from the conductor's, do what as many processes of one machine do, to the operation;
// percentiles are to the bucket those of all times that their workers counted; and the reported start
// error is right.
func TestAgentsInNetworkNamespaces(t *testing.T) {
	inLongTests(t)
	p := installed(t, "redis")
	if os.Getenv(hubVariable) == "" {
		if out, err := exec.Command("unshare", "--net", "--time", "--monotonic", "1", "--fork", "--kill-child", "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: no network or time namespace can be had here: %v %s", err, out)
		}
		c := exec.Command("unshare", "--net", "--kill-child", "--fork", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), hubVariable+"=1")
		out, err := c.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name()+"/8")) {
			t.Errorf("in a network of its own: %v\n%s", err, out)
		}
		return
	}
	ip := func(arguments ...string) {
		t.Helper()
		if out, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v %s", arguments, err, out)
		}
	}
	ip("link", "set", "lo", "up")
	ip("addr", "add", hubAddress+"/32", "dev", "lo")
	redis, err := p.Find()
	if err != nil {
		t.Fatal(err)
	}
	begin(t, exec.Command(redis, "--bind", hubAddress, "--port", "6379", "--protected-mode", "no", "--save", "", "--dir", t.TempDir()))
	soon(t, "an answer of Redis", func() bool {
		conn, err := net.Dial("tcp", hubAddress+":6379")
		return err == nil && conn.Close() == nil
	})
	endpoint := natsOn(t, hubAddress)

	for _, count := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			told := make([]string, count)
			for i := range told {
				told[i] = t.TempDir()
				agent := exec.Command("unshare", "--net", "--time", "--monotonic", fmt.Sprint((i+1)*clockStep), "--fork", "--kill-child",
					os.Args[0], "agent", nameOf(t), "join", "nats://"+endpoint)
				agent.Env = append(os.Environ(), "ASSAY_TEST_TOKEN="+string(agentsToken), toldVariable+"="+told[i])
				pid := begin(t, agent)
				soon(t, "its network", func() bool { return networkOf(pid) != networkOf(os.Getpid()) })
				there, here := fmt.Sprintf("10.77.%d.2", i+1), fmt.Sprintf("10.77.%d.1", i+1)
				link := fmt.Sprintf("v%d-%d", count, i)
				ip("link", "add", link, "type", "veth", "peer", "name", "e0", "netns", fmt.Sprint(pid))
				ip("addr", "add", here+"/24", "dev", link)
				ip("link", "set", link, "up")
				for _, arguments := range []string{"link set lo up", "addr add " + there + "/24 dev e0", "link set e0 up", "route add default via " + here} {
					inside := append([]string{"--target", fmt.Sprint(pid), "--net", "ip"}, strings.Fields(arguments)...)
					if out, err := exec.Command("nsenter", inside...).CombinedOutput(); err != nil {
						t.Fatalf("nsenter %v: %v %s", inside, err, out)
					}
				}
			}
			text := strings.Replace(agentsRun, "server: start", fmt.Sprintf("endpoints: ['%s:6379']", hubAddress), 1)
			text = strings.Replace(text, "{processes: 2, threads: 2}", fmt.Sprintf("{processes: %d, threads: %d}", count, 8/count), 1)
			alone := t.TempDir()
			t.Setenv(toldVariable, alone) // of the conductor's own workers
			one := trialOf(t, runServer(context.Background(), t, p, live.NewPlain(discard{}), text, withAgents(t)), "redis")
			t.Setenv(toldVariable, "")
			many := trialOf(t, runServer(context.Background(), t, p, live.NewPlain(discard{}), text+fmt.Sprintf("agents: join:%d\n", count), withAgents(t), joinsAt(endpoint)), "redis")
			sameWork(t, one, many)
			if t.Failed() {
				return
			}
			for phase := 1; phase < len(many.Phases); phase++ {
				name := many.Phases[phase].Name
				tells(t, &one.Phases[phase], countedBy(t, alone, name))
				var all []workerCounts
				trueStart := make([]int64, count) // by process, on the conductor's clock
				for i, directory := range told {
					own := countedBy(t, directory, name)
					if len(own) != 1 {
						t.Fatalf("agent %d: %d workers did %s", i, len(own), name)
					}
					trueStart[own[0].Process] = own[0].StartNS - int64(i+1)*clockStep*1e9
					all = append(all, own...)
				}
				tells(t, &many.Phases[phase], all)
				agents := many.Phases[phase].Agents
				for i, a := range agents {
					if a.Operations == 0 || a.ClockErrorNS <= 0 || a.ClockErrorNS > 1e9 || a.StartNS < -a.ClockErrorNS {
						t.Errorf("%s, agent %d: %+v", name, i, a)
					}
					apart, truly, within :=
						a.StartNS-agents[0].StartNS, trueStart[i]-trueStart[0], a.ClockErrorNS+agents[0].ClockErrorNS
					if away := apart - truly; max(away, -away) > within {
						t.Errorf("%s: agent %d began by the report %d ns after the first, within %d ns, and truly %d ns after it", name, i, apart, within, truly)
					}
				}
			}
		})
	}
}

// networkOf returns which network a process is in.
func networkOf(pid int) string {
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return ""
	}
	return name
}

// begin starts a program that ends with the test.
func begin(t *testing.T, c *exec.Cmd) (pid int) {
	t.Helper()
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	})
	return c.Process.Pid
}
