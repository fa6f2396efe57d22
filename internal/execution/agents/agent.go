package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"assay/internal/base/bounded"
	"assay/internal/base/clock"
	"assay/internal/base/format"
	"assay/internal/evidence/host"
	"assay/internal/execution/control"
	"assay/store"
)

// AgentOptions say whom an agent serves, and what it consents to.
type AgentOptions struct {
	Server  string // URL of the NATS server
	Token   Token
	Name    string   // that its launcher gave it; "": none
	Version string   // of this program
	Worker  []string // the command of its workers: orders never name one
	Guard   []string // the command of what ends them while the agent is stopped; none: nothing does

	AllowRemote bool                      // servers that are not on its loopback may be loaded
	Sockets     bool                      // Unix sockets may be connected to: it was launched beside its conductor
	Consents    func(*control.Open) error // says why a store is not opened for a conductor; nil: each is
	Once        bool                      // it ends with its first session
	Idle        time.Duration             // it ends when no conductor has sent anything for so long; 0: never
	Log         io.Writer
}

const (
	helloEvery   = 500 * time.Millisecond
	joinPatience = 30 * time.Second // of an agent that is there for one session
)

// errIdle says that no conductor came.
var errIdle = errors.New("no conductor was heard")

// ErrRefused says that the conductor does not take the agent.
var ErrRefused = errors.New("the conductor refused this agent")

// Serve serves conductors, one after the other, until ctx ends. With Once it serves one.
func Serve(ctx context.Context, o AgentOptions) error {
	if err := o.Token.Check(); err != nil {
		return err
	}
	conn, err := connect(o.Server, o.Token, "agent "+o.Name, o.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		s := newSitting(o, conn)
		err := s.serve(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errIdle):
			fmt.Fprintf(o.Log, "assay agent: it ends: %v\n", err)
			return nil
		case o.Once, errors.Is(err, ErrRefused):
			return err
		case err != nil:
			fmt.Fprintf(o.Log, "assay agent: %v\n", err)
		}
	}
}

// connect reaches a NATS server, and goes on trying where it is not there yet. The token's credential
// is for servers that conductors start; one of somebody else has its own in the URL.
func connect(server string, token Token, name string, log io.Writer) (*nats.Conn, error) {
	options := []nats.Option{nats.Name("assay " + name), nats.MaxReconnects(-1), nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond), nats.RetryOnFailedConnect(true),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2), nats.ReconnectBufSize(8 << 20),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			fmt.Fprintf(log, "assay %s: NATS: %v\n", name, err)
		}),
		nats.IgnoreAuthErrorAbort()}
	if !strings.Contains(strings.TrimPrefix(server, "nats://"), "@") {
		options = append(options, nats.Token(token.Credential()))
	}
	conn, err := nats.Connect(server, options...)
	if err != nil {
		return nil, fmt.Errorf("connecting to the NATS server: %w", err)
	}
	return conn, nil
}

