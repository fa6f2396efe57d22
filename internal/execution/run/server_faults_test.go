package run

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/execution/event"
	"assay/internal/execution/server"
	"assay/internal/presentation/live"
	"assay/internal/testkit/servertest"
	"assay/store"
)

// faultRun has one server for all of its trials, which somebody else has started.
const faultRun = `name: fault
stores: [{driver: DRIVER, worker: WORKER, endpoints: ['ENDPOINT'], options: {operation_timeout: TIMEOUT, OPTIONS}}]
durability: CLASS
threads: 4
records: 300
blocks: 1
repeats: 0
busy_machine: tell
keys: {format: decimal, digits: 12}
phases:
  - {name: load, load: true}
  - {name: steady, mix: {read: 1, update: 1}, rate: 200, for: 4s}
step_timeout: 300s
`

// faultyView does something to a server once, while a phase of the store's trial runs.
type faultyView struct {
	event.View
	in    string // the phase
	fault func() // in a goroutine of its own, which the trial does not wait for

	mu    sync.Mutex
	phase string
	hit   bool
	under bool // fault is under way
	late  bool // it was when the phase had ended: this machine needs a longer one
	done  sync.WaitGroup
}

func (v *faultyView) PhaseStarted(name string) { v.enters(name) }

func (v *faultyView) TrialEnded(e event.TrialEnd) {
	v.enters("")
	v.View.TrialEnded(e)
}

func (v *faultyView) enters(phase string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.late = v.late || v.under && phase != v.in
	v.phase = phase
}

func (v *faultyView) Tick(event.Tick) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.phase == v.in && !v.hit {
		v.hit, v.under = true, true
		v.done.Go(func() {
			v.fault()
			v.mu.Lock()
			defer v.mu.Unlock()
			v.under = false
		})
	}
}

// longer are by how much phases are lengthened, one after the other, until what happens in them has an end
// there, on however busy a machine.
var longer = []int{1, 5, 25}

var phaseLength = regexp.MustCompile(`for: (\d+)s`)

// lengthened returns an experiment with each phase so many times as long.
func lengthened(text string, times int) string {
	return phaseLength.ReplaceAllStringFunc(text, func(length string) string {
		seconds, _ := strconv.Atoi(phaseLength.FindStringSubmatch(length)[1])
		return fmt.Sprintf("for: %ds", seconds*times)
	})
}

// faulted runs the experiment on the real server while something happens to that, and returns the
// trial and its phase.
func faulted(t *testing.T, driver string, class store.Durability, timeout string, fault func(*server.Instance),
	changes ...string) (*record.Trial, *record.Phase) {
	t.Helper()
	return faultedGroup(t, driver, class, 1, timeout, func(g *server.Group) { fault(g.Members[0]) }, changes...)
}

// faultedGroup is [faulted] with several servers that make one store.
func faultedGroup(t *testing.T, driver string, class store.Durability, count int, timeout string,
	fault func(*server.Group),
	changes ...string) (*record.Trial, *record.Phase) {
	t.Helper()
	p, _ := programOf(driver)
	servertest.SkipSlow(t, p)
	var directory string
	for _, times := range longer {
		g := servertest.StartGroup(t, p, class, nil, count)
		v := &faultyView{View: live.NewPlain(discard{}), in: "steady", fault: func() { fault(g) }}
		text := strings.NewReplacer(append(slices.Clone(changes), "DRIVER", driver, "WORKER", own(),
			"ENDPOINT", strings.Join(g.Endpoints(), "', '"), "TIMEOUT", timeout, "OPTIONS", "", "CLASS", string(class))...).Replace(faultRun)
		directory = filepath.Join(t.TempDir(), "run")
		_, err := runTextWith(t.Context(), lengthened(text, times), directory, func(o *Options) { o.View = v })
		v.done.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if !v.late {
			break
		}
	}
	trial := trialOf(t, directory, driver)
	if len(trial.Phases) < 2 || trial.Phases[1].Name != "steady" {
		t.Fatalf("%s: %s", trial.State, trial.Error)
	}
	return trial, &trial.Phases[1]
}

