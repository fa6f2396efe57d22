package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/drivers/memory"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/presentation/tell"
	"assay/store"
)

// dialler is the map of driver memory, which holds connections to an endpoint as the driver of a
// server would: one for each handle, and one of its own.
type dialler struct {
	memory.Driver
	name   string
	each   int  // connections of a handle beyond the first
	leaks  bool // of the operations in leakEvery, one leaves a connection open
	surge  int  // so many more are opened once, surgeAfter the first operation on the loaded store
	fails  int  // so many operations fail from then on, each of leakEvery, and leave a connection open
	stalls bool // opens another connection whenever the server has not answered for stallPatience
	keeps  bool // the first handle of the loaded store waits from then on until the others rest
}

// leakEvery bounds a leak to what the machine holds.
const leakEvery = 20 * time.Millisecond

const surgeAfter = 700 * time.Millisecond

// stallPatience is how long a client that stalls waits for an answer before it takes another
// connection, and stallsFor how long the server does not answer.
const stallPatience, stallsFor = 50 * time.Millisecond, 400 * time.Millisecond

// coursesFrom is how many samples tell a course: a busy machine may take three in a short phase, of
// which the first is no leak's yet and the last not in the plot.
const coursesFrom = 6

// restsFor is how long the other threads must do nothing until the one that has no turn goes on.
const restsFor = time.Second

func (d dialler) Describe() store.Description {
	return store.Description{Name: d.name, Summary: "dials as a server's driver does", Licence: "NONE",
		Kind: store.Server, ConnectionsOwn: 1, Durability: []store.DurabilityClaim{{Class: store.D0, How: "says so"}}}
}

func (d dialler) Open(ctx context.Context, c store.Config) (store.Store, error) {
	inMemory, err := d.Driver.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	own, err := net.Dial("tcp", c.Endpoints[0])
	return &dialled{Store: inMemory, driver: d, endpoint: c.Endpoints[0], own: own, loading: c.First}, err
}

type dialled struct {
	store.Store
	driver   dialler
	endpoint string
	own      net.Conn
	loading  bool

	lock        sync.Mutex
	leaked      []net.Conn // or the collector would close them
	first, last time.Time  // operation, leak
	failed      int
	handles     int
	others      time.Time // last operation of those that have a turn
}

func (s *dialled) Handle() (store.Handle, error) {
	h, err := s.Store.Handle()
	if err != nil {
		return nil, err
	}
	s.lock.Lock()
	d := &dialledHandle{Handle: h, of: s, waits: s.driver.keeps && s.handles == 0}
	s.handles++
	s.lock.Unlock()
	for range 1 + s.driver.each {
		c, err := net.Dial("tcp", s.endpoint)
		if err != nil {
			return nil, err
		}
		d.connections = append(d.connections, c)
	}
	return d, nil
}

func (s *dialled) Close() error {
	_ = s.own.Close()
	return s.Store.Close()
}

type dialledHandle struct {
	store.Handle
	of          *dialled
	connections []net.Conn
	waits       bool
}

func (h *dialledHandle) Close() error {
	for _, c := range h.connections {
		_ = c.Close()
	}
	return h.Handle.Close()
}

func (h *dialledHandle) Put(key, value []byte) error {
	d := h.of.driver
	if h.waits && !h.of.loading {
		h.of.waitForOthers()
	}
	if d.stalls && !h.of.loading {
		if err := h.ask(); err != nil {
			return err
		}
	}
	if d.leaks || !h.of.loading {
		if err := h.of.leak(!h.waits); err != nil {
			return err
		}
	}
	return h.Handle.Put(key, value)
}

// ask asks the server for a byte, over one connection after another until one is answered in time. Those
// that are not stay open.
func (h *dialledHandle) ask() error {
	for {
		c := h.connections[len(h.connections)-1]
		answer := make([]byte, 1)
		_ = c.SetReadDeadline(time.Now().Add(stallPatience))
		if _, err := c.Write([]byte{0}); err != nil {
			return err
		}
		if _, err := c.Read(answer); err == nil {
			return nil
		}
		another, err := net.Dial("tcp", h.of.endpoint)
		if err != nil {
			return err
		}
		h.connections = append(h.connections, another)
	}
}

// waitForOthers returns at once within surgeAfter, and then when the others have rested.
func (s *dialled) waitForOthers() {
	for ; ; time.Sleep(time.Millisecond) {
		s.lock.Lock()
		goesOn := s.first.IsZero() || time.Since(s.first) < surgeAfter || time.Since(s.others) > restsFor
		s.lock.Unlock()
		if goesOn {
			return
		}
	}
}