// machineID is equal for processes that see each other's numbers in /proc, and for no others.
func machineID() string {
	boot, err := bounded.Kernel("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + namespace
}

// sitting is one session of an agent, from its hello to its end.
type sitting struct {
	AgentOptions
	conn *nats.Conn
	id   string

	mu      sync.Mutex
	welcome *opener // of welcomes and refusals
	in      *opener // nil: not welcome yet
	out     *sealer
	lease   time.Duration
	heard   time.Time
	workers map[int]*hosted
	refused map[string]uint64
	over    chan error // why the session is over
	guard   *guard     // nil: there is none, or no worker yet
	traces  traceCache
	looks   chan order
}

func newSitting(o AgentOptions, conn *nats.Conn) *sitting {
	s := &sitting{AgentOptions: o, conn: conn, id: randomHex(16), workers: map[int]*hosted{},
		refused: map[string]uint64{},
		over:    make(chan error, 1), looks: make(chan order, 4)}
	s.welcome = &opener{key: o.Token.derive("welcome", s.id)}
	return s
}

// sessionKeys are those of both directions.
func sessionKeys(t Token, id, nonce string) (orders, replies []byte) {
	return t.derive("orders", id, nonce), t.derive("replies", id, nonce)
}

func (s *sitting) serve(ctx context.Context) error {
	sub, err := s.conn.Subscribe(subjectTo+s.id, s.take)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe() // of a connection that may be gone
	if err := sub.SetPendingLimits(10_000, 64<<20); err != nil {
		return err
	}
	defer s.end()
	ended := make(chan struct{})
	defer close(ended)
	go s.look(ended)
	hello := &sealer{key: s.Token.derive("hello")}
	begun := time.Now()
	ticker := time.NewTicker(helloEvery / 5)
	defer ticker.Stop()
	looked := time.Now()
	for nextHello := time.Now(); ; {
		halted := time.Since(looked)
		looked = time.Now()
		switch welcome := s.isWelcome(); {
		case welcome && halted > s.lease:
			return s.leave(fmt.Errorf("it did not run for %s: its workers were ended", format.Seconds(halted.Seconds())))
		case welcome:
			if silent := s.silence(); silent > s.lease {
				return s.leave(fmt.Errorf("the conductor sent nothing for %s: its workers were ended", format.Seconds(silent.Seconds())))
			}
			s.guarded().beat(s.lease)
		case s.Once && time.Since(begun) > joinPatience:
			return fmt.Errorf("no conductor took it within %s", joinPatience)
		case s.Idle > 0 && time.Since(begun) > s.Idle:
			return fmt.Errorf("%w for %s", errIdle, s.Idle)
		case !time.Now().Before(nextHello):
			nextHello = time.Now().Add(helloEvery)
			if err := s.sayHello(hello); err != nil {
				return err
			}
		}
		select {
		case err := <-s.over:
			return err
		case <-ctx.Done():
			s.send(reply{Kind: replyBye, Why: "it was stopped"}, nil)
			_ = s.conn.FlushTimeout(time.Second) // a conductor that does not hear it takes the agent for lost
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// leave tells the conductor, if that hears it, why the session is over: it need not wait for the lease.
func (s *sitting) leave(why error) error {
	s.end()
	s.send(reply{Kind: replyBye, Why: why.Error()}, nil)
	return why
}

func (s *sitting) isWelcome() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in != nil
}

// guarded returns the guard of the session's workers; nil: there is none.
func (s *sitting) guarded() *guard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.guard
}

// ensureGuard starts the guard before the first worker.
func (s *sitting) ensureGuard() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guard != nil || len(s.Guard) == 0 {
		return nil
	}
	g, err := startGuard(s.Guard, s.Log)
	if err != nil {
		return err
	}
	s.guard = g
	g.beat(s.lease)
	return nil
}

func (s *sitting) silence() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.heard)
}

func (s *sitting) sayHello(with *sealer) error {
	name, _ := os.Hostname() // "" is sent as it is
	body, err := encode(Hello{ID: s.id, Protocol: Protocol, Version: s.Version, Contract: control.Contract,
		Name: s.Name, Host: name,
		Machine: machineID(), PID: os.Getpid(), CPUs: runtime.NumCPU(), Quota: host.CPUQuota()}, nil)
	if err != nil {
		return err
	}
	m, err := with.seal(subjectJoin, body)
	if err != nil {
		return err
	}
	return s.conn.Publish(subjectJoin, m)
}

// take takes a message that came for this agent.
func (s *sitting) take(m *nats.Msg) {
	o, err := s.open(m)
	if err != nil {
		s.mu.Lock()
		s.refused[reasonOf(err)]++
		first := s.refused[reasonOf(err)] == 1
		s.mu.Unlock()
		if first {
			fmt.Fprintf(s.Log, "assay agent: refused an order: %v\n", err)
		}
		return
	}
	switch o.Kind {
	case orderWelcome:
		if !s.Once {
			fmt.Fprintln(s.Log, "assay agent: a conductor took this agent")
		}
	case orderRefused:
		s.finish(fmt.Errorf("%w: %s", ErrRefused, format.Clean(o.Why)))
	case orderPing:
		s.send(reply{Kind: replyPong, ID: o.ID, AtNS: clock.MonotonicNS()}, nil)
		s.stop(o.Stop)
	case orderLook:
		select {
		case s.looks <- *o:
		default: // the look before is not over: the conductor asks again
		}
	case orderKill, orderEnd:
		if h := s.dismiss(o.Worker); h != nil {
			if o.Kind == orderKill {
				h.kill()
			}
			go h.end()
		}
	case orderBye:
		s.end()
		s.mu.Lock()
		refused := s.refused
		s.mu.Unlock()
		s.send(reply{Kind: replyBye, Why: "it was dismissed", Refused: refused}, nil)
		_ = s.conn.FlushTimeout(time.Second) // as above
		s.finish(nil)
	default:
		s.order(o)
	}
}