// outcomes adds up what the operations of a phase came to.
func outcomes(p *record.Phase) (sum record.Operation) {
	for _, o := range p.Operations {
		sum.OK += o.OK
		sum.Miss += o.Miss
		sum.Lost += o.Lost
		sum.Conflict += o.Conflict
		sum.Wrong += o.Wrong
		sum.Errors += o.Errors
		sum.Timeout += o.Timeout
	}
	return sum
}

// wentOn reports whether a phase ended as the experiment says: its time was over, or each operation
// that was due in it was done.
func wentOn(p *record.Phase) bool {
	return p.EndedBy == record.EndedDuration || p.EndedBy == record.EndedOperations
}

func stoppedBySignal(trial *record.Trial) bool {
	return slices.ContainsFunc(trial.Marks, func(m finding.Mark) bool { return m.Code == finding.MarkStoppedSignal })
}

// asked are the server's own counts of requests, of those that it reports: with them in the sum,
// nothing was sent twice.
var asked = map[string][]string{"memcached": {"cmd_get", "cmd_set"}, "redis": {"total_commands_processed"}}

// sentOnce holds the server's count of requests against the operations of a phase: what was
// answered was asked once, and what was not answered at most once. few are requests of the driver's
// that are no operations.
func sentOnce(t *testing.T, driver string, trial *record.Trial, p *record.Phase, few float64) {
	t.Helper()
	if asked[driver] == nil {
		return
	}
	sum, requests := outcomes(p), 0.0
	for _, name := range asked[driver] {
		requests += p.Stats[name] - trial.Phases[0].Stats[name]
	}
	answered := float64(sum.OK + sum.Miss + sum.Lost + sum.Wrong + sum.Conflict)
	if most := answered + float64(sum.Errors+sum.Timeout) + few; requests < answered || requests > most {
		t.Errorf("the server was asked %v times, expected %v to %v: %+v", requests, answered, most, sum)
	}
}

// Fault (servers): a server is frozen for 2 s
// Assay: `machine-disturbed` (`stopped`); what was due waits in the response times, or times out
// With: run.TestFrozenServerTimesOut
func TestFrozenServerIsInTheResponseTimes(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, class := range map[string]store.Durability{
		"memcached": store.D0, "redis": store.D0, "postgres": store.D1, "cassandra": store.D3,
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			const stop = 2 * time.Second
			trial, p := faulted(t, driver, class, "20s", func(i *server.Instance) {
				thaw := servertest.Freeze(i)
				time.Sleep(stop)
				thaw()
			})
			sum := outcomes(p)
			if sum.Timeout+sum.Errors+sum.Lost+sum.Wrong > 0 || p.Stats["reconnects"] != 0 {
				t.Errorf("%+v, %v reconnects", sum, p.Stats["reconnects"])
			}
			if !wentOn(p) || !stoppedBySignal(trial) {
				t.Errorf("ended by %s, marks %v", p.EndedBy, trial.Marks)
			}
			// Operations fall due all the time, so that those of the stop wait for a time that is
			// evenly distributed up to its length: a share (stop-x)/elapsed waits longer than x.
			for _, o := range p.Operations {
				want99 := float64(stop) - 0.01*float64(p.ElapsedNS)
				p99, most := o.Response.Quantile(0.99), o.Response.Quantile(1)
				if p99 < 0.9*want99 || most < 0.95*float64(stop) {
					t.Errorf("%s: response p99 %.3g ns, maximum %.3g; a stop of %v gives %.3g and its length", o.Name, p99, most, stop, want99)
				}
			}
			sentOnce(t, driver, trial, p, 20)
		})
	}
}