// leak opens the connections that are due, and says if the operation fails.
func (s *dialled) leak(other bool) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	now, more := time.Now(), 0
	if s.first.IsZero() {
		s.first = now
	}
	if other {
		s.others = now
	}
	fails := s.failed < s.driver.fails && now.Sub(s.first) > surgeAfter && now.Sub(s.last) > leakEvery
	switch {
	case fails:
		s.failed, more = s.failed+1, 1
	case s.driver.leaks && now.Sub(s.last) > leakEvery:
		more = 1
	case s.driver.surge > 0 && s.last.IsZero() && now.Sub(s.first) > surgeAfter:
		more = s.driver.surge
	default:
		return nil
	}
	s.last = now
	for range more {
		if c, err := net.Dial("tcp", s.endpoint); err == nil {
			s.leaked = append(s.leaked, c)
		}
	}
	if fails {
		return errors.New("it does so now and then")
	}
	return nil
}

const diallingRun = `name: connections
stores: [{driver: DRIVER, worker: WORKER, endpoints: ['ENDPOINT']}]
durability: D0
threads: THREADS
handles: HANDLES
records: 100
blocks: 1
busy_machine: tell
keys: {format: decimal, digits: 12}
values: {bytes: 100}
phases:
  - {name: load, load: true}
  - {name: update, mix: {update: 1}, rate: 100, for: 2s}
`

// A driver that opens two connections a handle is found, one that leaks, one that loses a connection
// for each error, one that takes another one whenever the server stalls, and a pool that fills and does
// not shrink, with the second in which it did, how many there were, by the count of the other end too,
// and how many were left after closing; so is a thread that has no turn. One that opens one each is not found,
// however handles are shared, and however many threads wait for one.
//
// Fault (connections): a client opens more connections than its handles allow, leaks them, or opens
// another one for each error or late answer
// Assay: `connections-exceed`, with how many and since when, counted by the kernel each second, and
// by a server that Assay started
// With: run.TestConnectionsBeyondTheHandlesAreFound, detect.TestConnectionsBeyondTheMaximum,
// detect.TestConnectionsOfBothEnds
//
// Fault (connections): a client still holds connections 3 s after its store was closed
// Assay: `connections-exceed` (`left`)
// With: run.TestConnectionsBeyondTheHandlesAreFound
//
// Fault (connections): a pool never gives a thread its turn, or not any more
// Assay: `thread-starved`: no operation ended for a second and a quarter of its time, while each
// other thread did 100
// With: run.TestConnectionsBeyondTheHandlesAreFound, run.TestTurns
func TestConnectionsBeyondTheHandlesAreFound(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		driver, handles string
		threads         int
		allowed         float64 // 0: nothing is found
		most            float64 // 0: any
		course          string  // "": any
		left            int     // open when the store is closed; -1: some
	}{
		{"one-each", "per_thread", 2, 0, 0, "", 0}, {"one-each", "per_operation", 2, 0, 0, "", 0},
		{"one-each", "pool(1)", 2, 0, 0, "", 0}, {"one-each", "pool(8)", 2, 0, 0, "", 0},
		{"one-each", "pool(2)", 8, 0, 0, "", 0}, {"one-each", "pool(2)", 20, 0, 0, "", 0}, {"one-each", "pool(2)", 200, 0, 0, "", 0},
		{"two-each", "per_thread", 2, 3, 5, finding.ConnectionsStay, 0},
		{"leaking", "per_thread", 2, 3, 0, finding.ConnectionsGrow, -1},
		{"surging", "pool(1)", 2, 2, 7, finding.ConnectionsStay, 5},
		{"losing", "per_thread", 2, 3, 10, "", 7},
		// A busy machine's server is slow before it stalls, too.
		{"stalling", "per_thread", 2, 3, 0, "", 0},
		{"unfair", "per_thread", 2, 0, 0, "", 0},
	} {
		t.Run(fmt.Sprintf("%s/%s/%d", c.driver, c.handles, c.threads), func(t *testing.T) {
			t.Parallel()
			var trial *record.Trial
			var run *record.Run
			var counts []float64
			var asked func() int
			for _, times := range longer { // a busy machine may take two samples in two seconds
				var endpoint string
				endpoint, asked = listening(t)
				text := strings.NewReplacer("WORKER", fmt.Sprintf("[%q, worker]", os.Args[0]), "DRIVER", c.driver,
					"HANDLES", c.handles, "THREADS", strconv.Itoa(c.threads), "ENDPOINT", endpoint).Replace(diallingRun)
				if c.driver == "unfair" { // a thread without a turn is reported where the others do many operations
					text = strings.Replace(text, "rate: 100", "rate: 400", 1)
				}
				trial, _, run = runCounted(t, lengthened(text, times), c.driver, "")
				if counts = connectionsIn(run); len(counts) >= coursesFrom || trial.NotMeasured["worker.connections"] != "" {
					break
				}
			}
			if why := trial.NotMeasured["worker.connections"]; why != "" {
				t.Skip("SKIPPED: ", why)
			}
			if left := trial.ConnectionsLeft; left != c.left && !(c.left < 0 && left > 0) {
				t.Errorf("%d connections left after closing, want %d", left, c.left)
			}
			updates := trial.Phases[len(trial.Phases)-1]
			if s := updates.Starved; (s != nil) != (c.driver == "unfair") || s != nil && s.Threads != 1 {
				t.Errorf("without a turn: %+v", s)
			}
			taken := c.handles != "per_thread"
			if times := updates.HandleTimes; (times != nil) != taken || taken &&
				times.Count() != updates.Operations[0].Done() {
				t.Errorf("takes of handles that were timed: %+v", times)
			}
			result, err := tell.Result(run)
			if err != nil {
				t.Fatal(err)
			}
			found := resultOf(result.Findings, finding.ConnectionsExceed)
			if len(resultOf(result.Findings, finding.ConnectionsLeft)) != min(trial.ConnectionsLeft, 1) {
				t.Errorf("what was left is not told")
			}
			if (len(resultOf(result.Findings, finding.ThreadStarved)) == 1) != (updates.Starved != nil) {
				t.Errorf("the thread without a turn is not told")
			}
			if c.allowed == 0 && len(found) == 0 && len(counts) > 0 {
				return
			}
			if len(found) != 1 || found[0].Params["allowed"] != c.allowed || c.course != "" && len(counts) >= coursesFrom && found[0].Params["course"] != c.course ||
				c.most > 0 && found[0].Params["most"] != c.most {
				t.Fatalf("found %+v in %v", found, counts)
			}
			if began, want := found[0].Params["began_s"].(float64), firstAbove(run, c.allowed); began != want {
				t.Errorf("began at %v s, the first sample above %v is at %v", began, c.allowed, want)
			}
			// The client of a busy machine finds its server slow to the end, and so after the last sample.
			if others, most := asked(), found[0].Params["most"].(float64); others > 0 && (most > float64(1+others) || most <= c.allowed) {
				t.Errorf("found %v connections: the store's own and, by the count of the other end, %d", most, others)
			}
		})
	}
}

