package loopback

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Link is a way to a server that can be made slow, or cut: its connections then stand still, as they
// do when a cable is pulled, and go on when it is mended.
type Link struct {
	Endpoint string

	mu      sync.Mutex
	changed *sync.Cond
	cut     bool
	delay   time.Duration // one way
	rate    int           // bytes a second, each way and connection; 0: as fast as it goes
	over    bool
}

// NewLink listens for what is passed on to a server until the test ends.
func NewLink(t testing.TB, to string) *Link {
	t.Helper()
	l := &Link{}
	l.changed = sync.NewCond(&l.mu)
	l.Endpoint = Listen(t, func(here net.Conn) {
		there, err := net.Dial("tcp", to)
		if err != nil {
			return // as of a server that is not there
		}
		defer there.Close()
		var both sync.WaitGroup
		both.Go(func() { l.pass(here, there) })
		both.Go(func() { l.pass(there, here) })
		both.Wait()
	})
	t.Cleanup(func() { l.set(func() { l.over = true }) })
	return l
}

// Slow lets each byte take so long one way, and so many pass in a second.
func (l *Link) Slow(delay time.Duration, bytesPerSecond int) {
	l.set(func() { l.delay, l.rate = delay, bytesPerSecond })
}

// Cut lets nothing pass until Mend.
func (l *Link) Cut()  { l.set(func() { l.cut = true }) }
func (l *Link) Mend() { l.set(func() { l.cut = false }) }

func (l *Link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.changed.Broadcast()
}

type piece struct {
	data []byte
	at   time.Time // when it may arrive
}

// pass passes one direction on until either end is closed, and then closes both.
func (l *Link) pass(from, to net.Conn) {
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 16<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				l.mu.Lock()
				at := time.Now().Add(l.delay)
				l.mu.Unlock()
				pieces <- piece{buffer[:n], at}
			}
			if err != nil {
				return // io.EOF, or the other direction has closed it
			}
		}
	}()
	var failed error
	for p := range pieces {
		if failed != nil {
			continue
		}
		time.Sleep(time.Until(p.at))
		l.mu.Lock()
		for l.cut && !l.over {
			l.changed.Wait()
		}
		rate := l.rate
		l.mu.Unlock()
		if rate > 0 {
			time.Sleep(time.Duration(len(p.data)) * time.Second / time.Duration(rate))
		}
		if _, failed = to.Write(p.data); failed != nil {
			_ = from.Close() // so that the reader ends
		}
	}
	_ = from.Close() // either direction's end is the connection's
	_ = to.Close()   // as above
}