// Four stops of the server are in the response times of asynchronous handles, as long as they were.
// What else the machine does makes operations wait longer, never shorter.
func TestFourStopsAreInTheResponseTimes(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, driver := range []string{"memcached", "redis"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			var stops []time.Duration
			_, p := faulted(t, driver, store.D0, "20s", func(i *server.Instance) {
				for first := time.Now(); len(stops) < 4 && time.Since(first) < 2*time.Second; { // within the phase
					thaw := servertest.Freeze(i)
					began := time.Now()
					time.Sleep(100 * time.Millisecond)
					stops = append(stops, time.Since(began))
					thaw()
					time.Sleep(300 * time.Millisecond)
				}
			}, "threads: 4", "threads: 50\nhandles: async", "rate: 200", "rate: 1000")
			if sum := outcomes(p); sum.Timeout+sum.Errors+sum.Lost+sum.Wrong > 0 || !wentOn(p) {
				t.Errorf("ended by %s: %+v", p.EndedBy, sum)
			}
			want := servertest.StoppedQuantile(0.99, stops, time.Duration(p.ElapsedNS), 0)
			for _, o := range p.Operations {
				if p99 := o.Response.Quantile(0.99); p99 < 0.95*float64(want) {
					t.Errorf("%s: response p99 %v, stops of %v give %v", o.Name, time.Duration(p99), stops, want)
				}
			}
		})
	}
}

func TestFrozenServerTimesOut(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		driver      string
		class       store.Durability
		multiplexes bool // requests over a connection, which it keeps after a time-out
	}{
		{driver: "memcached", class: store.D0}, {driver: "redis", class: store.D0}, {driver: "postgres", class: store.D1},
		{driver: "cassandra", class: store.D3, multiplexes: true},
	} {
		t.Run(c.driver, func(t *testing.T) {
			t.Parallel()
			trial, p := faulted(t, c.driver, c.class, "1s", func(i *server.Instance) {
				thaw := servertest.Freeze(i)
				time.Sleep(2 * time.Second)
				thaw()
			})
			sum := outcomes(p)
			if sum.Timeout < 4 || sum.OK == 0 || !wentOn(p) || trial.State != record.Marked {
				t.Errorf("%s, ended by %s: %+v", trial.State, p.EndedBy, sum)
			}
			if again := uint64(p.Stats["reconnects"]); again < 1 && !c.multiplexes || again > sum.Timeout+sum.Errors {
				t.Errorf("%d reconnects, %+v", again, sum)
			}
			sentOnce(t, c.driver, trial, p, 20)
		})
	}
}

// Fault (servers): a named server is killed and started again in a phase
// Assay: the run goes on: errors and time-outs are counted, handles connect anew (`reconnects`),
// nothing is sent twice
func TestRunGoesOnWithAServerThatIsStartedAgain(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		name, driver string
		class        store.Durability
		keeps        bool
		changes      []string
	}{
		{name: "memcached", driver: "memcached", class: store.D0},
		{name: "memcached async", driver: "memcached", class: store.D0, changes: []string{"threads: 4", "threads: 4\nhandles: async(2)"}},
		{name: "redis", driver: "redis", class: store.D1, keeps: true},
		{name: "go-redis", driver: "redis", class: store.D1, keeps: true, changes: []string{"OPTIONS", "client: go-redis"}},
		{name: "postgres", driver: "postgres", class: store.D1, keeps: true},
		{name: "mariadb", driver: "mariadb", class: store.D1, keeps: true},
		{name: "cassandra", driver: "cassandra", class: store.D3, keeps: true, changes: []string{"rate: 200, for: 4s", "rate: 100, for: 120s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			trial, p := faulted(t, c.driver, c.class, "20s", func(i *server.Instance) {
				servertest.Crash(t, i)
				servertest.Restart(t, i)
			}, c.changes...)
			sum := outcomes(p)
			if sum.Errors < 1 || !wentOn(p) || trial.State != record.Marked {
				t.Errorf("%s (%s), ended by %s: %+v", trial.State, trial.Error, p.EndedBy, sum)
			}
			if again := uint64(p.Stats["reconnects"]); again < 1 || again > 4*sum.Errors {
				t.Errorf("%d reconnects, %+v", again, sum)
			}
			if lost := sum.Lost > 0; lost == c.keeps || sum.Wrong > 0 {
				t.Errorf("%s %s: %+v", c.driver, c.class, sum)
			}
			for _, fault := range codes(trial) {
				if c.keeps && (fault == string(finding.FaultLost) || fault == string(finding.FaultStale)) {
					t.Errorf("acknowledged writes are reported lost: %v", trial.Marks)
				}
			}
		})
	}
}

