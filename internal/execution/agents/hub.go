package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"assay/internal/base/clock"
	"assay/internal/base/format"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
)

// Options say how a conductor has agents.
type Options struct {
	Agents  []string // where they are: local:N …
	Version string   // of this program: agents of another one are refused
	Agent   []string // the command of an agent of this binary, up to its flags

	Server string // URL of the NATS server of somebody else; "": one is started
	Token  Token  // "": one is drawn
	Log    io.Writer

	AllowRemote bool // the agents that it launches may load servers that are not on their loopback

	SSH          []string // the command of ssh, with options; none: ssh
	SSHDirectory string   // where this program is copied to; "": in the user's home there

	Docker []string // the command of docker, or of what takes its arguments; none: docker
	Image  string   // of agents in containers; "": DefaultImage

	Lease    time.Duration // 0: DefaultLease
	Patience time.Duration // for all to join; 0: joinPatience
}

// DefaultLease is how long an agent's workers go on without a word of the conductor.
const DefaultLease = 10 * time.Second

const (
	leaseMin = 100 * time.Millisecond
	leaseMax = time.Hour

	pingEvery = 200 * time.Millisecond
	// pingsFirst are sent one after the other when an agent has joined: the least round trip of many
	// is needed before the first start.
	pingsFirst     = 20
	pingEveryFirst = 10 * time.Millisecond

	strangersMax = 64 // agents that said hello and have not answered their welcome
	strangerGone = 5 * time.Second
)

// ErrLost is wrapped by what goes wrong because an agent is gone. It wraps conductor.ErrDied: its
// workers are gone with it.
var ErrLost = fmt.Errorf("the agent was lost (%w)", conductor.ErrDied)

// ErrTaken is wrapped by what goes wrong because a worker of an agent was killed from outside: its store
// is not at fault.
var ErrTaken = fmt.Errorf("%w: killed from outside", conductor.ErrDied)

// Hub is the conductor's side of all agents.
type Hub struct {
	Options
	server *natsserver.Server // nil: somebody else's
	conn   *nats.Conn
	begun  time.Time

	mu        sync.Mutex
	slots     []*slot
	strangers map[string]*Agent // by ID
	refusals  []string          // of agents that were turned away, and why
	refused   map[string]uint64 // messages, by why
	changed   chan struct{}     // closed and made anew when someone joins or is lost
	closing   bool
}

// slot is a place for an agent.
type slot struct {
	name   string
	launch launcher // nil: it joins by itself
	here   bool     // launch starts it on this machine, in its file system
	agent  *Agent   // nil: not there
	child  *launched
	again  int // how often it was launched again because its tunnel was not to be had
}

// Agent is an agent that has joined.
type Agent struct {
	Hello
	Name string
	hub  *Hub

	subscription *nats.Subscription
	nonce        string
	clocks       clocks

	mu      sync.Mutex
	in      *opener
	out     *sealer
	joined  bool
	since   time.Time // it said hello
	heard   time.Time
	nextID  int64
	pings   map[int64]int64 // when they were sent, by ID
	workers map[int]*Worker
	gaps    []Gap
	stopped bool                                 // the phase under way is to end
	starts  struct{ conductorNS, agentNS int64 } // the newest start of a phase, on both clocks
	lost    error
	gone    chan struct{} // closed when it is lost
	end     chan struct{} // closed when pinging is to end
	bye     *reply
}

// Gap is a time in which an agent sent nothing, on the conductor's CLOCK_MONOTONIC.
type Gap struct{ FromNS, ToNS int64 }

// gapNS is how long an agent may be silent without that being noted.
const gapNS = int64(time.Second)

// NewHub starts what agents need to join, and does not wait for them: see [Hub.Gather].
func NewHub(o Options) (*Hub, error) {
	o.Lease, o.Patience = cmp.Or(o.Lease, DefaultLease), cmp.Or(o.Patience, joinPatience)
	if o.Token == "" {
		o.Token = NewToken()
	}
	if err := o.Token.Check(); err != nil {
		return nil, err
	}
	h := &Hub{Options: o, strangers: map[string]*Agent{}, refused: map[string]uint64{},
		changed: make(chan struct{}), begun: time.Now()}
	for _, where := range o.Agents {
		slots, err := slotsOf(where, len(h.slots))
		if err != nil {
			return nil, err
		}
		h.slots = append(h.slots, slots...)
	}
	if h.Server == "" {
		if err := h.startServer(); err != nil {
			return nil, err
		}
	}
	var err error
	if h.conn, err = connect(h.Server, h.Token, "conductor", h.Log); err != nil {
		h.Close()
		return nil, err
	}
	if _, err = h.conn.Subscribe(subjectJoin, h.hello); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// startServer starts a NATS server in this process, on loopback: agents of other machines reach it
// through what launches them.
func (h *Hub) startServer() error {
	server, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoLog: true, NoSigs: true,
		Authorization: h.Token.Credential(), MaxPayload: messageBytesMax, MaxPending: 256 << 20,
		WriteDeadline: 5 * time.Second})
	if err != nil {
		return fmt.Errorf("starting the agents' NATS server: %w", err)
	}
	server.Start()
	if !server.ReadyForConnections(10 * time.Second) {
		server.Shutdown()
		return errors.New("the agents' NATS server does not answer")
	}
	h.server = server
	h.Server = "nats://" + server.Addr().(*net.TCPAddr).String()
	return nil
}

