package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"assay/drivers/nullstore"
	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/internal/testkit/natstest"
	"assay/internal/testkit/processes"
	"assay/store"
	"assay/worker"
)

// The test binary is also the worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		os.Exit(worker.Main(nullstore.Driver{}))
	}
	o := AgentOptions{Version: "1", Worker: []string{os.Args[0], "worker"}, Guard: []string{os.Args[0], "guard"}, Log: os.Stderr}
	programs := map[string]func() error{
		"agent":    func() error { return ServeInvited(context.Background(), os.Stdin, o) },
		"guard":    func() error { return Guard(os.Stdin, os.Stderr) },
		"many":     func() error { return manyAgents(os.Args[2:], o) },
		"stand-in": func() error { return standIn(os.Args[2:]) },
		"join": func() error {
			o.Server, o.Token = os.Args[2], Token(os.Getenv("ASSAY_TEST_TOKEN"))
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			defer stop()
			return Serve(ctx, o)
		},
	}
	if len(os.Args) > 1 && programs[os.Args[1]] != nil {
		if err := programs[os.Args[1]](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const testToken = Token("a token of the tests")

// serverOfOthers is a NATS server that no hub has started.
func serverOfOthers(t *testing.T) *natsserver.Server {
	t.Helper()
	return natstest.Start(t, "127.0.0.1", testToken.Credential())
}

const long = 2 * time.Minute

// eventually waits for something.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(long); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come to be", what)
		}
	}
}

// rig is a hub with one agent that joined by itself.
type rig struct {
	hub   *Hub
	agent *Agent
	ended chan error // how the agent ended
	stop  context.CancelFunc
}