// open takes an order out of its envelope. The first message of a session is its welcome.
func (s *sitting) open(m *nats.Msg) (*order, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.in
	if in == nil {
		in = s.welcome
	}
	body, err := in.open(m.Subject, m.Data)
	if errors.Is(err, errForged) && s.in != nil {
		if _, again := s.welcome.open(m.Subject, m.Data); again == nil {
			return &order{Kind: orderPing}, nil // the answer to a hello that crossed the welcome
		}
	}
	if err != nil {
		return nil, err
	}
	var o order
	if _, err := decode(body, &o); err != nil {
		return nil, err
	}
	if isFirst := o.Kind == orderWelcome || o.Kind == orderRefused; isFirst != (s.in == nil) {
		return nil, fmt.Errorf("%w: %s out of its turn", errMalformed, format.CleanMax(o.Kind, 40))
	}
	if o.Kind == orderWelcome {
		if o.Lease < leaseMin || o.Lease > leaseMax || o.Nonce == "" {
			return nil, fmt.Errorf("%w: a lease of %v", errMalformed, o.Lease)
		}
		orders, replies := sessionKeys(s.Token, s.id, o.Nonce)
		s.in, s.out, s.lease = &opener{key: orders}, &sealer{key: replies}, o.Lease
	}
	s.heard = time.Now()
	return &o, nil
}

// reasonOf names why a message was refused.
func reasonOf(err error) string {
	for _, reason := range []error{errOversized, errForged, errReplayed, errMalformed} {
		if errors.Is(err, reason) {
			return reason.Error()
		}
	}
	return "other"
}

// finish ends the session; only the first reason counts.
func (s *sitting) finish(err error) {
	select {
	case s.over <- err:
	default:
	}
}

// send sends a reply. One that can't be made is a fault of the agent, which the conductor sees by
// its silence; the log tells why.
func (s *sitting) send(r reply, tail []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		return
	}
	body, err := encode(r, tail)
	if err == nil {
		var m []byte
		if m, err = s.out.seal(subjectFrom+s.id, body); err == nil {
			err = s.conn.Publish(subjectFrom+s.id, m)
		}
	}
	if err != nil {
		fmt.Fprintf(s.Log, "assay agent: sending %s: %v\n", r.Kind, err)
	}
}

func (s *sitting) hosted(number int) *hosted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workers[number]
}

// dismiss takes a worker out of those that orders are for.
func (s *sitting) dismiss(number int) *hosted {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.workers[number]
	delete(s.workers, number)
	return h
}

func (s *sitting) all() (workers []*hosted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.workers {
		workers = append(workers, h)
	}
	return workers
}

// workersMax bounds how many workers an agent hosts, over a session: each trial has its own.
const workersMax = 1 << 20

// order passes an order to the worker that it is for.
func (s *sitting) order(o *order) {
	h := s.hosted(o.Worker)
	if h == nil && o.Kind == orderStart && o.Worker >= 0 && o.Worker < workersMax {
		h = newHosted(s, o.Worker)
		s.mu.Lock()
		s.workers[o.Worker] = h
		s.mu.Unlock()
	}
	if h == nil {
		s.send(reply{Kind: replyDone, ID: o.ID, Worker: o.Worker, Error: &failure{Message: "this agent has no such worker", Died: true, Taken: true}}, nil)
		return
	}
	h.order(o)
}

// stop asks the phases under way to end.
func (s *sitting) stop(asked bool) {
	if !asked {
		return
	}
	for _, h := range s.all() {
		h.stop()
	}
}

// look sends the counters of all workers whenever that is asked for.
func (s *sitting) look(ended <-chan struct{}) {
	for {
		select {
		case o := <-s.looks:
			for _, h := range s.all() {
				h.look(o)
			}
		case <-ended:
			return
		}
	}
}

// end ends all workers.
func (s *sitting) end() {
	s.mu.Lock()
	workers := s.workers
	s.workers = map[int]*hosted{}
	guard := s.guard
	s.guard = nil
	s.mu.Unlock()
	var all sync.WaitGroup
	for _, h := range workers {
		all.Go(h.end)
	}
	all.Wait()
	guard.end()
}

// consent refuses what an agent never does: to load servers of others, to keep files.
func (s *sitting) consent(r *control.Request) error {
	if r.Open == nil {
		return nil
	}
	if r.Open.Directory != "" {
		return fmt.Errorf("an agent keeps no files: %s", filepath.Clean(r.Open.Directory))
	}
	for _, endpoint := range r.Open.Endpoints {
		if !s.Sockets && store.Network(endpoint) == "unix" {
			return fmt.Errorf("%s is a Unix socket, which only agents on the conductor's machine connect to", format.CleanMax(endpoint, 200))
		}
		if !s.AllowRemote && !isLoopback(endpoint) {
			return fmt.Errorf("%s is not on the agent's loopback, so that others may depend on it\nassay agent --allow-remote confirms that it may be loaded",
				format.CleanMax(endpoint, 200))
		}
	}
	if s.Consents != nil {
		return s.Consents(r.Open)
	}
	return nil
}