// Count is how many agents the hub has places for.
func (h *Hub) Count() int { return len(h.slots) }

// Gather launches the agents that are not there, waits until all have joined and their clocks are
// known, and returns them in their order.
func (h *Hub) Gather(ctx context.Context) ([]*Agent, error) {
	for _, s := range h.slots {
		if err := h.launch(s); err != nil {
			return nil, fmt.Errorf("starting the agent %s: %w", s.name, err)
		}
	}
	by := time.Now().Add(h.Patience)
	for {
		h.mu.Lock()
		changed, missing, agents := h.changed, []string(nil), []*Agent(nil)
		var again []*slot
		for _, s := range h.slots {
			if s.agent == nil || !s.agent.ready() {
				missing = append(missing, s.name)
			} else {
				agents = append(agents, s.agent)
			}
			if s.child != nil && s.agent == nil {
				if ended := s.child.ended(); ended != nil && s.again < tunnelsMax-1 && isTunnelFailure(ended) {
					s.again++
					again = append(again, s)
				} else if ended != nil {
					h.mu.Unlock()
					return nil, fmt.Errorf("the agent %s ended before it had joined: %w", s.name, ended)
				}
			}
		}
		refusals := slices.Clone(h.refusals)
		h.mu.Unlock()
		for _, s := range again {
			if err := h.launch(s); err != nil {
				return nil, fmt.Errorf("starting the agent %s again: %w", s.name, err)
			}
		}
		switch {
		case len(missing) == 0:
			return agents, nil
		case time.Now().After(by):
			why := ""
			if len(refusals) > 0 {
				why = ": " + refusals[0]
			}
			return nil, fmt.Errorf("%s of %d did not join within %s: %s%s", format.Plural(len(missing), "agent", ""), len(h.slots), h.Patience,
				strings.Join(missing[:min(len(missing), 5)], ", "), why)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// hello takes an agent that looks for a conductor.
func (h *Hub) hello(m *nats.Msg) {
	body, err := (&opener{key: h.Token.derive("hello")}).open(m.Subject, m.Data)
	var hello Hello
	if err == nil {
		_, err = decode(body, &hello)
	}
	if err == nil && (len(hello.ID) != 32 || strings.ContainsAny(hello.ID, ".*> ")) {
		err = errMalformed
	}
	if err != nil {
		h.refuse(err)
		return
	}
	hello.Host, hello.Name = format.CleanMax(hello.Host, 100), format.CleanMax(hello.Name, 100)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return
	}
	if a := h.strangers[hello.ID]; a != nil { // its welcome was lost
		h.greet(a, order{Kind: orderWelcome, Nonce: a.nonce, Lease: h.Lease})
		return
	}
	for _, s := range h.slots {
		if s.agent != nil && s.agent.ID == hello.ID {
			h.greet(s.agent, order{Kind: orderWelcome, Nonce: s.agent.nonce, Lease: h.Lease})
			return
		}
	}
	h.forgetStrangers()
	if len(h.strangers) >= strangersMax+len(h.slots) {
		h.refused["too many that did not answer"]++
		return
	}
	a := &Agent{Hello: hello, hub: h, nonce: randomHex(16), since: time.Now(), pings: map[int64]int64{},
		workers: map[int]*Worker{},
		gone:    make(chan struct{}), end: make(chan struct{})}
	if h.isFull(&hello) {
		return // it goes on saying hello: until a place is free, or for the next run
	}
	if why := h.unfit(&hello); why != "" {
		h.refusals = append(h.refusals, fmt.Sprintf("%s was refused: %s", cmp.Or(hello.Name, hello.Host), why))
		h.greet(a, order{Kind: orderRefused, Why: why})
		return
	}
	orders, replies := sessionKeys(h.Token, a.ID, a.nonce)
	a.in, a.out = &opener{key: replies}, &sealer{key: orders}
	if a.subscription, err = h.conn.Subscribe(subjectFrom+a.ID, a.take); err != nil {
		return // the connection is gone, and the agent will say hello again
	}
	_ = a.subscription.SetPendingLimits(100_000, 256<<20) // of a subscription that is open
	h.strangers[a.ID] = a
	h.greet(a, order{Kind: orderWelcome, Nonce: a.nonce, Lease: h.Lease})
	go a.ping()
}

// unfit says why an agent can't take part; "": it can.
func (h *Hub) unfit(a *Hello) string {
	switch {
	case a.Protocol != Protocol || a.Contract != control.Contract:
		return fmt.Sprintf("it speaks protocol %d and contract %d, this is %d and %d", a.Protocol, a.Contract, Protocol, control.Contract)
	case a.Version != h.Version:
		return fmt.Sprintf("it is of another version (%s), this is %s", oneLine(a.Version), oneLine(h.Version))
	}
	return ""
}

// isFull reports whether there is no place for an agent.
func (h *Hub) isFull(a *Hello) bool {
	return !slices.ContainsFunc(h.slots, func(s *slot) bool { return s.agent == nil && s.isFor(a) })
}

// isFor reports whether a place is for an agent: for the one that was launched for it, or for any that
// joins by itself.
func (s *slot) isFor(a *Hello) bool { return a.Name == s.name || a.Name == "" && s.launch == nil }

func oneLine(text string) string {
	return format.CleanMax(strings.Join(strings.Fields(text), " "), 200)
}

// greet sends what an agent hears before it has a session.
func (h *Hub) greet(a *Agent, o order) {
	body, err := encode(o, nil)
	if err != nil {
		return // an order of strings can be encoded
	}
	// The number is the time: a greeting that is sent again must have a higher one.
	with := &sealer{key: h.Token.derive("welcome", a.ID), number: uint64(time.Since(h.begun)) + 1}
	if m, err := with.seal(subjectTo+a.ID, body); err == nil {
		_ = h.conn.Publish(subjectTo+a.ID, m) // lost ones are asked for again
	}
}

// forgetStrangers forgets those that do not answer: replayed hellos, or agents that have gone. One that is
// there takes itself for welcome as long as its lease: forgotten before that, it would hear no more.
func (h *Hub) forgetStrangers() {
	for id, a := range h.strangers {
		if time.Since(a.since) > max(strangerGone, h.Lease) {
			a.leave()
			delete(h.strangers, id)
		}
	}
}

// refuse counts a message that is none.
func (h *Hub) refuse(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused[reasonOf(err)]++
}

// Refused counts messages that were refused so far, by why.
func (h *Hub) Refused() map[string]uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]uint64{}
	for why, n := range h.refused {
		all[why] = n
	}
	return all
}

