package run

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/drivers"
	"assay/internal/base/owned"
	"assay/internal/execution/control"
	"assay/internal/execution/event"
	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/read"
	"assay/internal/experiment/trace"
	"assay/internal/presentation/live"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/servertest"
	"assay/store"
)

// keptRun has keys in its load, and fresh ones that end at no known index.
const keptRun = `name: kept
stores: [{driver: DRIVER, worker: WORKER, endpoints: ['ENDPOINT'], options: {OPTIONS}}]
durability: CLASS
threads: 1
records: 3000
blocks: 1
repeats: 0
busy_machine: tell
keys: {format: decimal, digits: 12}
values: {bytes: 40}
phases:
  - {name: load, load: true}
  - {name: grow, mix: {insert: 2, update: 1}, rate: 5000, for: 10m}
`

// namedServer is a server that somebody else has started, with a record of theirs.
type namedServer struct {
	driver, endpoint string
	class            store.Durability
	experiment       string
	theirs           store.Handle // nil: any record of others is in a table that Assay would not touch
}

func startNamed(t *testing.T, driver string, class store.Durability) *namedServer {
	t.Helper()
	if driver != "redis" && os.Getenv("ASSAY_LONG") == "" {
		t.Skip("SKIPPED: as redis, and minutes of a server's work; ASSAY_LONG=1 runs this")
	}
	p, _ := drivers.Program(driver)
	i := servertest.Start(t, p, class, servertest.WithoutLogin(p, nil))
	s := &namedServer{driver: driver, endpoint: i.Endpoint(), class: class}
	s.experiment = strings.NewReplacer("DRIVER", driver, "WORKER", own(), "ENDPOINT", s.endpoint, "CLASS", string(class),
		"OPTIONS", "operation_timeout: 1m").Replace(keptRun)
	if driver == "redis" || driver == "etcd" || driver == "memcached" {
		for _, d := range drivers.All() {
			if d.Describe().Name == driver {
				c := drivertest.Config(t, d.Describe(), class, nil)
				c.Endpoints = []string{s.endpoint}
				_, s.theirs = drivertest.Open(t, d, c)
			}
		}
		for _, key := range theirKeys {
			if err := s.theirs.Put([]byte(key), []byte("theirs")); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// theirKeys are next to those of trials.
var theirKeys = []string{"000000000007", "00000000000000000007", "zz"}

// held asks the server how many records it has that are not of others.
func (s *namedServer) held(t *testing.T) int {
	t.Helper()
	r := &running{options: options(""), experiment: loaded(t, s.experiment)}
	held := int(r.heldBy(&r.experiment.Stores[0]))
	if s.theirs != nil {
		for _, key := range theirKeys {
			if value, err := s.theirs.Get([]byte(key), nil); err != nil || string(value) != "theirs" {
				t.Errorf("%s: their key %s: %q, %v", s.driver, key, value, err)
			}
		}
		held -= len(theirKeys)
	}
	return held
}

// nothingIsLeft reports what is left of Assay on the server.
func (s *namedServer) nothingIsLeft(t *testing.T, root string) {
	t.Helper()
	if s.driver == "postgres" {
		c, err := pgx.Connect(t.Context(), "postgres://"+s.endpoint+"/postgres?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		var schemas int
		if err := c.QueryRow(t.Context(), "SELECT count(*) FROM pg_namespace WHERE nspname = 'assay'").Scan(&schemas); err != nil || schemas > 0 {
			t.Errorf("%d schemas of Assay are left, %v", schemas, err)
		}
	}
	if held := s.held(t); held != 0 {
		t.Errorf("%s: %d keys are left", s.driver, held)
	}
	if notes := leftNotes(root); len(notes) > 0 {
		t.Errorf("%s: notes are left: %v", s.driver, notes)
	}
}

func loaded(t *testing.T, text string) *experiment.Experiment {
	t.Helper()
	e, err := read.Load([]byte(text), "test.yaml", nil, read.Drivers{Describe: func(s experiment.Store) (store.Description, error) { return describe(s.Driver) }})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// stoppingView does something at the first sample from some phase on.
type stoppingView struct {
	event.View
	from  string
	begun bool
	stop  func()
}

func (v *stoppingView) PhaseStarted(name string) { v.begun = v.begun || name == v.from }

func (v *stoppingView) Tick(event.Tick) {
	if v.begun {
		v.stop()
	}
}

var named = []struct {
	driver string
	class  store.Durability
}{{"redis", store.D0}, {"etcd", store.D3}, {"postgres", store.D1}, {"mariadb", store.D1}, {"memcached", store.D0}}

// Ctrl-C deletes what the trial has made, whether it comes in the load or later.
//
// Fault (left): Ctrl-C, with a named server
// Assay: the trial's keys are deleted in 2 s at most; what is left is reported and noted
// With: run.TestCtrlCLeavesNoKeysOnANamedServer
func TestCtrlCLeavesNoKeysOnANamedServer(t *testing.T) {
	ofFigures(t)
	for _, c := range named {
		t.Run(c.driver, func(t *testing.T) { // not beside others, whose cleaning would hold the notes
			s := startNamed(t, c.driver, c.class)
			for _, in := range []string{"load", "grow"} {
				text := s.experiment
				if in == "load" {
					text = strings.Replace(text, "records: 3000", "records: 5e4", 1)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := func() { cancel(Stopped{"SIGINT"}) }
				root := t.TempDir()
				result, err := runTextWith(ctx, text, filepath.Join(root, "run"), func(o *Options) {
					o.View = &stoppingView{View: live.NewPlain(discard{}), from: in, stop: stop}
				})
				if err != nil || !result.Interrupted {
					t.Fatalf("%s: %+v, %v", in, result, err)
				}
				if result.Left == "" {
					s.nothingIsLeft(t, root)
					continue
				}
				// Two seconds were not enough, on a busy machine or of so many keys.
				t.Logf("%s: %s", in, result.Left)
				if len(leftNotes(root)) == 0 {
					t.Error("keys are left, and no note of them")
				}
				s.clean(t, root)
			}
		})
	}
}

func (s *namedServer) clean(t *testing.T, root string) {
	t.Helper()
	s.cleanNotes(t, root)
	s.nothingIsLeft(t, root)
}

// cleanNotes does what assay doctor --clean does, until the notes below root are gone.
func (s *namedServer) cleanNotes(t *testing.T, root string) {
	t.Helper()
	for began := time.Now(); len(leftNotes(root)) > 0; time.Sleep(10 * time.Millisecond) {
		c := CleanLeft(t.Context(), LeftKeys{Worker: []string{os.Args[0], "worker"}, All: true})
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("notes stay: %v", c.Failed)
		}
	}
}

// configure changes settings of a Redis, and so the class that it opens in.
func (s *namedServer) configure(t *testing.T, settings ...string) {
	t.Helper()
	if s.driver != "redis" {
		return
	}
	c, err := net.Dial("tcp", s.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, setting := range settings {
		fmt.Fprintf(c, "CONFIG SET %s\r\n", setting)
		if answer, err := bufio.NewReader(c).ReadString('\n'); err != nil || answer != "+OK\r\n" {
			t.Fatalf("%s: %q, %v", setting, answer, err)
		}
	}
}

// After kill -9 another run touches nothing and says so, and what resumes or cleans deletes all.
//
// Fault (left): kill −9, with a named server
// Assay: `assay run --resume`, or `assay doctor --clean`, deletes the keys that a phase noted, also
// in another class, and no other. Servers beyond the loopback need `--allow-remote`
// With: run.TestKeysNeedConsent, run.TestKillLeavesANoteOfKeys/redis
func TestKillLeavesANoteOfKeys(t *testing.T) {
	ofFigures(t)
	for i, c := range named {
		t.Run(c.driver, func(t *testing.T) {
			s := startNamed(t, c.driver, c.class)
			root := t.TempDir()
			directory := filepath.Join(root, "run")
			command := exec.Command(os.Args[0], "conduct", s.experiment, directory, "")
			command.Stderr = os.Stderr
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			for s.held(t) < 3500 { // fresh keys among them: each third operation inserts one
				time.Sleep(50 * time.Millisecond)
			}
			_ = command.Process.Kill()
			_ = command.Wait() // killed, as was wanted
			held := s.held(t)
			if held == 0 {
				t.Fatal("the killed run left no keys")
			}
			// another test's cleaning may hold it
			for began := time.Now(); len(leftNotes(root)) == 0; time.Sleep(10 * time.Millisecond) {
				if time.Since(began) > time.Minute {
					t.Fatal("no note")
				}
			}
			other := CleanLeft(t.Context(), LeftKeys{Worker: []string{os.Args[0], "worker"}})
			if now := s.held(t); now != held || !strings.Contains(fmt.Sprint(other.Failed), "assay doctor --clean removes them") {
				t.Errorf("another run: %d keys became %d, %v", held, now, other.Failed)
			}
			if i%2 == 0 {
				s.configure(t, "appendonly yes", "appendfsync everysec") // in a class that the run did not ask for
				if now := s.held(t); now != held {
					t.Errorf("%d keys, said to be %d once the server gives another class", held, now)
				}
				s.cleanNotes(t, root)
				s.configure(t, "appendonly no")
				s.nothingIsLeft(t, root)
				return
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			o := options(directory)
			o.View = &stoppingView{View: live.NewPlain(discard{}), from: "load", stop: func() { cancel(Stopped{"SIGINT"}) }}
			result, err := Resume(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			if result.Left != "" { // of the resumed trial: what the killed one left is gone
				t.Log(result.Left)
				s.clean(t, root)
			}
			s.nothingIsLeft(t, root)
		})
	}
}

// Keys on a server that is not on the loopback need the consent that the run needed, and a note that
// can't be read deletes nothing.
func TestKeysNeedConsent(t *testing.T) {
	root := t.TempDir()
	for name, detail := range map[string]string{
		"remote":  `{"store":"redis","namespace":"0a0b0c0d","open":{"endpoints":["192.0.2.1:6379"]},"prepare":{}}`,
		"foreign": `{"store":"redis","open":{"endpoints":["127.0.0.1:1"]},"prepare":{}}`,
		"gone":    `{"store":"redis","namespace":"0a0b0c0e","open":{"endpoints":["127.0.0.1:1"]},"prepare":{}}`,
	} {
		note, err := owned.Write(owned.Thing{Kind: owned.Keys, Path: filepath.Join(root, name), Detail: []byte(detail)})
		if err != nil {
			t.Fatal(err)
		}
		note.Keep()
	}
	failed := fmt.Sprint(CleanLeft(t.Context(), LeftKeys{Worker: []string{"/bin/false"}, All: true}).Failed)
	for _, want := range []string{"192.0.2.1:6379: not on this machine's loopback", "can't be read", "begin with 0a0b0c0e"} {
		if !strings.Contains(failed, want) {
			t.Errorf("%q is not in %s", want, failed)
		}
	}
	// A server that is gone is forgotten where that is asked for, and none that was not tried.
	c := CleanLeft(t.Context(), LeftKeys{Worker: []string{"/bin/false"}, All: true, Forget: true})
	if told := fmt.Sprint(c.Forgotten); !strings.Contains(told, "begin with 0a0b0c0e") || strings.Contains(told, "192.0.2.1") {
		t.Errorf("forgotten: %s", told)
	}
	failed = fmt.Sprint(CleanLeft(t.Context(), LeftKeys{Worker: []string{"/bin/false"}, All: true}).Failed)
	if strings.Contains(failed, "begin with 0a0b0c0e") || !strings.Contains(failed, "192.0.2.1") {
		t.Errorf("still told: %s", failed)
	}
	for _, note := range owned.Left() {
		if strings.HasPrefix(note.Path, root) {
			note.Done()
		} else {
			note.Keep()
		}
	}
}

// A server that goes silent keeps its keys, and the run says so within a bounded time.
//
// Fault (left): a named server stops answering, and keeps its keys
// Assay: reported within a bounded time, and noted
func TestKeysOfASilentServerAreReported(t *testing.T) {
	ofFigures(t)
	p, _ := drivers.Program("redis")
	i := servertest.Start(t, p, store.D0, servertest.WithoutLogin(p, nil))
	text := strings.NewReplacer("DRIVER", "redis", "WORKER", own(), "ENDPOINT", i.Endpoint(), "CLASS", "D0",
		"OPTIONS", "operation_timeout: 500ms", "rate: 5000, for: 10m", "operations: 300", "blocks: 1", "blocks: 1\nstep_timeout: 3s").Replace(keptRun)
	root := t.TempDir()
	thaw := func() {}
	freeze := sync.OnceFunc(func() { thaw = servertest.Freeze(i) })
	result, err := runTextWith(t.Context(), strings.Replace(text, "records: 3000", "records: 1e5", 1), filepath.Join(root, "run"),
		func(o *Options) { o.View = &stoppingView{View: live.NewPlain(discard{}), from: "load", stop: freeze} })
	thaw()
	if err != nil || result.Failed != 1 || result.Left == "" {
		t.Fatalf("%+v, %v", result, err)
	}
	s := &namedServer{driver: "redis", endpoint: i.Endpoint(), experiment: text}
	if s.held(t) == 0 {
		t.Error("no key is left: the test tests nothing")
	}
	s.clean(t, root)
}

// What a killed or interrupted removal has taken from its note already is an empty span: it is passed over,
// and the keys after it are deleted.
func TestRemovingPassesOverWhatIsDone(t *testing.T) {
	t.Parallel()
	open := control.Open{Driver: "memory", First: true, Durability: store.D0, Handles: control.HandlesPerThread, Threads: removeThreadsMin}
	k := &serverKeys{Store: "memory", Namespace: "0a0b0c0d", Open: open,
		Prepare: &control.Prepare{Phase: "remove keys", Keys: keyval.KeyShape{Format: keyval.Decimal, Prefix: "0a0b0c0d", Digits: 12},
			Values: keyval.ValueShape{PoolBytes: removePoolBytes, LengthMax: 40, TrialTag: 1}, Clock: "monotonic"},
		Spans: trace.Spans{{From: 7, Below: 7}, {From: 9, Below: 12}, {From: 20, Below: 20}}}
	if err := k.remove(t.Context(), []string{os.Args[0], "worker"}, time.Minute); err != nil || len(k.Spans) > 0 {
		t.Errorf("%v; %d spans are left", err, len(k.Spans))
	}
}
