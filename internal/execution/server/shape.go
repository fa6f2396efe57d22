package server

import (
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Shape is what a proxy does to what passes. The zero shape lets it pass as it comes.
type Shape struct {
	Delay, Jitter  time.Duration // that answers come later: Delay, give or take Jitter, evenly spread
	BytesPerSecond float64       // in each direction, over all connections; 0: as fast as it goes
}

// SetShape changes what is done to what passes from now on.
func (p *Proxy) SetShape(s Shape) { p.shape.Store(&s) }

// ResetShare resets so large a share of the connections that are open now, chosen by chance, of a few at
// least one: each end gets a reset (RST), as where a host has forgotten them. It returns how many.
func (p *Proxy) ResetShare(share float64) (reset int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pairs := make([]pair, 0, len(p.pairs))
	for c := range p.pairs {
		pairs = append(pairs, c)
	}
	rand.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	pairs = pairs[:int(math.Ceil(share*float64(len(pairs))))]
	for _, c := range pairs {
		for _, end := range []net.Conn{c.client, c.server} {
			if tcp, is := end.(*net.TCPConn); is { // closing a Unix socket is all that its other end can see
				_ = tcp.SetLinger(0) // it may have ended by itself
			}
			_ = end.Close()
		}
	}
	return len(pairs)
}

// pair are the two ends of a connection.
type pair struct{ client, server net.Conn }

// pacer spreads bytes of one direction evenly over time.
type pacer struct {
	mu   sync.Mutex
	free time.Time // when what has passed so far is through
}

// pace returns when n bytes are through that come now, behind those before them.
func (p *pacer) pace(now time.Time, n int, bytesPerSecond float64) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free.IsZero() {
		p.free = now
	}
	if earliest := now.Add(-burst); p.free.Before(earliest) {
		p.free = earliest
	}
	p.free = p.free.Add(time.Duration(float64(n) / bytesPerSecond * float64(time.Second)))
	return p.free
}

// burst is how much of what did not pass in time may pass at once: what a timer wakes late must not be
// missing in the rate.
const burst = 5 * time.Millisecond

// partsASecond is in how many parts what comes at once passes at least, where a bandwidth is set: larger
// ones would wait longer, and then be there all at once.
const partsASecond = 200

// partBytes is how much is read at once.
func (s *Shape) partBytes(room int) int {
	if s.BytesPerSecond == 0 {
		return room
	}
	return min(max(int(s.BytesPerSecond/partsASecond), 1), room)
}

// late passes on what comes from one side later, in its order. It is begun when it is first needed.
type late struct {
	write   func([]byte) error
	queue   chan lateBytes
	waiting atomic.Int64 // that have not been written
	last    time.Time
	ended   chan struct{}
}

type lateBytes struct {
	text []byte
	due  time.Time
}

// lateMax is how many reads may wait on one connection. Then the sender waits.
const lateMax = 256

func newLate(write func([]byte) error) *late {
	l := &late{write: write, queue: make(chan lateBytes, lateMax), ended: make(chan struct{})}
	go func() {
		defer close(l.ended)
		failed := false
		for one := range l.queue {
			time.Sleep(time.Until(one.due))
			failed = failed || write(one.text) != nil
			l.waiting.Add(-1)
		}
	}()
	return l
}

// push passes text on after a delay, and never before what came first.
func (l *late) push(text []byte, s *Shape) {
	due := time.Now().Add(s.Delay)
	if s.Jitter > 0 {
		due = due.Add(time.Duration(rand.Int64N(2*int64(s.Jitter)+1)) - s.Jitter)
	}
	if due.Before(l.last) {
		due = l.last
	}
	l.last = due
	l.waiting.Add(1)
	l.queue <- lateBytes{append([]byte(nil), text...), due}
}

// end waits until all has been passed on.
func (l *late) end() {
	if l != nil {
		close(l.queue)
		<-l.ended
	}
}