// take takes a message of an agent.
func (a *Agent) take(m *nats.Msg) {
	gotNS := clock.MonotonicNS()
	a.mu.Lock()
	body, err := a.in.open(m.Subject, m.Data)
	var r reply
	var tail []byte
	if err == nil {
		tail, err = decode(body, &r)
	}
	if err != nil {
		a.mu.Unlock()
		a.hub.refuse(err)
		return
	}
	now := time.Now()
	if silent := now.Sub(a.heard); a.joined && int64(silent) > gapNS {
		a.gaps = append(a.gaps, Gap{gotNS - int64(silent), gotNS})
	}
	a.heard = now
	first := !a.joined
	a.joined = true
	sentNS, asked := a.pings[r.ID]
	if r.Kind == replyPong {
		delete(a.pings, r.ID)
	}
	w := a.workers[r.Worker]
	a.mu.Unlock()
	if first {
		a.hub.joins(a)
	}
	switch r.Kind {
	case replyPong:
		if asked {
			a.clocks.saw(sight{sentNS, r.AtNS, gotNS})
		}
	case replyDone:
		if w != nil {
			w.answered(&r)
		}
	case replyLook:
		if w == nil {
			return
		}
		if err := w.looked(&r, tail); err != nil {
			a.hub.refuse(fmt.Errorf("%w: %w", errMalformed, err))
		}
	case replyBye:
		a.mu.Lock()
		a.bye = &r
		a.mu.Unlock()
		a.lose(format.Clean(r.Why))
	default:
		a.hub.refuse(errMalformed)
	}
}

// joins gives an agent that has answered its welcome the place that it is for.
func (h *Hub) joins(a *Agent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.strangers, a.ID)
	for _, s := range h.slots {
		if s.agent == nil && s.isFor(&a.Hello) {
			s.agent, a.Name = a, s.name
			if s.launch == nil {
				a.Name = cmp.Or(a.Host, s.name)
			}
			h.tell()
			return
		}
	}
	a.leave() // another was faster
}