func newRig(t *testing.T, lease time.Duration) *rig {
	t.Helper()
	hub, err := NewHub(Options{Agents: []string{"join:1"}, Version: "1", Lease: lease, Log: io.Discard, Patience: long})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{hub: hub, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.ended <- Serve(ctx, r.options("1")) }()
	t.Cleanup(func() {
		cancel()
		hub.Close()
	})
	present, err := hub.Gather(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r.agent = present[0]
	return r
}

func (r *rig) options(version string) AgentOptions {
	return AgentOptions{Server: r.hub.Server, Token: r.hub.Token, Version: version, Worker: []string{os.Args[0], "worker"}, Once: true, Log: io.Discard}
}

// opened starts a worker and opens the null driver in it.
func (r *rig) opened(t *testing.T) *Worker {
	t.Helper()
	w, err := r.agent.StartWorker(context.Background(), long)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.CallContext(context.Background(), control.Request{Command: control.CommandOpen, Open: &control.Open{
		Driver: "null", Durability: store.D0, Handles: control.HandlesPerThread, Threads: 2, First: true}}, long, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// mirrorOf makes the conductor's counters of a phase that so many processes do.
func mirrorOf(t *testing.T, of *trace.File, processes int) *counters.File {
	t.Helper()
	file, err := os.Create(t.TempDir() + "/counters")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	mirror, err := counters.CreateIn(file, of, processes)
	if err != nil {
		t.Fatal(err)
	}
	return mirror
}

// begun lets a worker do a phase that lasts, and returns its counters as the conductor has them.
func begun(t *testing.T, w *Worker) *counters.File {
	t.Helper()
	specs := []trace.Spec{{Mix: []trace.Share{{Operation: trace.Read, Weight: 1}}, Records: 10, Fresh: 10,
		Threads: 2, ThreadEntries: 64,
		Order: trace.Order{Distribution: trace.Uniform}, Sizes: []trace.Size{{Bytes: 30, Weight: 1}}}}
	file, err := trace.Generate(specs...)
	if err != nil {
		t.Fatal(err)
	}
	mirror := mirrorOf(t, file, 1)
	t.Cleanup(func() {
		w.Detach()
		if err := mirror.Unmap(); err != nil {
			t.Error(err)
		}
	})
	p, err := w.Prepare(context.Background(), Share{Specs: specs, Processes: 1, Prepare: control.Prepare{Phase: "p", Number: 1, ThreadCount: 2, Clock: "monotonic",
		Keys: keyval.KeyShape{Format: keyval.Binary, Bytes: 16}, Values: keyval.ValueShape{PoolBytes: 4096,
			LengthMax: 30, TrialTag: 1}, LoadedRecords: 10}}, mirror, long)
	if err != nil || p.Digest != file.Digest(0, 2) {
		t.Fatalf("%v, digest %s", err, p.Digest)
	}
	run := w.Run(1) // in the past: at once
	if _, err := w.Send(control.Request{Command: control.CommandRun, Run: &run}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an operation", func() bool {
		Look([]*Worker{w}, true, time.Second)
		return mirror.Thread(0).Acknowledged > 0 && mirror.Thread(1).Acknowledged > 0
	})
	return mirror
}

// An agent that does not hear of its conductor ends its workers by itself; the conductor takes it for
// lost, and what is asked of its workers then says so.
func TestLease(t *testing.T) {
	r := newRig(t, 500*time.Millisecond)
	w := r.opened(t)
	begun(t, w)
	if len(processes.Children(t, os.Getpid())) != 1 {
		t.Fatalf("workers: %v", processes.Children(t, os.Getpid()))
	}
	r.hub.server.Shutdown() // cut off, from the conductor and not from the store
	if err := <-r.ended; err == nil || !strings.Contains(err.Error(), "the conductor sent nothing") {
		t.Errorf("the agent ended with %v", err)
	}
	if left := processes.Children(t, os.Getpid()); len(left) > 0 {
		t.Errorf("workers that are left: %v", left)
	}
	eventually(t, "the loss", func() bool { return r.agent.Lost() != nil })
	if err := w.CallContext(context.Background(), control.Request{Command: control.CommandInspect}, long,
		nil); !errors.Is(err, ErrLost) {
		t.Errorf("asking its worker gave %v", err)
	}
}

// An agent of another version gets an error that says so, and so does the conductor.
//
// Fault (agents): an agent is of another version, or does not join
// Assay: the run ends before its first trial and names it
// With: run.TestAgentThatDoesNotJoin
func TestAgentOfAnotherVersion(t *testing.T) {
	hub, err := NewHub(Options{Agents: []string{"join:1"}, Version: "1", Log: io.Discard, Patience: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	ended := make(chan error, 1)
	go func() { ended <- Serve(context.Background(), (&rig{hub: hub}).options("2")) }()
	if _, err := hub.Gather(context.Background()); err == nil || !strings.Contains(err.Error(), "another version (2), this is 1") {
		t.Errorf("the conductor says %v", err)
	}
	if err := <-ended; !errors.Is(err, ErrRefused) {
		t.Errorf("the agent says %v", err)
	}
}

// What an agent consents to: no files, no servers of other machines.
//
// Fault (agents): a run orders files of an agent, or load on a server of others
// Assay: the agent refuses
func TestConsent(t *testing.T) {
	r := newRig(t, DefaultLease)
	w, err := r.agent.StartWorker(context.Background(), long)
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range []control.Open{
		{Driver: "null", Directory: "/tmp"}, {Driver: "null", Endpoints: []string{"192.0.2.1:6379"}}, {Driver: "null", Endpoints: []string{"127.0.0.1:1", "[2001:db8::1]:1"}},
	} {
		open.Durability, open.Handles, open.Threads = store.D0, control.HandlesPerThread, 1
		var refused *control.Error
		err := w.CallContext(context.Background(), control.Request{Command: control.CommandOpen, Open: &open}, long,
			nil)
		if !errors.As(err, &refused) || refused.Class != control.ClassRefused {
			t.Errorf("%+v: %v", open, err)
		}
	}
}

// Messages that are none are refused, counted, and do nothing to the agent that is there.
//
// Fault (agents): agents get messages with a bad token, replayed, oversized or malformed, or
// threads of others in the counters
// Assay: refused and counted; the agent goes on
func TestHostileMessages(t *testing.T) {
	r := newRig(t, DefaultLease)
	w := r.opened(t)
	mirror := begun(t, w)

	if _, err := nats.Connect(r.hub.Server, nats.Token("0123456789abcdef")); err == nil {
		t.Error("the server took a client with another token")
	}
	conn, err := nats.Connect(r.hub.Server, nats.Token(r.hub.Token.Credential())) // who got that far
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var mu sync.Mutex
	var recorded []*nats.Msg
	if _, err := conn.Subscribe("assay.>", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		if len(recorded) < 50 {
			recorded = append(recorded, m)
		}
	}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a message of each direction", func() bool {
		Look([]*Worker{w}, false, time.Second)
		mu.Lock()
		defer mu.Unlock()
		return len(recorded) == 50
	})
	from, to := subjectFrom+r.agent.ID, subjectTo+r.agent.ID
	publish := func(subject string, data []byte) {
		if err := conn.Publish(subject, data); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	for _, m := range recorded { // replayed, as they are, and to the other direction
		publish(m.Subject, m.Data)
		publish(from, m.Data)
		publish(to, m.Data)
	}
	mu.Unlock()
	forged := &sealer{key: Token("0123456789abcdef0").derive("replies", r.agent.ID, r.agent.nonce), number: 1 << 40}
	body, err := encode(reply{Kind: replyBye, Why: "gone"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := forged.seal(from, body)
	if err != nil {
		t.Fatal(err)
	}
	publish(from, sealed)
	for _, data := range [][]byte{nil, []byte("x"), make([]byte, envelopeBytes), make([]byte, messageBytesMax)} {
		publish(from, data)
		publish(to, data)
		publish(subjectJoin, data)
	}
	if err := conn.Publish(from, make([]byte, messageBytesMax+1)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("an oversized message: %v", err)
	}
	eventually(t, "the count", func() bool {
		refused := r.hub.Refused()
		return refused[errReplayed.Error()] > 0 && refused[errForged.Error()] >= 5
	})

	// What has the token, and says what can't be: threads of others, and what is no copy.
	before := mirror.Thread(1).Acknowledged
	for _, tail := range [][]byte{appendThread(nil, 7, nil), appendThread(nil, 1, []byte{0xff, 0xff, 0xff, 0x7f,
		1}), {1}, {0, 200}} {
		if err := w.looked(&reply{Kind: replyLook, ID: 1 << 40, Part: 1, Of: 1}, tail); err == nil {
			t.Errorf("the counters %v were taken", tail)
		}
	}
	if !Look([]*Worker{w}, true, long) || mirror.Thread(1).Acknowledged < before || r.agent.Lost() != nil {
		t.Errorf("the agent that was there: lost %v", r.agent.Lost())
	}
	if err := w.CallContext(context.Background(), control.Request{Command: "dance"}, long, nil); err == nil {
		t.Error("a request out of its turn was done")
	}
}

// An order is done once, however often it comes.
//
// Fault (agents): a message to an agent comes twice
// Assay: done once
func TestOrderIsDoneOnce(t *testing.T) {
	r := newRig(t, DefaultLease)
	w := r.opened(t)
	pending, err := w.Send(control.Request{Command: control.CommandInspect})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r.agent.send(pending.order)
	}
	if done, err := pending.Wait(long, nil); !done || err != nil {
		t.Fatal(done, err)
	}
	r.agent.send(pending.order) // after its answer
	if err := w.CallContext(context.Background(), control.Request{Command: control.CommandClose}, long,
		nil); err != nil {
		t.Error(err)
	}
	if err := w.CallContext(context.Background(), control.Request{Command: control.CommandClose}, long,
		nil); err == nil {
		t.Error("a store that is closed was closed again: the second order was not done")
	}
}

// The offset is known to half of the least round trip, whatever the two ways take.
func TestClockOffset(t *testing.T) {
	var c clocks
	const ahead = 7_000_000_000
	for i := range int64(200) {
		sent := i * 1_000_000
		there, back := 10_000+(i*7919)%900_000, 10_000+(i*104729)%900_000
		c.saw(sight{sent, sent + there + ahead, sent + there + back})
	}
	offset, within, known := c.offset(100_000_000 + ahead)
	if wrong := offset - ahead; !known || wrong > within || -wrong > within || within > 100_000 {
		t.Errorf("an offset of %d ns, wrong by %d, said to be known to %d", offset, wrong, within)
	}
	if at := c.toAgent(50_000_000); at-50_000_000-ahead > within || 50_000_000+ahead-at > within {
		t.Errorf("translated to %d", at)
	}
}

// The reported start is right, with a clock that is hours away: that of an agent in a time namespace. The
// test knows its offset to the nanosecond, the conductor only from the agent's messages.
//
// Fault (agents): an agent's clock is hours away
// Assay: the start is reported to within its stated error
// With: run.TestAgentWithAWrongClock, run.TestAgentsInNetworkNamespaces
func TestStartErrorIsTrue(t *testing.T) {
	const away = 5000 * time.Second
	unshare := []string{"unshare", "--time", "--monotonic", fmt.Sprint(int(away.Seconds())), "--fork", "--kill-child"}
	if out, err := exec.Command(unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no time namespace can be had: %v %s", err, out)
	}
	hub, err := NewHub(Options{Agents: []string{"local:1"}, Version: "1", Agent: append(unshare, os.Args[0], "agent"), Log: io.Discard, Patience: long})
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	present, err := hub.Gather(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{hub: hub, agent: present[0]}
	w := r.opened(t)
	begun(t, w)
	told, within := w.Start()
	w.mu.Lock()
	truth := int64(w.words.StartNS) - int64(away)
	w.mu.Unlock()
	if wrong := told - truth; wrong > within || -wrong > within || within <= 0 {
		t.Errorf("the start is reported %d ns from the truth, known to %d", wrong, within)
	}
}

// A guard ends the workers of an agent that says nothing for its lease, and of no other.
func TestGuard(t *testing.T) {
	ends := func(t *testing.T, lines func(pid int) string, wait bool) bool {
		t.Helper()
		sleeper := exec.Command("sleep", "600")
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan struct{})
		go func() {
			_ = sleeper.Wait() // killed, by the guard or below
			close(exited)
		}()
		defer func() { _ = sleeper.Process.Kill(); <-exited }()
		in, out := io.Pipe()
		over := make(chan error, 1)
		go func() { over <- Guard(in, io.Discard) }()
		fmt.Fprint(out, lines(sleeper.Process.Pid))
		if wait {
			select {
			case <-exited:
				return true
			case <-time.After(long):
				return false
			}
		}
		_ = out.Close()
		if err := <-over; err != nil {
			t.Error(err)
		}
		select {
		case <-exited:
			return true
		default:
			return false
		}
	}
	if !ends(t, func(pid int) string { return fmt.Sprintf("beat 50000000\nwatch %d\n", pid) }, true) {
		t.Error("the worker of an agent that is stopped goes on")
	}
	if ends(t, func(pid int) string {
		return fmt.Sprintf("beat 50000000\nwatch %d\nforget %d\n", pid, pid) + strings.Repeat("beat 50000000\n", 100)
	}, false) {
		t.Error("a worker was ended that is not the guard's")
	}
	if err := Guard(strings.NewReader("watch 1\n"), io.Discard); err == nil {
		t.Error("a guard takes process 1")
	}
}

// An agent that a busy machine keeps from answering its welcome takes itself for welcome as long as its
// lease, and so does its conductor.
//
// Fault (agents): a busy machine keeps an agent from answering its welcome for longer than 5 s
// Assay: it is awaited as long as its lease
func TestLateAnswerIsAwaited(t *testing.T) {
	h := &Hub{Options: Options{Lease: time.Minute}, strangers: map[string]*Agent{}}
	for id, ago := range map[string]time.Duration{"late": 50 * time.Second, "gone": 70 * time.Second} {
		h.strangers[id] = &Agent{since: time.Now().Add(-ago), end: make(chan struct{})}
	}
	h.forgetStrangers()
	if h.strangers["late"] == nil || h.strangers["gone"] != nil {
		t.Errorf("%v", h.strangers)
	}
}
