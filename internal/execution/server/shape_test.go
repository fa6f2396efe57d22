package server

import (
	"errors"
	"io"
	"math"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// What comes late is later by the delay, give or take the jitter, and in its order. The time is a fake one.
//
// Fault (servers): the experiment makes the network to a server slow or narrow, or resets
// connections
// Assay: the delay, the bandwidth and the resets are those asked for; values stay whole, and what
// was not reset does not fail
// With: server.TestBandwidthIsArithmetic, server.TestConnectionsAreReset,
// run.TestPerturbationsAreAPartOfAPhase, facts.TestRateDuringAFault
func TestAnswersComeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay, jitter, count = 20 * time.Millisecond, 5 * time.Millisecond, 2000
		began, sent, came, order := time.Now(), make([]time.Duration, count), make([]time.Duration, 0,
			count), make([]byte, 0, count)
		l := newLate(func(text []byte) error {
			came, order = append(came, time.Since(began)), append(order, text...)
			return nil
		})
		shape := &Shape{Delay: delay, Jitter: jitter}
		room := make([]byte, 1)
		for i := range sent {
			sent[i], room[0] = time.Since(began), byte(i)
			l.push(room, shape)
			time.Sleep(50 * time.Millisecond)
		}
		l.end()
		sum, low, high := time.Duration(0), time.Hour, time.Duration(0)
		for i := range came {
			took := came[i] - sent[i]
			sum, low, high = sum+took, min(low, took), max(high, took)
			if order[i] != byte(i) {
				t.Fatalf("answer %d comes as %d", i, order[i])
			}
		}
		if mean := sum / count; len(came) != count || low < delay-jitter || high > delay+jitter ||
			math.Abs(float64(mean-delay)) > 0.05*float64(delay) || high-low < jitter {
			t.Errorf("%d answers came after %v to %v, %v in the mean", len(came), low, high, sum/time.Duration(max(len(came), 1)))
		}
	})
}

// Answers that come one right after the other wait at the same time, and none passes another.
func TestLateAnswersWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, last := time.Now(), time.Duration(0)
		var order []byte
		l := newLate(func(text []byte) error { order, last = append(order, text...), time.Since(began); return nil })
		for i := range 100 {
			l.push([]byte{byte(i)}, &Shape{Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond})
		}
		l.end()
		if last > 25*time.Millisecond || len(order) != 100 || !slices.IsSorted(order) {
			t.Errorf("the last came after %v, in the order %v", last, order)
		}
	})
	failing := newLate(func([]byte) error { return errors.New("gone") })
	failing.push([]byte{1}, &Shape{})
	failing.push([]byte{2}, &Shape{})
	failing.end()
	if left := failing.waiting.Load(); left != 0 {
		t.Errorf("%d wait for a connection that is gone", left)
	}
}

// A megabyte at 10 MB/s takes 100 ms, however it comes. After a pause no more than a burst is ahead, and
// what timers wake late is caught up with.
func TestBandwidthIsArithmetic(t *testing.T) {
	for _, part := range []int{100, 1500, 65536} {
		var p pacer
		now := time.Unix(0, 0)
		free := now
		for left := 1_000_000; left > 0; left -= part {
			free = p.pace(now, min(part, left), 10e6)
		}
		if took := free.Sub(now); math.Abs(took.Seconds()-0.1) > 0.001 {
			t.Errorf("in parts of %d it takes %v", part, took)
		}
		later := free.Add(time.Second)
		if took := p.pace(later, 1_000_000, 10e6).Sub(later); took != 100*time.Millisecond-burst {
			t.Errorf("after a pause a megabyte takes %v", took)
		}
	}
	var p pacer
	now := time.Unix(0, 0)
	for range 1000 { // one request after the other, each woken a millisecond late
		if due := p.pace(now, 100, 50e3); due.After(now) {
			now = due.Add(time.Millisecond)
		}
	}
	if rate := 100_000 / now.Sub(time.Unix(0, 0)).Seconds(); math.Abs(rate-50e3) > 0.05*50e3 {
		t.Errorf("what is woken late passes at %.0f bytes a second, not 50,000", rate)
	}
	if s := (&Shape{BytesPerSecond: 1000}).partBytes(1 << 16); s != 5 {
		t.Errorf("at 1 kB/s %d bytes are read at once", s)
	}
	if s := new(Shape).partBytes(1 << 16); s != 1<<16 {
		t.Errorf("without a bandwidth %d bytes are read at once", s)
	}
}

// echoing is a server that gives back what it gets, and a proxy before it.
func echoing(t *testing.T) (p *Proxy, dial func() net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); _, _ = io.Copy(c, c) }()
		}
	}()
	if p, err = NewProxy(listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p, func() net.Conn {
		c, err := net.Dial("tcp", p.Endpoint())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := roundTrip(c, []byte("hello")); err != nil { // the proxy has connected
			t.Fatal(err)
		}
		return c
	}
}

func roundTrip(c net.Conn, text []byte) (took time.Duration, err error) {
	began, back := time.Now(), make([]byte, len(text))
	_ = c.SetDeadline(began.Add(long))
	go func() { _, _ = c.Write(text) }()
	if _, err = io.ReadFull(c, back); err == nil && !slices.Equal(back, text) {
		err = errors.New("something else came back")
	}
	return time.Since(began), err
}

// Through real sockets: nothing comes sooner than it may, and all of it comes, also what waits when the
// delay ends.
func TestProxyShapesWhatPasses(t *testing.T) {
	p, dial := echoing(t)
	c := dial()
	p.SetShape(Shape{Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond})
	if took, err := roundTrip(c, []byte("late")); err != nil || took < 15*time.Millisecond {
		t.Errorf("%v, %v", took, err)
	}
	text := make([]byte, 100_000)
	for i := range text {
		text[i] = byte(i * i)
	}
	p.SetShape(Shape{BytesPerSecond: 1e6})
	if took, err := roundTrip(c, text); err != nil || took < 95*time.Millisecond {
		t.Errorf("100 kB at 1 MB/s took %v, %v", took, err)
	}
	p.SetShape(Shape{Delay: time.Millisecond})
	if _, err := c.Write(text[:7]); err != nil {
		t.Fatal(err)
	}
	p.SetShape(Shape{})
	back := make([]byte, 7)
	if _, err := io.ReadFull(c, back); err != nil || !slices.Equal(back, text[:7]) {
		t.Errorf("what was on its way when the delay ended came as %v, %v", back, err)
	}
	if _, err := roundTrip(c, text); err != nil {
		t.Error(err)
	}
}

// So many connections are reset, no other one, and new ones are let through.
func TestConnectionsAreReset(t *testing.T) {
	p, dial := echoing(t)
	var all []net.Conn
	for range 20 {
		all = append(all, dial())
	}
	if reset := p.ResetShare(0.1); reset != 2 {
		t.Errorf("%d of 20 were reset", reset)
	}
	lives := func() (n int) {
		for _, c := range all {
			if _, err := roundTrip(c, []byte("there?")); err == nil {
				n++
			}
		}
		return n
	}
	if n := lives(); n != 18 {
		t.Errorf("%d of 20 connections live", n)
	}
	waitFor(t, "the proxy forgets those that were reset", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.pairs) == 18
	})
	if reset := p.ResetShare(1); reset != 18 || lives() != 0 {
		t.Errorf("%d were reset, %d live", reset, lives())
	}
	dial()
}