// tell wakes who waits for a change. The lock is held.
func (h *Hub) tell() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// ready reports whether the agent's clock is known.
func (a *Agent) ready() bool {
	a.clocks.mu.Lock()
	defer a.clocks.mu.Unlock()
	return len(a.clocks.sights) >= pingsFirst/2
}

// ping asks for the agent's time again and again, which keeps its lease, and takes it for lost once
// its lease is over.
func (a *Agent) ping() {
	for n := 0; ; n++ {
		a.mu.Lock()
		if len(a.pings) > 1000 {
			clear(a.pings) // of an agent that answers none
		}
		o := order{Kind: orderPing, Stop: a.stopped}
		a.nextID++
		o.ID = a.nextID
		a.pings[o.ID] = clock.MonotonicNS()
		silent := time.Since(a.heard)
		joined := a.joined
		a.mu.Unlock()
		a.send(o)
		if lease := a.hub.Lease; joined && silent > lease+lease/4 {
			a.lose(fmt.Sprintf("it sent nothing for %s, and its lease is over", format.Seconds(silent.Seconds())))
			return
		}
		every := pingEvery
		if n < 5*pingsFirst && !a.ready() {
			every = pingEveryFirst
		}
		select {
		case <-time.After(min(every, a.hub.Lease/5)):
		case <-a.end:
			return
		case <-a.gone:
			return
		}
	}
}

// send sends an order.
func (a *Agent) send(o order) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, err := encode(o, nil)
	if err == nil {
		var m []byte
		if m, err = a.out.seal(subjectTo+a.ID, body); err == nil {
			err = a.hub.conn.Publish(subjectTo+a.ID, m)
		}
	}
	if err != nil {
		fmt.Fprintf(a.hub.Log, "assay: an order for the agent %s: %v\n", a.Name, err)
	}
}

// lose takes the agent for lost. Its place is free for another.
func (a *Agent) lose(why string) {
	a.mu.Lock()
	if a.lost != nil {
		a.mu.Unlock()
		return
	}
	a.lost = fmt.Errorf("%w: %s: %s", ErrLost, a.Name, why)
	close(a.gone)
	a.mu.Unlock()
	h := a.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.slots {
		if s.agent == a {
			s.agent = nil
			h.tell()
		}
	}
	if a.subscription != nil {
		_ = a.subscription.Unsubscribe() // of a connection that may be gone
	}
}

// leave ends the conductor's side of an agent that has no place.
func (a *Agent) leave() {
	select {
	case <-a.end:
	default:
		close(a.end)
	}
	if a.subscription != nil {
		_ = a.subscription.Unsubscribe() // as above
	}
}

// Lost returns why the agent is lost; nil: it is not.
func (a *Agent) Lost() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}

// Gaps returns the times after a moment in which the agent sent nothing.
func (a *Agent) Gaps(sinceNS int64) (gaps []Gap) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.gaps {
		if g.ToNS > sinceNS {
			gaps = append(gaps, g)
		}
	}
	return gaps
}

// IsHere reports whether the agent runs on the conductor's machine, where its processes can be seen.
func (a *Agent) IsHere() bool { return a.Machine != "" && a.Machine == machineID() }

// startAt translates when a phase begins to the agent's clock: once, as looks at it that come meanwhile
// would tell each worker another moment, and their histories be compared by that.
func (a *Agent) startAt(conductorNS int64) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.starts.conductorNS != conductorNS {
		a.starts.conductorNS, a.starts.agentNS = conductorNS, a.clocks.toAgent(conductorNS)
	}
	return a.starts.agentNS
}

// byePatience is how long agents may take to end their workers when the run is over.
const byePatience = 3 * time.Second

// Close dismisses all agents, ends those that were launched, and returns what agents said of messages
// that they had refused.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closing = true
	var present []*Agent
	for _, s := range h.slots {
		if s.agent != nil {
			present = append(present, s.agent)
		}
	}
	for _, a := range h.strangers {
		a.leave()
	}
	h.mu.Unlock()
	for _, a := range present {
		a.send(order{Kind: orderBye})
	}
	until := time.After(byePatience)
	for _, a := range present {
		select {
		case <-a.gone:
		case <-until:
			until = time.After(0)
		}
	}
	for _, s := range h.slots {
		if s.child != nil {
			s.child.end(byePatience)
		}
	}
	if h.conn != nil {
		h.conn.Close()
	}
	if h.server != nil {
		h.server.Shutdown()
		h.server.WaitForShutdown()
	}
}