// Carts are read and written back while one of three nodes is killed and brought back: requests go
// on by the two others, and no acknowledged update is lost but to another client.
func TestCartSurvivesTheLossOfANode(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	trial, p := faultedGroup(t, "cassandra", store.D3, 3, "20s", func(g *server.Group) {
		servertest.Crash(t, g.Members[2])
		servertest.Restart(t, g.Members[2])
	}, "OPTIONS", "replication: 3, consistency: quorum",
		"mix: {read: 1, update: 1}, rate: 200, for: 4s", "request: [read, {update: 600, adds: 3}], order: sequential, rate: 50, for: 150s")
	sum := outcomes(p)
	if sum.OK < 10*(sum.Errors+sum.Timeout) || sum.Lost+sum.Wrong > 0 || !wentOn(p) {
		t.Errorf("%s (%s), ended by %s: %+v", trial.State, trial.Error, p.EndedBy, sum)
	}
	u := p.History.Updates
	if u == nil || u.Done == 0 || u.Lost > 0 || u.Items != 3*u.Done {
		t.Errorf("one writer a cart: %+v", u)
	}
	for _, fault := range codes(trial) {
		if fault == string(finding.FaultLost) || fault == string(finding.FaultStale) {
			t.Errorf("acknowledged writes are reported lost: %v", trial.Marks)
		}
	}
}

// Fault (servers): a server ends, or is killed, in a phase
// Assay: the phase ends at once; the trial fails, with status or signal
// With: server.TestDeadServerIsReportedWithItsLastWords
func TestServerThatDiesInAPhaseFailsTheTrial(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		driver, phase string
		signal        syscall.Signal
		how           string
		server        string
	}{
		{"memcached", "load", syscall.SIGKILL, "signal: killed", "start"},
		{"memcached", "steady", syscall.SIGSEGV, "signal: segmentation fault", "start"},
		{"memcached", "steady", syscall.SIGKILL, "memcached-3: signal: killed", "{start: true, count: 3}"},
		{"redis", "steady", syscall.SIGKILL, "signal: killed", "start"},
		{"postgres", "steady", syscall.SIGKILL, "signal: killed", "start"},
	} {
		t.Run(c.driver+" "+c.phase+" "+c.server, func(t *testing.T) {
			t.Parallel()
			p, _ := programOf(c.driver)
			if _, err := p.Find(); err != nil {
				t.Skipf("SKIPPED: %v", err)
			}
			started, settings := new(startedServers), p.Settings
			var pid atomic.Int64 // of the latest
			p.Settings = func(ctx context.Context, i *server.Instance) (map[string]string, error) {
				started.add(i.Endpoint())
				pid.Store(int64(i.PID()))
				return settings(ctx, i)
			}
			v := &faultyView{View: live.NewPlain(discard{}), in: c.phase,
				fault: func() { _ = syscall.Kill(int(pid.Load()), c.signal) }}
			changes := []string{"DRIVER", c.driver, "endpoints: ['ENDPOINT'], options: {operation_timeout: TIMEOUT, OPTIONS}", "server: " + c.server,
				"CLASS", "D0", "for: 4s", "for: 20s"}
			if c.phase == "load" {
				changes = append(changes, "records: 300", "records: 100000000")
			}
			directory := runServer(t.Context(), t, p, v, strings.NewReplacer(changes...).Replace(faultRun))
			trial := trialOf(t, directory, c.driver)
			if trial.State != record.Failed || trial.Cause != finding.CauseServerDied ||
				!strings.Contains(trial.Error, c.how) {
				t.Errorf("%s, %s: %s", trial.State, trial.Cause, trial.Error)
			}
			if last := trial.Phases[len(trial.Phases)-1]; last.Name != c.phase || last.EndedBy != record.EndedFailed {
				t.Errorf("the last phase is %s, ended by %q", last.Name, last.EndedBy)
			}
			expectNoServers(t, started, directory)
		})
	}
}