// firstAbove is when, in seconds of the phase that updates, its first sample had more connections. What a
// sample counts it counts after its time: on a busy machine long after.
func firstAbove(run *record.Run, allowed float64) float64 {
	for _, s := range run.Samples(run.Plan[0].ID, "") {
		if n, counted := s.Resource("worker.connections"); counted && s.Phase == "update" && n > allowed {
			return s.At
		}
	}
	return -1
}

// connectionsIn are the worker's connections, sample by sample of the phase that updates.
func connectionsIn(run *record.Run) (counts []float64) {
	for _, s := range run.Samples(run.Plan[0].ID, "") {
		if n, counted := s.Resource("worker.connections"); counted && s.Phase == "update" {
			counts = append(counts, n)
		}
	}
	return counts
}

func resultOf(all []finding.Finding, code finding.Code) (found []finding.Finding) {
	for _, f := range all {
		if f.Code == code {
			found = append(found, f)
		}
	}
	return found
}

// listening takes every connection, in this process, and answers each byte with one: not for a time,
// from surgeAfter the first one on. asked is how many connections have asked.
func listening(t *testing.T) (endpoint string, asked func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var lock sync.Mutex
	var first time.Time
	connections := map[net.Conn]bool{}
	// stall is how long is left of the time in which nothing is answered.
	stall := func(c net.Conn) time.Duration {
		lock.Lock()
		defer lock.Unlock()
		if connections[c] = true; first.IsZero() {
			first = time.Now()
		}
		if since := time.Since(first); since > surgeAfter {
			return surgeAfter + stallsFor - since
		}
		return 0
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				for question := make([]byte, 1); ; {
					if _, err := c.Read(question); err != nil {
						return
					}
					time.Sleep(stall(c))
					_, _ = c.Write(question)
				}
			}()
		}
	}()
	return l.Addr().String(), func() int {
		lock.Lock()
		defer lock.Unlock()
		return len(connections)
	}
}
